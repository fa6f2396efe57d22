package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/spec"
	"assay/internal/stat"
	"assay/store"
)

// clean is a run without anything to find: one class, quiet arms that lie far apart, data that outgrows its memory limit.
func clean() recordtest.Shape {
	return recordtest.Shape{
		Name: "clean", Classes: []store.Durability{store.D1}, Blocks: 5, Seconds: 60, Seed: 7, AA: true, Ceiling: true,
		Arms: []recordtest.Arm{
			{Name: "oak", PutRate: 200e3, GetRate: 300e3, Noise: 0.03, BlockNoise: 0.005, WarmupSeconds: 5, DiskFactor: 1, RSSBytes: 90e6, AllocBytes: 48, Allocs: 1},
			{Name: "elm", PutRate: 100e3, GetRate: 150e3, Noise: 0.03, BlockNoise: 0.005, DiskFactor: 2, RSSBytes: 90e6},
			{Name: "ash", PutRate: 100.5e3, GetRate: 50e3, Noise: 0.03, BlockNoise: 0.005, DiskFactor: 1, RSSBytes: 90e6},
		},
	}
}

func cleanRun() *record.Run { return built(clean()) }

// built makes a run whose data outgrows the memory limit, so that reads are not all of memory.
func built(s recordtest.Shape) *record.Run {
	run := recordtest.Run(s)
	for i := range run.Experiment.Cells {
		run.Experiment.Cells[i].MemoryLimit = 200e6
	}
	return run
}

