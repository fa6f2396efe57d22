package redis

import (
	"fmt"
	"strconv"
	"strings"

	"assay/store"
)

// counters are what Inspect returns, by INFO's names. A server without a log has none of the log's.
var counters = map[string]string{
	"connected_clients":              "connections",
	"blocked_clients":                "blocked_clients",
	"total_connections_received":     "total_connections_received",
	"rejected_connections":           "rejected_connections",
	"total_commands_processed":       "total_commands_processed",
	"total_error_replies":            "total_error_replies",
	"total_net_input_bytes":          "total_net_input_bytes",
	"total_net_output_bytes":         "total_net_output_bytes",
	"keyspace_hits":                  "keyspace_hits",
	"keyspace_misses":                "keyspace_misses",
	"evicted_keys":                   "evicted_keys",
	"expired_keys":                   "expired_keys",
	"evicted_clients":                "evicted_clients",
	"used_memory":                    "used_memory_bytes",
	"used_memory_rss":                "used_memory_rss_bytes",
	"used_memory_dataset":            "used_memory_dataset_bytes",
	"maxmemory":                      "maxmemory_bytes",
	"allocator_frag_bytes":           "allocator_frag_bytes",
	"mem_clients_normal":             "clients_memory_bytes",
	"total_forks":                    "forks",
	"latest_fork_usec":               "latest_fork_us",
	"rdb_changes_since_last_save":    "rdb_changes_since_last_save",
	"rdb_bgsave_in_progress":         "rdb_bgsave_in_progress",
	"aof_rewrite_in_progress":        "aof_rewrite_in_progress",
	"aof_current_size":               "wal_bytes",
	"aof_base_size":                  "wal_base_bytes",
	"aof_buffer_length":              "wal_buffer_bytes",
	"aof_pending_bio_fsync":          "wal_pending_syncs",
	"aof_delayed_fsync":              "wal_delayed_syncs",
	"used_cpu_sys":                   "cpu_sys_s",
	"used_cpu_user":                  "cpu_user_s",
	"used_cpu_sys_main_thread":       "main_thread_cpu_sys_s",
	"used_cpu_user_main_thread":      "main_thread_cpu_user_s",
	"io_threaded_reads_processed":    "io_threaded_reads",
	"io_threaded_writes_processed":   "io_threaded_writes",
	"expired_time_cap_reached_count": "expired_time_cap_reached",
}

// Inspect takes the numbers of INFO, and the driver's of its connections. Those of a cluster's nodes
// are added up; each node's share is a counter of its own.
func (d *db) Inspect() store.Inspection {
	inspection := store.Inspection{Stats: map[string]float64{"reconnects": float64(d.reconnects.Load())}}
	if d.slots != nil {
		inspection.Stats["redirects"] = float64(d.redirects.Load())
	}
	var all []map[string]float64
	for _, m := range d.masters() {
		stats, busy, err := m.inspect(d.entry.database)
		if err != nil {
			return inspection // a sum of some is none
		}
		inspection.Busy = inspection.Busy || busy
		all = append(all, stats)
	}
	var weights []int
	if d.slots != nil {
		weights = d.slots.weights(len(all))
	}
	for i, stats := range all {
		for name, value := range stats {
			if name != replicationOffset && (len(all) == 1 || !ofOneServer[name]) {
				inspection.Stats[name] += value
			}
		}
		if d.slots != nil {
			inspection.Stats[store.ServerStat(i, store.ServerOperations)] = stats["total_commands_processed"]
			inspection.Stats[store.ServerStat(i, store.ServerWeight)] = float64(weights[i])
			inspection.Stats[store.ServerStat(i, "items")] = stats["records"]
		}
	}
	if d.slots == nil && len(d.members) > 1 {
		d.inspectReplicas(all[0], inspection.Stats)
	}
	return inspection
}

// ofOneServer are numbers that have no sum.
var ofOneServer = map[string]bool{"latest_fork_us": true}

// inspect takes a server's numbers. Busy is a snapshot or a rewrite of the log, which a child process
// does.
func (m *member) inspect(database int) (stats map[string]float64, busy bool, err error) {
	info, err := m.ask()
	if err != nil {
		return nil, false, err
	}
	stats = map[string]float64{"records": keys(info, database), replicationOffset: number(info[replicationOffset])}
	for theirs, ours := range counters {
		if number, err := strconv.ParseFloat(info[theirs], 64); err == nil {
			stats[ours] = number
		}
	}
	if removed := stats["evicted_keys"] + stats["expired_keys"]; removed > 0 || mayEvict(info) {
		stats[store.RecordsEvicted], stats[store.RecordsExpired] = removed, stats["expired_keys"]
	}
	busy = stats["aof_rewrite_in_progress"] > 0 || stats["rdb_bgsave_in_progress"] > 0 || info["aof_rewrite_scheduled"] == "1"
	return stats, busy, nil
}

// replicationOffset is how many bytes of the primary's stream of writes a server has sent, or taken.
const replicationOffset = "master_repl_offset"

// inspectReplicas reports what each server got, and how far behind the primary each replica is. The primary
// was asked first, so that the bytes behind are no more than there were.
func (d *db) inspectReplicas(primary, told map[string]float64) {
	told[store.ServerStat(0, store.ServerOperations)] = primary["total_commands_processed"]
	for i, m := range d.members[1:] {
		stats, _, err := m.inspect(d.entry.database)
		if err != nil {
			continue
		}
		told[store.ServerStat(i+1, store.ServerOperations)] = stats["total_commands_processed"]
		told[store.ServerStat(i+1, "items")] = stats["records"]
		told[store.ServerStat(i+1, "behind_bytes")] = max(primary[replicationOffset]-stats[replicationOffset], 0)
	}
}

// number is 0 where the server does not report one.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}

// mayEvict says if the server removes records by itself when it needs room: it is a cache then.
func mayEvict(info map[string]string) bool {
	limit := info["maxmemory"]
	return limit != "" && limit != "0" && info["maxmemory_policy"] != "noeviction"
}

// keys reads the line "dbN:keys=1,expires=0,…", which an empty database does not have.
func keys(info map[string]string, database int) float64 {
	for part := range strings.SplitSeq(info[fmt.Sprintf("db%d", database)], ",") {
		if text, ok := strings.CutPrefix(part, "keys="); ok {
			if number, err := strconv.ParseFloat(text, 64); err == nil {
				return number
			}
		}
	}
	return 0
}
