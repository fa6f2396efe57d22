package facts_test

import (
	"math"
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/resulttest"
)

// factorialTables are the tables of one phase with one arm each, at every combination of threads and
// memory. rate says what the arm does there.
func factorialTables(threads []int, memory []int64, rate func(threads int, memory int64,
	block int) float64) (tables []*facts.Table) {
	run := resulttest.RaceOf(3, resulttest.Runner("store", 1000))
	for _, n := range threads {
		for _, bytes := range memory {
			cell := experiment.Cell{Durability: "D1", Threads: n, MemoryLimit: bytes, Handles: experiment.Shared}
			t := &facts.Table{Run: run, Parameters: cell}
			t.Class, t.Phase, t.Cell = "D1", "insert", len(tables)
			r := &facts.Row{Role: plan.Measured}
			r.Arm, r.Standing = "store", facts.Ranked
			for block := range 3 {
				v := rate(n, bytes, block)
				r.Trials = append(r.Trials, &facts.Observation{Used: true, Rate: &v,
					Planned: plan.Trial{Block: block + 1}, Phase: &record.Phase{}})
			}
			t.Rows = []*facts.Row{r}
			tables = append(tables, t)
		}
	}
	return tables
}

// The readers' question of S5: is the drop at 50 tasks memory, or concurrency?
func TestEffectsOfTasksAndMemory(t *testing.T) {
	wobble := []float64{1, 1.02, 0.985}
	tables := factorialTables([]int{5, 50}, []int64{0, 1 << 30}, func(threads int, memory int64, block int) float64 {
		rate := 6000 * wobble[(block+threads+int(memory>>30))%3]
		if memory > 0 {
			rate /= 4
		}
		return rate
	})
	effects := facts.EffectsOf(tables)
	if len(effects) != 3 {
		t.Fatalf("%+v", effects)
	}
	for i, want := range []struct {
		change      string
		value       float64
		significant bool
	}{
		{"50 threads instead of 5 threads", 1, false},
		{"memory limit 1 GiB instead of no memory limit", 0.25, true},
		{"interaction of 50 threads and memory limit 1 GiB", 1, false},
	} {
		e := effects[i]
		if changeOf(e) != want.change || math.Abs(e.Ratio.Value/want.value-1) > 0.05 || e.Ratio.Significant != want.significant || e.Arm != "store" {
			t.Errorf("%s: %+v", changeOf(e), e.Ratio)
		}
	}
	if lines := tell.EffectLines(effectModels(effects)); len(lines) != 2 || lines[1].Params["significant"] != 1 {
		t.Errorf("%+v", lines)
	}
}

func TestNoEffects(t *testing.T) {
	same := func(int, int64, int) float64 { return 1000 }
	whole := func() []*facts.Table { return factorialTables([]int{5, 50}, []int64{0, 1 << 30}, same) }
	unranked := whole()
	unranked[2].Rows[0].Standing = facts.NotRanked
	open := whole()
	for _, of := range open {
		of.Open = true
	}
	for what, tables := range map[string][]*facts.Table{
		"one cell":                     factorialTables([]int{5}, []int64{0}, same),
		"a combination that is absent": whole()[:3],
		"an arm without a rank":        unranked,
		"open load":                    open,
		"many points":                  factorialTables([]int{1, 2, 3, 4, 5, 6, 7}, []int64{0}, same),
	} {
		if effects := facts.EffectsOf(tables); len(effects) > 0 {
			t.Errorf("%s: %+v", what, effects)
		}
	}
}

func changeOf(e facts.Effect) string { return (&model.Effect{Effect: e}).Change() }

func effectModels(effects []facts.Effect) (told []model.Effect) {
	for _, e := range effects {
		told = append(told, model.Effect{Effect: e})
	}
	return told
}
