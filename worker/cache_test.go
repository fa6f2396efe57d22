package worker

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// What a value with parts shows of itself: what is missing, twice, elsewhere or another's.
func TestParts(t *testing.T) {
	const index, length, partLength = 7, 60, 40
	f := &trace.File{Groups: 1}
	f.Amounts = [256]uint32{length, partLength, partLength, partLength}
	f.Backends = [256]uint32{0, 1, 2, 3}
	put := trace.MakeEntry(trace.Update, index, 0, false)
	part := func(number uint8) trace.Entry { return trace.MakeEntry(trace.Append, index, number, false) }
	entries := []trace.Entry{put, part(1), part(2), part(3), trace.MakeEntry(trace.Append, index+1, 1, false)}
	f.Threads = []trace.Thread{{Entries: entries}, {Entries: entries}}
	if err := f.ListSlots(); err != nil {
		t.Fatal(err)
	}
	c, err := counters.Create(filepath.Join(t.TempDir(), "counters"), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Unmap(); err != nil {
			t.Error(err)
		}
	})
	shape := keyval.ValueShape{PoolBytes: 4096, LengthMax: 400, TrialTag: 9}
	p := &phase{trace: f, counters: c, request: &control.Prepare{LoadedRecords: 100}, pool: keyval.NewPool(shape)}
	s := &session{hosted: hosted{description: store.Description{}}, phases: map[int]*phase{1: p}, appends: true}
	th := &thread{session: s, phase: p, pool: p.pool, amounts: &f.Amounts, verify: true, appends: true}
	value := func(of uint64, thread int, sequence uint64, bytes int) []byte {
		v := make([]byte, bytes)
		p.pool.Put(v, of, keyval.Version(1, thread, sequence))
		return v
	}
	loaded := make([]byte, length)
	p.pool.Put(loaded, index, 0)
	base := value(index, 0, 0, length)
	at := func(thread int, sequence uint64) []byte { return value(index, thread, sequence, partLength) }
	for name, c := range map[string]struct {
		value []byte
		wrong string
	}{
		"put":                {base, ""},
		"all":                {slices.Concat(base, at(0, 1), at(0, 2), at(0, 3)), ""},
		"of two":             {slices.Concat(base, at(1, 2), at(0, 1), at(1, 3), at(0, 2)), ""},
		"later laps":         {slices.Concat(value(index, 0, 5, length), at(0, 6), at(0, 7)), ""},
		"loaded":             {slices.Concat(loaded, at(0, 1), at(1, 3)), ""},
		"the first dropped":  {slices.Concat(base, at(0, 2)), "is not there"},
		"one dropped":        {slices.Concat(base, at(0, 1), at(0, 3)), "is not there"},
		"other's dropped":    {slices.Concat(base, at(1, 1), at(0, 1), at(1, 3)), "is not there"},
		"twice":              {slices.Concat(base, at(0, 1), at(0, 1)), "came twice"},
		"order":              {slices.Concat(base, at(1, 2), at(1, 1)), "came twice, or before"},
		"before the value":   {slices.Concat(at(0, 1), base), "what a part was appended to"},
		"part alone":         {at(0, 1), "what a part was appended to"},
		"two values":         {slices.Concat(base, value(index, 1, 5, length)), "behind another one"},
		"another's part":     {slices.Concat(base, value(index+1, 0, 4, partLength)), "was not appended"},
		"cut":                {slices.Concat(base, at(0, 1)[:30]), "was not appended"},
		"longer than it was": {slices.Concat(base, value(index, 0, 1, partLength+8)), "no operation of this trial wrote"},
	} {
		problem := th.check(c.value, index)
		if (problem == "") != (c.wrong == "") || !strings.Contains(problem, c.wrong) {
			t.Errorf("%s: %q, expected %q", name, problem, c.wrong)
		}
	}
	if saw := th.observation(slices.Concat(base, at(0, 1), at(1, 2)), index, nil); saw != keyval.Version(1, 1, 2) {
		t.Errorf("the version of the last part is observed as %x", saw)
	}
	dropped := slices.Concat(base, at(0, 1), at(0, 3))
	if saw := th.observation(dropped, index, nil); saw != counters.ObservedWrong {
		t.Errorf("a value without a part is observed as %x", saw)
	}
	// Once nothing writes any more, who has a part in a value must have its last one there.
	p.counters.Thread(0).Acknowledged, p.counters.Thread(1).Acknowledged = 8, 3
	verify := &phase{trace: &trace.File{Flags: trace.FlagRecordVersions}}
	last := (&session{hosted: s.hosted, phases: s.phases, appends: true}).lastWritesOf(verify)
	end := &thread{session: s, phase: &phase{trace: f, counters: c, request: p.request, pool: p.pool, lastWrites: last},
		pool: p.pool, amounts: &f.Amounts, verify: true, appends: true}
	for name, c := range map[string]struct {
		value []byte
		right bool
	}{
		"all of both":         {slices.Concat(value(index, 0, 5, length), at(0, 6), at(1, 1), at(1, 2), at(0, 7)), true},
		"only the other's":    {slices.Concat(value(index, 1, 0, length), at(1, 1), at(1, 2)), true}, // thread 0 came before
		"the last dropped":    {slices.Concat(value(index, 0, 5, length), at(0, 6), at(1, 1), at(1, 2)), false},
		"both after the put":  {slices.Concat(value(index, 0, 5, length), at(1, 1), at(1, 2)), false},
		"the other's dropped": {slices.Concat(value(index, 0, 5, length), at(0, 6), at(1, 1), at(0, 7)), false},
		"one under way":       {slices.Concat(value(index, 0, 5, length), at(0, 6), at(0, 7), at(1, 1), at(1, 2), at(1, 3)), true},
		"of an earlier lap":   {slices.Concat(base, at(0, 1), at(0, 2), at(1, 1), at(1, 2), at(0, 3)), false},
	} {
		if saw := end.observation(c.value, index, nil); (saw != counters.ObservedWrong) != c.right {
			t.Errorf("%s at the end: observed %x", name, saw)
		}
	}
	slot := slices.Index(f.Operations, trace.Append)
	p.counters.Slot(0, slot).Outcomes[counters.Timeout]++
	if problem := th.check(dropped, index); problem != "" {
		t.Errorf("beside an append that timed out: %s", problem)
	}
	p.counters.Slot(0, slot).Outcomes[counters.Timeout] = 0
	s.hosted.description.AppendMakes = true
	if problem := th.check(slices.Concat(at(0, 2), at(0, 3)), index); problem != "" {
		t.Errorf("of a store that makes records of parts: %s", problem)
	}
}
