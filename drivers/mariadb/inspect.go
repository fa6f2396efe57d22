package mariadb

import (
	"strconv"

	"assay/store"
)

// settings are those that decide what a figure means.
var settings = []string{
	"innodb_buffer_pool_size", "innodb_log_file_size", "innodb_log_buffer_size", "innodb_flush_log_at_trx_commit",
	"innodb_flush_log_at_timeout", "innodb_flush_method", "innodb_doublewrite", "innodb_io_capacity", "innodb_page_size",
	"innodb_adaptive_hash_index", "innodb_file_per_table", "innodb_autoinc_lock_mode", "innodb_lock_wait_timeout",
	"innodb_purge_threads", "innodb_read_io_threads", "innodb_write_io_threads", "log_bin", "sync_binlog", "sql_mode",
	"max_connections", "max_allowed_packet", "thread_handling", "thread_cache_size", "query_cache_type", "tx_isolation",
	"autocommit", "character_set_server", "performance_schema",
}

// Settings asks the server.
func (d *db) Settings() map[string]string {
	return d.Tell("SHOW GLOBAL VARIABLES WHERE Variable_name IN (%s)", settings)
}

// counters are names of the server's status, and what they are called here where other stores have
// them too.
var counters = map[string]string{
	"Threads_connected": "connections", "Threads_running": "threads_running", "Com_commit": "commits", "Com_rollback": "rollbacks",
	"Innodb_buffer_pool_read_requests": "block_cache_hits", "Innodb_buffer_pool_reads": "block_cache_misses",
	"Innodb_buffer_pool_bytes_data": "buffer_pool_data_bytes", "Innodb_buffer_pool_bytes_dirty": "buffer_pool_dirty_bytes",
	"Innodb_buffer_pool_wait_free": "stalls", "Innodb_os_log_written": "wal_written_bytes", "Innodb_checkpoint_age": "checkpoint_age_bytes",
	"Innodb_log_waits": "log_waits", "Innodb_row_lock_waits": "row_lock_waits", "Innodb_deadlocks": "deadlocks",
	"Innodb_data_fsyncs": "syncs", "Innodb_data_read": "data_read_bytes", "Innodb_data_written": "data_written_bytes",
	"Innodb_history_list_length": "unpurged_transactions", "Innodb_pages_created": "pages_created",
}

// Inspect returns the server's own counts, and the driver's of its connections. The server tells of no
// background work that ends by itself.
func (d *db) Inspect() store.Inspection {
	stats := map[string]float64{"reconnects": float64(d.Reconnects.Load())}
	if d.reconnect() != nil {
		return store.Inspection{Stats: stats}
	}
	rows, err := d.rows("SHOW GLOBAL STATUS")
	if err != nil {
		return store.Inspection{Stats: stats}
	}
	for _, row := range rows {
		if name, wanted := counters[row[0]]; wanted {
			if number, err := strconv.ParseFloat(row[1], 64); err == nil {
				stats[name] = number
			}
		}
	}
	// Requests count every look at a page, of which those that were not there are a part.
	stats["block_cache_hits"] -= stats["block_cache_misses"]
	rows, err = d.rows("SELECT COALESCE(SUM(TABLE_ROWS), 0), COALESCE(SUM(DATA_LENGTH), 0), COALESCE(SUM(INDEX_LENGTH), 0) "+
		"FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", d.Place)
	if err == nil && len(rows) == 1 {
		for i, name := range []string{"records", "table_bytes", "indexes_bytes"} {
			if number, err := strconv.ParseFloat(rows[0][i], 64); err == nil {
				stats[name] = number
			}
		}
		stats["file_bytes"] = stats["table_bytes"] + stats["indexes_bytes"]
	}
	return store.Inspection{Stats: stats}
}
