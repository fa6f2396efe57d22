// Package badger drives github.com/dgraph-io/badger: a log-structured merge tree that keeps large
// values in a log of their own. One put is one transaction.
package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"assay/drivers/internal/fsync"
	"assay/store"
)

// Driver opens badger directories.
type Driver struct{}

// keyBytesMax is maxKeySize of txn.go, where it is not exported.
const keyBytesMax = 65000

var compressions = map[string]options.CompressionType{"none": options.None, "snappy": options.Snappy, "zstd": options.ZSTD}

// expiry is that of Entry.ExpiresAt, a whole second of the clock: the one in which the time ends.
var expiry = &store.Expiry{UnitNS: int64(time.Second), EarlyNS: int64(time.Second)}

// Describe says what badger can do.
func (Driver) Describe() store.Description {
	o := badger.DefaultOptions("")
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return store.Description{
		Name:    "badger",
		Summary: "log-structured merge tree with a log of its own for large values",
		Library: "github.com/dgraph-io/badger/v4",
		Licence: "Apache-2.0",
		Kind:    store.Embedded,
		// memtable.go, logFile.writeEntry copies into a shared mapping (ristretto z/mmap_linux.go:
		// MAP_SHARED), which the kernel keeps when the process dies. With SyncWrites, db.go
		// writeToLSM calls msync on the memtable's log before it acknowledges, and value.go syncs
		// the value log before that.
		Durability: []store.DurabilityClaim{
			{Class: store.D1, How: "Options.SyncWrites = false, the default: both logs are written through shared mappings of their files"},
			{Class: store.D3, How: "Options.SyncWrites = true: both logs are synced by msync before a commit is acknowledged. A power cut may leave an empty log, with which badger alone does not open: the driver removes it (docs/durability.md)"},
		},
		Options: []store.Option{
			{Name: "block_cache_bytes", Type: store.Bytes, Default: number(o.BlockCacheSize), Help: "Options.BlockCacheSize; 0 needs compression none",
				Tune: "log 16MiB 1GiB"},
			{Name: "index_cache_bytes", Type: store.Bytes, Default: number(o.IndexCacheSize), Help: "Options.IndexCacheSize: 0, the default, keeps all indexes in memory"},
			{Name: "memtable_bytes", Type: store.Bytes, Default: number(o.MemTableSize), Help: "Options.MemTableSize: also bounds a transaction, to 15 % of it",
				Tune: "log 8MiB 256MiB"},
			{Name: "memtables_count", Type: store.Int, Default: strconv.Itoa(o.NumMemtables), Help: "Options.NumMemtables: writes wait when so many are full",
				Tune: "list 2 5 8"},
			{Name: "value_threshold_bytes", Type: store.Bytes, Default: number(o.ValueThreshold), Help: "Options.ValueThreshold: values from here on go to the value log",
				Tune: "log 64 1MiB"},
			{Name: "value_log_file_bytes", Type: store.Bytes, Default: number(o.ValueLogFileSize), Help: "Options.ValueLogFileSize"},
			{Name: "base_table_bytes", Type: store.Bytes, Default: number(o.BaseTableSize), Help: "Options.BaseTableSize",
				Tune: "log 1MiB 32MiB"},
			{Name: "base_level_bytes", Type: store.Bytes, Default: number(o.BaseLevelSize), Help: "Options.BaseLevelSize"},
			{Name: "block_bytes", Type: store.Bytes, Default: strconv.Itoa(o.BlockSize), Help: "Options.BlockSize, before compression",
				Tune: "log 1KiB 64KiB"},
			{Name: "compression", Type: store.Choice, Default: "snappy", Choices: []string{"none", "snappy", "zstd"}, Help: "Options.Compression"},
			{Name: "l0_compaction_tables", Type: store.Int, Default: strconv.Itoa(o.NumLevelZeroTables), Help: "Options.NumLevelZeroTables"},
			{Name: "l0_stall_tables", Type: store.Int, Default: strconv.Itoa(o.NumLevelZeroTablesStall), Help: "Options.NumLevelZeroTablesStall"},
			{Name: "compactors_count", Type: store.Int, Default: strconv.Itoa(o.NumCompactors), Help: "Options.NumCompactors: at least 2, or 0 for none",
				Tune: "linear 2 6"},
			{Name: "detect_conflicts", Type: store.Bool, Default: strconv.FormatBool(o.DetectConflicts), Help: "Options.DetectConflicts: needless for blind writes, but on by default"},
			{Name: "metrics_enabled", Type: store.Bool, Default: strconv.FormatBool(o.MetricsEnabled), Help: "Options.MetricsEnabled: counters shared by all open databases of the process"},
		},
		HandlesShareable: true,
		FixedDiskBytes:   24 << 10,
		KeyBytesMin:      1,
		KeyBytesMax:      keyBytesMax,
		ValueBytesMax:    int(o.ValueLogFileSize),
		BatchAtomic:      true,
		Expiry:           expiry,
		BatchBytesMax:    batchBytesMax(o),
		BatchBytesOption: "memtable_bytes",
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note: "keys that begin with !badger! are refused; a batch is one transaction, at most 15 % of memtable_bytes, and larger ones are refused; " +
			"the value log is never collected: that is the user's call (RunValueLogGC), which this driver does not make; " +
			"at D3 an msync error of the value log is logged by the library, and not returned",
	}
}

