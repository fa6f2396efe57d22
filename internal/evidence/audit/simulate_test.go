package audit

import (
	"slices"

	"pgregory.net/rapid"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// event is one attempted change of one key, as the simulator did it.
type event struct {
	phase, thread int
	sequence      uint64
	word          uint64 // what a read finds after it
	state         state
}

type state int

const (
	certain  state = iota
	doubtful       // of a kind of which some failed
	underway
)

// world is a store that a few threads have worked on, with the truth about it.
type world struct {
	phases []Phase
	events map[uint64][]event
	truth  map[uint64]uint64 // index → version; absent: not there
}

func drawWorld(t *rapid.T, mayFail bool) *world {
	return drawPhases(t, mayFail, []trace.Operation{trace.Read, trace.Insert, trace.Upsert, trace.Delete,
		trace.ReadModifyWrite, trace.Add}, false)
}

// drawCountable draws a world in which what is there is known exactly: nothing fails or is cut off,
// nothing is deleted or may be new.
func drawCountable(t *rapid.T) *world {
	return drawPhases(t, false, []trace.Operation{trace.Read, trace.Insert, trace.ReadModifyWrite, trace.Add}, true)
}

func drawPhases(t *rapid.T, mayFail bool, operations []trace.Operation, whole bool) *world {
	w := &world{events: map[uint64][]event{}, truth: map[uint64]uint64{}}
	records := rapid.Uint64Range(3, 12).Draw(t, "records")
	w.load(t, records, mayFail, whole)
	fresh := records
	for number := range rapid.IntRange(1, 3).Draw(t, "phases") {
		s := trace.Spec{
			Records: records, Fresh: fresh, Deleted: true, Threads: rapid.IntRange(1, 3).Draw(t, "threads"),
			Order: rapid.SampledFrom([]trace.Order{
				{Distribution: trace.Uniform}, {Distribution: trace.Zipfian, Theta: 1}, {Distribution: trace.Latest,
					Theta: 0.8},
				{Distribution: trace.Shuffled},
			}).Draw(t, "order"),
			Sizes: []trace.Size{{Bytes: 30, Weight: 1}}, Batch: rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "batch"),
			Seed: rapid.Uint64().Draw(t, "seed"), ThreadEntries: rapid.IntRange(1, 30).Draw(t, "entries"),
			Limit: rapid.SampledFrom([]uint64{0, 0, 40}).Draw(t, "limit"),
		}
		if s.Records < uint64(s.Threads) {
			s.Threads = 1
		}
		for _, o := range operations {
			if rapid.Bool().Draw(t, o.String()) {
				s.Mix = append(s.Mix, trace.Share{Operation: o, Weight: 1})
			}
		}
		if slices.Contains(operations, trace.Upsert) && rapid.IntRange(0, 3).Draw(t, "counting") == 0 {
			s.Order, s.Mix = trace.Order{Distribution: trace.Counting}, []trace.Share{{Operation: trace.Upsert,
				Weight: 1}}
		}
		if len(s.Mix) == 0 {
			s.Mix = []trace.Share{{Operation: operations[len(operations)-1], Weight: 1}}
		}
		f, err := trace.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		w.run(t, number+1, f, false, mayFail, whole)
		fresh += 1_000_000
	}
	return w
}

