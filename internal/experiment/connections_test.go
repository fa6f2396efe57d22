package experiment

import (
	"slices"
	"testing"
	"time"

	"assay/store"
)

// A handle has a connection to each server, and one that pools has one for each thread.
func TestConnectionsMax(t *testing.T) {
	for _, c := range []struct {
		name        string
		handles     string
		description store.Description
		endpoints   int // below 0: so many that Assay has started
		want        int
	}{
		{"one server", PerThread, store.Description{ConnectionsOwn: 1}, 1, 5},
		{"started, so without an endpoint", PerThread, store.Description{ConnectionsOwn: 1}, 0, 5},
		{"asynchronous", Async, store.Description{ConnectionsOwn: 1}, 1, 5},
		{"one for each operation", PerOperation, store.Description{ConnectionsOwn: 1}, 1, 5},
		{"three servers", PerThread, store.Description{ConnectionsOwn: 1}, 3, 15},
		{"three started servers", PerThread, store.Description{ConnectionsOwn: 1}, -3, 15},
		{"three each", PerThread, store.Description{ConnectionsOwn: 3, ConnectionsEach: 3}, 1, 15},
		{"a shared handle that pools", Shared, store.Description{ConnectionsOwn: 3, ConnectionsEach: 3, HandlePools: true}, 1, 9},
		{"a shared handle that does not", Shared, store.Description{ConnectionsOwn: 3, ConnectionsEach: 3}, 1, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Store{Description: c.description, Endpoints: make([]string, max(c.endpoints, 0))}
			if c.endpoints <= 0 {
				s.Server = &Server{Count: -c.endpoints}
			}
			if got := (&Experiment{}).ConnectionsMax(s, Cell{Threads: 4, Handles: c.handles}); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Where groups are looked at one by one, as the verdict does, the handles are still those of all.
func TestHandlesOfGroupsAreThoseOfAll(t *testing.T) {
	whole := Phase{Name: "beside", Groups: []Phase{{Name: "insert"}, {Name: "count", Threads: 1}}}
	cell := Cell{Threads: 5, Handles: PerThread}
	for name, phases := range map[string][]Phase{"whole": {whole}, "by group": whole.Parts()} {
		if got := (&Experiment{Phases: phases}).ConnectionsMax(Store{}, cell); got != 6 {
			t.Errorf("%s: %d connections, want 6", name, got)
		}
	}
}

func TestGroupWorksBetweenFromAndFor(t *testing.T) {
	whole := Phase{Name: "beside", Duration: 8 * time.Second, Groups: []Phase{
		{Name: "insert"}, {Name: "count", From: 2 * time.Second, Duration: 4 * time.Second}, {Name: "late", From: 5 * time.Second}}}
	for i, part := range whole.Parts() {
		if got, want := part.Lasts(), []time.Duration{8 * time.Second, 4 * time.Second,
			3 * time.Second}[i]; got != want {
			t.Errorf("%s works for %v, want %v", part.Name, got, want)
		}
	}
}

func TestProcessThreads(t *testing.T) {
	load := Phase{Name: "load", Load: true}
	processes := Phase{Name: "p", Threads: 6, Processes: 3}
	for _, c := range []struct {
		name   string
		cell   Cell
		phases []Phase
		want   []int
	}{
		{"threads", Cell{Threads: 4}, []Phase{load, {Name: "a"}}, []int{4}},
		{"threads of a phase", Cell{Threads: 4}, []Phase{{Name: "a", Threads: 9}}, []int{9}},
		{"a wide load", Cell{Threads: 4}, []Phase{{Name: "load", Load: true, Threads: 7}, {Name: "a"}}, []int{7}},
		{"processes", Cell{Threads: 3, Processes: 3}, []Phase{load, {Name: "a"}}, []int{1, 1, 1}},
		{"processes of threads", Cell{Threads: 6, Processes: 3}, []Phase{load, {Name: "a"}}, []int{2, 2, 2}},
		{"one process", Cell{Threads: 5, Processes: 1}, []Phase{load, {Name: "a"}}, []int{5}},
		{"processes of a phase", Cell{Threads: 4}, []Phase{load, processes, {Name: "a"}}, []int{4, 2, 2}},
		{"groups of both kinds", Cell{Threads: 5}, []Phase{{Name: "g", Groups: []Phase{{Name: "x"}, processes, {Name: "y", Threads: 1}}}}, []int{5, 2, 2, 2, 1}},
	} {
		if got := (&Experiment{Phases: c.phases}).ProcessThreads(c.cell); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
