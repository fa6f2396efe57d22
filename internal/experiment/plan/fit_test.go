package plan_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/base/finding"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/store"
)

// drawExperiment draws experiments with several phases, sizes and classes, and a time.
func drawExperiment(rt *rapid.T) *experiment.Experiment {
	e := anExperiment()
	e.Blocks = rapid.IntRange(1, 8).Draw(rt, "blocks")
	if rapid.Bool().Draw(rt, "auto") {
		e.Schedule = experiment.Schedule{Blocks: 3, BlocksMax: rapid.IntRange(3, 12).Draw(rt, "most"), Smallest: 0.1}
	}
	e.Time = time.Duration(rapid.Int64Range(1e9, 3600e9).Draw(rt, "time"))
	e.Phases = e.Phases[:1]
	for i := range rapid.IntRange(1, 5).Draw(rt, "phases") {
		e.Phases = append(e.Phases, experiment.Phase{Name: fmt.Sprint("p", i), Mix: map[string]float64{"read": 1},
			Duration: time.Duration(rapid.Int64Range(1e6, 60e9).Draw(rt, "for")), Optional: rapid.Bool().Draw(rt, "optional"),
			Unmeasured: i > 0 && rapid.Bool().Draw(rt, "unmeasured")})
	}
	e.Cells = nil
	for range rapid.IntRange(1, 12).Draw(rt, "cells") {
		e.Cells = append(e.Cells, experiment.Cell{Records: rapid.Uint64Range(0, 1e6).Draw(rt, "records"), ValueBytes: 100, Handles: experiment.PerThread,
			Threads: rapid.IntRange(1, 8).Draw(rt, "threads"), Durability: rapid.SampledFrom([]store.Durability{store.D0, store.D1, store.D3}).Draw(rt, "class")})
	}
	return e
}

func least(e *experiment.Experiment) float64 {
	one := *e
	one.Cells, one.Phases = slices.Clone(e.Cells), slices.Clone(e.Phases)
	one.Time = time.Nanosecond
	err := plan.Fit(&one)
	if err == nil {
		panic("a nanosecond is enough")
	}
	return plan.EstimateOf(&one, plan.Plan(&one)).Seconds()
}

func TestALayoutFitsItsTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := drawExperiment(rt)
		asked := *e
		asked.Phases = slices.Clone(e.Phases)
		need := least(e)
		err := plan.Fit(e)
		if (err != nil) != (need > e.Time.Seconds()) {
			rt.Fatalf("the least layout takes %v s, %v are given: %v", need, e.Time, err)
		}
		if err != nil {
			return
		}
		if takes := plan.EstimateOf(e, plan.Plan(e)).Seconds(); takes > e.Time.Seconds() {
			rt.Fatalf("the layout takes %v s of %v", takes, e.Time)
		}
		if e.Blocks < min(3, asked.Blocks) {
			rt.Fatalf("%d blocks", e.Blocks)
		}
		if len(e.Cells) == 0 || len(e.Cells) < len(asked.Cells) && !said(e, "layout-left-out cells") {
			rt.Fatalf("%d of %d cells: %v", len(e.Cells), len(asked.Cells), e.Layout)
		}
		measured := 0
		for _, p := range e.Phases {
			i := slices.IndexFunc(asked.Phases, func(q experiment.Phase) bool { return q.Name == p.Name })
			if p.Load || p.Unmeasured {
				continue
			}
			measured++
			if p.Duration < plan.PhaseMin || p.Duration > max(plan.PhaseMin, asked.Phases[i].Duration) {
				rt.Fatalf("%s takes %v, asked for %v", p.Name, p.Duration, asked.Phases[i].Duration)
			}
			if p.Duration < asked.Phases[i].Duration && !said(e, "layout-changed shorter") {
				rt.Fatalf("shortened unsaid: %v", e.Layout)
			}
		}
		if measured == 0 {
			rt.Fatal("no measured phase is left")
		}
		for _, p := range asked.Phases {
			left := slices.ContainsFunc(e.Phases, func(q experiment.Phase) bool { return q.Name == p.Name })
			if !left && (!p.Optional || !said(e, "layout-left-out phases")) {
				rt.Fatalf("%+v was left out: %v", p, e.Layout)
			}
		}
	})
}

func said(e *experiment.Experiment, code finding.Code) bool {
	return slices.ContainsFunc(e.Layout, func(m finding.Message) bool { return m.Code == code })
}

// What is not needed is not taken: with time to spare, only the number of blocks is left to the
// run.
func TestTimeToSpareChangesNothing(t *testing.T) {
	e := anExperiment()
	e.Blocks, e.Time = 5, time.Hour
	want := anExperiment()
	want.Schedule = experiment.Schedule{Blocks: 3, BlocksMax: 5, Time: time.Hour}
	if err := plan.Fit(e); err != nil || !reflect.DeepEqual(e, want) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestALayoutDropsTheLeastFirst(t *testing.T) {
	layout := func(seconds float64) (*experiment.Experiment, error) {
		e := anExperiment() // three classes of 1000 records
		e.Phases = append(e.Phases, experiment.Phase{Name: "scan", Mix: map[string]float64{"scan": 1}, Duration: 3 * time.Second, Optional: true})
		large := e.Cells[2]
		large.Records = 1_000_000
		e.Cells = append([]experiment.Cell{large}, e.Cells...)
		e.Time = time.Duration(seconds * 1e9)
		return e, plan.Fit(e)
	}
	_, err := layout(1)
	if err == nil || !strings.Contains(err.Error(), "time: 1.0 s is too short") {
		t.Fatalf("%v", err)
	}
	var enough float64 // what the error offers is enough
	_, offered, _ := strings.Cut(err.Error(), "\n--time ")
	if _, scanErr := fmt.Sscanf(offered, "%fs is enough", &enough); scanErr != nil {
		t.Fatalf("%v: %v", err, scanErr)
	}
	if _, err := layout(enough); err != nil {
		t.Error(err)
	}
	phases, cells := 3, 4
	for seconds := 1000.0; ; seconds *= 0.97 {
		e, err := layout(seconds)
		if err != nil {
			break
		}
		if len(e.Phases) > phases || len(e.Cells) > cells {
			t.Fatalf("less time gives %d phases and %d cells", len(e.Phases), len(e.Cells))
		}
		phases, cells = len(e.Phases), len(e.Cells)
		if cells < 4 && phases == 3 {
			t.Fatal("cells go before optional phases")
		}
		if e.Cells[0].Records != 1_000_000 || cells > 1 && e.Cells[cells-1].Durability != store.D3 {
			t.Fatalf("%+v is left", e.Cells)
		}
	}
	if phases != 2 || cells != 1 {
		t.Errorf("at the end there were %d phases and %d cells", phases, cells)
	}
}
