package facts_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

func TestTable_says_who_is_fastest(t *testing.T) {
	put := resulttest.TableOf(t, resulttest.CleanRun(), "put")
	oak, elm := resulttest.RowIn(put, "oak"), resulttest.RowIn(put, "elm")
	if !slices.Equal(put.Best, []string{"oak"}) || put.Verdict.Code != "verdict fastest" || oak.Rank != 1 || oak.Standing != model.Ranked {
		t.Errorf("best %v: %s", put.Best, finding.Text(put.Verdict))
	}
	if math.Abs(oak.Rate.Value/200e3-1) > 0.01 || oak.Rate.Low == nil || oak.Rate.Blocks != 5 {
		t.Errorf("oak: %+v", oak.Rate)
	}
	if elm.ToBest == nil || math.Abs(elm.ToBest.Value-0.5) > 0.01 || !elm.ToBest.Significant ||
		math.Abs(elm.ToBaseline.Value-elm.ToBest.Value) > 1e-9 {
		t.Errorf("elm to the best: %+v", elm.ToBest)
	}
	if put.AA == nil || len(put.Ceilings) != 1 || put.Threshold < 0.03 || resulttest.RowIn(put, "oak (A/A)").Standing != model.Reference || resulttest.RowIn(put, "null").Rank != 0 {
		t.Errorf("A/A %v, ceilings %v, threshold %v", put.AA, put.Ceilings, put.Threshold)
	}
	if p50, p99, most := oak.At(0.5), oak.At(0.99), oak.At(1); p50 == nil || *p50 >= *p99 || *p99 > *most ||
		oak.Points[0].Low == nil {
		t.Errorf("latency %+v", oak.Points)
	}
	if oak.WriteAmplification == nil || math.Abs(*oak.WriteAmplification-1) > 0.01 ||
		math.Abs(*oak.AllocBytes-48) > 0.01 || *oak.MemoryBytes != 90e6 {
		t.Errorf("resources: %v %v %v", oak.WriteAmplification, oak.AllocBytes, oak.MemoryBytes)
	}
	if at := resulttest.RowIn(resulttest.TableOf(t, resulttest.CleanRun(), "get"), "oak").WriteAmplification; at != nil {
		t.Errorf("a phase that wrote nothing has a write amplification of %v", *at)
	}
}

func TestTable_ties_have_one_letter_and_say_what_they_could_show(t *testing.T) {
	put := resulttest.TableOf(t, resulttest.CleanRun(), "put")
	elm, ash := resulttest.RowIn(put, "elm"), resulttest.RowIn(put, "ash")
	if elm.Letters != ash.Letters || elm.Letters == resulttest.RowIn(put, "oak").Letters || elm.Rank != 2 || ash.Rank != 2 {
		t.Errorf("elm %s %d, ash %s %d", elm.Letters, elm.Rank, ash.Letters, ash.Rank)
	}
	run := resulttest.CleanRun()
	run.Plan = slices.DeleteFunc(run.Plan, func(p plan.Trial) bool { return p.Arm == "oak" })
	if put := resulttest.TableOf(t, run, "put"); put.Verdict.Code != "verdict equal" || len(put.Best) != 2 {
		t.Errorf("half a percent apart, with half a percent of noise: %s", finding.Text(put.Verdict))
	}
	loud := resulttest.RaceOf(3, recordtest.Arm{Name: "elm", PutRate: 100e3, BlockNoise: 0.2}, recordtest.Arm{Name: "ash", PutRate: 105e3, BlockNoise: 0.2})
	if put := resulttest.TableOf(t, loud, "put"); put.Verdict.Code != "verdict tied" || put.Verdict.Params["detectable"].(float64) < 1.2 {
		t.Errorf("%s", finding.Text(put.Verdict))
	}
	one := resulttest.RaceOf(1, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 500e3))
	if put := resulttest.TableOf(t, one, "put"); put.Verdict.Code != "verdict too-few-blocks" || put.Rows[0].Letters != "" {
		t.Errorf("one block: %s, letters %q", finding.Text(put.Verdict), put.Rows[0].Letters)
	}
	// Three blocks, of which the machine left one of ash: no letter says that they were compared.
	spoilt := resulttest.RaceOf(3, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 500e3))
	spoilt.Plan = slices.DeleteFunc(spoilt.Plan, func(p plan.Trial) bool { return p.Arm == "ash" && p.Block > 1 })
	if put := resulttest.TableOf(t, spoilt, "put"); put.Verdict.Params["blocks"] != 1 || put.Rows[0].Letters != "" {
		t.Errorf("one common block: %s, %v, letters %q", put.Verdict.Code, put.Verdict.Params, put.Rows[0].Letters)
	}
}

