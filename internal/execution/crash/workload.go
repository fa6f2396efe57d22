package crash

import (
	"math/rand/v2"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// The phases of a workload, by their position, which is also their number. Those after phaseLoad and
// the last have single writes; there is one of them, but where a fault is looked into.
const (
	phaseLoad = iota
	phaseWrites
	phaseBatches // only of stores that have batches
)

// step is a phase of a workload.
type step struct {
	name string
	*trace.File
}

// batchEntries is how many records a batch has: more than fit a page, so that one can be torn.
const batchEntries = 10

// workload makes the traces of one life of a store, each from the seed alone: a load, then new
// records beside changes and deletes of loaded ones, one by one, then new records in batches.
//
// New records are never deleted or changed again. So what is missing of them tells which write was
// lost, and a batch of them is there whole or not at all.
//
// parts is how many phases the single writes are. Of a thread that got an error in a phase, it
// is unknown which of its writes there failed: with short phases, all others are certain.
func (t *Target) workload(seed uint64, parts int) (steps []step, err error) {
	sizes := []trace.Size{{Bytes: t.Cell.ValueBytes, Weight: 1}}
	threads := t.Cell.Threads
	batch := 0
	if t.Store.Description.Abilities.Batch {
		batch = batchEntries
		if most := t.Store.Description.BatchFits(t.Keys.BytesMax() + t.Cell.ValueBytes); most > 0 {
			batch = min(batch, most)
		}
	}
	order := trace.Order{Distribution: trace.Uniform}
	names := []string{"load"}
	specs := []trace.Spec{{Load: true, Records: t.Records, Fresh: t.Records,
		Order: trace.Order{Distribution: trace.Shuffled}, Sizes: sizes, Batch: batch,
		Threads: min(threads, int(t.Records))}}
	fresh := t.Records
	each := max(t.Operations/uint64(parts), uint64(threads))
	for part := range parts {
		names = append(names, "writes")
		specs = append(specs, trace.Spec{Mix: []trace.Share{{Operation: trace.Insert, Weight: 5},
			{Operation: trace.Upsert, Weight: 3}, {Operation: trace.Delete, Weight: 2}},
			Records: t.Records, Fresh: fresh, Deleted: part > 0, Order: order, Sizes: sizes, Threads: threads,
			Limit: each})
		fresh += each + uint64(threads) // beyond every index that this phase may reach: each of them takes at most one
	}
	if batch > 1 {
		names = append(names, "batches")
		specs = append(specs, trace.Spec{Mix: []trace.Share{{Operation: trace.Insert, Weight: 1}}, Records: t.Records,
			Fresh: fresh + t.Records + t.Operations, Deleted: true, Order: order, Sizes: sizes, Batch: batch,
			Threads: threads, Limit: max(t.Operations/batchEntries, uint64(threads))})
	}
	for i, spec := range specs {
		spec.Seed = keyval.Mix(seed ^ uint64(i)<<32)
		file, err := trace.Generate(spec)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{names[i], file})
	}
	return steps, nil
}

// random returns the generator of one cut. The same seed and number draw the same moments.
func random(seed uint64, cut int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(cut))) }