func summarise(t *testing.T, run *record.Run) *Summary {
	t.Helper()
	s, err := Summarise(run)
	if err != nil {
		t.Fatal(err)
	}
	// A summary goes into reports as JSON, which has no NaN and no infinity.
	if _, err := json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func codes(s *Summary) (all []string) {
	for _, f := range s.Findings {
		if !slices.Contains(all, f.Code) {
			all = append(all, f.Code)
		}
	}
	return all
}

func find(s *Summary, code string) *Finding {
	for i := range s.Findings {
		if s.Findings[i].Code == code {
			return &s.Findings[i]
		}
	}
	return nil
}

func tableNamed(t *testing.T, s *Summary, phase string) *Table {
	t.Helper()
	for i := range s.Tables {
		if s.Tables[i].Phase == phase {
			return &s.Tables[i]
		}
	}
	t.Fatalf("no table of %s", phase)
	return nil
}

func TestNothingIsFoundInACleanRun(t *testing.T) {
	s := summarise(t, cleanRun())
	if len(s.Findings) > 0 {
		t.Errorf("found %v: %+v", codes(s), s.Findings)
	}
	if s.OK != s.Planned {
		t.Errorf("%d of %d trials are ok", s.OK, s.Planned)
	}
}

// trials returns the trials of an arm, in the order of the plan.
func trials(run *record.Run, arm string) (all []*record.Trial) {
	for _, p := range run.Plan {
		if p.Arm == arm {
			all = append(all, run.Trials[p.ID])
		}
	}
	return all
}

func phaseOf(t *record.Trial, name string) *record.Phase {
	for i := range t.Phases {
		if t.Phases[i].Name == name {
			return &t.Phases[i]
		}
	}
	panic("no phase " + name)
}

// scale multiplies the rate of the samples of a trial's phase from second `from` to `to`, and its totals in proportion.
func scale(run *record.Run, t *record.Trial, phase string, from, to int, factor float64) {
	samples := run.Series[t.Plan.ID]
	var after uint64
	second := 0
	for i := range samples {
		if samples[i].Phase != phase {
			continue
		}
		if second >= from && second < to {
			samples[i].Operations = uint64(float64(samples[i].Operations) * factor)
		}
		after += samples[i].Operations
		second++
	}
	p := phaseOf(t, phase)
	p.Operations[0].OK = after
	p.Attempted = after
}

// TestFindings plants each cause in the clean run and expects exactly the findings that it must bring.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name     string
		plant    func(run *record.Run)
		want     []string
		severity Severity
		says     []string // in the first finding, sentence or evidence
	}{
		{"errors", func(run *record.Run) {
			p := phaseOf(trials(run, "elm")[1], "put")
			p.Operations[0].OK -= 412
			p.Operations[0].Errors = 400
			p.Operations[0].Timeout = 12
			p.Messages = []record.Message{{Operation: "update", Outcome: "error", Text: "disk full", Count: 400}}
		}, []string{string(finding.FaultErrors)}, Grave, []string{"elm", "put at D1", "412 of", "disk full"}},
		{"wrong values", func(run *record.Run) {
			p := phaseOf(trials(run, "elm")[0], "get")
			p.Operations[0].OK -= 3
			p.Operations[0].Wrong = 3
		}, []string{string(finding.FaultWrong)}, Grave, []string{"elm", "never written"}},
		{"lost", func(run *record.Run) {
			p := phaseOf(trials(run, "elm")[0], "get")
			p.Operations[0].OK--
			p.Operations[0].Lost = 1
		}, []string{string(finding.FaultLost)}, Grave, []string{"elm lost 1 record in get"}},
		{"stale", func(run *record.Run) {
			f := trials(run, "elm")[0].Final
			f.Right, f.Stale, f.Examples = 9_998, 2, []string{"key 17 holds version 3, 9 was acknowledged"}
		}, []string{string(finding.FaultStale)}, Grave, []string{"final check", "2 of 10,000", "key 17"}},
		{"counts disagree", func(run *record.Run) { phaseOf(trials(run, "elm")[0], "get").Attempted++ },
			[]string{string(finding.FaultCounts)}, Grave, []string{"contradict"}},
		{"unfinished", func(run *record.Run) {
			p := phaseOf(trials(run, "elm")[0], "get")
			p.Attempted++
			p.Unfinished = 1
		}, []string{string(finding.FaultUnfinished)}, Grave, []string{"1 operation began and never ended"}},
		{"not all done", func(run *record.Run) {
			e := trials(run, "elm")[0]
			e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkShortWork, "thread", 0, "done", 900, "of", 1000), Phase: "put"}}
		}, []string{string(finding.FaultShort)}, Warning, []string{"900 of 1,000"}},
		{"clock", func(run *record.Run) { phaseOf(trials(run, "elm")[0], "get").ClockDrift = 90 * time.Millisecond },
			[]string{string(finding.FaultClock)}, Warning, []string{"90.0 ms"}},
		{"foreign load, marked", func(run *record.Run) {
			e := trials(run, "elm")[0]
			e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkForeign, "least", 0.4, "most", 0.4), Phase: "put"}}
		}, []string{string(finding.FaultForeign)}, Warning, []string{"40 %", "Excluded"}},
		{"foreign load and steal, below the mark", func(run *record.Run) {
			samples := run.Series[trials(run, "elm")[0].Plan.ID]
			for i := range samples {
				samples[i].Foreign, samples[i].Steal = pointer(0.08), pointer(0.03)
			}
		}, []string{FindBusyMachine}, Warning, []string{"8.0 %", "3.0 %"}},
		{"failed", func(run *record.Run) {
			e := trials(run, "elm")[2]
			e.State, e.Error, e.Phases, e.Final = record.Failed, "the worker died: signal killed", nil, nil
			delete(run.Series, e.Plan.ID)
		}, []string{FindFailed}, Grave, []string{"elm failed in 1 trial", "signal killed"}},
		{"refused", func(run *record.Run) {
			for _, e := range trials(run, "elm") {
				*e = record.Trial{Plan: e.Plan, State: record.Refused, Error: "elm can't reach D1"}
				delete(run.Series, e.Plan.ID)
			}
		}, []string{FindRefused}, Notice, []string{"elm can't do what is asked at D1"}},
		{"interrupted and missing", func(run *record.Run) {
			e := trials(run, "elm")
			*e[0] = record.Trial{Plan: e[0].Plan, State: record.Interrupted, Error: "stopped by the user"}
			delete(run.Trials, e[1].Plan.ID)
			delete(run.Series, e[1].Plan.ID)
		}, []string{FindMissing}, Warning, []string{"2 of 25 planned trials", "stopped by the user", "no result"}},
		{"an incomplete directory", func(run *record.Run) { run.Missing = []string{"environment.json is not there"} },
			[]string{FindIncomplete}, Warning, []string{"environment.json"}},
		{"harness-bound", func(run *record.Run) { slow(run, "null", 0.012) }, // null: 252 k/s and 288 k/s
			[]string{FindHarnessBound, FindHarnessShare}, Warning, []string{"oak in put at D1 is harness-bound", "no rank"}},
		{"harness noted", func(run *record.Run) { slow(run, "null", 0.08) }, // 1.68 M/s and 1.92 M/s
			[]string{FindHarnessShare}, Notice, []string{"The harness is 12 %"}},
		{"another program's harness", func(run *record.Run) {
			slow(run, "null", 0.012)
			for i := range run.Experiment.Stores {
				run.Experiment.Stores[i].Worker = []string{"./other"}
			}
		}, []string{FindOtherHarness}, Notice, []string{"elm", "oak", "not known"}},
		{"a server that keeps its data", func(run *record.Run) { run.Experiment.Stores[1].Description.Kind = store.Server },
			[]string{FindKeptData}, Warning, []string{"elm", "not emptied"}},
		{"a drift", func(run *record.Run) {
			for _, e := range trials(run, "elm") {
				for s := range 60 {
					scale(run, e, "put", s, s+1, math.Exp(-0.01*float64(s)))
				}
			}
		}, []string{FindUnsteady}, Warning, []string{"elm found no steady state in put at D1 in 5 of 5 blocks"}},
		{"dips", func(run *record.Run) {
			for _, from := range []int{20, 42} {
				scale(run, trials(run, "elm")[0], "put", from, from+2, 0.4)
			}
		}, []string{FindDips}, Notice, []string{"elm dips in put at D1 in 1 of 5 blocks: to 4", " of its usual rate for 2.00 s, 6.7 % of the time.", "It dips 2 times between 20.0 s and 44.0 s", "and comes back"}},
		{"a stall", func(run *record.Run) { scale(run, trials(run, "elm")[0], "put", 30, 33, 0.001) },
			[]string{FindStall}, Warning, []string{"elm stalled 1 time in put at D1 in 1 of 5 blocks", "from 30.0 s to 33.0 s", "recovered"}},
		{"a cliff", func(run *record.Run) {
			for _, e := range trials(run, "elm") {
				scale(run, e, "put", 40, 60, 0.3)
			}
		}, []string{FindCliff, FindUnsteady}, Warning, []string{"elm", "cliff", "70 %", "40.0 s"}},
		{"a short run", func(run *record.Run) {
			for _, e := range run.Trials {
				shorten(run, e, 3)
			}
		}, []string{FindShortRun, FindUndecided}, Warning, []string{"down to 3.00 s", "can't be told for 3 of 3"}},
		{"one block", func(run *record.Run) {
			run.Plan = slices.DeleteFunc(run.Plan, func(p plan.Trial) bool { return p.Block > 1 })
		}, []string{FindOneBlock}, Warning, []string{"once"}},
		{"a noisy machine", func(run *record.Run) { slow(run, "oak (A/A)", 0.93) },
			[]string{FindNoisy}, Warning, []string{"2 of 2 tables", "differs by 7"}},
		{"no twin", func(run *record.Run) { drop(run, "oak (A/A)") }, []string{FindNoTwin}, Notice, []string{"3 %"}},
		{"no ceiling", func(run *record.Run) { drop(run, "null") }, []string{FindNoCeiling}, Notice, []string{"null driver"}},
		{"data in memory", func(run *record.Run) { run.Experiment.Cells[0].MemoryLimit = 2e9 },
			[]string{FindInMemory}, Notice, []string{"1.02 GB of data", "2.00 GB"}},
		{"data in the machine's memory", func(run *record.Run) { run.Experiment.Cells[0].MemoryLimit = 0 },
			[]string{FindInMemory}, Notice, []string{"the machine's memory is 17.2 GB"}},
		{"a limit beyond the machine's memory", func(run *record.Run) { run.Experiment.Cells[0].MemoryLimit = 1e12 },
			[]string{FindInMemory}, Notice, []string{"the machine's memory is 17.2 GB"}},
		{"data in the store's cache", func(run *record.Run) {
			run.Experiment.Stores[1].Description.Options = []store.Option{{Name: "block_cache_bytes", Type: store.Bytes, Default: "2GiB"}}
		}, []string{FindInMemory}, Notice, []string{"elm: its block_cache_bytes of 2.15 GB holds all"}},
		{"a memory limit that did not hold", func(run *record.Run) {
			trials(run, "elm")[0].Memory = &record.Memory{PeakBytes: pointer(uint64(300e6))}
		}, []string{FindMemoryLimit}, Warning, []string{"held 300 MB", "200 MB"}},
		{"short values", func(run *record.Run) { run.Experiment.Cells[0].ValueBytes = 10 },
			[]string{FindShortValues}, Notice, []string{"10 bytes"}},
		{"versions that were not told", func(run *record.Run) { trials(run, "elm")[0].Final.Unknown = 5 },
			[]string{FindUntold}, Warning, []string{"5 of 10,000"}},
		{"short values that were not told", func(run *record.Run) {
			run.Experiment.Cells[0].ValueBytes = 10
			trials(run, "elm")[0].Final.Unknown = 5
		}, []string{FindShortValues}, Notice, []string{"5 of 10,000"}},
		{"values not checked", func(run *record.Run) { run.Experiment.Verify = false },
			[]string{FindUnverified}, Warning, []string{"verify is off"}},
		{"late dispatch", func(run *record.Run) {
			run.Experiment.Phases[1].Rate = 50e3
			p := phaseOf(trials(run, "elm")[0], "put")
			p.Operations[0].Response = p.Operations[0].Service
			p.LatenessMaxNS = 5e9
		}, []string{FindDispatchLate}, Warning, []string{"elm in put at D1", "5.00 s late"}},
		{"writes that a store refused", func(run *record.Run) {
			for _, e := range trials(run, "elm") {
				o := &phaseOf(e, "put").Operations[0]
				o.OK, o.Conflict = o.OK-o.OK/4, o.OK/4
			}
		}, []string{FindConflicts}, Warning, []string{"elm refused operations", "(25 %)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := cleanRun()
			c.plant(run)
			s := summarise(t, run)
			got := codes(s)
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Fatalf("found %v, want %v: %+v", got, c.want, s.Findings)
			}
			first := s.Findings[0]
			if first.Severity != c.severity {
				t.Errorf("%s is %s, want %s", first.Code, first.Severity, c.severity)
			}
			var text strings.Builder
			for _, f := range s.Findings {
				fmt.Fprintln(&text, f.Sentence, strings.Join(f.Evidence, "\n"))
			}
			for _, says := range c.says {
				if !strings.Contains(text.String(), says) {
					t.Errorf("%q is not said in:\n%s", says, text.String())
				}
			}
		})
	}
}