// Whatever the noise, a lower rate never has a better rank than a higher one.
func TestTable_order_of_ranks_never_contradicts_that_of_rates(t *testing.T) {
	for seed := range uint64(12) {
		s := resulttest.Clean()
		s.Seed, s.Blocks, s.Seconds, s.Arms = 300+seed, 3, 12, nil
		for i := range 6 {
			s.Arms = append(s.Arms, recordtest.Arm{Name: fmt.Sprint("arm", i), PutRate: 100e3 * (1 + 0.08*float64(i)), GetRate: 1e5, Noise: 0.03, BlockNoise: 0.01 + 0.15*float64(i%2)})
		}
		put := resulttest.TableOf(t, resulttest.Built(s), "put")
		last := &model.Row{Ranking: model.Ranking{Rate: &model.Estimate{Value: math.Inf(1)}}}
		for i := range put.Rows {
			r := &put.Rows[i]
			if r.Standing != model.Ranked {
				continue
			}
			if r.Rank < last.Rank || r.Rate.Value > last.Rate.Value {
				t.Errorf("seed %d: %s with %.0f has rank %d after rank %d with %.0f", seed, r.Arm, r.Rate.Value, r.Rank, last.Rank, last.Rate.Value)
			}
			last = r
		}
	}
}

func TestTable_baselines_own_difference_hides_smaller_ones(t *testing.T) {
	s := resulttest.Clean()
	s.Arms[1].PutRate = 188e3
	if put := resulttest.TableOf(t, resulttest.Built(s), "put"); !slices.Equal(put.Best, []string{"oak"}) {
		t.Fatalf("a quiet machine shows 6 %%: %s", finding.Text(put.Verdict))
	}
	run := resulttest.Built(s)
	resulttest.PaceAll(run, "oak (A/A)", "put", resulttest.Times(0.9))
	if put := resulttest.TableOf(t, run, "put"); !slices.Contains(put.Best, "elm") {
		t.Errorf("6 %% is stated where the baseline differs from itself by 10 %%: %s", finding.Text(put.Verdict))
	}
}

