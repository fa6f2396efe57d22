package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"assay/internal/experiment"
	"assay/store"
)

// Group is the servers of one store, in the order of its endpoints: replicas come last.
type Group struct {
	Members []*Instance
}

// Check is an error if the program can't be started so many times as one store, or with so many
// replicas.
func (p *Program) Check(count, replicas int) error {
	switch {
	case count < 1 || count > experiment.ServersMax:
		return fmt.Errorf("expected from 1 to %d servers, got %d", experiment.ServersMax, count)
	case count > 1 && p.Several == "":
		return fmt.Errorf("several servers of %s can't be started as one store", p.Driver)
	case replicas < 0 || count+replicas > experiment.ServersMax:
		return fmt.Errorf("expected at most %d servers, replicas among them, got %d", experiment.ServersMax, count+replicas)
	case replicas > 0 && !p.Replicates:
		return fmt.Errorf("replicas of %s are not started by Assay", p.Driver)
	case replicas > 0 && count > 1:
		return fmt.Errorf("replicas are of one server: expected count or replicas, not both")
	}
	return nil
}

// StartGroup starts the servers of one store one after the other, as [Start] does one. None is left
// where it fails.
func StartGroup(ctx context.Context, p Program, r Request) (*Group, error) {
	r.Count = max(r.Count, 1)
	if err := p.Check(r.Count, r.Replicas); err != nil {
		return nil, fmt.Errorf("starting %s: %w: %w", p.Driver, err, store.ErrRefused)
	}
	first := Instance{Program: &p, cpus: r.CPUs}
	var err error
	if first.Binary, err = p.Find(); err != nil {
		return nil, err
	}
	told, err := p.Identify(ctx, first.Binary)
	if err != nil {
		return nil, err
	}
	first.Product, first.Version = told.Product, told.Version
	if first.Options, err = p.resolve(r.Class, r.Options); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.Driver, err)
	}
	if r.Directory, err = filepath.Abs(r.Directory); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.Driver, err)
	}
	places := []string{r.Directory}
	for _, place := range r.Places {
		places = append(places, filepath.Dir(place))
	}
	if first.user, err = p.userFor(first.Binary, places); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.Driver, err)
	}
	for try := 1; ; try++ {
		g, err := startMembers(ctx, first, r)
		if err == nil {
			return g, nil
		}
		if !errors.Is(err, errPortTaken) || try == portTries {
			return nil, fmt.Errorf("starting %s %s: %w", p.Driver, first.Version, err)
		}
	}
}

// startMembers is one try. like has what all members have in common.
func startMembers(ctx context.Context, like Instance, r Request) (*Group, error) {
	g, all := new(Group), r.Count+r.Replicas
	for n, host := range r.hosts(like.Program) {
		i := like
		i.Host, i.label, i.Directory = host, like.Program.Driver, filepath.Join(r.Directory, DirectoryName(n, all))
		if all > 1 {
			i.label += "-" + strconv.Itoa(n+1)
		}
		if place, own := r.Places[n]; own {
			i.Directory = place
		}
		if n < len(r.Each) {
			own := maps.Clone(r.Options)
			if own == nil {
				own = map[string]string{}
			}
			maps.Copy(own, r.Each[n])
			var err error
			if i.Options, err = like.Program.resolve(r.Class, own); err != nil {
				return nil, errors.Join(fmt.Errorf("server %d of %d: %w", n+1, all, err), g.each((*Instance).kill))
			}
		}
		i.output, i.life = &output{log: r.Log, name: i.label}, new(life)
		i.Peers, i.Count, i.Replicas = append([]*Instance(nil), g.Members...), r.Count, r.Replicas
		if n >= r.Count {
			i.Primary = g.Members[0]
		}
		if err := i.start(ctx, r); err != nil {
			if all > 1 {
				err = fmt.Errorf("server %d of %d: %w", n+1, all, err)
			}
			return nil, errors.Join(err, g.each((*Instance).kill))
		}
		g.Members = append(g.Members, &i)
	}
	return g, nil
}

// DirectoryName is that of one of so many servers, from 0 on, in the directory of a request.
func DirectoryName(n, all int) string {
	if all == 1 {
		return directoryName
	}
	return directoryName + "-" + strconv.Itoa(n+1)
}

// hosts returns the address of each server.
func (r Request) hosts(p *Program) []string {
	hosts := make([]string, r.Count+r.Replicas)
	address := net.ParseIP(Host).To4()
	for n := range hosts {
		hosts[n] = Host
		if p.Several == Cluster && r.Replicas == 0 {
			hosts[n] = net.IPv4(address[0], address[1], address[2], address[3]+byte(n)).String()
		}
	}
	return hosts
}

// Endpoints returns HOST:PORT of each server.
func (g *Group) Endpoints() []string {
	endpoints := make([]string, len(g.Members))
	for n, i := range g.Members {
		endpoints[n] = i.Endpoint()
	}
	return endpoints
}

// Guard is what all of the servers demand of those who connect.
func (g *Group) Guard() Guard { return g.Members[0].Guard }

// PIDs returns the first process of each server.
func (g *Group) PIDs() []int {
	pids := make([]int, len(g.Members))
	for n, i := range g.Members {
		pids[n] = i.PID()
	}
	return pids
}

// Processes returns all processes of the servers.
func (g *Group) Processes() (pids []int) {
	for _, i := range g.Members {
		pids = append(pids, i.Processes()...)
	}
	return pids
}

// Died says how the first of the servers that has ended did so; nil while all run. It means nothing
// after Stop.
func (g *Group) Died() error {
	for _, i := range g.Members {
		if err := i.Died(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends all servers at once, each as [Instance.Stop] does.
func (g *Group) Stop(patience time.Duration) error {
	return g.each(func(i *Instance) error { return i.Stop(patience) })
}

func (g *Group) each(end func(*Instance) error) error {
	failed := make([]error, len(g.Members))
	var ending sync.WaitGroup
	for n, i := range g.Members {
		ending.Go(func() { failed[n] = end(i) })
	}
	ending.Wait()
	return errors.Join(failed...)
}

// roams reports whether clients of so many servers go where these tell them.
func (p *Program) roams(count int) bool { return p.Roams || p.Several == Cluster && count > 1 }