// slow multiplies all rates of an arm.
func slow(run *record.Run, arm string, factor float64) {
	for _, e := range trials(run, arm) {
		for _, phase := range []string{"put", "get"} {
			scale(run, e, phase, 0, 60, factor)
		}
	}
}

func drop(run *record.Run, arm string) {
	run.Plan = slices.DeleteFunc(run.Plan, func(p plan.Trial) bool { return p.Arm == arm })
}

// shorten leaves the last so many seconds of the measured phases: the warm-up goes.
func shorten(run *record.Run, t *record.Trial, seconds int) {
	var kept []record.Sample
	for _, s := range run.Series[t.Plan.ID] {
		if s.At > float64(60-seconds) {
			s.At -= float64(60 - seconds)
			kept = append(kept, s)
		}
	}
	run.Series[t.Plan.ID] = kept
	for i := range t.Phases {
		t.Phases[i].ElapsedNS = int64(seconds) * 1e9
	}
}

func TestATableSaysWhoIsFastest(t *testing.T) {
	s := summarise(t, cleanRun())
	put := tableNamed(t, s, "put")
	if put.Best != "oak" || len(put.Tied) != 0 || !strings.HasPrefix(put.Sentence, "oak is the fastest with 201 k/s: ") {
		t.Errorf("%q, best %s, tied %v", put.Sentence, put.Best, put.Tied)
	}
	oak, elm := put.rowOf(plan.Measured, "oak"), put.rowOf(plan.Measured, "elm")
	if math.Abs(oak.Rate.Value/200e3-1) > 0.01 || oak.Rate.Interval == nil || oak.Rank != 1 || !oak.Ranked {
		t.Errorf("oak: %+v", oak.Rate)
	}
	if elm.ToBest == nil || math.Abs(elm.ToBest.Value-0.5) > 0.01 || !elm.ShownToBest || elm.ToBaseline.Value != elm.ToBest.Value {
		t.Errorf("elm to the best: %+v", elm.ToBest)
	}
	if oak.Trials[0].Basis != AfterWarmup || oak.Trials[0].Steadiness.From == 0 {
		t.Errorf("oak's warm-up is in its rate: %+v", oak.Trials[0].Steadiness)
	}
	if put.AA == nil || put.Ceiling == nil || put.Threshold < 0.03 {
		t.Errorf("A/A %v, ceiling %v, threshold %v", put.AA, put.Ceiling, put.Threshold)
	}
	if put.rowOf(plan.AA, "").Ranked || put.rowOf(plan.Ceiling, "").Ranked {
		t.Error("a control arm has a rank")
	}
	if oak.Latency == nil || oak.Latency.FromDue || oak.Latency.P50 >= oak.Latency.P99 || oak.Latency.P999 > oak.Latency.Max {
		t.Errorf("latency %+v", oak.Latency)
	}
	if oak.WriteAmplification == nil || math.Abs(*oak.WriteAmplification-1) > 0.01 || math.Abs(*oak.AllocBytes-48) > 0.01 || *oak.RSSMaxBytes != 90e6 {
		t.Errorf("resources: %v %v %v", oak.WriteAmplification, oak.AllocBytes, oak.RSSMaxBytes)
	}
	if get := tableNamed(t, s, "get"); get.rowOf(plan.Measured, "oak").WriteAmplification != nil {
		t.Error("a phase that wrote nothing has a write amplification")
	}
}

