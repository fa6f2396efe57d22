package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/execution/server"
	"assay/store"
)

// clustered reports whether a server that Assay starts is a node of a cluster. Several always are:
// servers that do not know each other are no store of this driver.
func clustered(i *server.Instance) bool { return i.Count > 1 || i.Options.Bool("cluster") }

// join makes a new node known to those that run, and gives it its part of the slots. Once the last
// one has joined, it waits until each knows all of them and has all slots covered.
func join(ctx context.Context, i *server.Instance) error {
	if err := ask(ctx, i, func(c connection) error { return joinOver(c, i) }); err != nil || len(i.Peers)+1 < i.Count {
		return err
	}
	for _, of := range append([]*server.Instance{i}, i.Peers...) {
		if err := ask(ctx, of, func(c connection) error { return whole(c, i.Count) }); err != nil {
			return fmt.Errorf("%s: %w", of.Endpoint(), err)
		}
	}
	return nil
}

// joinOver asks for nothing that has been done: the server is asked again until it is ready.
func joinOver(c connection, i *server.Instance) error {
	info, err := clusterInfo(c)
	if err != nil {
		return err
	}
	node := len(i.Peers)
	if info["cluster_slots_assigned"] == "0" {
		first, last := slotsOf(node, i.Count)
		if err := command(c, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return err
		}
	}
	if info["cluster_my_epoch"] == "0" { // equal ones would be settled later, by changes of the slots' table
		if err := command(c, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(node+1)); err != nil {
			return err
		}
	}
	if info["cluster_known_nodes"] != "1" {
		return nil
	}
	for _, peer := range i.Peers {
		if err := command(c, "CLUSTER", "MEET", peer.Host, strconv.Itoa(peer.Port), strconv.Itoa(peer.PeerPort)); err != nil {
			return err
		}
	}
	return nil
}

// slotsOf returns the part of the slots that one of several nodes has: all have equal ones.
func slotsOf(node, nodes int) (first, last int) {
	return node * slotCount / nodes, (node+1)*slotCount/nodes - 1
}

// whole is an error while a node does not serve all slots together with the others.
func whole(c connection, nodes int) error {
	info, err := clusterInfo(c)
	if err != nil {
		return err
	}
	for name, want := range map[string]string{
		"cluster_state": "ok", "cluster_slots_ok": strconv.Itoa(slotCount),
		"cluster_size": strconv.Itoa(nodes), "cluster_known_nodes": strconv.Itoa(nodes),
	} {
		if info[name] != want {
			return fmt.Errorf("%s is %q, expected %s", name, info[name], want)
		}
	}
	return nil
}

func clusterInfo(c connection) (map[string]string, error) {
	text, err := c.text("CLUSTER INFO", "CLUSTER", "INFO")
	if err != nil {
		return nil, err
	}
	return parseInfo(text), nil
}

func command(c connection, arguments ...string) error {
	if err := c.Begin(); err != nil {
		return err
	}
	return c.ask(strings.Join(arguments, " "), arguments...)
}

// refuseTLS says that the nodes of a cluster can't demand TLS here: they would talk to each other by
// it too, each as a client with a certificate of its own.
func refuseTLS(i *server.Instance) error {
	if clustered(i) && i.Guard.Certificate != "" {
		return fmt.Errorf("a cluster is not started with tls: %w", store.ErrRefused)
	}
	return nil
}
