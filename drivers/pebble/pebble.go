// Package pebble drives github.com/cockroachdb/pebble: CockroachDB's log-structured merge tree.
package pebble

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"

	"assay/internal/base/bounded"
	"assay/store"
)

// Driver opens pebble directories.
type Driver struct{}

// recordBytesMax keeps a record well below the 4 GiB where the library panics (batch.go,
// ErrBatchTooLarge).
const recordBytesMax = 1 << 31

// compressions are the profiles of sstable/options.go, by the names that the library gives them.
var compressions = map[string]*sstable.CompressionProfile{
	sstable.NoCompression.Name:       sstable.NoCompression,
	sstable.SnappyCompression.Name:   sstable.SnappyCompression,
	sstable.ZstdCompression.Name:     sstable.ZstdCompression,
	sstable.MinLZCompression.Name:    sstable.MinLZCompression,
	sstable.FastestCompression.Name:  sstable.FastestCompression,
	sstable.FastCompression.Name:     sstable.FastCompression,
	sstable.BalancedCompression.Name: sstable.BalancedCompression,
	sstable.GoodCompression.Name:     sstable.GoodCompression,
}

// Describe says what pebble can do.
func (Driver) Describe() store.Description {
	// The library's own code fills in its defaults, so that these are never out of date.
	var o pebble.Options
	o.EnsureDefaults()
	whole := func(n int) string { return strconv.Itoa(n) }
	return store.Description{
		Name:    "pebble",
		Summary: "CockroachDB's log-structured merge tree",
		Library: "github.com/cockroachdb/pebble/v2",
		Licence: "BSD-3-Clause",
		Kind:    store.Embedded,
		// record/log_writer.go: a commit copies its record into a block in memory, which the
		// goroutine of flushLoop writes out later; only a commit with Sync waits for it. So a
		// killed process loses acknowledged writes, and there is no class D1.
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "WriteOptions = pebble.NoSync: a commit is acknowledged while its log record is in the process's memory"},
			{Class: store.D3, How: "WriteOptions = pebble.Sync, the default: the log is synced before a commit returns; concurrent commits share syncs"},
		},
		Options: []store.Option{
			{Name: "cache_bytes", Type: store.Bytes, Default: strconv.FormatInt(o.CacheSize, 10), Help: "Options.CacheSize: block cache",
				Tune: "log 1MiB 1GiB"},
			{Name: "memtable_bytes", Type: store.Bytes, Default: strconv.FormatUint(o.MemTableSize, 10), Help: "Options.MemTableSize",
				Tune: "log 1MiB 256MiB"},
			{Name: "memtable_stop_writes_count", Type: store.Int, Default: whole(o.MemTableStopWritesThreshold), Help: "Options.MemTableStopWritesThreshold: writes wait when so many memtables are there"},
			{Name: "l0_compaction_sublevels", Type: store.Int, Default: whole(o.L0CompactionThreshold), Help: "Options.L0CompactionThreshold",
				Tune: "list 2 4 8"},
			{Name: "l0_stop_writes_sublevels", Type: store.Int, Default: whole(o.L0StopWritesThreshold), Help: "Options.L0StopWritesThreshold"},
			{Name: "lbase_bytes", Type: store.Bytes, Default: strconv.FormatInt(o.LBaseMaxBytes, 10), Help: "Options.LBaseMaxBytes: size of the first level below L0",
				Tune: "log 16MiB 1GiB"},
			{Name: "l0_table_bytes", Type: store.Bytes, Default: strconv.FormatInt(o.TargetFileSizes[0], 10), Help: "Options.TargetFileSizes[0]: each lower level doubles it"},
			{Name: "compactions_max", Type: store.Int, Default: whole(compactionsMax(&o)), Help: "upper bound of Options.CompactionConcurrencyRange",
				Tune: "linear 1 4"},
			{Name: "block_bytes", Type: store.Bytes, Default: whole(o.Levels[0].BlockSize), Help: "LevelOptions.BlockSize of all levels, before compression",
				Tune: "log 1KiB 64KiB"},
			{Name: "compression", Type: store.Choice, Default: o.Levels[0].Compression().Name, Choices: names(), Help: "LevelOptions.Compression of all levels",
				Tune: "list NoCompression Snappy ZSTD"},
			{Name: "bloom_bits_per_key", Type: store.Int, Default: "0", Help: "LevelOptions.FilterPolicy = bloom.FilterPolicy(n) of all levels; 0, the default: no filter",
				Tune: "list 0 10"},
			{Name: "open_files_max", Type: store.Int, Default: whole(o.MaxOpenFiles), Help: "Options.MaxOpenFiles"},
			{Name: "bytes_per_sync", Type: store.Bytes, Default: whole(o.BytesPerSync), Help: "Options.BytesPerSync: tables are synced piecewise while they are written"},
			{Name: "wal_bytes_per_sync", Type: store.Bytes, Default: whole(o.WALBytesPerSync), Help: "Options.WALBytesPerSync: 0, the default, leaves it to commits"},
			{Name: "disable_wal", Type: store.Bool, Default: strconv.FormatBool(o.DisableWAL), Help: "Options.DisableWAL: no log at all; class D0 only"},
			{Name: "format", Type: store.Choice, Default: "default", Choices: []string{"default", "newest"}, Help: "Options.FormatMajorVersion: the library's default is the oldest that it still writes; newest has columnar blocks"},
		},
		HandlesShareable: true,
		FixedDiskBytes:   4_632_576, // the log, laid out in advance, but for some kB
		ValueBytesMax:    recordBytesMax - 1<<20,
		KeyBytesMax:      1<<20 - 1,
		BatchAtomic:      true,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note: "at the default format version new files are written in an old format: see option format. " +
			"Assay is built without cgo, where pebble's block cache is on Go's heap: with cgo, which Go programs have by default, reads that miss it are faster (docs/harness-cost.md)",
	}
}

