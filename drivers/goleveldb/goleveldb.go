// Package goleveldb drives github.com/syndtr/goleveldb: LevelDB's log-structured merge tree in Go.
package goleveldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	"assay/drivers/internal/fsync"
	"assay/store"
)

// Driver opens LevelDB directories.
type Driver struct{}

// Describe says what goleveldb can do.
func (Driver) Describe() store.Description {
	bytes := func(n int) string { return strconv.Itoa(n) }
	return store.Description{
		Name:    "goleveldb",
		Summary: "LevelDB's log-structured merge tree, written in Go",
		Library: "github.com/syndtr/goleveldb",
		Licence: "BSD-2-Clause",
		Kind:    store.Embedded,
		// leveldb/db_write.go, writeJournal: each write is flushed to the journal's file
		// (journal.Writer.Flush ends in write(2)), and the file is synced if WriteOptions.Sync is
		// set. Tables and the manifest are always synced.
		Durability: []store.DurabilityClaim{
			{Class: store.D1, How: "WriteOptions.Sync = false, the default: each write goes to the journal by write(2)"},
			{Class: store.D3, How: "WriteOptions.Sync = true: the journal is synced before a write returns; concurrent writes may share a sync"},
		},
		Options: []store.Option{
			{Name: "block_cache_bytes", Type: store.Bytes, Default: bytes(opt.DefaultBlockCacheCapacity), Help: "Options.BlockCacheCapacity; 0 turns the cache off",
				Tune: "log 1MiB 1GiB"},
			{Name: "write_buffer_bytes", Type: store.Bytes, Default: bytes(opt.DefaultWriteBuffer), Help: "Options.WriteBuffer: size of a memtable; there may be two",
				Tune: "log 1MiB 256MiB"},
			{Name: "block_bytes", Type: store.Bytes, Default: bytes(opt.DefaultBlockSize), Help: "Options.BlockSize, before compression",
				Tune: "log 1KiB 64KiB"},
			{Name: "block_restart_interval_keys", Type: store.Int, Default: bytes(opt.DefaultBlockRestartInterval), Help: "Options.BlockRestartInterval"},
			{Name: "compression", Type: store.Choice, Default: opt.DefaultCompressionType.String(), Choices: []string{"none", "snappy"}, Help: "Options.Compression",
				Tune: "list none snappy"},
			{Name: "bloom_bits_per_key", Type: store.Int, Default: "0", Help: "Options.Filter = filter.NewBloomFilter(n); 0, the default: no filter",
				Tune: "list 0 10"},
			{Name: "table_bytes", Type: store.Bytes, Default: bytes(opt.DefaultCompactionTableSize), Help: "Options.CompactionTableSize",
				Tune: "log 1MiB 64MiB"},
			{Name: "level1_bytes", Type: store.Bytes, Default: bytes(opt.DefaultCompactionTotalSize), Help: "Options.CompactionTotalSize: level n may have ten to the n times as much"},
			{Name: "l0_compaction_tables", Type: store.Int, Default: bytes(opt.DefaultCompactionL0Trigger), Help: "Options.CompactionL0Trigger",
				Tune: "list 2 4 8"},
			{Name: "l0_slowdown_tables", Type: store.Int, Default: bytes(opt.DefaultWriteL0SlowdownTrigger), Help: "Options.WriteL0SlowdownTrigger: each write sleeps 1 ms from here on"},
			{Name: "l0_pause_tables", Type: store.Int, Default: bytes(opt.DefaultWriteL0PauseTrigger), Help: "Options.WriteL0PauseTrigger: writes wait for the compaction"},
			{Name: "open_files_cache_tables", Type: store.Int, Default: bytes(opt.DefaultOpenFilesCacheCapacity), Help: "Options.OpenFilesCacheCapacity"},
			{Name: "no_write_merge", Type: store.Bool, Default: "false", Help: "Options.NoWriteMerge: do not join concurrent writes into one journal record"},
		},
		HandlesShareable: true,
		FixedDiskBytes:   16 << 10,
		BatchAtomic:      true,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note:             "a batch larger than write_buffer_bytes is written to tables at once, past the journal, and is then synced in class D1 too; a new journal's name is synced only with the next manifest",
	}
}