// batchBytesMax is what db.go, checkAndSetOptions, makes of the memtable's size: 15 % of it. It bounds
// the count as well, to those bytes over the size of a node in its skip list, which is below
// [store.BatchRecordBytes]. A hundredth is left for the transaction's end.
func batchBytesMax(o badger.Options) int64 { return o.MemTableSize * 15 / 100 * 99 / 100 }

// Open opens or creates the database.
func (Driver) Open(_ context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D1 && c.Durability != store.D3 {
		return nil, fmt.Errorf("badger can't reach %s: its logs are shared mappings of files (D1) or synced (D3), and there is nothing else: %w", c.Durability, store.ErrRefused)
	}
	given := c.Options
	for _, name := range []string{
		"memtable_bytes", "memtables_count", "base_table_bytes", "base_level_bytes", "block_bytes",
		"l0_compaction_tables", "l0_stall_tables",
	} {
		if n, err := store.ParseBytes(given.String(name)); err != nil || n <= 0 {
			return nil, fmt.Errorf("badger: %s is %s, expected more than 0: %w", name, given.String(name), store.ErrRefused)
		}
	}
	o := badger.DefaultOptions(c.Directory)
	o.SyncWrites = c.Durability == store.D3
	events := new(events)
	o.Logger = quietLogger{events}
	o.BlockCacheSize = given.Bytes("block_cache_bytes")
	o.IndexCacheSize = given.Bytes("index_cache_bytes")
	o.MemTableSize = given.Bytes("memtable_bytes")
	o.NumMemtables = given.Int("memtables_count")
	o.ValueThreshold = given.Bytes("value_threshold_bytes")
	o.ValueLogFileSize = given.Bytes("value_log_file_bytes")
	o.BaseTableSize = given.Bytes("base_table_bytes")
	o.BaseLevelSize = given.Bytes("base_level_bytes")
	o.BlockSize = int(given.Bytes("block_bytes"))
	o.Compression = compressions[given.Choice("compression")]
	o.NumLevelZeroTables = given.Int("l0_compaction_tables")
	o.NumLevelZeroTablesStall = given.Int("l0_stall_tables")
	o.NumCompactors = given.Int("compactors_count")
	o.DetectConflicts = given.Bool("detect_conflicts")
	o.MetricsEnabled = given.Bool("metrics_enabled")
	if err := consistent(o); err != nil {
		return nil, err
	}
	if err := removeEmptyLogs(c.Directory); err != nil {
		return nil, err
	}
	engine, err := badger.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open badger: %w", err)
	}
	return &db{engine: engine, directory: c.Directory, valueBytesMax: o.ValueLogFileSize, events: events}, nil
}

// removeEmptyLogs removes logs without a byte. The library syncs the name of a new log, and not its length, so
// that a power cut may leave one (as often on btrfs as where POSIX is followed strictly), and then does not open:
// it takes it for one that it has just made. A sync of what is written to a log makes its length durable too, so that
// nothing that was synced is in an empty one.
func removeEmptyLogs(directory string) error {
	files, err := os.ReadDir(directory)
	if err != nil {
		return fmt.Errorf("look for empty logs of badger: %w", err)
	}
	for _, file := range files {
		if extension := filepath.Ext(file.Name()); extension != ".mem" && extension != ".vlog" {
			continue
		}
		info, err := file.Info()
		if err == nil && info.Size() == 0 {
			err = os.Remove(filepath.Join(directory, file.Name()))
		}
		if err != nil {
			return fmt.Errorf("remove an empty log of badger: %w", err)
		}
	}
	return nil
}

