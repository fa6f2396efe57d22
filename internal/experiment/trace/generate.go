package trace

import (
	"fmt"
	"math"
)

// Generate makes the trace of a phase. It returns an error that says what to change where the phase
// can't be.
//
// Operations are drawn at random by their weights, not interleaved exactly: a fixed pattern could
// beat against a store's own periods. Which key an operation takes:
//
// - insert and add take fresh indexes: Fresh, Fresh+1 … dealt to the threads in turn and stepped by
// the lap stride each
//
//	lap, so that no index comes twice, whatever the threads' speeds. Of several groups, all threads that insert are
//	dealt to, whichever group they are of.
//
// - all others, upsert and delete among them, take a record in the order of the spec. A delete may
// meet a record that
//
//	  is gone already, a read one that was deleted: both are misses. So update, which claims that the key exists, is
//	  refused beside delete.
//	- upserts in the order counting take 0, 1, 2 … in each thread, and go on after each lap.
//
// - of the orders, only latest reaches records that the phase itself inserts, and a thread only
// those that it inserted
//
//	itself, counted back over laps: what other threads have done by then no trace can know. With T threads the newest
//	records are therefore T small sets where YCSB has one.
//
// Several specs make the groups of one trace, in their order, with the threads of each group one
// after the other. Orders reach only records that were there at the start and what a thread inserted
// itself, so no group's operations hang on another's.
func Generate(groups ...Spec) (*File, error) {
	f := &File{Groups: uint32(len(groups)), Seed: groups[0].Seed}
	shared := &sharing{file: f, classes: map[amount]uint8{}}
	for i := range groups {
		if err := groups[i].check(); err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
		if groups[i].takesFresh() {
			shared.inserters += groups[i].Threads
		}
		if groups[i].Rate > 0 {
			f.Flags |= FlagDue
		}
		if groups[i].HandleTimes {
			f.Flags |= FlagHandleTimes
		}
		if groups[i].ThinkNS > 0 {
			f.Flags |= FlagPauses
		}
		if groups[i].Expires {
			f.Flags |= FlagExpiry
		}
		if groups[i].TimedEvery > 0 {
			f.Flags, f.TimedEvery = f.Flags|FlagSampled, groups[i].TimedEvery
		}
	}
	for i, s := range groups {
		g := &generator{Spec: s, sharing: shared, first: len(f.Threads), lap: s.lapEntries(),
			stepClass: make([]uint8, len(s.Request))}
		f.Threads = append(f.Threads, make([]Thread, s.Threads)...)
		if err := g.generate(); err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
		for t := range g.threads() {
			g.threads()[t].Group, g.threads()[t].FromNS, g.threads()[t].UntilNS = uint32(i), s.FromNS, s.UntilNS
			if s.Spans != nil {
				g.threads()[t].work(s.FromNS, s.Spans[t])
			}
		}
		if s.takesFresh() {
			shared.insertersBefore += s.Threads
		}
	}
	if err := f.ListSlots(); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return f, f.check()
}

// work lets the thread of a group that begins at a moment work in a span.
func (t *Thread) work(groupNS uint64, s WorkSpan) {
	t.FromNS = groupNS + s.FromNS
	if s.UntilNS > 0 {
		t.UntilNS = groupNS + s.UntilNS
	}
}

// sharing is what the groups of a trace share.
type sharing struct {
	file      *File
	classes   map[amount]uint8 // → size class
	inserters int              // threads that take fresh indexes

	insertersBefore int // of the groups before the one that is made
}

// amount is what a size class gives.
type amount struct{ amount, ttlMS, backendUS uint32 }