// Open opens or creates the database.
func (Driver) Open(_ context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D1 && c.Durability != store.D3 {
		return nil, fmt.Errorf("goleveldb can't reach %s: each write goes to the page cache (D1) or is synced (D3), and there is nothing else: %w", c.Durability, store.ErrRefused)
	}
	options := &opt.Options{
		BlockCacheCapacity:     int(c.Options.Bytes("block_cache_bytes")),
		WriteBuffer:            int(c.Options.Bytes("write_buffer_bytes")),
		BlockSize:              int(c.Options.Bytes("block_bytes")),
		BlockRestartInterval:   c.Options.Int("block_restart_interval_keys"),
		Compression:            opt.SnappyCompression,
		CompactionTableSize:    int(c.Options.Bytes("table_bytes")),
		CompactionTotalSize:    int(c.Options.Bytes("level1_bytes")),
		CompactionL0Trigger:    c.Options.Int("l0_compaction_tables"),
		WriteL0SlowdownTrigger: c.Options.Int("l0_slowdown_tables"),
		WriteL0PauseTrigger:    c.Options.Int("l0_pause_tables"),
		OpenFilesCacheCapacity: c.Options.Int("open_files_cache_tables"),
		NoWriteMerge:           c.Options.Bool("no_write_merge"),
	}
	if options.BlockCacheCapacity == 0 {
		options.BlockCacheCapacity = -1 // to the library 0 is the default, and -1 is none
	}
	if c.Options.Choice("compression") == "none" {
		options.Compression = opt.NoCompression
	}
	if bits := c.Options.Int("bloom_bits_per_key"); bits > 0 {
		options.Filter = filter.NewBloomFilter(bits)
	}
	for name, value := range map[string]int{
		"write_buffer_bytes": options.WriteBuffer, "block_bytes": options.BlockSize, "table_bytes": options.CompactionTableSize,
		"level1_bytes": options.CompactionTotalSize, "l0_compaction_tables": options.CompactionL0Trigger,
		"l0_slowdown_tables": options.WriteL0SlowdownTrigger, "l0_pause_tables": options.WriteL0PauseTrigger,
		"block_restart_interval_keys": options.BlockRestartInterval, "open_files_cache_tables": options.OpenFilesCacheCapacity,
	} {
		if value <= 0 {
			return nil, fmt.Errorf("goleveldb: %s is %d, expected more than 0: %w", name, value, store.ErrRefused)
		}
	}
	engine, err := leveldb.OpenFile(c.Directory, options)
	if err != nil {
		return nil, fmt.Errorf("open goleveldb: %w", err)
	}
	return &db{
		engine: engine, options: options, directory: c.Directory,
		write: &opt.WriteOptions{Sync: c.Durability == store.D3},
	}, nil
}

type db struct {
	engine    *leveldb.DB
	options   *opt.Options
	write     *opt.WriteOptions
	directory string
}

func (d *db) Handle() (store.Handle, error) { return &handle{db: d}, nil }
func (d *db) Close() error                  { return d.engine.Close() }

// Sync syncs the files: the library has no call for it, and a write with Sync set syncs the newest
// journal only, while an older one may still wait for its memtable to be flushed.
func (d *db) Sync() error { return fsync.Files(d.directory) }

func (d *db) Settings() map[string]string {
	o := d.options
	filterName := "none"
	if f := o.GetFilter(); f != nil {
		filterName = f.Name()
	}
	return map[string]string{
		"BlockCacheCapacity":     strconv.Itoa(o.GetBlockCacheCapacity()),
		"WriteBuffer":            strconv.Itoa(o.GetWriteBuffer()),
		"BlockSize":              strconv.Itoa(o.GetBlockSize()),
		"BlockRestartInterval":   strconv.Itoa(o.GetBlockRestartInterval()),
		"Compression":            o.GetCompression().String(),
		"Filter":                 filterName,
		"CompactionTableSize":    strconv.Itoa(o.GetCompactionTableSize(0)),
		"CompactionTotalSize":    strconv.FormatInt(o.GetCompactionTotalSize(0), 10),
		"CompactionL0Trigger":    strconv.Itoa(o.GetCompactionL0Trigger()),
		"WriteL0SlowdownTrigger": strconv.Itoa(o.GetWriteL0SlowdownTrigger()),
		"WriteL0PauseTrigger":    strconv.Itoa(o.GetWriteL0PauseTrigger()),
		"OpenFilesCacheCapacity": strconv.Itoa(o.GetOpenFilesCacheCapacity()),
		"NoWriteMerge":           strconv.FormatBool(o.GetNoWriteMerge()),
		"NoSync":                 strconv.FormatBool(o.GetNoSync()),
		"WriteOptions.Sync":      strconv.FormatBool(d.write.GetSync()),
	}
}

