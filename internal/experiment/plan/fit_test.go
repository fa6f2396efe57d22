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
	err := plan.Fit(&one, true)
	if err == nil {
		panic("a nanosecond is enough")
	}
	return plan.EstimateOf(&one, plan.Plan(&one)).Seconds()
}

func TestLayoutFitsItsTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := drawExperiment(rt)
		asked := *e
		asked.Phases = slices.Clone(e.Phases)
		var records []uint64
		for _, c := range e.Cells {
			records = append(records, c.Records)
		}
		need := least(e)
		err := plan.Fit(e, true)
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
		helper := func(t plan.Trial) bool { return t.Role != plan.Measured }
		if e.HelpersOnce == slices.ContainsFunc(plan.Block(e, 2), helper) || !slices.ContainsFunc(plan.Block(e, 1),
			helper) {
			rt.Fatalf("helpers in the first block alone: %v; the second: %+v", e.HelpersOnce, plan.Block(e, 2))
		}
		for _, c := range e.Cells {
			if c.Records < plan.QuickRecords && !slices.ContainsFunc(records,
				func(n uint64) bool { return n == c.Records }) {
				rt.Fatalf("%d records are left", c.Records)
			}
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
			if p.Duration < plan.QuickPhaseMin || p.Duration < plan.PhaseMin && !said(e, "layout-changed quick") || p.Duration > max(plan.PhaseMin, asked.Phases[i].Duration) {
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
func TestSpareTimeChangesNothing(t *testing.T) {
	e := anExperiment()
	e.Blocks, e.Time = 5, time.Hour
	want := anExperiment()
	want.Schedule = experiment.Schedule{Blocks: 3, BlocksMax: 5, Time: time.Hour}
	if err := plan.Fit(e, true); err != nil || !reflect.DeepEqual(e, want) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestLayoutDropsTheLeastFirst(t *testing.T) {
	layout := func(seconds float64) (*experiment.Experiment, error) {
		e := anExperiment() // three classes of 1000 records
		e.Phases = append(e.Phases, experiment.Phase{Name: "scan", Mix: map[string]float64{"scan": 1}, Duration: 3 * time.Second, Optional: true})
		large := e.Cells[2]
		large.Records = 1_000_000
		e.Cells = append([]experiment.Cell{large}, e.Cells...)
		e.Time = time.Duration(seconds * 1e9)
		return e, plan.Fit(e, false)
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

// One store, 100,000 records and ten seconds: what is left shows an order of magnitude, and says so.
func TestLayoutOfSeconds(t *testing.T) {
	quick := func(seconds time.Duration, recordsFree bool) (*experiment.Experiment, error) {
		e := anExperiment()
		e.Stores, e.Cells, e.VerifyRecords = e.Stores[1:2], e.Cells[2:], 1_000_000
		e.Stores[0].Description.Kind = store.Server // each record goes over a socket
		e.Cells[0].Records, e.Phases[1].Duration, e.Time = 100_000, 10*time.Second, seconds*time.Second
		return e, plan.Fit(e, recordsFree)
	}
	for _, c := range []struct {
		seconds time.Duration
		records uint64
		once    bool
		phase   time.Duration
	}{
		{300, 100_000, false, 10 * time.Second}, {30, 10_000, false, time.Second}, {18, 1_000, false, time.Second},
		{12, 1_000, true, time.Second}, {8, 1_000, true, plan.QuickPhaseMin},
	} {
		e, err := quick(c.seconds, true)
		if err != nil {
			t.Fatalf("%d s: %v", c.seconds, err)
		}
		if cell := e.Cells[0]; cell.Records != c.records || e.HelpersOnce != c.once || e.Phases[1].Duration < c.phase {
			t.Errorf("%d s: %d records, helpers once: %v, %v", c.seconds, cell.Records, e.HelpersOnce, e.Phases[1].Duration)
		}
		if c.records < 100_000 != said(e, "layout-changed quick") {
			t.Errorf("%d s: %v", c.seconds, e.Layout)
		}
		if takes := plan.EstimateOf(e, plan.Plan(e)).Seconds(); takes > float64(c.seconds) {
			t.Errorf("%d s: the layout takes %v s", c.seconds, takes)
		}
	}
	e := anExperiment()
	e.Stores, e.Cells, e.VerifyRecords = e.Stores[1:2], e.Cells[2:], 1_000_000
	e.Cells[0].Records = 100_000
	embedded := plan.EstimateOf(e, plan.Plan(e))
	e.Stores[0].Description.Kind = store.Server
	if server := plan.EstimateOf(e, plan.Plan(e)); embedded.LoadSeconds > server.LoadSeconds/2 {
		t.Errorf("loads take %v s without a server, and %v s with one", embedded.LoadSeconds, server.LoadSeconds)
	}
	if e, err := quick(20, false); err == nil || e.Cells[0].Records != 100_000 {
		t.Errorf("records that were asked for became %d: %v", e.Cells[0].Records, err)
	}
}