func compactionsMax(o *pebble.Options) int {
	_, upper := o.CompactionConcurrencyRange()
	return upper
}

func names() []string {
	// The order of the library's own list, not of the map.
	return []string{
		sstable.NoCompression.Name, sstable.SnappyCompression.Name, sstable.ZstdCompression.Name,
		sstable.MinLZCompression.Name,
		sstable.FastestCompression.Name, sstable.FastCompression.Name, sstable.BalancedCompression.Name,
		sstable.GoodCompression.Name,
	}
}

// Open opens or creates the database.
func (Driver) Open(_ context.Context, c store.Config) (store.Store, error) {
	write := pebble.NoSync
	switch c.Durability {
	case store.D0:
	case store.D3:
		write = pebble.Sync
	case store.D1:
		return nil, fmt.Errorf("pebble can't reach D1: without a sync its log is buffered in the process: %w", store.ErrRefused)
	default:
		return nil, fmt.Errorf("pebble can't reach %s: a commit waits for its sync (D3) or for nothing (D0): %w", c.Durability, store.ErrRefused)
	}
	options, err := engineOptions(c.Options)
	if err != nil {
		return nil, err
	}
	if options.DisableWAL && c.Durability != store.D0 {
		return nil, fmt.Errorf("pebble can't reach %s without a log (disable_wal): %w", c.Durability, store.ErrRefused)
	}
	stalls := new(stalls)
	options.EventListener = stalls.listener()
	engine, err := pebble.Open(c.Directory, options)
	if err != nil {
		return nil, fmt.Errorf("open pebble: %w", err)
	}
	return &db{engine: engine, write: write, directory: c.Directory, stalls: stalls, walOff: options.DisableWAL}, nil
}

func engineOptions(given store.Options) (*pebble.Options, error) {
	for _, name := range []string{
		"memtable_bytes", "memtable_stop_writes_count", "l0_compaction_sublevels", "l0_stop_writes_sublevels", "lbase_bytes",
		"l0_table_bytes", "compactions_max", "block_bytes", "open_files_max", "cache_bytes",
	} {
		if n, err := store.ParseBytes(given.String(name)); err != nil || n <= 0 {
			return nil, fmt.Errorf("pebble: %s is %s, expected more than 0: %w", name, given.String(name), store.ErrRefused)
		}
	}
	compactions := given.Int("compactions_max")
	o := &pebble.Options{
		CacheSize:                   given.Bytes("cache_bytes"),
		MemTableSize:                uint64(given.Bytes("memtable_bytes")),
		MemTableStopWritesThreshold: given.Int("memtable_stop_writes_count"),
		L0CompactionThreshold:       given.Int("l0_compaction_sublevels"),
		L0StopWritesThreshold:       given.Int("l0_stop_writes_sublevels"),
		LBaseMaxBytes:               given.Bytes("lbase_bytes"),
		MaxOpenFiles:                given.Int("open_files_max"),
		BytesPerSync:                int(given.Bytes("bytes_per_sync")),
		WALBytesPerSync:             int(given.Bytes("wal_bytes_per_sync")),
		DisableWAL:                  given.Bool("disable_wal"),
		CompactionConcurrencyRange:  func() (int, int) { return 1, compactions },
		Logger:                      quietLogger{},
	}
	o.TargetFileSizes[0] = given.Bytes("l0_table_bytes")
	if given.Choice("format") == "newest" {
		o.FormatMajorVersion = pebble.FormatNewest
	}
	profile := compressions[given.Choice("compression")]
	// Lower levels take what L0 has: LevelOptions.EnsureL1PlusDefaults.
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return profile }
	o.Levels[0].BlockSize = int(given.Bytes("block_bytes"))
	if bits := given.Int("bloom_bits_per_key"); bits > 0 {
		o.Levels[0].FilterPolicy = bloom.FilterPolicy(bits)
	}
	return o, nil
}

