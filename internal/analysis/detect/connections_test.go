package detect_test

import (
	"math"
	"slices"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// served is a clean run in which elm is a server with a connection of its own, 4 threads, and so
// many connections in each sample of its first trial by the worker's count, and by the server's.
func served(handles string, pool int, worker, server func(second int) float64) *record.Run {
	run := resulttest.CleanRun()
	elm := &run.Experiment.Stores[1]
	elm.Description.Kind, elm.Description.ConnectionsOwn = store.Server, 1
	for i := range run.Experiment.Cells {
		c := &run.Experiment.Cells[i]
		c.Threads, c.Handles, c.PoolHandles = 4, handles, pool
	}
	first := slices.IndexFunc(run.Plan, func(p plan.Trial) bool { return p.Arm == "elm" })
	id := run.Plan[first].ID
	run.Trials[id].Server = &record.Server{}
	samples := run.InMemory[id]
	for i := range samples {
		s := &samples[i]
		second := int(math.Round(s.At))
		s.Resources, s.Stats = record.ValuesOf(map[string]float64{"worker.connections": worker(second)}), record.Values{}
		if server != nil {
			s.Stats = record.ValuesOf(map[string]float64{"connections": server(second)})
		}
	}
	return run
}

func TestConnectionsBeyondTheMaximum(t *testing.T) {
	steady := func(n float64) func(int) float64 { return func(int) float64 { return n } }
	leak := func(from int, n float64) func(int) float64 {
		return func(second int) float64 { return n + float64(max(second-from, 0)) }
	}
	for _, c := range []struct {
		name           string
		handles        string
		pool           int
		worker, server func(int) float64
		allowed        float64 // 0: nothing is found
		began          float64
		course, end    string
	}{
		{"per thread", experiment.PerThread, 0, steady(5), nil, 0, 0, "", ""},
		{"shared", experiment.Shared, 0, steady(2), nil, 0, 0, "", ""},
		{"pool", experiment.Pool, 3, steady(4), nil, 0, 0, "", ""},
		{"pool above the threads", experiment.Pool, 30, steady(6), nil, 5, 1, "stay", "worker"},
		{"two a handle", experiment.PerThread, 0, steady(9), nil, 5, 1, "stay", "worker"},
		{"two of a shared handle", experiment.Shared, 0, steady(3), nil, 2, 1, "stay", "worker"},
		{"a pool that fills and does not shrink", experiment.Pool, 2, func(second int) float64 {
			return float64(3 + 4*min(max(second-5, 0), 1))
		}, nil, 3, 6, "stay", "worker"},
		{"two levels by turns", experiment.PerThread, 0, func(second int) float64 { return float64(7 + second%2) }, nil, 5, 1, "stay", "worker"},
		{"a leak that pauses", experiment.PerThread, 0, func(second int) float64 { return float64(5 + second/3) }, nil, 5, 3, "grow", "worker"},
		{"a leak", experiment.PerThread, 0, leak(4, 5), nil, 5, 5, "grow", "worker"},
		{"a leak of new ones", experiment.PerOperation, 0, leak(0, 1), nil, 5, 5, "grow", "worker"},
		{"a burst", experiment.Pool, 2, func(second int) float64 {
			if second == 3 || second == 4 {
				return 40
			}
			return 3
		}, nil, 3, 3, "return", "worker"},
		{"the server's own and what it listens at", experiment.PerThread, 0, steady(5), steady(8), 0, 0, "", ""},
		{"left at the server", experiment.PerThread, 0, steady(5), leak(2, 8), 5, 3, "grow", "server"},
		{"closed a little late at the server", experiment.PerThread, 0, steady(5), func(second int) float64 { return 8 + float64(second%2) }, 0, 0, "", ""},
		{"not yet closed at the server", experiment.PerOperation, 0, steady(4), leak(2, 8), 0, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := resulttest.Find(resulttest.ResultOf(t, served(c.handles, c.pool, c.worker, c.server)),
				finding.ConnectionsExceed)
			if (f != nil) != (c.allowed > 0) {
				t.Fatalf("found %+v", f)
			}
			if f == nil {
				return
			}
			if f.Where.Arm != "elm" || f.Params["allowed"] != c.allowed || f.Params["course"] != c.course || f.Params["end"] != c.end {
				t.Errorf("%+v", f)
			}
			if began := f.Message.Number("began_s"); math.Abs(began-c.began) > 0.1 {
				t.Errorf("began at %v s, want %v", began, c.began)
			}
		})
	}
}

// Where both ends saw it, both are evidence, the worker's first.
func TestConnectionsOfBothEnds(t *testing.T) {
	leak := func(second int) float64 { return 5 + float64(max(second-4, 0)) }
	f := resulttest.Find(resulttest.ResultOf(t, served(experiment.PerThread, 0, leak,
		func(second int) float64 { return 3 + leak(second) })), finding.ConnectionsExceed)
	if f == nil || len(f.Evidence) != 2 || f.Params["end"] != finding.EndWorker {
		t.Fatalf("found %+v", f)
	}
	for i, end := range []string{finding.EndWorker, finding.EndServer} {
		m := f.Evidence[i].Message
		if m.Params["end"] != end || m.Number("most") != f.Message.Number("most") || math.Abs(m.Number("began_s")-5) > 0.1 {
			t.Errorf("evidence of the %s: %+v", end, m)
		}
	}
}

// A server that somebody else has started may have other clients: its count says nothing.
func TestConnectionsOfOthersAreNotCounted(t *testing.T) {
	run := served(experiment.PerThread, 0, func(int) float64 { return 5 },
		func(second int) float64 { return 8 + float64(second) })
	resulttest.Trials(run, "elm")[0].Server = nil
	if f := resulttest.Find(resulttest.ResultOf(t, run), finding.ConnectionsExceed); f != nil {
		t.Errorf("%+v", f)
	}
}
