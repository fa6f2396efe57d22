package badger

import (
	"expvar"
	"fmt"

	"github.com/dgraph-io/ristretto/v2"

	"assay/store"
)

// counters are the library's own (y/metrics.go). They are of all databases that the process has opened, and do not
// move with metrics_enabled=false.
var counters = map[string]string{
	"badger_read_num_vlog":              "value_log_reads",
	"badger_read_bytes_vlog":            "value_log_read_bytes",
	"badger_write_num_vlog":             "value_log_writes",
	"badger_write_bytes_vlog":           "value_log_written_bytes",
	"badger_read_bytes_lsm":             "tree_read_bytes",
	"badger_write_bytes_l0":             "level0_written_bytes",
	"badger_get_num_memtable":           "memtable_gets",
	"badger_get_num_user":               "gets",
	"badger_get_with_result_num_user":   "gets_with_result",
	"badger_put_num_user":               "puts",
	"badger_write_bytes_user":           "user_written_bytes",
	"badger_iterator_num_user":          "iterators",
	"badger_compaction_current_num_lsm": "compactions_under_way_tables",
}

// Inspect says busy while tables are being compacted, or level 0 holds enough to start a compaction. With
// metrics_enabled=false only the second is known.
func (d *db) Inspect() store.Inspection {
	stats := make(map[string]float64)
	o := d.engine.Opts()
	if o.MetricsEnabled {
		for name, ours := range counters {
			if n, ok := expvar.Get(name).(*expvar.Int); ok {
				stats[ours] = float64(n.Value())
			}
		}
		if m, ok := expvar.Get("badger_write_bytes_compaction").(*expvar.Map); ok {
			var sum int64
			m.Do(func(kv expvar.KeyValue) {
				if n, ok := kv.Value.(*expvar.Int); ok {
					sum += n.Value()
				}
			})
			stats["compaction_written_bytes"] = float64(sum)
		}
	}
	busy := stats["compactions_under_way_tables"] > 0
	for _, l := range d.engine.Levels() {
		if l.NumTables == 0 {
			continue
		}
		prefix := fmt.Sprintf("level%d_", l.Level)
		stats[prefix+"tables"] = float64(l.NumTables)
		stats[prefix+"bytes"] = float64(l.Size)
		stats[prefix+"stale_bytes"] = float64(l.StaleDatSize)
		busy = busy || l.Level == 0 && l.NumTables >= o.NumLevelZeroTables && o.NumCompactors > 0
	}
	cache(stats, "block_cache_", d.engine.BlockCacheMetrics())
	cache(stats, "index_cache_", d.engine.IndexCacheMetrics())
	return store.Inspection{Stats: stats, Busy: busy}
}

func cache(stats map[string]float64, prefix string, m *ristretto.Metrics) {
	if m == nil {
		return
	}
	stats[prefix+"hits"] = float64(m.Hits())
	stats[prefix+"misses"] = float64(m.Misses())
	stats[prefix+"bytes"] = float64(m.CostAdded() - m.CostEvicted())
}
