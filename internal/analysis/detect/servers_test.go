package detect_test

import (
	"math"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// servedBy makes elm an arm of three servers, of which each phase gave each so many operations.
func servedBy(weights, load, measured []float64) *record.Run {
	run := resulttest.CleanRun()
	for _, trial := range resulttest.Trials(run, "elm") {
		counts := make([]float64, len(weights))
		for i := range trial.Phases {
			p := &trial.Phases[i]
			p.Stats = map[string]float64{"cmd_get": 1}
			for server, weight := range weights {
				if p.Load {
					counts[server] += load[server]
				} else {
					counts[server] += measured[server]
				}
				p.Stats[store.ServerStat(server, store.ServerOperations)] = counts[server]
				p.Stats[store.ServerStat(server, store.ServerWeight)] = weight
			}
		}
	}
	return run
}

func TestServerWithAShareUnlikeItsWeightIsNamed(t *testing.T) {
	even := []float64{3000, 1000, 1000}
	for _, c := range []struct {
		name             string
		weights          []float64
		load, measured   []float64
		server           int // 0: nothing is found
		share, allotment float64
	}{
		{"as the weights say", []float64{3, 1, 1}, even, even, 0, 0, 0},
		{"ketama's own error", []float64{1, 1, 1}, even, []float64{1080, 920, 1000}, 0, 0, 0},
		{"a hot key", []float64{1, 1, 1}, even, []float64{1000, 3000, 1000}, 2, 0.6, 1. / 3},
		{"a server without operations", []float64{3, 1, 1}, even, []float64{4000, 1000, 0}, 3, 0, 0.2},
		{"the weights are not kept", []float64{3, 1, 1}, even, []float64{1000, 1000, 1000}, 2, 1. / 3, 0.2},
		{"the load alone was uneven", []float64{1, 1, 1}, []float64{9000, 0, 0}, []float64{1000, 1000, 1000}, 0, 0, 0},
		{"too few to say", []float64{1, 1, 1}, even, []float64{10, 20, 10}, 0, 0, 0},
		{"no weights", []float64{0, 0, 0}, even, []float64{9000, 0, 0}, 0, 0, 0},
		{"one server", []float64{1}, []float64{1000}, []float64{9000}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := resulttest.Find(resulttest.ResultOf(t, servedBy(c.weights, c.load, c.measured)), finding.ServerShare)
			switch {
			case f == nil && c.server == 0:
			case f == nil || c.server == 0:
				t.Errorf("found %+v", f)
			case f.Where.Arm != "elm" || len(f.Evidence) == 0 || f.Params["server"] != c.server || f.Params["servers"] != len(c.weights) ||
				math.Abs(f.Params["share"].(float64)-c.share) > 1e-9 || math.Abs(f.Params["expected"].(float64)-c.allotment) > 1e-9:
				t.Errorf("found %+v", f.Params)
			}
		})
	}
}

// The most popular key is at another server in each trial: all trials together look even.
func TestServerOfOneTrialIsNamed(t *testing.T) {
	run := servedBy([]float64{1, 1, 1}, []float64{1000, 1000, 1000}, []float64{1000, 1000, 1000})
	for n, trial := range resulttest.Trials(run, "elm") {
		hot := 0.0
		for i := range trial.Phases {
			if p := &trial.Phases[i]; !p.Load {
				hot += 2000
				p.Stats[store.ServerStat(n%3, store.ServerOperations)] += hot
			}
		}
	}
	f := resulttest.Find(resulttest.ResultOf(t, run), finding.ServerShare)
	if f == nil || f.Params["share"] != 0.6 || len(f.Evidence)+f.More != len(resulttest.Trials(run, "elm")) {
		t.Errorf("found %+v", f)
	}
}
