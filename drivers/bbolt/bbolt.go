// Package bbolt drives go.etcd.io/bbolt: one file, a copy-on-write B+tree, one writer at a time. One put is one
// read-write transaction, and all records stand in one bucket.
package bbolt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"assay/drivers/internal/fsync"
	"assay/store"
)

// Driver opens bbolt files.
type Driver struct{}

// Describe says what bbolt can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "bbolt",
		Summary: "copy-on-write B+tree in one mapped file, one writer",
		Library: "go.etcd.io/bbolt",
		Licence: "MIT",
		Kind:    store.Embedded,
		// tx.go, Tx.Commit: pages and then the meta page are written with WriteAt; fdatasync follows each of the two
		// unless DB.NoSync is set.
		Durability: []store.DurabilityClaim{
			{Class: store.D1, How: "DB.NoSync = true: commits are pwrite calls into the page cache; a power cut may leave a file that can't be opened"},
			{Class: store.D3, How: "DB.NoSync = false, the default: two fdatasync calls a commit"},
		},
		Options: []store.Option{
			{Name: "page_bytes", Type: store.Bytes, Default: strconv.Itoa(os.Getpagesize()), Help: "Options.PageSize, of a new file; the library's default is the system's page size"},
			{Name: "initial_mmap_bytes", Type: store.Bytes, Default: "0", Help: "Options.InitialMmapSize: address space mapped at open, so that growing seldom waits for readers"},
			{Name: "freelist_type", Type: store.Choice, Default: string(bolt.DefaultOptions.FreelistType), Choices: []string{string(bolt.FreelistArrayType), string(bolt.FreelistMapType)}, Help: "Options.FreelistType: how free pages are kept in memory"},
			{Name: "no_freelist_sync", Type: store.Bool, Default: strconv.FormatBool(bolt.DefaultOptions.NoFreelistSync), Help: "Options.NoFreelistSync: do not write the list of free pages at each commit; opening then scans the file"},
			{Name: "no_grow_sync", Type: store.Bool, Default: strconv.FormatBool(bolt.DefaultOptions.NoGrowSync), Help: "Options.NoGrowSync: do not truncate and sync the file when it grows"},
			{Name: "alloc_bytes", Type: store.Bytes, Default: "16MiB", Help: "DB.AllocSize: how much the file grows at a time"},
			{Name: "fill_percent", Type: store.Int, Default: "50", Help: "100 × Bucket.FillPercent: how full a page is left when it is split, 10 to 100"},
			{Name: "no_statistics", Type: store.Bool, Default: strconv.FormatBool(bolt.DefaultOptions.NoStatistics), Help: "Options.NoStatistics: no counters, so that readers do not meet at their lock; inspect then tells sizes only"},
			{Name: "mlock", Type: store.Bool, Default: strconv.FormatBool(bolt.DefaultOptions.Mlock), Help: "Options.Mlock: lock the mapped file in memory"},
		},
		HandlesShareable: true,
		FixedDiskBytes:   24 << 10,
		KeyBytesMin:      1,
		KeyBytesMax:      bolt.MaxKeySize,
		ValueBytesMax:    bolt.MaxValueSize,
		BatchAtomic:      true,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note:             "one writer at a time: further writing threads wait for its lock, and at D3 each waits for the syncs of all before it",
	}
}

var bucket = []byte("assay")

// Open opens or creates the file.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D1 && c.Durability != store.D3 {
		return nil, fmt.Errorf("bbolt can't reach %s: a commit goes to the page cache (D1) or is synced (D3), and there is nothing else: %w", c.Durability, store.ErrRefused)
	}
	fill := c.Options.Int("fill_percent")
	if fill < 10 || fill > 100 {
		return nil, fmt.Errorf("bbolt: fill_percent is %d, expected 10 to 100: %w", fill, store.ErrRefused)
	}
	page := c.Options.Bytes("page_bytes")
	if page < 1024 || page > 65536 || page&(page-1) != 0 {
		return nil, fmt.Errorf("bbolt: page_bytes is %d, expected a power of two from 1024 to 65536: %w", page, store.ErrRefused)
	}
	// The file's lock is waited for as long as the context allows; 0 is for ever.
	var lockTimeout time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		lockTimeout = max(time.Until(deadline), time.Millisecond)
	}
	engine, err := bolt.Open(filepath.Join(c.Directory, "data.bolt"), 0o600, &bolt.Options{
		Timeout:         lockTimeout,
		NoGrowSync:      c.Options.Bool("no_grow_sync"),
		NoFreelistSync:  c.Options.Bool("no_freelist_sync"),
		FreelistType:    bolt.FreelistType(c.Options.Choice("freelist_type")),
		InitialMmapSize: int(c.Options.Bytes("initial_mmap_bytes")),
		PageSize:        int(page),
		NoSync:          c.Durability == store.D1,
		Mlock:           c.Options.Bool("mlock"),
		NoStatistics:    c.Options.Bool("no_statistics"),
	})
	if err != nil {
		return nil, fmt.Errorf("open bbolt file: %w", err)
	}
	engine.AllocSize = int(c.Options.Bytes("alloc_bytes"))
	d := &db{engine: engine, fill: float64(fill) / 100, statistics: !c.Options.Bool("no_statistics")}
	if err := d.prepare(c.Directory); err != nil {
		return nil, closeAfter(err, engine)
	}
	return d, nil
}

// prepare makes the bucket, and makes the file's name durable, which bbolt leaves to its user.
func (d *db) prepare(directory string) error {
	err := d.engine.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		return fmt.Errorf("create bbolt bucket: %w", err)
	}
	return fsync.Directory(directory)
}

