//go:build !race

package boltdb

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/boltdb/bolt"

	"assay/drivers/internal/fsync"
	"assay/store"
)

func describeEngine(d *store.Description) { d.Abilities = store.Probe((*db)(nil), (*handle)(nil)) }

var bucket = []byte("assay")

// Open opens or creates the file.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D1 && c.Durability != store.D3 {
		return nil, fmt.Errorf("boltdb can't reach %s: a commit goes to the page cache (D1) or is synced (D3), and there is nothing else: %w", c.Durability, store.ErrRefused)
	}
	fill := c.Options.Int("fill_percent")
	if fill < 10 || fill > 100 {
		return nil, fmt.Errorf("boltdb: fill_percent is %d, expected 10 to 100: %w", fill, store.ErrRefused)
	}
	// The file's lock is waited for as long as the context allows; 0 is for ever.
	var lockTimeout time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		lockTimeout = max(time.Until(deadline), time.Millisecond)
	}
	engine, err := bolt.Open(filepath.Join(c.Directory, "data.bolt"), 0o600, &bolt.Options{
		Timeout:         lockTimeout,
		NoGrowSync:      c.Options.Bool("no_grow_sync"),
		InitialMmapSize: int(c.Options.Bytes("initial_mmap_bytes")),
	})
	if err != nil {
		return nil, fmt.Errorf("open boltdb file: %w", err)
	}
	engine.NoSync = c.Durability == store.D1
	engine.AllocSize = int(c.Options.Bytes("alloc_bytes"))
	d := &db{engine: engine, fill: float64(fill) / 100}
	if err := d.prepare(c.Directory); err != nil {
		return nil, closeAfter(err, engine)
	}
	return d, nil
}

// prepare makes the bucket, and makes the file's name durable, which boltdb leaves to its user.
func (d *db) prepare(directory string) error {
	err := d.engine.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		return fmt.Errorf("create boltdb bucket: %w", err)
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
	engine *bolt.DB
	fill   float64
}

func (d *db) Handle() (store.Handle, error) { return &handle{d}, nil }
func (d *db) Close() error                  { return d.engine.Close() }
func (d *db) Sync() error                   { return d.engine.Sync() }

func (d *db) Settings() map[string]string {
	return map[string]string{
		"NoSync":      strconv.FormatBool(d.engine.NoSync),
		"NoGrowSync":  strconv.FormatBool(d.engine.NoGrowSync),
		"AllocSize":   strconv.Itoa(d.engine.AllocSize),
		"PageSize":    strconv.Itoa(d.engine.Info().PageSize),
		"StrictMode":  strconv.FormatBool(d.engine.StrictMode),
		"FillPercent": strconv.FormatFloat(d.fill, 'g', -1, 64),
	}
}

// Inspect tells no background work: boltdb has none.
func (d *db) Inspect() store.Inspection {
	stats := make(map[string]float64)
	if tx, err := d.engine.Begin(false); err == nil {
		stats["file_used_bytes"] = float64(tx.Size())
		stats["page_bytes"] = float64(d.engine.Info().PageSize)
		// The transaction only read, so that its end can't fail for anything that was written.
		_ = tx.Rollback()
	}
	s := d.engine.Stats()
	for name, value := range map[string]int{
		"free_pages": s.FreePageN, "pending_pages": s.PendingPageN, "free_bytes": s.FreeAlloc, "freelist_bytes": s.FreelistInuse,
		"read_transactions": s.TxN, "open_read_transactions": s.OpenTxN,
		"page_allocations": s.TxStats.PageCount, "page_allocations_bytes": s.TxStats.PageAlloc,
		"cursors": s.TxStats.CursorCount, "nodes": s.TxStats.NodeCount, "node_dereferences": s.TxStats.NodeDeref,
		"rebalances": s.TxStats.Rebalance, "rebalance_ns": int(s.TxStats.RebalanceTime),
		"splits": s.TxStats.Split, "spills": s.TxStats.Spill, "spill_ns": int(s.TxStats.SpillTime),
		"writes": s.TxStats.Write, "write_ns": int(s.TxStats.WriteTime),
	} {
		stats[name] = float64(value)
	}
	return store.Inspection{Stats: stats}
}

type handle struct{ *db }

func (h *handle) Close() error { return nil }

// Get copies: the value stands in the mapped file only as long as the transaction is open. Begin is used instead of
// View, whose closure would cost an allocation that is not boltdb's.
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
		return bolt.ErrKeyRequired
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