func TestTable_what_has_no_rank_says_why(t *testing.T) {
	for _, c := range []struct {
		name   string
		plant  func(run *record.Run)
		reason finding.Code
	}{
		{"one marked block", func(run *record.Run) { resulttest.MarkedBy(resulttest.Trials(run, "oak")[3], resulttest.LostRecords()) }, finding.MarkLost},
		{"an error without a mark", func(run *record.Run) {
			p := resulttest.PhaseOf(resulttest.Trials(run, "oak")[0], "put")
			p.Operations[0].OK, p.Operations[0].Errors = p.Operations[0].OK-1, 1
		}, finding.MarkFailed},
		{"one failed block", func(run *record.Run) {
			e := resulttest.Trials(run, "oak")[0]
			e.State, e.Cause, e.Error, e.Phases = record.Failed, finding.CauseHung, "no answer", nil
		}, finding.NoResult + " " + finding.CauseHung},
		{"all blocks disturbed", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "oak") {
				resulttest.MarkedBy(e, resulttest.OthersBusy())
			}
		}, "no-rank machine"},
		{"nothing but missing trials", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "oak") {
				delete(run.Trials, e.Plan.ID)
			}
		}, "no-rank no-trial-ended"},
		{"no steady state", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "oak")[:3] {
				resulttest.Pace(run, e, "put", resulttest.From(40, 0.5))
			}
		}, "no-rank unsteady"},
		{"a block without work", func(run *record.Run) {
			resulttest.Pace(run, resulttest.Trials(run, "oak")[2], "put", resulttest.Times(0))
		}, "no-rank nothing-done"},
		{"deletes of what was not there", func(run *record.Run) { // of another arm: it is compared by how fast it emptied its store
			for _, e := range resulttest.Trials(run, "ash") {
				o := &resulttest.PhaseOf(e, "put").Operations[0]
				vain := o.OK / 10
				o.Name, o.Vain = "delete", &vain
			}
		}, "no-rank vain"},
		{"reads of what arms deleted in an earlier phase, some more than others", func(run *record.Run) {
			for arm, in := range map[string]uint64{"oak": 2, "ash": 4, "elm": 4} { // of all, one in so many
				for _, e := range resulttest.Trials(run, arm) {
					o := &resulttest.PhaseOf(e, "put").Operations[0]
					vain := o.OK / in
					o.Name, o.Vain = "read", &vain
				}
			}
		}, "no-rank vain"},
		{"scans of what deletes have left", func(run *record.Run) {
			for arm, each := range map[string]uint64{"oak": 2, "ash": 50, "elm": 50} {
				for _, e := range resulttest.Trials(run, arm) {
					o := &resulttest.PhaseOf(e, "put").Operations[0]
					o.Name, o.Items, o.Vain = "scan", each*o.OK, new(uint64)
				}
			}
		}, "no-rank vain"},
		{"harness-bound", func(run *record.Run) { resulttest.PaceAll(run, "null", "put", resulttest.Times(0.012)) }, "no-rank harness"},
		{"open load", func(run *record.Run) { resulttest.PhaseNamedIn(run, "put").Rate = 1000 }, "no-rank open-load"},
		{"ended by the quota at once", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "oak") {
				p := resulttest.PhaseOf(e, "put")
				p.EndedBy, p.ElapsedNS, p.Operations[0].OK, p.Attempted = record.EndedQuota, 80e6, 160e3, 160e3
				run.InMemory[e.Plan.ID] = []record.Sample{{Phase: "put", At: 0.08, Seconds: 0.08, Operations: 160e3}}
			}
		}, "no-rank quota"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := resulttest.CleanRun()
			c.plant(run)
			put := resulttest.TableOf(t, run, "put")
			var reasons []finding.Message
			if oak := resulttest.RowIn(put, "oak"); oak != nil {
				if reasons = oak.Reasons; oak.Standing == model.Ranked || oak.Rank != 0 || oak.Letters != "" {
					t.Errorf("oak has rank %d", oak.Rank)
				}
			}
			for _, a := range put.Absence {
				if slices.Contains(a.Arms, "oak") {
					reasons = append(reasons, a.Why)
				}
			}
			if slices.Contains(put.Best, "oak") || !slices.Contains(resulttest.MessageCodes(reasons), c.reason) {
				t.Errorf("best %v; reasons %v, want %s", put.Best, resulttest.MessageCodes(reasons), c.reason)
			}
		})
	}
}

func TestTable_disturbed_block_costs_the_block_and_not_the_rank(t *testing.T) {
	run := resulttest.CleanRun()
	resulttest.MarkedBy(resulttest.Trials(run, "oak")[0], resulttest.OthersBusy())
	if oak := resulttest.RowIn(resulttest.TableOf(t, run, "put"), "oak"); oak.Standing != model.Ranked || oak.Rate.Blocks != 4 {
		t.Errorf("%s over %d blocks: %v", oak.Standing, oak.Rate.Blocks, oak.Reasons)
	}
}

