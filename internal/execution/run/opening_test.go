package run

import (
	"testing"

	"assay/internal/experiment"
	"assay/store"
)

// A load has the driver's weakest class, and no load, or a server that sets its class, the cell's.
func TestLoadIsOpenedInTheWeakestClass(t *testing.T) {
	t.Parallel()
	classes := []store.DurabilityClaim{{Class: store.D1}, {Class: store.D3}}
	for _, c := range []struct {
		loads, serverSets bool
		want              store.Durability
	}{{true, false, store.D1}, {true, true, store.D3}, {false, false, store.D3}} {
		o := opening{
			experiment: &experiment.Experiment{Phases: []experiment.Phase{{Load: c.loads}}},
			cell:       experiment.Cell{Durability: store.D3},
			store: experiment.Store{Description: store.Description{Durability: classes,
				ServerSetsClass: c.serverSets}},
		}
		if got := o.first(); got != c.want {
			t.Errorf("loads %v, the server sets its class %v: %s", c.loads, c.serverSets, got)
		}
	}
}

// What is not measured has no new handle for each operation, but in a store that is not opened again.
func TestLoadsOpenNoHandleForEachRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		handles string
		kind    store.Kind
		load    string
	}{
		{experiment.PerOperation, store.Server, experiment.PerThread},
		{experiment.PerOperation, store.Embedded, experiment.PerThread},
		{experiment.PerOperation, store.Memory, experiment.PerOperation},
		{experiment.Pool, store.Server, experiment.Pool},
	} {
		s := experiment.Store{Description: store.Description{Kind: c.kind, Hosted: store.Hosted{HandleTimes: true}}}
		o := opening{experiment: &experiment.Experiment{}, cell: experiment.Cell{Handles: c.handles}, store: s,
			tested: &underTest{store: s}, disk: &disk{}}
		if r := o.request(store.D1); r.Handles != c.handles {
			t.Errorf("%s of %s: %s in measured phases", c.handles, c.kind, r.Handles)
		}
		if r := o.requestUnmeasured(store.D1); r.Handles != c.load || r.Durability != store.D1 {
			t.Errorf("%s of %s: %s in a load, expected %s", c.handles, c.kind, r.Handles, c.load)
		}
		traces := traces{content: &content{cell: o.cell, store: s}}
		if got := traces.takesHandles(true); got == (c.load == experiment.PerThread) || !traces.takesHandles(false) {
			t.Errorf("%s of %s: a load takes handles: %v", c.handles, c.kind, got)
		}
	}
}

// Only an embedded store gets a directory, and only an experiment with columns defines them.
func TestOnlyEmbeddedStoresGetADirectory(t *testing.T) {
	t.Parallel()
	for kind, want := range map[store.Kind]string{store.Embedded: "/data", store.Server: "", store.Memory: ""} {
		s := experiment.Store{Driver: "x", Endpoints: []string{"127.0.0.1:9"}, Description: store.Description{Kind: kind}}
		o := opening{experiment: &experiment.Experiment{}, store: s, tested: &underTest{store: s}, disk: &disk{data: "/data"}}
		r := o.request(store.D1)
		if r.Directory != want || r.Durability != store.D1 || r.Driver != "x" || len(r.Endpoints) != 1 || o.definition() != nil {
			t.Errorf("%s: %+v, %v", kind, r, o.definition())
		}
	}
}