// generator holds what all threads of a group share.
type generator struct {
	Spec
	*sharing
	first   int    // the group's first thread in the trace
	lap     int    // entries that a lap may have where the order needs no more
	entries uint64 // so far, over all threads

	alternatives choice[Operation] // what a thread does next; Batch and MultiRead stand for one of them
	members      choice[Operation]
	sizes        choice[uint8] // of values without a TTL
	living       choice[uint8] // of those that may have one
	filling      choice[uint8] // of those that fills put
	touching     choice[uint8] // of the TTLs that touches give
	partClasses  []uint8       // of the parts that appends add, in their order
	scanClasses  []uint8
	queryClass   [operationsMax]choice[uint8]
	stepClass    []uint8 // of the steps of a request whose values have a length of their own
	draw         func(random) uint64
	newest       *zipf // latest
	load         *Load // a rate that changes over time; nil: it is one, or there is none
	visiting     bool  // a lap is made of whole passes over the records
	passes       uint64
	shuffles     []permutation // of each pass
	// of a load of a recording's keys: position of the length of each key's value + 1; 0: not told
	keySizes []uint8
	keyed    *replayed // that they are of; their classes are made
}

// threads are the group's in the trace.
func (g *generator) threads() []Thread { return g.file.Threads[g.first:] }

func (g *generator) generate() error {
	if err := g.prepareAmounts(); err != nil {
		return err
	}
	if g.Replay != nil && !g.Load {
		return g.replay()
	}
	if g.Replay != nil {
		var err error
		if g.keySizes, g.keyed, err = g.keyClasses(); err != nil {
			return err
		}
	}
	if g.keySizes == nil && g.Load && g.Order.Distribution == Sequential &&
		g.Records > uint64(g.lap)*uint64(g.Threads) && g.Records%uint64(max(g.Batch, 1)) == 0 {
		return g.loadByLaps()
	}
	g.prepareMix()
	if err := g.prepareLoad(); err != nil {
		return err
	}
	if err := g.prepareOrder(); err != nil {
		return err
	}
	threads := make([]*threadGenerator, g.Threads)
	insertsMax := uint64(0)
	for i := range threads {
		t, err := g.thread(i)
		if err != nil {
			return err
		}
		threads[i] = t
		insertsMax = max(insertsMax, t.inserts)
	}
	stride := insertsMax * uint64(g.inserters)
	for i, t := range threads {
		if g.Order.Distribution == Counting {
			stride = t.counted
		}
		t.resolveEarlier(stride)
		g.threads()[i] = g.finish(t, stride)
	}
	return nil
}

// prepareAmounts gives a size class to each value length, scan length and to the full batch.
func (g *generator) prepareAmounts() error {
	if g.Replay != nil && !g.Load {
		return nil // classes are those of what the recording has
	}
	for _, z := range g.Sizes {
		if z.Bytes < 0 || z.Bytes > math.MaxInt32 {
			return fmt.Errorf("values of %d bytes", z.Bytes)
		}
		if err := g.addSize(z); err != nil {
			return err
		}
	}
	if g.operations()[Scan] {
		for _, records := range g.Scan.lengths() {
			class, err := g.class(records)
			if err != nil {
				return err
			}
			g.scanClasses = append(g.scanClasses, class)
		}
	}
	for _, q := range g.Queries {
		if !g.operations()[q.Operation] {
			continue
		}
		class, err := g.class(uint32(q.Query))
		if err != nil {
			return err
		}
		g.queryClass[q.Operation].add(class, q.Weight)
	}
	for part := range g.Append.Parts {
		if !g.operations()[Append] {
			break
		}
		class, err := g.classOf(amount{amount: uint32(g.Append.Bytes), backendUS: uint32(part + 1)})
		if err != nil {
			return err
		}
		g.partClasses = append(g.partClasses, class)
	}
	for i, step := range g.Request {
		if step.Bytes == 0 {
			continue
		}
		class, err := g.class(uint32(step.Bytes))
		if err != nil {
			return err
		}
		g.stepClass[i] = class
	}
	if steps := uint32(len(g.Request)); steps > 0 {
		_, err := g.class(steps)
		return err
	}
	for _, members := range []int{g.Batch, g.MultiRead} {
		if members < 2 {
			continue
		}
		if _, err := g.class(uint32(members)); err != nil {
			return err
		}
	}
	return nil
}