type db struct {
	engine    *pebble.DB
	write     *pebble.WriteOptions
	directory string
	stalls    *stalls
	walOff    bool
}

func (d *db) Handle() (store.Handle, error) { return &handle{d}, nil }
func (d *db) Close() error                  { return d.engine.Close() }

// Sync writes an empty record to the log and waits until it and all before it are synced: a log
// that is full is synced when it is closed. Without a log the memtable is flushed to a table.
func (d *db) Sync() error {
	if d.walOff {
		return d.engine.Flush()
	}
	return d.engine.LogData(nil, pebble.Sync)
}

// Settings reads the newest OPTIONS file, in which pebble itself writes down what it was opened
// with.
func (d *db) Settings() map[string]string {
	settings := map[string]string{"write_options.sync": strconv.FormatBool(d.write.Sync)}
	files, err := filepath.Glob(filepath.Join(d.directory, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		return settings
	}
	text, err := bounded.ReadFile(files[len(files)-1], 1<<20) // the numbers have leading zeros: the last is the newest
	if err != nil {
		return settings
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "[Level "); ok {
			section = "level" + strings.Trim(name, `"]`) + "."
		} else if strings.HasPrefix(line, "[") {
			section = ""
		} else if key, value, ok := strings.Cut(line, "="); ok {
			settings[section+key] = value
		}
	}
	return settings
}

type handle struct{ *db }

func (h *handle) Close() error { return nil }

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	value, closer, err := h.engine.Get(key)
	if err != nil {
		if errors.Is(err, pebble.ErrNotFound) {
			return nil, store.ErrNotFound
		}
		return nil, err
	}
	buf = append(buf[:0], value...)
	return buf, closer.Close()
}

var errTooLarge = fmt.Errorf("pebble: the key is longer than %d bytes or the record longer than %d", 1<<20-1, recordBytesMax)

func fits(key, value []byte) bool { return len(key) < 1<<20 && len(key)+len(value) <= recordBytesMax }

func (h *handle) Put(key, value []byte) error {
	if !fits(key, value) {
		return errTooLarge
	}
	return h.engine.Set(key, value, h.write)
}

func (h *handle) Delete(key []byte) error {
	if !fits(key, nil) {
		return errTooLarge
	}
	return h.engine.Delete(key, h.write)
}

func (h *handle) Apply(writes []store.Write) error {
	batch := h.engine.NewBatch()
	if err := fill(batch, writes); err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := batch.Commit(h.write); err != nil {
		return errors.Join(err, batch.Close())
	}
	return batch.Close()
}

func fill(batch *pebble.Batch, writes []store.Write) error {
	total := 0
	for _, w := range writes {
		total += len(w.Key) + len(w.Value)
		if !fits(w.Key, w.Value) || total > recordBytesMax {
			return errTooLarge
		}
		var err error
		if w.Delete {
			err = batch.Delete(w.Key, nil)
		} else {
			err = batch.Set(w.Key, w.Value, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) Scan(start []byte, _ int, visit func(key, value []byte) bool) error {
	iterator, err := h.engine.NewIter(nil)
	if err != nil {
		return err
	}
	// Builds of pebble that check its invariants (race builds do) panic at a seek to the empty key.
	seek := func() bool { return iterator.SeekGE(start) }
	if len(start) == 0 {
		seek = iterator.First
	}
	for valid := seek(); valid; valid = iterator.Next() {
		value, err := iterator.ValueAndErr()
		if err != nil {
			return errors.Join(err, iterator.Close())
		}
		if !visit(iterator.Key(), value) {
			break
		}
	}
	return errors.Join(iterator.Error(), iterator.Close())
}