func (w *world) load(t *rapid.T, records uint64, mayFail, whole bool) {
	f, err := trace.Generate(trace.Spec{
		Load: true, Records: records, Fresh: records, Threads: rapid.IntRange(1, 2).Draw(t, "loaders"),
		Order: trace.Order{Distribution: rapid.SampledFrom([]string{trace.Sequential, trace.Shuffled}).Draw(t, "load order")},
		Sizes: []trace.Size{{Bytes: 30, Weight: 1}}, Batch: rapid.SampledFrom([]int{0, 2}).Draw(t, "load batch"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.run(t, 0, f, true, mayFail && rapid.Bool().Draw(t, "load fails"), whole || rapid.Bool().Draw(t, "whole load"))
}

// run does a phase: threads in random turns, each until it has done as much as was drawn.
func (w *world) run(t *rapid.T, number int, f *trace.File, zero, mayFail, whole bool) {
	p := Phase{
		Number: number, Trace: f, ZeroVersions: zero, Doubt: make([]uint32, len(f.Threads)),
		Attempted: make([]uint64, len(f.Threads)), Acknowledged: make([]uint64, len(f.Threads)),
	}
	type runner struct {
		thread int
		until  uint64
	}
	var runners []runner
	for i := range f.Threads {
		end := uint64(3 * len(f.Threads[i].Entries))
		if limit := f.Threads[i].Limit; limit > 0 {
			end = min(end, limit)
		}
		until := end
		if !whole {
			until = rapid.Uint64Range(0, end).Draw(t, "until")
		}
		if until > 0 {
			runners = append(runners, runner{i, until})
		}
		if mayFail && rapid.Bool().Draw(t, "thread fails") {
			p.Doubt[i] = rapid.SampledFrom([]uint32{1 << trace.Upsert, 1 << trace.Delete, 1<<trace.Batch | 1<<trace.Insert, 1<<trace.ReadModifyWrite | 1<<trace.Add}).Draw(t, "kinds")
		}
	}
	for len(runners) > 0 {
		k := rapid.IntRange(0, len(runners)-1).Draw(t, "turn")
		r := runners[k]
		if w.operation(t, &p, r.thread, r.until, whole) {
			runners = append(runners[:k], runners[k+1:]...)
		}
	}
	w.phases = append(w.phases, p)
}

// operation does a thread's next operation and says if it was the last.
func (w *world) operation(t *rapid.T, p *Phase, thread int, until uint64, whole bool) (last bool) {
	tr := &p.Trace.Threads[thread]
	from := p.Attempted[thread]
	head, _ := tr.EntryAt(from)
	to := from + 1
	if head.Operation() == trace.Batch {
		to += uint64(p.Trace.Amounts[head.SizeClass()])
	}
	p.Attempted[thread] = to
	last = to >= until
	s := certain
	if last && !whole && rapid.Bool().Draw(t, "under way") {
		s = underway
	} else {
		p.Acknowledged[thread] = to
		if p.Doubt[thread]>>head.Operation()&1 != 0 {
			s = doubtful
		}
	}
	done := to - from // how many of the entries take effect
	if s == underway || s == doubtful && rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
		done = rapid.Uint64Range(0, done).Draw(t, "done")
	}
	for sequence := from; sequence < to; sequence++ {
		e, index := tr.EntryAt(sequence)
		word := keyval.Version(p.Number, thread, sequence)
		switch {
		case p.ZeroVersions:
			word = 0
		case e.Operation() == trace.Delete:
			word = counters.ObservedMiss
		}
		if !e.Operation().Writes() && e.Operation() != trace.Delete {
			continue
		}
		w.events[index] = append(w.events[index], event{len(w.phases), thread, sequence, word, s})
		if sequence-from < done {
			if word == counters.ObservedMiss {
				delete(w.truth, index)
			} else {
				w.truth[index] = word
			}
		}
	}
	return last
}

// reachable says in which worlds, of all that fit what is known, a read of the key may return word:
// all, some or none. Each operation in doubt was done or not, and so was each under way. If word is
// of an operation in doubt, only worlds where it was done are looked at: having seen it proves
// that.
func reachable(events []event, word uint64) (all, some bool) {
	var open []int // events in doubt
	for i, e := range events {
		if e.state == doubtful {
			open = append(open, i)
		}
	}
	all = true
	for doneBits := range 1 << len(open) {
		done := map[int]bool{}
		shown := true
		for k, i := range open {
			done[i] = doneBits>>k&1 != 0
			if events[i].word == word && word != counters.ObservedMiss && !done[i] {
				shown = false
			}
		}
		if !shown {
			continue
		}
		if isFinal(events, done, word) {
			some = true
		} else {
			all = false
		}
	}
	return all && some, some
}

func isFinal(events []event, done map[int]bool, word uint64) bool {
	var open []int
	for i, e := range events {
		if e.state == underway {
			open = append(open, i)
		}
	}
	for bits := range 1 << len(open) {
		type place struct{ phase, thread int }
		last := map[place]uint64{}
		phase := -1
		for i, e := range events {
			isDone := e.state == certain || e.state == doubtful && done[i]
			for k, under := range open {
				isDone = isDone || under == i && bits>>k&1 != 0
			}
			if isDone {
				last[place{e.phase, e.thread}] = e.word
				phase = max(phase, e.phase)
			}
		}
		if phase < 0 && word == counters.ObservedMiss {
			return true
		}
		for at, w := range last {
			if at.phase == phase && w == word {
				return true
			}
		}
	}
	return false
}