func TestATieSaysWhatCouldHaveBeenSeen(t *testing.T) {
	run := cleanRun()
	drop(run, "oak")
	put := tableNamed(t, summarise(t, run), "put")
	if put.Best != "ash" || !slices.Equal(put.Tied, []string{"elm"}) || !strings.Contains(put.Sentence, "No difference shown between ash and elm") ||
		!strings.Contains(put.Sentence, "3.3 % or more") {
		t.Errorf("%q, best %s, tied %v", put.Sentence, put.Best, put.Tied)
	}
	for _, r := range put.Rows[:2] {
		if r.Rank != 1 {
			t.Errorf("%s has rank %d in a tie", r.Arm, r.Rank)
		}
	}
}

func TestTheBaselinesOwnDifferenceHidesSmallerOnes(t *testing.T) {
	shape := clean()
	shape.Arms[1].PutRate = 190e3
	if put := tableNamed(t, summarise(t, built(shape)), "put"); put.Best != "oak" || len(put.Tied) != 0 {
		t.Fatalf("a quiet machine shows 5 %%: %q", put.Sentence)
	}
	run := built(shape)
	slow(run, "oak (A/A)", 0.9)
	if put := tableNamed(t, summarise(t, run), "put"); !slices.Contains(put.Tied, "elm") || put.Threshold < 0.1 {
		t.Errorf("5 %% is said where the baseline differs from itself by 10 %%: %q, threshold %v", put.Sentence, put.Threshold)
	}
}

