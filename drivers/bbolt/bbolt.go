// Package bbolt drives go.etcd.io/bbolt: one file, a copy-on-write B+tree, one writer at a time.
package bbolt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	bbolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"assay/drivers/internal/bolt"
	"assay/store"
)

// Driver opens bbolt files.
type Driver struct{}

// Describe says what bbolt can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:       "bbolt",
		Summary:    "copy-on-write B+tree in one mapped file, one writer",
		Library:    "go.etcd.io/bbolt",
		Licence:    "MIT",
		Kind:       store.Embedded,
		Durability: bolt.Durability(),
		Options: append(bolt.Options(), []store.Option{
			{Name: "page_bytes", Type: store.Bytes, Default: strconv.Itoa(os.Getpagesize()), Help: "Options.PageSize, of a new file; the library's default is the system's page size"},
			{Name: "freelist_type", Type: store.Choice, Default: string(bbolt.DefaultOptions.FreelistType), Choices: []string{string(bbolt.FreelistArrayType), string(bbolt.FreelistMapType)}, Help: "Options.FreelistType: how free pages are kept in memory",
				Tune: "list array hashmap"},
			{Name: "no_freelist_sync", Type: store.Bool, Default: strconv.FormatBool(bbolt.DefaultOptions.NoFreelistSync), Help: "Options.NoFreelistSync: do not write the list of free pages at each commit; opening then scans the file"},
			{Name: "no_statistics", Type: store.Bool, Default: strconv.FormatBool(bbolt.DefaultOptions.NoStatistics), Help: "Options.NoStatistics: no counters, so that readers do not meet at their lock; inspect then tells sizes only"},
			{Name: "mlock", Type: store.Bool, Default: strconv.FormatBool(bbolt.DefaultOptions.Mlock), Help: "Options.Mlock: lock the mapped file in memory"},
		}...),
		HandlesShareable: true,
		FixedDiskBytes:   bolt.FixedDiskBytes,
		KeyBytesMin:      1,
		KeyBytesMax:      bbolt.MaxKeySize,
		ValueBytesMax:    bbolt.MaxValueSize,
		BatchAtomic:      true,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note:             "one writer at a time: further writing threads wait for its lock, and at D3 each waits for the syncs of all before it",
	}
}

type (
	shared = bolt.DB[*bbolt.DB, *bbolt.Tx, *bbolt.Bucket, *bbolt.Cursor]
	handle = bolt.Handle[*bbolt.DB, *bbolt.Tx, *bbolt.Bucket, *bbolt.Cursor]
)

type db struct {
	*shared
	fill       float64
	statistics bool
}

// Open opens or creates the file.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	fill, err := bolt.Check("bbolt", c)
	if err != nil {
		return nil, err
	}
	page := c.Options.Bytes("page_bytes")
	if page < 1024 || page > 65536 || page&(page-1) != 0 {
		return nil, fmt.Errorf("bbolt: page_bytes is %d, expected a power of two from 1024 to 65536: %w", page, store.ErrRefused)
	}
	engine, err := bbolt.Open(filepath.Join(c.Directory, "data.bolt"), 0o600, &bbolt.Options{
		Timeout:         bolt.LockTimeout(ctx),
		NoGrowSync:      c.Options.Bool("no_grow_sync"),
		NoFreelistSync:  c.Options.Bool("no_freelist_sync"),
		FreelistType:    bbolt.FreelistType(c.Options.Choice("freelist_type")),
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
	setFill := func(b *bbolt.Bucket) { b.FillPercent = fill }
	d := &db{&shared{Engine: engine, SetFill: setFill, KeyRequired: bolterrors.ErrKeyRequired, PageBytes: engine.Info().PageSize}, fill, !c.Options.Bool("no_statistics")}
	if err := d.Prepare(c.Directory); err != nil {
		return nil, fmt.Errorf("bbolt: %w", err)
	}
	return d, nil
}

func (d *db) Settings() map[string]string {
	return map[string]string{
		"NoSync":         strconv.FormatBool(d.Engine.NoSync),
		"NoGrowSync":     strconv.FormatBool(d.Engine.NoGrowSync),
		"NoFreelistSync": strconv.FormatBool(d.Engine.NoFreelistSync),
		"FreelistType":   string(d.Engine.FreelistType),
		"AllocSize":      strconv.Itoa(d.Engine.AllocSize),
		"Mlock":          strconv.FormatBool(d.Engine.Mlock),
		"PageSize":       strconv.Itoa(d.PageBytes),
		"StrictMode":     strconv.FormatBool(d.Engine.StrictMode),
		"FillPercent":    strconv.FormatFloat(d.fill, 'g', -1, 64),
		"MaxSize":        strconv.Itoa(d.Engine.MaxSize),
		"NoStatistics":   strconv.FormatBool(!d.statistics),
	}
}

// Inspect returns no background work: bbolt has none.
func (d *db) Inspect() store.Inspection {
	stats := d.Sizes()
	if !d.statistics {
		return store.Inspection{Stats: stats}
	}
	s := d.Engine.Stats()
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