// consistent refuses what db.go, checkAndSetOptions, fails on or panics at.
func consistent(o badger.Options) error {
	const valueThresholdBytesMax = 1 << 20
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("badger: "+format+": %w", append(args, store.ErrRefused)...)
	}
	switch {
	case o.BlockCacheSize == 0 && o.Compression != options.None:
		return refuse("block_cache_bytes is 0, which needs compression none")
	case o.ValueThreshold > min(valueThresholdBytesMax, 15*o.MemTableSize/100):
		return refuse("value_threshold_bytes is %d, more than 1 MiB or 15 %% of memtable_bytes (%d)", o.ValueThreshold, o.MemTableSize)
	case o.NumCompactors < 0 || o.NumCompactors == 1:
		return refuse("compactors_count is %d, expected 0 or at least 2", o.NumCompactors)
	case o.ValueLogFileSize < 1<<20 || o.ValueLogFileSize >= 2<<30:
		return refuse("value_log_file_bytes is %d, expected 1 MiB to less than 2 GiB", o.ValueLogFileSize)
	}
	return nil
}

type db struct {
	engine        *badger.DB
	directory     string
	valueBytesMax int64
	events        *events
}

func (d *db) Handle() (store.Handle, error) { return &handle{d}, nil }
func (d *db) Close() error                  { return d.engine.Close() }

// Sync calls the library's and then syncs the files itself: DB.Sync leaves out the logs of
// memtables that are full and not yet flushed, and value log files that were full before (db.go
// ensureRoomForWrite and memtable.go doneWriting sync neither unless SyncWrites is set).
func (d *db) Sync() error {
	if err := d.engine.Sync(); err != nil {
		return err
	}
	return fsync.Files(d.directory)
}

func (d *db) Settings() map[string]string {
	o := d.engine.Opts()
	compression := "unknown"
	for name, kind := range compressions {
		if kind == o.Compression {
			compression = name
		}
	}
	whole := func(n int) string { return strconv.Itoa(n) }
	long := func(n int64) string { return strconv.FormatInt(n, 10) }
	return map[string]string{
		"SyncWrites":              strconv.FormatBool(o.SyncWrites),
		"BlockCacheSize":          long(o.BlockCacheSize),
		"IndexCacheSize":          long(o.IndexCacheSize),
		"MemTableSize":            long(o.MemTableSize),
		"NumMemtables":            whole(o.NumMemtables),
		"ValueThreshold":          long(o.ValueThreshold),
		"ValueLogFileSize":        long(o.ValueLogFileSize),
		"ValueLogMaxEntries":      strconv.FormatUint(uint64(o.ValueLogMaxEntries), 10),
		"BaseTableSize":           long(o.BaseTableSize),
		"BaseLevelSize":           long(o.BaseLevelSize),
		"LevelSizeMultiplier":     whole(o.LevelSizeMultiplier),
		"MaxLevels":               whole(o.MaxLevels),
		"BlockSize":               whole(o.BlockSize),
		"BloomFalsePositive":      strconv.FormatFloat(o.BloomFalsePositive, 'g', -1, 64),
		"Compression":             compression,
		"NumLevelZeroTables":      whole(o.NumLevelZeroTables),
		"NumLevelZeroTablesStall": whole(o.NumLevelZeroTablesStall),
		"NumCompactors":           whole(o.NumCompactors),
		"NumVersionsToKeep":       whole(o.NumVersionsToKeep),
		"DetectConflicts":         strconv.FormatBool(o.DetectConflicts),
		"CompactL0OnClose":        strconv.FormatBool(o.CompactL0OnClose),
		"VerifyValueChecksum":     strconv.FormatBool(o.VerifyValueChecksum),
		"MetricsEnabled":          strconv.FormatBool(o.MetricsEnabled),
		"MaxBatchCount":           long(d.engine.MaxBatchCount()),
		"MaxBatchSize":            long(d.engine.MaxBatchSize()),
	}
}

type handle struct{ *db }