func TestWhatIsNotRanked(t *testing.T) {
	for _, c := range []struct {
		name   string
		plant  func(run *record.Run)
		reason string
	}{
		{"one marked block", func(run *record.Run) {
			e := trials(run, "oak")[3]
			e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkWrong, "count", 3, "of", 100), Phase: "get"}}
		}, "3 of 100 operations"},
		{"an error that nobody marked", func(run *record.Run) {
			p := phaseOf(trials(run, "oak")[0], "put")
			p.Operations[0].OK--
			p.Operations[0].Errors = 1
		}, "1 of"},
		{"one failed block", func(run *record.Run) {
			e := trials(run, "oak")[0]
			e.State, e.Error, e.Phases = record.Failed, "hung", nil
		}, "hung"},
		{"all blocks void", func(run *record.Run) {
			for _, e := range trials(run, "oak") {
				e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkForeign, "least", 0.4, "most", 0.4)}}
			}
		}, "free of marks"},
		{"nothing but missing trials", func(run *record.Run) {
			for _, e := range trials(run, "oak") {
				delete(run.Trials, e.Plan.ID)
			}
		}, "no trial of it ended"},
		{"no steady state", func(run *record.Run) {
			for _, e := range trials(run, "oak")[:3] {
				scale(run, e, "put", 40, 60, 0.7)
			}
		}, "no steady state in 3 of 5 blocks"},
		{"harness-bound", func(run *record.Run) { slow(run, "null", 0.012) }, "harness-bound"},
		{"open load", func(run *record.Run) { run.Experiment.Phases[1].Rate = 1000 }, "open load"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := cleanRun()
			c.plant(run)
			put := tableNamed(t, summarise(t, run), "put")
			oak := put.rowOf(plan.Measured, "oak")
			if oak.Ranked || oak.Rank != 0 || put.Best == "oak" || slices.Contains(put.Tied, "oak") || strings.HasPrefix(put.Sentence, "oak is the fastest") {
				t.Errorf("oak has rank %d: %s", oak.Rank, put.Sentence)
			}
			if !strings.Contains(strings.Join(oak.Reasons, "; "), c.reason) {
				t.Errorf("reasons %v, want %q", oak.Reasons, c.reason)
			}
		})
	}
}

func TestAVoidBlockIsLeftOutAndTheRankStays(t *testing.T) {
	run := cleanRun()
	e := trials(run, "oak")[0]
	e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkForeign, "least", 0.4, "most", 0.4), Phase: "put"}}
	oak := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "oak")
	if !oak.Ranked || oak.Rate.N != 4 || oak.Trials[0].Used {
		t.Errorf("ranked %v over %d blocks: %v", oak.Ranked, oak.Rate.N, oak.Reasons)
	}
}

