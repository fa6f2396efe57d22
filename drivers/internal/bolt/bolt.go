// Package bolt has what the drivers of boltdb and of its fork bbolt share. Both libraries have the
// same calls on types of their own, so the types are parameters. One put is one read-write
// transaction, and all records stand in one bucket.
package bolt

import (
	"context"
	"fmt"
	"time"

	"assay/drivers/internal/fsync"
	"assay/store"
)

// Engine is a library's DB, T its Tx.
type Engine[T any] interface {
	Begin(writable bool) (T, error)
	Update(func(T) error) error
	Sync() error
	Close() error
}

// Tx is a library's transaction, B its Bucket.
type Tx[B any] interface {
	Bucket(name []byte) B
	CreateBucketIfNotExists(name []byte) (B, error)
	Size() int64
	Commit() error
	Rollback() error
}

// Bucket is a library's bucket, C its Cursor.
type Bucket[C any] interface {
	Get(key []byte) []byte
	Put(key, value []byte) error
	Delete(key []byte) error
	Cursor() C
}

// Cursor walks a bucket.
type Cursor interface {
	Seek(seek []byte) (key, value []byte)
	Next() (key, value []byte)
}

// Durability are the classes of both libraries. tx.go, Tx.Commit: pages and then the meta page are
// written with WriteAt; fdatasync follows each of the two unless DB.NoSync is set.
func Durability() []store.DurabilityClaim {
	return []store.DurabilityClaim{
		{Class: store.D1, How: "DB.NoSync = true: commits are pwrite calls into the page cache; a power cut may leave a file that can't be opened"},
		{Class: store.D3, How: "DB.NoSync = false, the default: two fdatasync calls a commit"},
	}
}

// Options are those that both libraries have, with the defaults of both.
func Options() []store.Option {
	return []store.Option{
		{Name: "initial_mmap_bytes", Type: store.Bytes, Default: "0", Help: "Options.InitialMmapSize: address space mapped at open, so that growing seldom waits for readers"},
		{Name: "no_grow_sync", Type: store.Bool, Default: "false", Help: "Options.NoGrowSync: do not truncate and sync the file when it grows"},
		{Name: "alloc_bytes", Type: store.Bytes, Default: "16MiB", Help: "DB.AllocSize: how much the file grows at a time"},
		{Name: "fill_percent", Type: store.Int, Default: "50", Help: "100 × Bucket.FillPercent: how full a page is left when it is split, 10 to 100"},
	}
}

// FixedDiskBytes is what an empty file takes.
const FixedDiskBytes = 24 << 10

// Check refuses what neither library can do, and returns the share to which pages are filled.
func Check(driver string, c store.Config) (fill float64, err error) {
	if c.Durability != store.D1 && c.Durability != store.D3 {
		return 0, fmt.Errorf("%s can't reach %s: a commit goes to the page cache (D1) or is synced (D3): %w", driver, c.Durability, store.ErrRefused)
	}
	percent := c.Options.Int("fill_percent")
	if percent < 10 || percent > 100 {
		return 0, fmt.Errorf("%s: fill_percent is %d, expected 10 to 100: %w", driver, percent, store.ErrRefused)
	}
	return float64(percent) / 100, nil
}

// LockTimeout is how long to wait for the file's lock: as long as the context allows; 0 is for
// ever.
func LockTimeout(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(time.Until(deadline), time.Millisecond)
	}
	return 0
}

var bucket = []byte("assay")

// DB is an open file.
type DB[E Engine[T], T Tx[B], B Bucket[C], C Cursor] struct {
	Engine      E
	SetFill     func(B) // before writes
	KeyRequired error   // what the library says of an empty key
	PageBytes   int     // read at open: DB.Info panics while a commit maps a file that grew anew
}

// Prepare makes the bucket, and makes the file's name durable, which both libraries leave to their
// user. It closes the file where that fails.
func (d *DB[E, T, B, C]) Prepare(directory string) error {
	err := d.Engine.Update(func(tx T) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		err = fmt.Errorf("create the bucket: %w", err)
	} else {
		err = fsync.Directory(directory)
	}
	if err == nil {
		return nil
	}
	if closing := d.Engine.Close(); closing != nil {
		return fmt.Errorf("%w; then close: %w", err, closing)
	}
	return err
}

// Handle returns a handle; all share the file.
func (d *DB[E, T, B, C]) Handle() (store.Handle, error) { return &Handle[E, T, B, C]{d}, nil }

// Close closes the file.
func (d *DB[E, T, B, C]) Close() error { return d.Engine.Close() }

// Sync makes the file durable.
func (d *DB[E, T, B, C]) Sync() error { return d.Engine.Sync() }

// Sizes are the gauges that both libraries give without counters.
func (d *DB[E, T, B, C]) Sizes() map[string]float64 {
	sizes := map[string]float64{"page_bytes": float64(d.PageBytes)}
	if tx, err := d.Engine.Begin(false); err == nil {
		sizes["file_used_bytes"] = float64(tx.Size())
		_ = tx.Rollback() // it only read: its end can't fail for anything that was written
	}
	return sizes
}

// Handle does the operations.
type Handle[E Engine[T], T Tx[B], B Bucket[C], C Cursor] struct{ *DB[E, T, B, C] }

// Close does nothing: the file stays open.
func (h *Handle[E, T, B, C]) Close() error { return nil }

// Get copies: the value stands in the mapped file only as long as the transaction is open. Begin is
// used instead of View, whose closure would cost an allocation that is not the library's.
func (h *Handle[E, T, B, C]) Get(key, buf []byte) ([]byte, error) {
	tx, err := h.Engine.Begin(false)
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

// MultiGet is one transaction, in which all keys are read.
func (h *Handle[E, T, B, C]) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	tx, err := h.Engine.Begin(false)
	if err != nil {
		return 0, err
	}
	records := tx.Bucket(bucket)
	for i, key := range keys {
		value, from := records.Get(key), len(buf)
		if value == nil {
			continue
		}
		buf = append(buf, value...)
		values[i] = buf[from:len(buf):len(buf)]
	}
	return 1, tx.Rollback()
}

// Put is one transaction.
func (h *Handle[E, T, B, C]) Put(key, value []byte) error {
	tx, b, err := h.begin()
	if err != nil {
		return err
	}
	if err := b.Put(key, value); err != nil {
		return rollback(tx, err)
	}
	return tx.Commit()
}

// Delete is one transaction. The libraries take an empty key for one that is not there.
func (h *Handle[E, T, B, C]) Delete(key []byte) error {
	if len(key) == 0 {
		return h.KeyRequired
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

// Apply is one transaction for all writes.
func (h *Handle[E, T, B, C]) Apply(writes []store.Write) error {
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

// Scan visits records from start on, in the order of keys.
func (h *Handle[E, T, B, C]) Scan(start []byte, _ int, visit func(key, value []byte) bool) error {
	tx, err := h.Engine.Begin(false)
	if err != nil {
		return err
	}
	cursor := tx.Bucket(bucket).Cursor()
	for key, value := cursor.Seek(start); key != nil && visit(key, value); key, value = cursor.Next() {
	}
	return tx.Rollback()
}

func (h *Handle[E, T, B, C]) begin() (tx T, b B, err error) {
	if tx, err = h.Engine.Begin(true); err != nil {
		return tx, b, err
	}
	b = tx.Bucket(bucket)
	h.SetFill(b)
	return tx, b, nil
}

func rollback[B any, T Tx[B]](tx T, cause error) error {
	if err := tx.Rollback(); err != nil {
		return fmt.Errorf("%w; then roll back: %w", cause, err)
	}
	return cause
}
