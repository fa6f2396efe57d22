package trace

import "fmt"

// threadGenerator makes one thread's lap.
type threadGenerator struct {
	*generator
	number  int
	entries []Entry
	starts  []uint32 // position of each operation's entry

	operations, keys, amounts random

	inserts uint64 // fresh indexes taken in this lap
	counted uint64 // indexes that the order counting took in this lap

	pass, next, from, to uint64 // orders that visit every record: where we are

	scan      *zipf
	earlier   []earlier
	appending *appending          // nil: nothing is appended
	called    map[uint64]struct{} // indexes of the multi-read that is being made
	moments   []uint64            // when operations are due, since the group's begin, where popularity shifts
}

// earlier is an entry that reaches back before this lap's inserts. Which index that is depends on
// how many inserts a lap has, which is known at its end.
type earlier struct {
	entry int
	back  uint64 // 0: the newest one before this lap
}

// thread makes the lap of a thread, without due times.
func (g *generator) thread(i int) (*threadGenerator, error) {
	t := &threadGenerator{
		generator: g, number: i,
		operations: newRandom(g.Seed, i, purposeOperations), keys: newRandom(g.Seed, i, purposeKeys),
		amounts: newRandom(g.Seed, i, purposeSizes), appending: g.newAppending(),
	}
	if g.scanClasses != nil && g.Scan.Zipfian {
		t.scan = newZipf(uint64(g.Scan.Max-g.Scan.Min+1), YCSBTheta)
	}
	t.from, t.to = part(g.Records, i, g.Threads)
	t.next = t.from
	limit := t.limit()
	t.reserve(limit)
	if g.Order.Shift.Every > 0 && limit > 0 {
		t.moments, _ = g.dueOverTime(i, int(limit))
	}
	for !t.ended(limit) {
		if err := t.operation(); err != nil {
			return nil, err
		}
		if g.Stopped != nil && len(t.starts)%(1<<16) == 0 {
			if err := g.Stopped(); err != nil {
				return nil, err
			}
		}
		if g.entries+uint64(len(t.entries)) > max(g.entriesMax(), uint64(g.lap)*uint64(g.Threads)) {
			return nil, g.tooLong(g.entries + uint64(len(t.entries)))
		}
	}
	g.entries += uint64(len(t.entries))
	return t, nil
}

// reserve makes room for the entries and operations that the thread will have; of batches, most.
func (t *threadGenerator) reserve(limit uint64) {
	each, entries := uint64(1), uint64(t.lap) // each: of an operation
	if len(t.Request) > 0 {
		each += uint64(len(t.Request))
	}
	switch {
	case t.load != nil:
		entries = limit * each
	case t.visiting:
		entries = t.passes * (t.to - t.from) * each
	}
	single := t.members.values == nil && !t.multiReads()
	if t.Limit > 0 && single {
		entries = min(entries, limit*each)
	}
	entries = min(entries, t.entriesMax())
	t.entries = make([]Entry, 0, entries)
	if single {
		t.starts = make([]uint32, 0, entries/each)
	}
}

// limit returns how many operations the thread does in all; 0 with Spec.Limit 0: no limit.
func (t *threadGenerator) limit() uint64 {
	from, to := t.Limit/uint64(t.Threads), t.Limit%uint64(t.Threads)
	if uint64(t.number) < to {
		from++
	}
	return from
}

func (t *threadGenerator) ended(limit uint64) bool {
	switch {
	case t.Limit > 0 && uint64(len(t.starts)) >= limit:
		return true
	case t.load != nil:
		return false
	case t.visiting:
		return t.visitedAll()
	}
	return len(t.entries) > 0 && len(t.entries)+t.entriesEach()+1 > t.lap
}

func (t *threadGenerator) visitedAll() bool { return t.pass == t.passes || t.from == t.to }