func TestFixedWorkCountsTheWholePhase(t *testing.T) {
	run := cleanRun()
	run.Experiment.Phases[1].Operations, run.Experiment.Phases[1].Duration = 1e7, 0
	put := tableNamed(t, summarise(t, run), "put")
	oak := put.rowOf(plan.Measured, "oak")
	p := phaseOf(trials(run, "oak")[0], "put")
	if want := float64(p.Operations[0].OK) / 60; oak.Trials[0].Basis != WholePhase || math.Abs(*oak.Trials[0].Rate-want) > 1e-6 {
		t.Errorf("rate %v (%s), want %v", *oak.Trials[0].Rate, oak.Trials[0].Basis, want)
	}
}

// TestTheExampleRun goes through a run with something of everything.
func TestTheExampleRun(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	s := summarise(t, run)
	for _, code := range []string{string(finding.FaultErrors), FindFailed, FindRefused, FindStall, FindCliff, FindClasses, FindDurabilityPut} {
		if find(s, code) == nil {
			t.Errorf("%s was not found: %v", code, codes(s))
		}
	}
	if len(s.Tables) != 6 || s.OK == s.Planned {
		t.Errorf("%d tables, %d of %d ok", len(s.Tables), s.OK, s.Planned)
	}
	for _, table := range s.Tables {
		if len(table.Rows) != 10 {
			t.Errorf("%s at %s shows %d of 10 planned arms", table.Phase, table.Class, len(table.Rows))
		}
		for _, r := range table.Rows {
			if r.Ranked && r.State != record.OK {
				t.Errorf("%s is ranked though %s", r.Arm, r.State)
			}
		}
	}
	cost := find(s, FindDurabilityPut)
	if !strings.Contains(cost.Sentence, "would rank durability, not speed") || !strings.Contains(cost.Sentence, "in put at D0 as in D3") {
		t.Errorf("%q", cost.Sentence)
	}
	if i := slices.IndexFunc(s.Findings, func(f Finding) bool { return f.Severity != Grave }); slices.ContainsFunc(s.Findings[i:], func(f Finding) bool { return f.Severity == Grave }) {
		t.Error("findings are not sorted by severity")
	}
}

// A conflict is an answer where one was asked for, and work that was not done elsewhere.
func TestRatesLeaveOutRefusedOperations(t *testing.T) {
	for _, c := range []struct {
		name string
		good uint64
	}{{"update", 70}, {"read", 70}, {"batch", 70}, {"add", 100}, {"compare_and_swap", 100}} {
		var o Outcomes
		o.add(&record.Phase{Operations: []record.Operation{{Name: c.name, OK: 60, Miss: 10, Conflict: 30, Errors: 5}}})
		if o.Good() != c.good || o.Done() != 105 || o.Conflict != 30 {
			t.Errorf("%s: good %d, done %d, conflicts %d", c.name, o.Good(), o.Done(), o.Conflict)
		}
	}
}