// A trial that the machine spoilt is run again: the last good try of its block counts.
func TestTable_repeated_trial_takes_the_place_of_the_spoilt_one(t *testing.T) {
	run := resulttest.CleanRun()
	first := resulttest.Trials(run, "oak")[0]
	again := *first
	again.Plan.ID, again.Plan.Again = first.Plan.ID+"-again", 1
	run.Plan = append(run.Plan, again.Plan)
	run.Trials[again.Plan.ID], run.InMemory[again.Plan.ID] = &again, slices.Clone(run.InMemory[first.Plan.ID])
	resulttest.MarkedBy(first, resulttest.OthersBusy())
	again.Phases = slices.Clone(first.Phases)
	r := resulttest.ResultOf(t, run)
	oak := resulttest.RowIn(&r.Tables[0], "oak")
	if oak.Rate.Blocks != 5 || oak.Standing != model.Ranked || oak.Marked || r.Runs[0].Counts.Repeated != 1 {
		t.Errorf("%s over %d blocks, %d repeated", oak.Standing, oak.Rate.Blocks, r.Runs[0].Counts.Repeated)
	}
}

func TestTable_lost_slow_block_does_not_crown_the_slower(t *testing.T) {
	run := resulttest.RaceOf(6, resulttest.Runner("oak", 120e3), resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 60e3))
	for _, p := range run.Plan {
		if p.Block <= 3 {
			resulttest.Pace(run, run.Trials[p.ID], "put", resulttest.Times(0.5))
			if p.Arm == "elm" {
				resulttest.MarkedBy(run.Trials[p.ID], resulttest.OthersBusy())
			}
		}
	}
	put := resulttest.TableOf(t, run, "put")
	if elm := resulttest.RowIn(put, "elm"); !slices.Equal(put.Best, []string{"oak"}) || elm.Rank != 2 || elm.ToBest.Value > 0.9 || elm.Rate.Value > resulttest.RowIn(put, "oak").Rate.Value {
		t.Errorf("%s; elm %+v", finding.Text(put.Verdict), elm.ToBest)
	}
}

// A ranked row's rate is from the end of the warm-up on; one that never settled has that of the
// whole.
func TestTable_rate_leaves_out_warm_up_but_not_of_fixed_work(t *testing.T) {
	run := resulttest.CleanRun()
	resulttest.PaceAll(run, "elm", "put", func(second int) float64 { return min(1, 0.3+0.1*float64(second)) })
	elm := resulttest.RowIn(resulttest.TableOf(t, run, "put"), "elm")
	if math.Abs(elm.Rate.Value/100e3-1) > 0.02 {
		t.Errorf("the warm-up is in the rate: %v", elm.Rate.Value)
	}
	resulttest.FixedWork(run, func(plan.Trial) record.Ending { return record.EndedOperations })
	put := resulttest.TableOf(t, run, "put")
	if elm := resulttest.RowIn(put, "elm"); !put.FixedWork || elm.Rate.Value > 97e3 {
		t.Errorf("fixed work %v without its warm-up: %v", put.FixedWork, elm.Rate.Value)
	}
}

func TestTable_fixed_work_is_ranked_though_it_never_settles(t *testing.T) {
	run := resulttest.CleanRun()
	resulttest.PaceAll(run, "oak", "put", resulttest.From(40, 0.5))
	for _, ending := range []record.Ending{record.EndedOperations, record.EndedDuration, record.EndedQuota} {
		resulttest.FixedWork(run, func(p plan.Trial) record.Ending {
			if p.Arm == "ash" {
				return ending
			}
			return record.EndedOperations
		})
		put := resulttest.TableOf(t, run, "put")
		if oak := resulttest.RowIn(put, "oak"); oak.Standing != model.Ranked || put.FixedWork != (ending == record.EndedOperations) {
			t.Errorf("ash ended by %s: oak %s, fixed work %v", ending, oak.Standing, put.FixedWork)
		}
	}
}

