package riak

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"assay/store"
)

// counters are what Inspect takes from /stats, by its names: of several nodes the sum.
var counters = map[string]string{
	"node_gets_total":              "node_gets_total",
	"node_puts_total":              "node_puts_total",
	"vnode_gets_total":             "vnode_gets_total",
	"vnode_puts_total":             "vnode_puts_total",
	"read_repairs_total":           "read_repairs_total",
	"coord_redirs_total":           "coord_redirs_total",
	"dropped_vnode_requests_total": "dropped_vnode_requests_total",
	"pbc_active":                   "connections",
	"pbc_connects_total":           "pbc_connects_total",
	"sys_process_count":            "sys_process_count",
	"memory_total":                 "memory_total_bytes",
	"memory_processes_used":        "memory_processes_used_bytes",
	"memory_binary":                "memory_binary_bytes",
	"memory_ets":                   "memory_ets_bytes",
}

// Inspect returns the driver's counts of siblings and connections, and the nodes' counters where their
// HTTP interfaces are named. A node that does not answer leaves out those of all: a sum of some is
// none.
func (d *db) Inspect() store.Inspection {
	told := map[string]float64{
		"reconnects":    float64(d.reconnects.Load()),
		"sibling_reads": float64(d.resolver.reads.Load()),
		"siblings":      float64(d.resolver.extra.Load()),
	}
	if theirs := d.nodeStats(); theirs != nil {
		for name, value := range theirs {
			told[name] = value
		}
	}
	return store.Inspection{Stats: told}
}

// nodeStats are the nodes' counters; nil: some node's are not to be had.
func (d *db) nodeStats() map[string]float64 {
	sum, tellers := map[string]float64{}, map[string]int{}
	ctx, cancel := context.WithTimeout(context.Background(), statsPatience)
	defer cancel()
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.stats == "" {
			return nil
		}
		stats, err := statsOf(ctx, &d.http, n.stats)
		if err != nil {
			return nil
		}
		for theirs, ours := range counters {
			if value, is := stats[theirs]; is {
				sum[ours] += value
				tellers[ours]++
			}
		}
		sum[store.ServerStat(i, store.ServerOperations)] = stats["node_gets_total"] + stats["node_puts_total"]
		sum[store.ServerStat(i, store.ServerWeight)] = float64(n.handles)
	}
	for name, n := range tellers {
		if n < len(d.nodes) {
			delete(sum, name)
		}
	}
	return sum
}

// statsPatience bounds one look at all nodes.
const statsPatience = 2 * time.Second

// statsOf reads the numbers of a node's /stats.
func statsOf(ctx context.Context, client *http.Client, address string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/stats", nil)
	if err != nil {
		return nil, fmt.Errorf("riak: stats: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("riak: stats: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("riak: stats: %s", response.Status)
	}
	var all map[string]json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return nil, fmt.Errorf("riak: stats: %w", err)
	}
	numbers := map[string]float64{}
	for name, raw := range all {
		var number *float64
		if json.Unmarshal(raw, &number) == nil && number != nil { // others are texts, lists, "undefined"
			numbers[name] = *number
		}
	}
	return numbers, nil
}