func (t *threadGenerator) operation() error {
	if len(t.Request) > 0 {
		t.request()
		return nil
	}
	o := t.alternatives.pick(t.operations)
	t.starts = append(t.starts, uint32(len(t.entries)))
	switch o {
	case MultiRead:
		t.multiRead()
		return nil
	case Append:
		t.append()
		return nil
	case Batch:
	default:
		t.add(o, false)
		return nil
	}
	head := len(t.entries)
	t.entries = append(t.entries, 0)
	for range t.Batch {
		o := t.members.pick(t.operations)
		if t.visiting && t.visitedAll() {
			break
		}
		t.add(o, true)
	}
	class, err := t.class(uint32(len(t.entries) - head - 1))
	if err != nil {
		return fmt.Errorf("the last batch of thread %d: %w", t.number, err)
	}
	t.entries[head] = MakeEntry(Batch, 0, class, false)
	return nil
}

// drawsMost is how often a key is drawn again where the call has it already: behind that comes the next
// one that it has not.
const drawsMost = 64

// multiRead adds a call and the reads of its keys, which all differ. In sequential order the last one
// of a lap may go on with the first records of the next pass.
func (t *threadGenerator) multiRead() {
	if t.called == nil {
		t.called = make(map[uint64]struct{}, t.MultiRead)
	}
	clear(t.called)
	t.entries = append(t.entries, MakeEntry(MultiRead, 0, t.classes[amount{amount: uint32(t.MultiRead)}], false))
	for range t.MultiRead {
		index, _ := t.index(Read)
		for draws := 1; t.isCalled(index); draws++ {
			if draws < drawsMost && !t.visiting {
				index, _ = t.index(Read)
			} else {
				index = (index + 1) % t.Records
			}
		}
		t.called[index] = struct{}{}
		t.entries = append(t.entries, MakeEntry(Read, index, 0, false).Member())
	}
}

func (t *threadGenerator) isCalled(index uint64) bool {
	_, called := t.called[index]
	return called
}

// request adds the steps of a request, all on one key, and the request.
func (t *threadGenerator) request() {
	t.starts = append(t.starts, uint32(len(t.entries)))
	index, grows := t.index(t.Request[0].Operation)
	for i, step := range t.Request {
		class := t.stepClass[i]
		if step.Operation.Puts() && step.Bytes == 0 {
			class = t.sizes.pick(t.amounts)
		}
		t.entries = append(t.entries, MakeEntry(step.Operation, index, class, grows))
	}
	t.entries = append(t.entries, MakeEntry(Request, index, t.classes[amount{amount: uint32(len(t.Request))}], grows))
}

func (t *threadGenerator) add(o Operation, member bool) {
	var class uint8
	if o == ReadOrFill {
		class = t.filling.pick(t.amounts)
	} else if o == Touch {
		class = t.touching.pick(t.amounts)
	} else if o.TakesTTL() {
		class = t.living.pick(t.amounts)
	} else if o.Puts() {
		class = t.sizes.pick(t.amounts)
	} else if o == Scan {
		class = t.scanClass()
	} else if o.Asks() {
		class = t.queryClass[o].pick(t.amounts)
	}
	index, grows := t.index(o)
	t.appending.meets(o, index)
	if t.keySizes != nil && index < uint64(len(t.keySizes)) && t.keySizes[index] > 0 {
		class = t.keyed.loadClass(t.keySizes[index]-1, t.file.TTLs[class])
	}
	e := MakeEntry(o, index, class, grows)
	if member {
		e = e.Member()
	}
	t.entries = append(t.entries, e)
}

func (t *threadGenerator) scanClass() uint8 {
	span, classes := uint64(t.Scan.Max-t.Scan.Min), uint64(len(t.scanClasses))
	var over uint64 // records above Min
	if t.scan != nil {
		over = t.scan.rank(t.amounts)
	} else {
		over = t.amounts.below(span + 1)
	}
	if span == 0 {
		return t.scanClasses[0]
	}
	return t.scanClasses[(over*(classes-1)+span/2)/span]
}

// index returns the next index for an operation, and if it grows with the laps.
func (t *threadGenerator) index(o Operation) (index uint64, grows bool) {
	switch {
	case o.isFresh() && !t.Load:
		t.inserts++
		return t.own(t.inserts - 1), true
	case t.Order.Distribution == Counting:
		t.counted++
		return t.counted - 1, true
	case t.visiting:
		return t.visit(), false
	case t.newest != nil:
		return t.latest()
	}
	return t.shifted(t.draw(t.keys)), false
}