func TestTable_counts_only_what_ended_well(t *testing.T) {
	run := resulttest.CleanRun()
	for _, e := range resulttest.Trials(run, "elm") {
		for i := range run.InMemory[e.Plan.ID] {
			sample := &run.InMemory[e.Plan.ID][i]
			sample.Bad = sample.Operations / 2
		}
		op := &resulttest.PhaseOf(e, "put").Operations[0]
		op.Errors = op.OK / 2
		op.OK -= op.Errors
	}
	r := resulttest.ResultOf(t, run)
	if elm := resulttest.RowIn(&r.Tables[0], "elm"); math.Abs(elm.Rate.Value/50e3-1) > 0.02 || elm.Standing == model.Ranked {
		t.Errorf("half of 100 k/s are errors, the rate is %v", elm.Rate.Value)
	}
	if r.Runs[0].Counts.Marked != 5 {
		t.Errorf("%d trials count as marked, expected 5: those with errors", r.Runs[0].Counts.Marked)
	}
}

// Records a second are those of the operations that the rate is of.
func TestTable_records_are_of_the_same_stretch_as_the_rate(t *testing.T) {
	run := resulttest.CleanRun()
	for _, e := range resulttest.Trials(run, "oak") {
		p := resulttest.PhaseOf(e, "put")
		p.Operations[0].Items = 100 * p.Operations[0].OK
	}
	if oak := resulttest.RowIn(resulttest.TableOf(t, run, "put"), "oak"); oak.Records == nil || math.Abs(oak.Records.Value/oak.Rate.Value-100) > 1e-6 {
		t.Errorf("%v records in %v operations of 100", oak.Records, oak.Rate)
	}
}

// Nothing begins once a phase's time is over: waiting for what is under way then is no rate.
func TestTable_waiting_for_the_last_operations_is_no_rate(t *testing.T) {
	run := resulttest.CleanRun()
	resulttest.PhaseNamedIn(run, "put").Duration = 60 * time.Second
	want := resulttest.RowIn(resulttest.TableOf(t, run, "put"), "elm").Rate.Value
	for _, e := range resulttest.Trials(run, "elm") {
		for second := range 20 {
			run.InMemory[e.Plan.ID] = append(run.InMemory[e.Plan.ID], record.Sample{Phase: "put", At: 61 + float64(second), Seconds: 1})
		}
		resulttest.PhaseOf(e, "put").ElapsedNS += 20e9
	}
	put := resulttest.TableOf(t, run, "put")
	if elm := resulttest.RowIn(put, "elm"); math.Abs(elm.Rate.Value-want) > 0.001*want || *elm.WorstSample < want/2 {
		t.Errorf("%.0f/s in place of %.0f, at worst %.0f", elm.Rate.Value, want, *elm.WorstSample)
	}
	for _, s := range put.Series {
		if s.Arm == "elm" && s.At[len(s.At)-1] > 60.5 {
			t.Errorf("the plot goes on to %v s", s.At[len(s.At)-1])
		}
	}
}

func TestTable_maximum_is_exact(t *testing.T) {
	run := resulttest.CleanRun()
	var longest uint64
	for _, e := range resulttest.Trials(run, "elm") {
		longest = max(longest, resulttest.PhaseOf(e, "put").Operations[0].MaxNS)
	}
	if got := resulttest.RowIn(resulttest.TableOf(t, run, "put"), "elm").At(1); got == nil || *got != float64(longest) {
		t.Errorf("maximum %v, recorded %d", got, longest)
	}
}

func TestTable_marked_twin_measures_no_noise(t *testing.T) {
	run := resulttest.CleanRun()
	for _, e := range resulttest.Trials(run, "oak (A/A)") {
		resulttest.MarkedBy(e, resulttest.LostRecords())
	}
	if put := resulttest.TableOf(t, run, "put"); put.AA != nil || put.Threshold != 0.03 {
		t.Errorf("A/A %+v from marked trials", put.AA)
	}
}

func TestTable_twin_of_another_store_is_held_against_that_store(t *testing.T) {
	run := resulttest.RaceOf(5, resulttest.Runner("oak", 100e3), resulttest.Runner("elm", 130e3), resulttest.Runner("ash", 60e3))
	for at := range run.Plan {
		p := &run.Plan[at]
		switch {
		case p.Arm == "oak":
			p.Refuse = "can't reach D1"
			run.Trials[p.ID].State, run.Trials[p.ID].Cause = record.Refused, finding.CauseRefused
		case p.Role == plan.AA:
			p.Store, p.Arm = 1, "elm (A/A)"
		}
	}
	if put := resulttest.TableOf(t, run, "put"); put.Baseline != "elm" || put.AA == nil {
		t.Errorf("baseline %s, A/A %v", put.Baseline, put.AA)
	}
}

