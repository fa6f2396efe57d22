package redis

import (
	"fmt"
	"strconv"
	"strings"

	"assay/store"
)

// counters are what Inspect tells, by INFO's names. Those of the log are told only where there is
// one.
var counters = map[string]string{
	"connected_clients":              "connected_clients",
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

// Inspect takes the numbers of INFO, and the driver's of its connections. Busy is a snapshot or a
// rewrite of the log, which a child process does.
func (d *db) Inspect() store.Inspection {
	stats := map[string]float64{"reconnects": float64(d.reconnects.Load())}
	info, err := d.info()
	if err != nil {
		return store.Inspection{Stats: stats}
	}
	stats["records"] = keys(info, d.entry.database)
	for theirs, ours := range counters {
		if number, err := strconv.ParseFloat(info[theirs], 64); err == nil {
			stats[ours] = number
		}
	}
	busy := stats["aof_rewrite_in_progress"] > 0 || stats["rdb_bgsave_in_progress"] > 0 || info["aof_rewrite_scheduled"] == "1"
	return store.Inspection{Stats: stats, Busy: busy}
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
