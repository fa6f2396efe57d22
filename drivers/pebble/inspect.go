package pebble

import (
	"fmt"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"assay/store"
)

// Inspect says busy while a flush or a compaction is under way.
func (d *db) Inspect() store.Inspection {
	m := d.engine.Metrics()
	stats := map[string]float64{
		"stalls":                       float64(d.stalls.count.Load()),
		"stall_ns":                     float64(d.stalls.nanoseconds()),
		"block_cache_bytes":            float64(m.BlockCache.Size),
		"block_cache_hits":             float64(m.BlockCache.Hits),
		"block_cache_misses":           float64(m.BlockCache.Misses),
		"filter_hits":                  float64(m.Filter.Hits),
		"filter_misses":                float64(m.Filter.Misses),
		"flushes":                      float64(m.Flush.Count),
		"flushes_under_way":            float64(m.Flush.NumInProgress),
		"compactions":                  float64(m.Compact.Count),
		"compactions_under_way":        float64(m.Compact.NumInProgress),
		"compaction_debt_bytes":        float64(m.Compact.EstimatedDebt),
		"compaction_ns":                float64(m.Compact.Duration),
		"memtables":                    float64(m.MemTable.Count),
		"memtables_bytes":              float64(m.MemTable.Size),
		"tombstones":                   float64(m.Keys.TombstoneCount),
		"wal_files":                    float64(m.WAL.Files),
		"wal_bytes":                    float64(m.WAL.PhysicalSize),
		"wal_logical_written_bytes":    float64(m.WAL.BytesIn),
		"wal_written_bytes":            float64(m.WAL.BytesWritten),
		"obsolete_tables_bytes":        float64(m.Table.ObsoleteSize),
		"zombie_tables_bytes":          float64(m.Table.ZombieSize),
		"disk_bytes":                   float64(m.DiskSpaceUsage()),
		"read_amplification_sublevels": float64(m.ReadAmp()),
	}
	for number := range m.Levels {
		l := &m.Levels[number]
		prefix := fmt.Sprintf("level%d_", number)
		stats[prefix+"tables"] = float64(l.TablesCount)
		stats[prefix+"bytes"] = float64(l.TablesSize)
		stats[prefix+"compaction_read_bytes"] = float64(l.TableBytesRead)
		stats[prefix+"compaction_written_bytes"] = float64(l.TableBytesCompacted)
		stats[prefix+"flush_written_bytes"] = float64(l.TableBytesFlushed)
	}
	return store.Inspection{Stats: stats, Busy: m.Flush.NumInProgress > 0 || m.Compact.NumInProgress > 0}
}

// stalls counts the times that writes had to wait, of which pebble tells in events only.
type stalls struct {
	count   atomic.Int64
	ended   atomic.Int64 // ns, in stalls that are over
	started atomic.Int64 // Unix time in ns of the stall under way; 0: none
}

func (s *stalls) listener() *pebble.EventListener {
	return &pebble.EventListener{
		WriteStallBegin: func(pebble.WriteStallBeginInfo) {
			s.count.Add(1)
			s.started.Store(time.Now().UnixNano())
		},
		WriteStallEnd: func() {
			if started := s.started.Swap(0); started != 0 {
				s.ended.Add(time.Now().UnixNano() - started)
			}
		},
	}
}

func (s *stalls) nanoseconds() int64 {
	total := s.ended.Load()
	if started := s.started.Load(); started != 0 {
		total += time.Now().UnixNano() - started
	}
	return total
}

// quietLogger lets errors through to standard error, and nothing else: standard output is the
// worker's control channel.
type quietLogger struct{}

var stderr = log.New(os.Stderr, "pebble: ", log.LstdFlags)

func (quietLogger) Infof(string, ...any)              {}
func (quietLogger) Errorf(format string, args ...any) { stderr.Printf(format, args...) }
func (quietLogger) Fatalf(format string, args ...any) { stderr.Panicf(format, args...) }