// Inspect says busy when a level is over the limit that goleveldb itself compacts at, or writes are
// paused. The library does not report a flush that is under way.
func (d *db) Inspect() store.Inspection {
	var s leveldb.DBStats
	if err := d.engine.Stats(&s); err != nil {
		return store.Inspection{}
	}
	stats := map[string]float64{
		"stalls":            float64(s.WriteDelayCount),
		"stall_ns":          float64(s.WriteDelayDuration),
		"read_bytes":        float64(s.IORead),
		"written_bytes":     float64(s.IOWrite),
		"block_cache_bytes": float64(s.BlockCacheSize),
		"open_tables":       float64(s.OpenedTablesCount),
		"open_iterators":    float64(s.AliveIterators),
	}
	busy := s.WritePaused
	text, err := d.engine.GetProperty("leveldb.stats")
	if err != nil {
		return store.Inspection{Stats: stats, Busy: busy}
	}
	for _, l := range withEmptyLevels(parseLevels(text)) {
		prefix := fmt.Sprintf("level%d_", l.number)
		stats[prefix+"tables"] = float64(l.tables)
		stats[prefix+"bytes"] = l.bytes
		stats[prefix+"compaction_ns"] = l.seconds * 1e9
		stats[prefix+"compaction_read_bytes"] = l.readBytes
		stats[prefix+"compaction_written_bytes"] = l.writtenBytes
		if l.number == 0 {
			busy = busy || l.tables >= d.options.GetCompactionL0Trigger()
		} else {
			busy = busy || l.bytes > float64(d.options.GetCompactionTotalSize(l.number))
		}
	}
	return store.Inspection{Stats: stats, Busy: busy}
}

// levelsReported is how many levels Inspect has from the start, empty ones as well: while a phase runs
// a worker reports only the counters that were there before it.
const levelsReported = 7

func withEmptyLevels(levels []level) []level {
	for number := range levelsReported {
		if !slices.ContainsFunc(levels, func(l level) bool { return l.number == number }) {
			levels = append(levels, level{number: number})
		}
	}
	return levels
}

type level struct {
	number, tables                   int
	bytes                            float64
	seconds, readBytes, writtenBytes float64
}

// parseLevels reads the property leveldb.stats. It is read instead of DBStats' slices because those
// leave empty levels out, so that their positions are not the levels' numbers.
func parseLevels(text string) []level {
	var levels []level
	for line := range strings.Lines(text) {
		var l level
		n, err := fmt.Sscanf(line, "%d | %d | %g | %g | %g | %g", &l.number, &l.tables, &l.bytes, &l.seconds, &l.readBytes, &l.writtenBytes)
		if err != nil || n != 6 {
			continue // the table's head
		}
		const mebibyte = 1 << 20
		l.bytes, l.readBytes, l.writtenBytes = l.bytes*mebibyte, l.readBytes*mebibyte, l.writtenBytes*mebibyte
		levels = append(levels, l)
	}
	return levels
}

type handle struct {
	*db
}

func (h *handle) Close() error { return nil }

// Get hands out the library's copy: it makes one for each call, so that a second one into buf would
// only add to its cost.
func (h *handle) Get(key, _ []byte) ([]byte, error) {
	value, err := h.engine.Get(key, nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return nil, store.ErrNotFound
	}
	return value, err
}

func (h *handle) Put(key, value []byte) error { return h.engine.Put(key, value, h.write) }
func (h *handle) Delete(key []byte) error     { return h.engine.Delete(key, h.write) }

func (h *handle) Apply(writes []store.Write) error {
	var batch leveldb.Batch
	for _, w := range writes {
		if w.Delete {
			batch.Delete(w.Key)
		} else {
			batch.Put(w.Key, w.Value)
		}
	}
	return h.engine.Write(&batch, h.write)
}

func (h *handle) Scan(start []byte, _ int, visit func(key, value []byte) bool) error {
	iterator := h.engine.NewIterator(&util.Range{Start: start}, nil)
	for iterator.Next() && visit(iterator.Key(), iterator.Value()) {
	}
	iterator.Release()
	return iterator.Error()
}
