package trace

import (
	"encoding/json"
	"slices"
	"testing"
)

// A machine that has the specs alone makes the same operations.
func TestSentSpecMakesTheSameTrace(t *testing.T) {
	specs := []Spec{
		{Mix: []Share{{Read, 3}, {Update, 1}, {Insert, 1}}, Records: 1000, Fresh: 1000, Threads: 4, Seed: 3,
			Order: Order{Distribution: Zipfian, Theta: 0.99}, Sizes: []Size{{100, 1}}},
		{Mix: []Share{{Upsert, 1}}, Records: 1000, Fresh: 1000, Threads: 2, Seed: 4,
			Order: Order{Distribution: Uniform}, Sizes: []Size{{10, 1}, {20, 2}}, Rate: 100,
			Stopped: func() error { return nil }},
	}
	here, err := Generate(specs...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(specs)
	if err != nil {
		t.Fatal(err)
	}
	var travelled []Spec
	if err := json.Unmarshal(text, &travelled); err != nil {
		t.Fatal(err)
	}
	there, err := Generate(travelled...)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for from := range here.Threads {
		to := from + 1
		if here.Digest(from, to) != there.Digest(from, to) || digests[here.Digest(from, to)] {
			t.Errorf("thread %d: the digests differ, or are those of another thread", from)
		}
		digests[here.Digest(from, to)] = true
		for _, change := range []func(*Thread){
			func(t *Thread) { t.Entries = slices.Clone(t.Entries); t.Entries[len(t.Entries)-1]++ },
			func(t *Thread) { t.Stride++ }, func(t *Thread) { t.Limit++ }, func(t *Thread) { t.UntilNS++ },
		} {
			changed := *there
			changed.Threads = slices.Clone(there.Threads)
			if change(&changed.Threads[from]); changed.Digest(from, to) == here.Digest(from, to) {
				t.Errorf("thread %d: a change does not change the digest", from)
			}
		}
	}
}