func TestSyncsThatCostNothing(t *testing.T) {
	for _, c := range []struct {
		class      store.Durability
		filesystem string
		micros     float64
		quota      string // the file system of the trials' quotas
		want       string // "": no finding
	}{
		{store.D3, "ext4", 300, "", ""},
		{store.D3, "ext4", 0, "", ""}, // not measured
		{store.D1, "tmpfs", 2, "", ""},
		{store.D3, "tmpfs", 2, "", "in memory (tmpfs)"},
		{store.D3, "ext4", 4, "", "took 4 µs"},
		{store.D3, "ext4", 300, "ext4", ""},
		{store.D3, "ext4", 300, "tmpfs", "mounted for disk_quota_by"},
	} {
		shape := clean()
		shape.Classes = []store.Durability{c.class}
		run := built(shape)
		run.Environment.Filesystem, run.Environment.SyncMicros = c.filesystem, c.micros
		for i := range run.Experiment.Stores {
			run.Experiment.Stores[i].Description.Kind = store.Embedded
		}
		if c.quota != "" {
			for _, trial := range run.Trials {
				trial.QuotaMount = &record.QuotaMount{FileSystem: c.quota}
			}
		}
		f := find(summarise(t, run), FindVolatile)
		if (f != nil) != (c.want != "") || f != nil && !strings.Contains(f.Sentence, c.want) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

func TestDurabilityIsNotBlamedWhereStoresDifferMore(t *testing.T) {
	shape := clean()
	shape.Classes = []store.Durability{store.D1, store.D3}
	for i := range shape.Arms {
		shape.Arms[i].ClassCost = map[store.Durability]float64{store.D3: 0.8}
	}
	s := summarise(t, built(shape))
	cost := find(s, FindDurabilityPut)
	if find(s, FindClasses) == nil || cost == nil || !strings.Contains(cost.Sentence, "differ by more than durability costs") {
		t.Errorf("%v: %+v", codes(s), cost)
	}
}

func TestSummariseRefusesARunWithoutAPlan(t *testing.T) {
	if _, err := Summarise(&record.Run{}); err == nil {
		t.Error("a run without a plan was summarised")
	}
	run := cleanRun()
	run.Plan[0].Cell = 9
	if _, err := Summarise(run); err == nil {
		t.Error("a plan that does not fit its experiment was summarised")
	}
}

func TestNothingEndedYet(t *testing.T) {
	run := cleanRun()
	run.Trials, run.Series = map[string]*record.Trial{}, nil
	s := summarise(t, run)
	if find(s, FindMissing) == nil || s.Missing != s.Planned || tableNamed(t, s, "put").Best != "" {
		t.Errorf("%v", codes(s))
	}
}

// TestAStoreThatDidNothing: no rate has a logarithm, and none may become NaN or infinite on the way to a report.
func TestAStoreThatDidNothing(t *testing.T) {
	run := cleanRun()
	slow(run, "elm", 0)
	slow(run, "oak (A/A)", 0)
	slow(run, "null", 0)
	put := tableNamed(t, summarise(t, run), "put")
	elm := put.rowOf(plan.Measured, "elm")
	if elm.Ranked || elm.ToBest != nil || !slices.Contains(elm.Reasons, "no operation ended well") || put.Best != "oak" || put.AA != nil {
		t.Errorf("%+v", elm)
	}
}

func TestARateLeavesOutWhatWentWrong(t *testing.T) {
	run := cleanRun()
	for _, e := range trials(run, "elm") {
		for i := range run.Series[e.Plan.ID] {
			sample := &run.Series[e.Plan.ID][i]
			sample.Bad = sample.Operations / 2
		}
		op := &phaseOf(e, "put").Operations[0]
		op.Errors = op.OK / 2
		op.OK -= op.Errors
	}
	s := summarise(t, run)
	elm := tableNamed(t, s, "put").rowOf(plan.Measured, "elm")
	if math.Abs(elm.Rate.Value/50e3-1) > 0.02 {
		t.Errorf("half of 100 k/s are errors, the rate is %v", elm.Rate.Value)
	}
	if s.Marked != 5 {
		t.Errorf("%d trials count as marked, though nobody marked five with errors", s.Marked)
	}
}

func TestAPieceOfASampleAtTheEndIsNoStall(t *testing.T) {
	run := cleanRun()
	e := trials(run, "elm")[0]
	samples := run.Series[e.Plan.ID]
	last := samples[len(samples)-1]
	last.At, last.Seconds, last.Operations = last.At+0.05, 0.05, 1
	run.Series[e.Plan.ID] = append(samples, last)
	if s := summarise(t, run); len(s.Findings) > 0 {
		t.Errorf("found %v", codes(s))
	}
}

func TestASlowStoreIsNotStalled(t *testing.T) {
	run := cleanRun()
	slow(run, "elm", 0.00005) // 5 operations a second
	scale(run, trials(run, "elm")[0], "put", 30, 31, 0)
	if f := find(summarise(t, run), FindStall); f != nil {
		t.Errorf("a second without one of five operations is a stall: %s", f.Sentence)
	}
}

func TestFixedWorkIsRankedThoughItNeverSettles(t *testing.T) {
	run := cleanRun()
	run.Experiment.Phases[1].Operations = 1e7
	for _, e := range trials(run, "oak") {
		scale(run, e, "put", 40, 60, 0.7)
	}
	s := summarise(t, run)
	if oak := tableNamed(t, s, "put").rowOf(plan.Measured, "oak"); !oak.Ranked {
		t.Errorf("not ranked: %v", oak.Reasons)
	}
	if f := find(s, FindUnsteady); f == nil || f.Severity != Notice || !strings.Contains(f.Sentence, "this amount of work") {
		t.Errorf("%+v", f)
	}
}

func TestAMarkedTwinMeasuresNoNoise(t *testing.T) {
	run := cleanRun()
	for _, e := range trials(run, "oak (A/A)") {
		e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkWrong, "count", 3, "of", 100)}}
	}
	if put := tableNamed(t, summarise(t, run), "put"); put.AA != nil || put.Threshold != 0.03 {
		t.Errorf("A/A %+v from marked trials", put.AA)
	}
}

func TestTheMaximumIsExact(t *testing.T) {
	run := cleanRun()
	var longest uint64
	for _, e := range trials(run, "elm") {
		longest = max(longest, phaseOf(e, "put").Operations[0].MaxNS)
	}
	if got := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "elm").Latency.Max; got != float64(longest) {
		t.Errorf("maximum %v, recorded %d", got, longest)
	}
}