func (h *handle) Close() error { return nil }

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	txn := h.engine.NewTransaction(false)
	defer txn.Discard()
	item, err := txn.Get(key)
	if err != nil {
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil, store.ErrNotFound
		}
		return nil, err
	}
	return item.ValueCopy(buf[:0])
}

var (
	errKeyTooLong = fmt.Errorf("badger: the key is longer than %d bytes", keyBytesMax)
	errValueSize  = errors.New("badger: the value is longer than value_log_file_bytes")
	errReserved   = errors.New("badger: keys that begin with !badger! are reserved")
	reserved      = []byte("!badger!")
)

// set checks the lengths before the library does, whose own messages hold a dump of the key. A
// transaction keeps key and value until it is committed, and no longer: commits copy them into the
// logs and the memtable.
func (h *handle) set(txn *badger.Txn, key, value []byte) error {
	if err := h.fits(key, value); err != nil {
		return err
	}
	return txn.Set(key, value)
}

func (h *handle) fits(key, value []byte) error {
	if len(key) > keyBytesMax {
		return errKeyTooLong
	}
	if bytes.HasPrefix(key, reserved) {
		return errReserved
	}
	if int64(len(value)) > h.valueBytesMax {
		return errValueSize
	}
	return nil
}

// MultiGet is one transaction, in which all keys are read.
func (h *handle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	txn := h.engine.NewTransaction(false)
	defer txn.Discard()
	for i, key := range keys {
		item, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		from := len(buf)
		err = item.Value(func(value []byte) error {
			buf = append(buf, value...)
			return nil
		})
		if err != nil {
			return 0, err
		}
		values[i] = buf[from:len(buf):len(buf)]
	}
	return 1, nil
}

func (h *handle) Put(key, value []byte) error {
	txn := h.engine.NewTransaction(true)
	defer txn.Discard()
	if err := h.set(txn, key, value); err != nil {
		return err
	}
	return txn.Commit()
}

// PutFor is a put whose entry has an end, in whole seconds of the clock.
func (h *handle) PutFor(key, value []byte, ttl time.Duration) error {
	if err := h.fits(key, value); err != nil {
		return err
	}
	txn := h.engine.NewTransaction(true)
	defer txn.Discard()
	if err := txn.SetEntry(badger.NewEntry(key, value).WithTTL(ttl)); err != nil {
		return err
	}
	return txn.Commit()
}

func (h *handle) Delete(key []byte) error {
	txn := h.engine.NewTransaction(true)
	defer txn.Discard()
	if err := h.delete(txn, key); err != nil {
		return err
	}
	return txn.Commit()
}

func (h *handle) delete(txn *badger.Txn, key []byte) error {
	if len(key) > keyBytesMax {
		return errKeyTooLong
	}
	return txn.Delete(key)
}

// Apply is one transaction. badger.WriteBatch is not: it commits whenever a transaction is full.
func (h *handle) Apply(writes []store.Write) error {
	txn := h.engine.NewTransaction(true)
	defer txn.Discard()
	for _, w := range writes {
		var err error
		if w.Delete {
			err = h.delete(txn, w.Key)
		} else {
			err = h.set(txn, w.Key, w.Value)
		}
		if err != nil {
			return err
		}
	}
	return txn.Commit()
}

func (h *handle) Scan(start []byte, limit int, visit func(key, value []byte) bool) error {
	o := badger.DefaultIteratorOptions
	if limit > 0 {
		o.PrefetchSize = min(limit, o.PrefetchSize)
	}
	txn := h.engine.NewTransaction(false)
	defer txn.Discard()
	iterator := txn.NewIterator(o)
	defer iterator.Close()
	for iterator.Seek(start); iterator.Valid(); iterator.Next() {
		item, more := iterator.Item(), false
		err := item.Value(func(value []byte) error {
			more = visit(item.Key(), value)
			return nil
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// quietLogger lets errors and warnings through to standard error: standard output is the worker's
// control channel. The rest is counted, where it tells of an event.
type quietLogger struct{ *events }

var stderr = log.New(os.Stderr, "badger: ", log.LstdFlags)

func (quietLogger) Errorf(format string, args ...any)   { stderr.Printf(format, args...) }
func (quietLogger) Warningf(format string, args ...any) { stderr.Printf(format, args...) }