// own returns the index of the thread's insert number j in lap 0. The threads that insert take turns,
// so that the keys of all rise together: each has the indexes of one remainder, which no stride that
// is a multiple of their number leaves.
func (t *threadGenerator) own(j uint64) uint64 {
	return t.Fresh + j*uint64(t.inserters) + uint64(t.insertersBefore+t.number)
}

func (t *threadGenerator) visit() uint64 {
	index := t.next
	if t.Order.Distribution == Shuffled {
		index = t.shuffles[t.pass].at(index)
	}
	if t.next++; t.next == t.to {
		t.next, t.pass = t.from, t.pass+1
	}
	return index
}

func (t *threadGenerator) latest() (index uint64, grows bool) {
	back := t.newest.rank(t.keys)
	for back >= t.Records+t.inserts { // the zipfian of the present count is that of a larger one, cut off
		back = t.newest.rank(t.keys)
	}
	if back < t.inserts {
		return t.own(t.inserts - 1 - back), true
	}
	t.earlier = append(t.earlier, earlier{len(t.entries), back - t.inserts})
	return 0, false
}

// resolveEarlier fills in the indexes of entries that reach back before this lap: in the first lap
// they are records that were there at the start, in later laps what the thread inserted in the laps
// before.
func (t *threadGenerator) resolveEarlier(stride uint64) {
	for _, back := range t.earlier {
		index, grows := t.Records-1-back.back, false
		if t.inserts > 0 {
			laps := 1 + back.back/t.inserts
			own := t.own(t.inserts - 1 - back.back%t.inserts)
			// Stepped down to lap 0, the index must be a record then and in each lap until it is
			// the thread's own.
			if own >= stride*laps && own-stride < t.Records {
				index, grows = own-stride*laps, true
			}
		}
		e := t.entries[back.entry]
		kept := MakeEntry(e.Operation(), index, e.SizeClass(), grows)
		if e.IsMember() {
			kept = kept.Member()
		}
		t.entries[back.entry] = kept
	}
}

// finish adds stride, limit and due times.
func (g *generator) finish(t *threadGenerator, stride uint64) Thread {
	thread := Thread{Entries: t.entries, Stride: stride, Endpoint: g.endpoint(t.number)}
	limited, operations := g.Limit > 0, t.limit()
	if g.Load {
		limited, operations = true, uint64(len(t.starts))
	}
	if g.Rate > 0 && len(t.starts) > 0 {
		times := g.due
		if g.load != nil {
			times = g.dueOverTime
		}
		due, lapNS := times(t.number, len(t.starts))
		if g.EndNS > 0 { // both count from the group's begin here
			before := dueBefore(due, lapNS, g.EndNS)
			if !limited || before < operations {
				limited, operations = true, before
			}
		}
		for i := range due {
			due[i] += g.FromNS
		}
		thread.Due, thread.LapNS = t.spread(due), lapNS
	}
	if g.ThinkNS > 0 {
		thread.Pauses = t.spread(g.pauses(t.number, len(t.starts)))
	}
	if !limited {
		return thread
	}
	if operations == 0 { // a limit of 0 entries would mean none
		return Thread{Endpoint: thread.Endpoint}
	}
	lap := uint64(len(t.starts))
	thread.Limit = operations / lap * uint64(len(t.entries))
	if rest := operations % lap; rest > 0 {
		thread.Limit += uint64(t.starts[rest])
	}
	return thread
}

// spread gives each entry the due time of its operation.
func (t *threadGenerator) spread(due []uint64) []uint64 {
	all := make([]uint64, len(t.entries))
	for i, start := range t.starts {
		end := len(t.entries)
		if i+1 < len(t.starts) {
			end = int(t.starts[i+1])
		}
		for p := int(start); p < end; p++ {
			all[p] = due[i]
		}
	}
	return all
}