// addSize gives a value length a class without a TTL, where an operation needs one, and one with each.
func (g *generator) addSize(z Size) error {
	plain := len(g.TTLs) == 0
	for o, has := range g.operations() {
		plain = plain || has && Operation(o).Puts() && !Operation(o).TakesTTL()
	}
	if plain {
		class, err := g.class(uint32(z.Bytes))
		if err != nil {
			return err
		}
		g.sizes.add(class, z.Weight)
	}
	for _, ttl := range g.TTLs {
		class, err := g.classOf(amount{amount: uint32(z.Bytes), ttlMS: ttl.MS})
		if err != nil {
			return err
		}
		g.living.add(class, z.Weight*ttl.Weight)
		if ttl.MS > 0 {
			g.touching.add(class, z.Weight*ttl.Weight)
		}
	}
	if len(g.TTLs) == 0 {
		g.living = g.sizes
	}
	return g.addFills(z)
}

// addFills gives a value length that fills put a class with their wait, and one with each TTL.
func (g *generator) addFills(z Size) error {
	if !g.Fill {
		return nil
	}
	ttls := g.TTLs
	if len(ttls) == 0 {
		ttls = []TTL{{Weight: 1}}
	}
	for _, ttl := range ttls {
		class, err := g.classOf(amount{uint32(z.Bytes), ttl.MS, g.BackendUS})
		if err != nil {
			return err
		}
		g.filling.add(class, z.Weight*ttl.Weight)
	}
	return nil
}

func (g *generator) class(n uint32) (uint8, error) { return g.classOf(amount{amount: n}) }

func (g *generator) classOf(a amount) (uint8, error) {
	if class, ok := g.classes[a]; ok {
		return class, nil
	}
	class := len(g.classes)
	if class == len(g.file.Amounts) {
		return 0, fmt.Errorf("more than %d different value lengths (each with each TTL), scan lengths, sizes of batches and multi-reads, and queries", len(g.file.Amounts))
	}
	g.classes[a] = uint8(class)
	g.file.Amounts[class], g.file.TTLs[class], g.file.Backends[class] = a.amount, a.ttlMS, a.backendUS
	return uint8(class), nil
}

func (l ScanLengths) lengths() []uint32 {
	span := l.Max - l.Min
	classes := min(span+1, scanClasses)
	lengths := make([]uint32, classes)
	for i := range lengths {
		lengths[i] = uint32(l.Min)
		if classes > 1 {
			lengths[i] += uint32((i*span + (classes-1)/2) / (classes - 1))
		}
	}
	return lengths
}

func (g *generator) prepareMix() {
	mix := g.Mix
	if g.Load {
		mix = []Share{{Insert, 1}}
	}
	batched := 0.0
	for _, m := range mix {
		switch {
		case g.Batch > 1 && m.Operation.isBatchable():
			g.members.add(m.Operation, m.Weight)
			batched += m.Weight
		case g.Fill && m.Operation == Read:
			g.alternatives.add(ReadOrFill, m.Weight)
		case g.MultiRead > 1 && m.Operation == Read:
			g.alternatives.add(MultiRead, m.Weight/float64(g.MultiRead))
		default:
			g.alternatives.add(m.Operation, m.Weight)
		}
	}
	if batched > 0 {
		g.alternatives.add(Batch, batched/float64(g.Batch))
	}
}

// prepareLoad limits the operations to those that a rate over time comes to, and a lap to all of them:
// gaps that change do not repeat.
func (g *generator) prepareLoad() (err error) {
	if len(g.Segments) == 0 {
		return nil
	}
	if g.load, err = NewLoad(g.Segments); err != nil {
		return err
	}
	operations := g.load.Operations()
	if g.Limit == 0 || operations < g.Limit {
		g.Limit = operations
	}
	if g.Limit > g.entriesMax() {
		return g.tooLong(g.Limit)
	}
	return nil
}

func (g *generator) prepareOrder() error {
	if g.Records == 0 || g.Order.Distribution == Counting {
		return nil
	}
	g.visiting = g.visits()
	switch {
	case g.visiting:
		return g.prepareVisits()
	case g.Order.Distribution == Latest:
		g.newest = newZipf(g.Records+uint64(g.lap), g.Order.Theta)
	case !g.Order.visitsAll():
		g.draw = g.Order.draw(g.Records, g.Seed)
	}
	return nil
}