func TestClassesOfOtherwiseDifferentCellsAreNotSetAgainstEachOther(t *testing.T) {
	shape := clean()
	shape.Classes = []store.Durability{store.D1, store.D3}
	run := built(shape)
	run.Experiment.Cells[1].Threads = 1
	if f := find(summarise(t, run), FindDurabilityPut); f != nil {
		t.Errorf("eight threads at D1 were set against one at D3: %s", f.Sentence)
	}
}

// TestManyArmsNeedMoreEvidence: one arm with p = 0.03 is shown to differ, two with the same are not (Holm: 0.06).
func TestManyArmsNeedMoreEvidence(t *testing.T) {
	arm := func(name string, offset float64) Row {
		r := Row{Arm: name, Role: plan.Measured}
		for block := range 5 {
			value := 1000 * math.Exp(offset*(1+0.4286*float64(block-2)))
			r.Trials = append(r.Trials, Observation{Block: block, State: record.OK, Used: true, Rate: &value})
		}
		return r
	}
	for others, want := range map[int]bool{1: true, 2: false} {
		tbl := Table{Rows: []Row{arm("best", 0)}, Threshold: 0.03}
		for i := range others {
			tbl.Rows = append(tbl.Rows, arm(fmt.Sprint(i), -0.1))
		}
		tbl.relate(tbl.Rows[0], func(r *Row) bool { return r.Arm != "best" }, func(r *Row, ratio stat.Ratio, shown bool) {
			if *ratio.P < 0.025 || *ratio.P > 0.05 {
				t.Fatalf("p = %v does not lie where the correction decides", *ratio.P)
			}
			if shown != want {
				t.Errorf("beside %d others: shown %v", others-1, shown)
			}
		})
	}
}

// The A/A arm and the null driver have no rank because of what they are; they have no figure because of what became of their trials.
func TestReferencesWithoutAFigureSayWhatBecameOfThem(t *testing.T) {
	run := cleanRun()
	for _, p := range run.Plan {
		switch trial := run.Trials[p.ID]; p.Role {
		case plan.AA:
			trial.State, trial.Error, trial.Phases = record.Failed, "the disk was full", nil
		case plan.Ceiling:
			delete(run.Trials, p.ID)
		}
	}
	put := tableNamed(t, summarise(t, run), "put")
	for role, want := range map[plan.Role]string{plan.AA: "the disk was full", plan.Ceiling: "no trial of it ended"} {
		row := put.rowOf(role, "")
		if row.Ranked || len(row.Reasons) == 0 || !strings.Contains(row.Reasons[0], want) {
			t.Errorf("%s has no figure, and the reasons are %q: want %q", row.Arm, row.Reasons, want)
		}
	}
	put = tableNamed(t, summarise(t, cleanRun()), "put")
	for role, want := range map[plan.Role]string{plan.AA: "it is the baseline a second time: the measure of noise", plan.Ceiling: "it is no store: the rate that the harness allows"} {
		if row := put.rowOf(role, ""); !slices.Equal(row.Reasons, []string{want}) {
			t.Errorf("%s has a figure and no rank, because of %q: want %q", row.Arm, row.Reasons, want)
		}
	}
}

// The length of a stall is that of the two times beside it, also where samples are not all of one length.
func TestAStallIsAsLongAsItsEndsAreApart(t *testing.T) {
	run := cleanRun()
	e := trials(run, "elm")[0]
	scale(run, e, "put", 30, 31, 0.001)
	samples := run.Series[e.Plan.ID]
	for i := range samples { // 50 ms each, but for the one that stalls
		samples[i].At, samples[i].Seconds = samples[i].At*0.05, samples[i].Seconds*0.05
		if samples[i].Phase == "put" && samples[i].At > 1.54 {
			samples[i].At -= 0.007
			if samples[i].At < 1.56 {
				samples[i].Seconds -= 0.007
			}
		}
	}
	f := find(summarise(t, run), FindStall)
	if f == nil || !strings.Contains(f.Sentence, "for up to 0.043 s") || !strings.Contains(f.Evidence[0], "from 1.500 s to 1.543 s") {
		t.Errorf("%+v", f)
	}
}

func TestWhatARunLacksIsNamed(t *testing.T) {
	without := cleanRun()
	without.Experiment = spec.Experiment{}
	if _, err := Summarise(without); err == nil || !strings.Contains(err.Error(), "no experiment (experiment.json)") {
		t.Errorf("a run without its experiment: %v", err)
	}
	without = cleanRun()
	without.Plan = nil
	if _, err := Summarise(without); err == nil || !strings.Contains(err.Error(), "no plan (plan.json)") {
		t.Errorf("a run without its plan: %v", err)
	}
}
