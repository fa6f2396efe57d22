package badger

import (
	"expvar"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"assay/store"
)

// counters are the library's own (y/metrics.go). They are of all databases that the process has
// opened, and do not move with metrics_enabled=false.
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

// Inspect says busy while tables are being compacted, or level 0 holds enough to start a
// compaction. With metrics_enabled=false only the second is known.
func (d *db) Inspect() store.Inspection {
	stats := map[string]float64{
		"flushes":           float64(d.events.flushes.Load()),
		"compactions":       float64(d.events.compactions.Load()),
		"stalls_over_1s":    float64(d.events.stalls.Load()),
		"stalls_over_1s_ns": float64(d.events.stallNS.Load()),
	}
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
	// empty ones too: a phase reports only the counters that were there before it
	for _, l := range d.engine.Levels() {
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

// events counts what badger tells in its log only, by the formats of its messages: a line that is
// not there any more would be a count that never moves, for which the tests look.
type events struct {
	flushes     atomic.Int64 // memtables that were full and given to be written out
	compactions atomic.Int64
	// Flushes that waited for level 0, which had l0_stall_tables. Of shorter waits the library
	// tells nothing, though it adds them up (levels.go, addLevel0Table); of waiting writes
	// themselves it reports nothing at all.
	stalls  atomic.Int64
	stallNS atomic.Int64 // in stalls that are over
}

const (
	flushMessage      = "Flushing memtable, mt.size=%d size of flushChan: %d\n" // db.go, ensureRoomForWrite
	compactionMessage = "[Compactor: %d] Compaction for level: %d DONE"         // levels.go, doCompact
	stallMessage      = "L0 was stalled for %s\n"                               // levels.go, addLevel0Table: more than a second
)

func (e *events) Debugf(format string, _ ...any) {
	switch format {
	case flushMessage:
		e.flushes.Add(1)
	case compactionMessage:
		e.compactions.Add(1)
	}
}

func (e *events) Infof(format string, arguments ...any) {
	if format != stallMessage || len(arguments) != 1 {
		return
	}
	if lasted, ok := arguments[0].(time.Duration); ok {
		e.stalls.Add(1)
		e.stallNS.Add(int64(lasted))
	}
}

// cache tells hits and misses, which badger counts whatever metrics_enabled says.
func cache(stats map[string]float64, prefix string, m *ristretto.Metrics) {
	if m == nil {
		return
	}
	stats[prefix+"hits"] = float64(m.Hits())
	stats[prefix+"misses"] = float64(m.Misses())
	stats[prefix+"bytes"] = float64(m.CostAdded() - m.CostEvicted())
}
