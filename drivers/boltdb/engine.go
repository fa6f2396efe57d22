//go:build !race

package boltdb

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	boltdb "github.com/boltdb/bolt"

	"assay/drivers/internal/bolt"
	"assay/store"
)

func describeEngine(d *store.Description) { d.Abilities = store.Probe((*db)(nil), (*handle)(nil)) }

type (
	shared = bolt.DB[*boltdb.DB, *boltdb.Tx, *boltdb.Bucket, *boltdb.Cursor]
	handle = bolt.Handle[*boltdb.DB, *boltdb.Tx, *boltdb.Bucket, *boltdb.Cursor]
)

type db struct {
	*shared
	fill float64
}

// Open opens or creates the file.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	fill, err := bolt.Check("boltdb", c)
	if err != nil {
		return nil, err
	}
	engine, err := boltdb.Open(filepath.Join(c.Directory, "data.bolt"), 0o600, &boltdb.Options{
		Timeout:         bolt.LockTimeout(ctx),
		NoGrowSync:      c.Options.Bool("no_grow_sync"),
		InitialMmapSize: int(c.Options.Bytes("initial_mmap_bytes")),
	})
	if err != nil {
		return nil, fmt.Errorf("open boltdb file: %w", err)
	}
	engine.NoSync = c.Durability == store.D1
	engine.AllocSize = int(c.Options.Bytes("alloc_bytes"))
	setFill := func(b *boltdb.Bucket) { b.FillPercent = fill }
	d := &db{&shared{Engine: engine, SetFill: setFill, KeyRequired: boltdb.ErrKeyRequired,
		PageBytes: engine.Info().PageSize}, fill}
	if err := d.Prepare(c.Directory); err != nil {
		return nil, fmt.Errorf("boltdb: %w", err)
	}
	return d, nil
}

func (d *db) Settings() map[string]string {
	return map[string]string{
		"NoSync":      strconv.FormatBool(d.Engine.NoSync),
		"NoGrowSync":  strconv.FormatBool(d.Engine.NoGrowSync),
		"AllocSize":   strconv.Itoa(d.Engine.AllocSize),
		"PageSize":    strconv.Itoa(d.PageBytes),
		"StrictMode":  strconv.FormatBool(d.Engine.StrictMode),
		"FillPercent": strconv.FormatFloat(d.fill, 'g', -1, 64),
	}
}

// Inspect returns no background work: boltdb has none.
func (d *db) Inspect() store.Inspection {
	stats := d.Sizes()
	s := d.Engine.Stats()
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