// No rate has a logarithm, and none may become NaN or infinite on the way to a report.
func TestTable_store_that_did_nothing(t *testing.T) {
	run := resulttest.CleanRun()
	for _, arm := range []string{"elm", "oak (A/A)", "null"} {
		resulttest.PaceAll(run, arm, "put", resulttest.Times(0))
	}
	put := resulttest.TableOf(t, run, "put")
	if elm := resulttest.RowIn(put, "elm"); elm.Standing == model.Ranked || elm.ToBest != nil || !slices.Contains(resulttest.MessageCodes(elm.Reasons), "no-rank nothing-done") || put.AA != nil || put.Best[0] != "oak" {
		t.Errorf("%+v", elm)
	}
}

func TestTable_each_store_is_held_against_the_ceiling_of_its_own_worker(t *testing.T) {
	for rate, bound := range map[float64]bool{160e3: true, 20e6: false} {
		s := resulttest.Clean()
		s.Arms = append(s.Arms, recordtest.Arm{Name: "nought", PutRate: rate, GetRate: rate, Noise: 0.01})
		run := resulttest.Built(s)
		null := run.Experiment.Stores[3]
		null.Description.Kind, null.Worker = store.None, []string{"./other"}
		run.Experiment.Stores = run.Experiment.Stores[:3]
		run.Experiment.Stores[1].Worker, run.Experiment.Stores[1].Ceiling = null.Worker, "nought"
		run.Experiment.Ceilings = []experiment.Store{null}
		for i := range run.Plan {
			if run.Plan[i].Arm == "nought" {
				run.Plan[i].Role, run.Plan[i].Store = plan.Ceiling, -1
			}
		}
		put := resulttest.TableOf(t, run, "put")
		elm, oak := resulttest.RowIn(put, "elm"), resulttest.RowIn(put, "oak")
		if elm.Ceiling != "nought" || math.Abs(*elm.HarnessShare-100e3/rate) > 0.01 || (elm.Standing == model.Ranked) == bound {
			t.Errorf("elm: bounded by %q, share %v, %s", elm.Ceiling, *elm.HarnessShare, elm.Standing)
		}
		if oak.Ceiling != experiment.NullDriver || oak.Standing != model.Ranked || len(put.Ceilings) != 2 ||
			put.Ceilings[0].Arm != experiment.NullDriver {
			t.Errorf("oak: bounded by %q, %s, ceilings %+v", oak.Ceiling, oak.Standing, put.Ceilings)
		}
	}
}

func TestResult_refuses_a_run_without_a_plan(t *testing.T) {
	if _, err := tell.Result(&record.Run{}); err == nil {
		t.Error("a run without a plan was reported")
	}
	run := resulttest.CleanRun()
	run.Plan[0].Cell = 9
	if _, err := tell.Result(run); err == nil {
		t.Error("a plan that does not fit its experiment was reported")
	}
}

func TestResult_of_a_run_in_which_nothing_ended_yet(t *testing.T) {
	run := resulttest.CleanRun()
	run.Directory = "runs/a"
	run.Trials, run.InMemory = map[string]*record.Trial{}, nil
	r := resulttest.ResultOf(t, run)
	if c := r.Runs[0].Counts; c.Missing != c.Planned || len(r.Tables[0].Rows) > 0 || len(r.Tables[0].Absence) == 0 {
		t.Errorf("%+v, %+v", c, r.Tables[0].Rows)
	}
	if len(r.Summary.Next) == 0 || r.Summary.Next[0].Command != "assay run --resume runs/a" {
		t.Errorf("next %+v", r.Summary.Next)
	}
}
