package postgres

import (
	"strconv"
	"strings"

	"assay/store"
)

// settings are those that decide what a figure means.
var settings = []string{
	"shared_buffers", "effective_cache_size", "work_mem", "maintenance_work_mem", "max_connections", "huge_pages",
	"synchronous_commit", "fsync", "full_page_writes", "wal_level", "wal_sync_method", "wal_compression", "wal_buffers",
	"wal_writer_delay", "commit_delay", "max_wal_size", "min_wal_size", "checkpoint_timeout", "checkpoint_completion_target",
	"synchronous_standby_names", "autovacuum", "autovacuum_naptime", "default_transaction_isolation", "jit",
	"random_page_cost", "effective_io_concurrency", "data_checksums", "block_size", "server_encoding",
	"track_io_timing", "plan_cache_mode",
}

// Settings asks the server: a value with the unit that pg_settings has for it.
func (d *db) Settings() map[string]string {
	told := d.Tell("SELECT name, current_setting(name) FROM pg_settings WHERE name IN (%s)", settings)
	if len(d.replicas) > 0 {
		told["driver.replicas"], told["driver.read_from"] = strconv.Itoa(len(d.replicas)), fromPrimary
		if d.reads {
			told["driver.read_from"] = fromReplica
		}
	}
	return told
}

// statistics are of the database, of Assay's tables in it, and of the whole server's log. The
// server's own workers, of a vacuum or a parallel query, are no connections. A busy
// server gets them once a second.
const statistics = `
SELECT 'connections', count(*)::float8 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
UNION ALL SELECT v.name, v.value FROM pg_stat_database s, LATERAL (VALUES
	('block_cache_hits', s.blks_hit::float8), ('block_cache_misses', s.blks_read::float8), ('commits', s.xact_commit::float8),
	('rollbacks', s.xact_rollback::float8), ('deadlocks', s.deadlocks::float8), ('temporary_files_bytes', s.temp_bytes::float8)) v(name, value)
	WHERE s.datname = current_database()
UNION ALL SELECT v.name, v.value FROM (SELECT coalesce(sum(n_live_tup), 0) live, coalesce(sum(n_dead_tup), 0) dead,
	coalesce(sum(pg_relation_size(relid)), 0) heap, coalesce(sum(pg_indexes_size(relid)), 0) indexes,
	coalesce(sum(pg_total_relation_size(relid)), 0) total, coalesce(sum(autovacuum_count), 0) vacuums
	FROM pg_stat_user_tables WHERE schemaname = $schema) s, LATERAL (VALUES
	('records', s.live::float8), ('dead_records', s.dead::float8), ('table_bytes', s.heap::float8), ('indexes_bytes', s.indexes::float8),
	('file_bytes', s.total::float8), ('autovacuums', s.vacuums::float8)) v(name, value)
UNION ALL SELECT v.name, v.value FROM pg_stat_wal s, LATERAL (VALUES
	('wal_written_bytes', s.wal_bytes::float8), ('wal_records', s.wal_records::float8), ('wal_full_pages', s.wal_fpi::float8),
	('wal_syncs', s.wal_sync::float8), ('wal_buffers_full', s.wal_buffers_full::float8)) v(name, value)
UNION ALL SELECT 'vacuums_running', count(*)::float8 FROM pg_stat_progress_vacuum WHERE datname = current_database()`

// behind is how much of the log the standby that is furthest behind has not replayed yet.
const behind = `
UNION ALL SELECT 'replica_behind_bytes', coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::float8 FROM pg_stat_replication`

// Inspect returns the server's own counts, and the driver's of its connections. Busy is a vacuum of a
// table in the database.
func (d *db) Inspect() store.Inspection {
	asked := statistics
	if len(d.replicas) > 0 {
		asked += behind
	}
	rows, err := d.rows(strings.ReplaceAll(asked, "$schema", literal(d.Place)))
	stats := map[string]float64{"reconnects": float64(d.Reconnects.Load())}
	if err != nil {
		return store.Inspection{Stats: stats}
	}
	for _, row := range rows {
		if number, err := strconv.ParseFloat(row[1], 64); err == nil {
			stats[row[0]] = number
		}
	}
	return store.Inspection{Stats: stats, Busy: stats["vacuums_running"] > 0}
}
