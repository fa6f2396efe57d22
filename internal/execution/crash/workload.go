package crash

import (
	"math/rand/v2"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// The phases of a workload, by their position, which is also their number.
const (
	phaseLoad = iota
	phaseWrites
	phaseBatches // only of stores that have batches
	phases       // how many there are
)

var phaseNames = [phases]string{"load", "writes", "batches"}

// batchEntries is how many records a batch has: more than fit a page, so that one can be torn.
const batchEntries = 10

// workload makes the traces of one life of a store, each from the seed alone: a load, then new
// records beside changes and deletes of loaded ones, one by one, then new records in batches.
//
// New records are never deleted or changed again. So what is missing of them tells which write was
// lost, and a batch of them is there whole or not at all.
func (t *Target) workload(seed uint64) (files []*trace.File, err error) {
	sizes := []trace.Size{{Bytes: t.Cell.ValueBytes, Weight: 1}}
	threads := t.Cell.Threads
	batch := 0
	if t.Store.Description.Abilities.Batch {
		batch = batchEntries
		if most := t.Store.Description.BatchMax; most > 0 {
			batch = min(batch, most)
		}
	}
	order := trace.Order{Distribution: trace.Uniform}
	specs := []trace.Spec{
		{Load: true, Records: t.Records, Fresh: t.Records, Order: trace.Order{Distribution: trace.Shuffled}, Sizes: sizes, Batch: batch,
			Threads: min(threads, int(t.Records))},
		{Mix: []trace.Share{{Operation: trace.Insert, Weight: 5}, {Operation: trace.Upsert, Weight: 3}, {Operation: trace.Delete, Weight: 2}},
			Records: t.Records, Fresh: t.Records, Order: order, Sizes: sizes, Threads: threads, Limit: t.Operations},
	}
	if batch > 1 {
		// Beyond every index that the writes may reach: each of them takes at most one.
		specs = append(specs, trace.Spec{Mix: []trace.Share{{Operation: trace.Insert, Weight: 1}}, Records: t.Records,
			Fresh: 2*t.Records + 2*t.Operations + uint64(threads), Deleted: true, Order: order, Sizes: sizes, Batch: batch,
			Threads: threads, Limit: max(t.Operations/batchEntries, uint64(threads))})
	}
	for i, spec := range specs {
		spec.Seed = keyval.Mix(seed ^ uint64(i)<<32)
		file, err := trace.Generate(spec)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// random returns the generator of one cut. The same seed and number draw the same moments.
func random(seed uint64, cut int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(cut))) }