func closeAfter(err error, engine *bolt.DB) error {
	if closing := engine.Close(); closing != nil {
		return fmt.Errorf("%w; then close: %w", err, closing)
	}
	return err
}

type db struct {
	engine     *bolt.DB
	fill       float64
	statistics bool
}

func (d *db) Handle() (store.Handle, error) { return &handle{d}, nil }
func (d *db) Close() error                  { return d.engine.Close() }
func (d *db) Sync() error                   { return d.engine.Sync() }

func (d *db) Settings() map[string]string {
	return map[string]string{
		"NoSync":         strconv.FormatBool(d.engine.NoSync),
		"NoGrowSync":     strconv.FormatBool(d.engine.NoGrowSync),
		"NoFreelistSync": strconv.FormatBool(d.engine.NoFreelistSync),
		"FreelistType":   string(d.engine.FreelistType),
		"AllocSize":      strconv.Itoa(d.engine.AllocSize),
		"Mlock":          strconv.FormatBool(d.engine.Mlock),
		"PageSize":       strconv.Itoa(d.engine.Info().PageSize),
		"StrictMode":     strconv.FormatBool(d.engine.StrictMode),
		"FillPercent":    strconv.FormatFloat(d.fill, 'g', -1, 64),
		"MaxSize":        strconv.Itoa(d.engine.MaxSize),
		"NoStatistics":   strconv.FormatBool(!d.statistics),
	}
}

// Inspect tells no background work: bbolt has none.
func (d *db) Inspect() store.Inspection {
	stats := make(map[string]float64)
	if tx, err := d.engine.Begin(false); err == nil {
		stats["file_used_bytes"] = float64(tx.Size())
		stats["page_bytes"] = float64(d.engine.Info().PageSize)
		// The transaction only read, so that its end can't fail for anything that was written.
		_ = tx.Rollback()
	}
	if !d.statistics {
		return store.Inspection{Stats: stats}
	}
	s := d.engine.Stats()
	for name, value := range map[string]int64{
		"free_pages": int64(s.FreePageN), "pending_pages": int64(s.PendingPageN),
		"free_bytes": int64(s.FreeAlloc), "freelist_bytes": int64(s.FreelistInuse),
		"read_transactions": int64(s.TxN), "open_read_transactions": int64(s.OpenTxN),
		"page_allocations": s.TxStats.GetPageCount(), "page_allocations_bytes": s.TxStats.GetPageAlloc(),
		"cursors": s.TxStats.GetCursorCount(), "nodes": s.TxStats.GetNodeCount(), "node_dereferences": s.TxStats.GetNodeDeref(),
		"rebalances": s.TxStats.GetRebalance(), "rebalance_ns": s.TxStats.GetRebalanceTime().Nanoseconds(),
		"splits": s.TxStats.GetSplit(), "spills": s.TxStats.GetSpill(), "spill_ns": s.TxStats.GetSpillTime().Nanoseconds(),
		"writes": s.TxStats.GetWrite(), "write_ns": s.TxStats.GetWriteTime().Nanoseconds(),
	} {
		stats[name] = float64(value)
	}
	return store.Inspection{Stats: stats}
}

type handle struct{ *db }

func (h *handle) Close() error { return nil }

// Get copies: the value stands in the mapped file only as long as the transaction is open. Begin is used instead of
// View, whose closure would cost an allocation that is not bbolt's.
func (h *handle) Get(key, buf []byte) ([]byte, error) {
	tx, err := h.engine.Begin(false)
	if err != nil {
		return nil, err
	}
	value := tx.Bucket(bucket).Get(key)
	if value == nil {
		if err := tx.Rollback(); err != nil {
			return nil, err
		}
		return nil, store.ErrNotFound
	}
	buf = append(buf[:0], value...)
	return buf, tx.Rollback()
}

func (h *handle) Put(key, value []byte) error {
	tx, b, err := h.begin()
	if err != nil {
		return err
	}
	if err := b.Put(key, value); err != nil {
		return rollback(tx, err)
	}
	return tx.Commit()
}

func (h *handle) Delete(key []byte) error {
	if len(key) == 0 {
		return bolterrors.ErrKeyRequired
	}
	tx, b, err := h.begin()
	if err != nil {
		return err
	}
	if err := b.Delete(key); err != nil {
		return rollback(tx, err)
	}
	return tx.Commit()
}

func (h *handle) Apply(writes []store.Write) error {
	tx, b, err := h.begin()
	if err != nil {
		return err
	}
	for _, w := range writes {
		if w.Delete {
			err = b.Delete(w.Key)
		} else {
			err = b.Put(w.Key, w.Value)
		}
		if err != nil {
			return rollback(tx, err)
		}
	}
	return tx.Commit()
}

func (h *handle) Scan(start []byte, _ int, visit func(key, value []byte) bool) error {
	tx, err := h.engine.Begin(false)
	if err != nil {
		return err
	}
	cursor := tx.Bucket(bucket).Cursor()
	for key, value := cursor.Seek(start); key != nil && visit(key, value); key, value = cursor.Next() {
	}
	return tx.Rollback()
}

func (d *db) begin() (*bolt.Tx, *bolt.Bucket, error) {
	tx, err := d.engine.Begin(true)
	if err != nil {
		return nil, nil, err
	}
	b := tx.Bucket(bucket)
	b.FillPercent = d.fill
	return tx, b, nil
}

func rollback(tx *bolt.Tx, cause error) error {
	if err := tx.Rollback(); err != nil {
		return fmt.Errorf("%w; then roll back: %w", cause, err)
	}
	return cause
}
