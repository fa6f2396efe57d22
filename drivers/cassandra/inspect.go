package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"assay/store"
)

// member is one endpoint, and a session that asks it alone.
type member struct {
	endpoint string
	session  *gocql.Session
	settings map[string]string // as it reported them when the store was opened
	stats    map[string]float64
}

func (d *db) openMember(ctx context.Context, endpoint string) (_ *member, err error) {
	by := &dialer{access: d.access, timeout: max(d.timeout, controlTimeoutMin)}
	session, err := connect(by, []string{endpoint}, nil)
	if err != nil {
		return nil, failure("connect", err)
	}
	m := &member{endpoint: endpoint, session: session}
	if m.settings, err = m.tell(ctx); err != nil {
		session.Close()
		return nil, err
	}
	return m, nil
}

// tell asks the node for all of its settings.
func (m *member) tell(ctx context.Context) (map[string]string, error) {
	settings, version := map[string]string{}, ""
	if err := m.session.Query("SELECT release_version FROM system.local").ScanContext(ctx, &version); err != nil {
		return nil, failure("ask for the version", err)
	}
	rows := m.session.Query("SELECT name, value FROM system_views.settings").IterContext(ctx)
	for name, value := "", ""; rows.Scan(&name, &value); {
		settings[name] = value
	}
	if err := rows.Close(); err != nil {
		return nil, failure("ask for the settings", err)
	}
	settings["version"] = version
	return settings, nil
}

// reported are the settings that decide what a figure means.
var reported = []string{
	"version", "cluster_name", "partitioner", "endpoint_snitch", "num_tokens",
	"commitlog_sync", "commitlog_sync_period", "periodic_commitlog_sync_lag_block", "commitlog_sync_group_window",
	"commitlog_segment_size", "commitlog_total_space", "commitlog_compression.class_name", "commitlog_disk_access_mode",
	"commit_failure_policy", "disk_failure_policy", "disk_access_mode", "memtable_allocation_type", "memtable_heap_space",
	"memtable_offheap_space", "concurrent_reads", "concurrent_writes", "concurrent_compactors", "compaction_throughput",
	"key_cache_size", "row_cache_size", "file_cache_size", "flush_compression", "trickle_fsync",
	"batch_size_fail_threshold", "native_transport_max_threads", "read_request_timeout", "write_request_timeout",
	"cas_contention_timeout", "hinted_handoff_enabled", "max_hint_window", "tombstone_failure_threshold", "sstable.selected_format",
}

// Settings are what the nodes reported when the store was opened, one value for each node where they
// differ, and the driver's own.
func (d *db) Settings() map[string]string {
	told := map[string]string{
		"driver.consistency": d.write, "driver.read_consistency": d.read, "driver.replication": strconv.Itoa(d.replication),
		"driver.entry": d.entry, "driver.keyspace": d.keyspace, "driver.nodes": strconv.Itoa(len(d.members)),
		"driver.operation_timeout": d.timeout.String(), "driver.write_coalesce_wait": d.coalesce.String(),
		"driver.retries": "none",
	}
	for _, name := range reported {
		var values []string
		for _, m := range d.members {
			if value, is := m.settings[name]; is {
				values = append(values, value)
			}
		}
		if len(values) == 0 {
			continue
		}
		if same := slices.Compact(slices.Clone(values)); len(same) == 1 {
			values = same
		}
		told[name] = strings.Join(values, ", ")
	}
	d.access.Tell(told)
	return told
}

// statsPatience is less than the second between two looks that nothing may hold up for long.
const statsPatience = 10 * time.Second

// Inspect adds up what the nodes report. What a node that is gone told last stays in the sums, since
// totals that fall would be taken for negative work.
func (d *db) Inspect() store.Inspection {
	stats := map[string]float64{"reconnects": float64(d.reconnects.Load()), "nodes_that_answered": 0}
	for n, m := range d.members {
		if now, err := m.inspect(d.keyspace); err == nil {
			m.stats = now
			stats["nodes_that_answered"]++
		}
		for name, value := range m.stats {
			stats[name] += value
		}
		if coordinated, told := m.stats[coordinated]; told && len(d.members) > 1 {
			stats[store.ServerStat(n, store.ServerOperations)] = coordinated
		}
	}
	return store.Inspection{Stats: maps.Clone(stats), Busy: stats[compactionsRunning] > 0}
}

const (
	coordinated        = "statements"
	compactionsRunning = "compactions_running"
)

// pools are the thread pools whose tasks are counted: the counters of those that are done, and of
// those that run and wait; "": not reported.
var pools = map[string][2]string{
	"CompactionExecutor":        {"compactions", compactionsRunning},
	"MemtableFlushWriter":       {"flushes", "flushes_waiting"},
	"MutationStage":             {"writes_of_replica", "writes_waiting"},
	"ReadStage":                 {"reads_of_replica", "reads_waiting"},
	"HintsDispatcher":           {"hints_sent", ""},
	"Native-Transport-Requests": {"", "requests_waiting"},
}

// inspect asks one node. All rows of these tables are made by it in memory.
func (m *member) inspect(keyspace string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), statsPatience)
	defer cancel()
	stats := map[string]float64{coordinated: 0}
	for _, names := range pools { // a node has a pool from its first task on
		for _, name := range names {
			stats[name] = 0
		}
	}
	delete(stats, "")
	rows := m.session.Query("SELECT name, completed_tasks, active_tasks, pending_tasks FROM system_views.thread_pools").IterContext(ctx)
	var name string
	var done int64
	var active, waiting int
	for rows.Scan(&name, &done, &active, &waiting) {
		names := pools[name]
		if names[0] != "" {
			stats[names[0]] = float64(done)
		}
		if names[1] != "" {
			stats[names[1]] = float64(active + waiting)
		}
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("thread pools: %w", err)
	}
	rows = m.session.Query("SELECT name, value FROM system_views.cql_metrics").IterContext(ctx)
	for value := 0.0; rows.Scan(&name, &value); {
		if name == "prepared_statements_executed" || name == "regular_statements_executed" {
			stats[coordinated] += value
		}
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("statements: %w", err)
	}
	rows = m.session.Query("SELECT name, hit_count, request_count, size_bytes FROM system_views.caches").IterContext(ctx)
	for hits, requests, bytes := int64(0), int64(0), int64(0); rows.Scan(&name, &hits, &requests, &bytes); {
		switch name {
		case "keys":
			stats["key_cache_hits"], stats["key_cache_misses"] = float64(hits), float64(requests-hits)
		case "chunks":
			stats["block_cache_hits"], stats["block_cache_misses"] = float64(hits), float64(requests-hits)
		case "rows":
			stats["row_cache_hits"], stats["row_cache_misses"] = float64(hits), float64(requests-hits)
		}
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("caches: %w", err)
	}
	rows = m.session.Query("SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = ? ALLOW FILTERING", keyspace).IterContext(ctx)
	stats["file_bytes"] = 0
	for mebibytes := int64(0); rows.Scan(&mebibytes); {
		stats["file_bytes"] += float64(mebibytes << 20)
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("disk usage: %w", err)
	}
	rows = m.session.Query("SELECT port FROM system_views.clients").IterContext(ctx)
	stats["connections"] = 0
	for port := 0; rows.Scan(&port); {
		stats["connections"]++
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	return stats, nil
}