// visits says if a lap is made of whole passes over the records.
func (g *generator) visits() bool {
	if !g.Order.visitsAll() || g.Load {
		return g.Load
	}
	if g.isFreshRequest() {
		return false
	}
	for _, m := range g.mix() {
		if m.Weight > 0 && !m.Operation.isFresh() {
			return true
		}
	}
	return false
}

func (g *generator) prepareVisits() error {
	needed := g.Records
	if g.Limit > 0 {
		needed = min(needed, g.Limit)
	}
	if needed > g.entriesMax() {
		return g.tooLong(needed)
	}
	part := (g.Records + uint64(g.Threads) - 1) / uint64(g.Threads)
	switch {
	case g.load != nil:
		each := (g.Limit + uint64(g.Threads) - 1) / uint64(g.Threads) * uint64(max(g.Batch, g.MultiRead, 1))
		g.passes = each/max(g.Records/uint64(g.Threads), 1) + 1
	case !g.Load:
		g.passes = max(uint64(g.lap)/part, 1)
	default:
		g.passes = 1
	}
	if g.Order.Distribution == Shuffled {
		for pass := range g.passes {
			g.shuffles = append(g.shuffles, newPermutation(g.Records, g.Seed, pass))
		}
	}
	return nil
}

func (g *generator) tooLong(entries uint64) error {
	if g.load != nil {
		return fmt.Errorf("the rate comes to more than the %d entries that a trace may have: take a lower rate or a shorter phase", g.entriesMax())
	}
	remedy := "take fewer records, a limit on operations or an order that draws at random"
	if g.Load {
		remedy = "take fewer records, or load sequentially with records a multiple of the batch"
	}
	return fmt.Errorf("order %s over %d records needs a trace of at least %d entries of 8 bytes, and %d are allowed: %s",
		g.Order.Distribution, g.Records, entries, g.entriesMax(), remedy)
}

// part returns the stretch of n things that thread i of threads has.
func part(n uint64, i, threads int) (from, to uint64) {
	return n * uint64(i) / uint64(threads), n * uint64(i+1) / uint64(threads)
}

// loadByLaps makes a sequential load as a short lap whose indexes step on, however many the
// records.
func (g *generator) loadByLaps() error {
	batch := uint64(max(g.Batch, 1))
	for i := range g.threads() {
		from, to := part(g.Records/batch, i, g.Threads)
		batches := min(max(uint64(g.lap)/(batch+1), 1), to-from)
		t := &g.threads()[i]
		t.Endpoint = g.endpoint(i)
		r := newRandom(g.Seed, i, purposeSizes)
		for b := range batches {
			if batch > 1 {
				t.Entries = append(t.Entries, MakeEntry(Batch, 0, g.classes[amount{amount: uint32(batch)}], false))
			}
			for k := range batch {
				e := MakeEntry(Insert, (from+b)*batch+k, g.living.pick(r), true)
				if batch > 1 {
					e = e.Member()
				}
				t.Entries = append(t.Entries, e)
			}
		}
		t.Stride = batches * batch
		t.Limit = (to - from) * batch
		if batch > 1 {
			t.Limit += to - from
		}
	}
	return nil
}

func (g *generator) endpoint(thread int) uint32 {
	if g.Endpoints == 0 {
		return 0
	}
	return uint32(thread % g.Endpoints)
}

// choice draws one of several values by weight.
type choice[T any] struct {
	values  []T
	weights []float64
	bounds  []uint64 // a 63-bit word below bounds[i], and not below the one before, picks values[i]
}

func (c *choice[T]) add(value T, weight float64) {
	if weight == 0 {
		return
	}
	c.values, c.weights = append(c.values, value), append(c.weights, weight)
	total := 0.0
	for _, w := range c.weights {
		total += w
	}
	c.bounds = c.bounds[:0]
	sum := 0.0
	for _, w := range c.weights {
		sum += w
		c.bounds = append(c.bounds, threshold(sum/total))
	}
	c.bounds[len(c.bounds)-1] = 1 << 63
}

func (c *choice[T]) pick(r random) T {
	if len(c.values) == 1 {
		return c.values[0]
	}
	word, i := r.Uint64()>>1, 0
	for word >= c.bounds[i] {
		i++
	}
	return c.values[i]
}
