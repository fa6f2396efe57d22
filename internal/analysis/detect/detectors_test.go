package detect_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/history"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

func TestCleanRunHasNoFinding(t *testing.T) {
	r := resulttest.ResultOf(t, resulttest.CleanRun())
	if len(r.Findings) > 0 {
		t.Errorf("found %v: %+v", resulttest.CodesOf(r), r.Findings)
	}
	if c := r.Runs[0].Counts; c.OK != c.Planned {
		t.Errorf("%d of %d trials are ok", c.OK, c.Planned)
	}
}

// TestDetectors plants each cause in the clean run and expects exactly the findings that it must
// bring.
func TestDetectors(t *testing.T) {
	elmPut := finding.Params{"arm": "elm", "place": "put (D1)"}
	put := func(run *record.Run) *record.Phase {
		return resulttest.PhaseOf(resulttest.Trials(run, "elm")[1], "put")
	}
	get := func(run *record.Run) *record.Phase {
		return resulttest.PhaseOf(resulttest.Trials(run, "elm")[0], "get")
	}
	marked := func(m finding.Message) func(run *record.Run) {
		return func(run *record.Run) {
			e := resulttest.Trials(run, "elm")[0]
			e.State, e.Marks = record.Marked, []finding.Mark{{Message: m, Phase: "put"}}
		}
	}
	expect(t, resulttest.CleanRun, []planted{
		{"errors", func(run *record.Run) {
			p := put(run)
			p.Operations[0].OK -= 412
			p.Operations[0].Errors, p.Operations[0].Timeout = 400, 12
			p.Messages = []record.Message{{Operation: "update", Outcome: "error", Text: "disk full", Count: 400}}
		}, []finding.Code{finding.FaultErrors}, finding.Params{"arm": "elm", "place": "put (D1)", "count": 412, "trials": 1}},
		{"a replay that was not kept up with", func(run *record.Run) {
			put(run).Fidelity = &recording.Fidelity{Sent: 900, Recorded: 1000, Asked: 1, Speed: 0.99}
		}, []finding.Code{finding.ReplayDiffers}, finding.Params{"arm": "elm", "place": "put (D1)", "sent": 900}},
		{"a replay that is slow", func(run *record.Run) {
			put(run).Fidelity = &recording.Fidelity{Sent: 1000, Recorded: 1000, Asked: 10, Speed: 7}
		}, []finding.Code{finding.ReplayDiffers}, finding.Params{"arm": "elm", "speed": 7.0}},
		{"a replay", func(run *record.Run) {
			put(run).Fidelity = &recording.Fidelity{Sent: 1000, Recorded: 1000, Asked: 10, Speed: 9.9}
		}, nil, nil},
		{"a closed replay", func(run *record.Run) {
			put(run).Fidelity = &recording.Fidelity{Sent: 1000, Recorded: 1000, Closed: true, Speed: 0.3}
		}, nil, nil},
		{"wrong values", func(run *record.Run) {
			get(run).Operations[0].OK -= 3
			get(run).Operations[0].Wrong = 3
		}, []finding.Code{finding.FaultWrong}, finding.Params{"arm": "elm", "count": 3}},
		{"lost", func(run *record.Run) {
			get(run).Operations[0].OK--
			get(run).Operations[0].Lost = 1
		}, []finding.Code{finding.FaultLost}, finding.Params{"place": "get (D1)", "count": 1}},
		{"stale", func(run *record.Run) {
			f := resulttest.Trials(run, "elm")[0].Final
			f.Right, f.Stale, f.Examples = 9_998, 2, []string{"key 17 holds version 3, 9 was acknowledged"}
		}, []finding.Code{finding.FaultStale}, finding.Params{"place": "final check (D1)", "count": 2}},
		{"counts disagree", func(run *record.Run) { get(run).Attempted++ }, []finding.Code{finding.FaultCounts}, nil},
		{"unfinished", func(run *record.Run) {
			get(run).Attempted++
			get(run).Unfinished = 1
		}, []finding.Code{finding.FaultUnfinished}, finding.Params{"count": 1}},
		{"a thread without a turn", func(run *record.Run) {
			put(run).Starved = &record.Starved{Threads: 1, BeganS: 2, Seconds: 5, Others: 4000}
		}, []finding.Code{finding.ThreadStarved}, finding.Params{"arm": "elm", "place": "put (D1)", "threads": 1, "began_s": 2.0, "seconds": 5.0}},
		{"connections left", func(run *record.Run) { resulttest.Trials(run, "elm")[0].ConnectionsLeft = 7 },
			[]finding.Code{finding.ConnectionsLeft}, finding.Params{"arm": "elm", "place": "D1", "most": 7}},
		{"not all done", marked(finding.New(finding.MarkShortWorkParams{Thread: 0, Done: 900, Of: 1000})), []finding.Code{finding.StoppedEarly}, elmPut},
		{"damaged", marked(finding.New(finding.MarkDamagedParams{File: "series.jsonl", Text: "cut"})), []finding.Code{finding.FaultDamaged}, elmPut},
		{"disk full", marked(finding.New(finding.FullDiskParams{Code: finding.MarkDiskFull})), []finding.Code{finding.FaultDiskFull}, elmPut},
		{"clock", func(run *record.Run) { get(run).ClockDrift = 90 * time.Millisecond }, []finding.Code{finding.FaultClock}, nil},
		{"foreign load, marked", marked(finding.New(finding.MarkForeignParams{Least: 0.4, Most: 0.6})), []finding.Code{finding.FaultForeign}, finding.Params{"share": 0.4, "trials": 1}},
		{"throttled, marked", marked(finding.New(finding.MarkQuotaParams{Group: "/box", Periods: 2, HeldS: 0.5, Seconds: 10.0})),
			[]finding.Code{finding.FaultThrottled}, finding.Params{"share": 0.05}},
		{"failed", func(run *record.Run) {
			e := resulttest.Trials(run, "elm")[2]
			e.State, e.Cause, e.Error, e.Phases, e.Final = record.Failed, finding.CauseDied, "signal killed", nil, nil
			delete(run.InMemory, e.Plan.ID)
		}, []finding.Code{finding.TrialFailed}, finding.Params{"arm": "elm", "place": "D1", "trials": 1, "why": "the worker died"}},
		{"refused", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				*e = record.Trial{Plan: e.Plan, State: record.Refused, Cause: finding.CauseRefused, Error: "elm can't reach D1"}
				delete(run.InMemory, e.Plan.ID)
			}
		}, nil, nil}, // the tables say so
		{"interrupted and missing", func(run *record.Run) {
			e := resulttest.Trials(run, "elm")
			*e[0] = record.Trial{Plan: e[0].Plan, State: record.Interrupted, Cause: finding.CauseInterrupted, Error: "stopped by the user"}
			delete(run.Trials, e[1].Plan.ID)
			delete(run.InMemory, e[1].Plan.ID)
		}, []finding.Code{finding.TrialsMissing}, finding.Params{"missing": 2, "planned": 25}},
		{"an incomplete directory", func(run *record.Run) {
			run.Faults = []record.Fault{{Code: record.FaultMissing, File: "environment.json", What: "is not there"}}
		}, []finding.Code{finding.RunIncomplete}, finding.Params{"files": 1}},
		{"harness-bound", func(run *record.Run) { resulttest.Slow(run, "null", 0.012) }, // null: 252 k/s and 288 k/s
			[]finding.Code{finding.HarnessBound}, finding.Params{"arm": "oak", "share": 0.796}},
		{"harness below half", func(run *record.Run) { resulttest.Slow(run, "null", 0.08) }, nil, nil},
		{"another program's harness", func(run *record.Run) {
			resulttest.Slow(run, "null", 0.012)
			for i := range run.Experiment.Stores {
				run.Experiment.Stores[i].Worker = []string{"./other"}
			}
		}, []finding.Code{finding.NoHarness}, finding.Params{"arms": []string{"ash", "elm", "oak"}}},
		{"no ceiling", func(run *record.Run) { resulttest.Drop(run, "null") }, []finding.Code{finding.NoHarness}, nil},
		{"a disturbed ceiling", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "null") {
				for _, phase := range []string{"put", "get"} {
					e.State, e.Marks = record.Marked, append(e.Marks, finding.Mark{Message: resulttest.OthersBusy(),
						Phase: phase})
				}
			}
		}, []finding.Code{finding.FaultForeign, finding.NoHarness}, nil},
		{"a server that keeps its data, where keys carry the trial's name", func(run *record.Run) {
			run.Experiment.Stores[1].Description.Kind, run.Experiment.KeyNamespace = store.Server, true
		}, nil, nil},
		{"a server that keeps its data", func(run *record.Run) { run.Experiment.Stores[1].Description.Kind = store.Server },
			[]finding.Code{finding.ServerKept}, finding.Params{"arms": []string{"elm"}}},
		{"a decline", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				for s := range 60 {
					resulttest.Scale(run, e, "put", s, s+1, math.Exp(-0.01*float64(s)))
				}
			}
		}, []finding.Code{finding.RateDeclined}, finding.Params{"arm": "elm", "place": "put (D1)", "blocks": 5, "of": 5}},
		{"a cliff", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				resulttest.Scale(run, e, "put", 40, 60, 0.3)
			}
		}, []finding.Code{finding.RateStep}, finding.Params{"arm": "elm", "at_s": 40, "before": 100e3, "after": 30e3, "blocks": 5}},
		{"a step up", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				resulttest.Scale(run, e, "put", 0, 40, 0.3)
			}
		}, []finding.Code{finding.RateStep}, finding.Params{"arm": "elm", "before": 30e3, "after": 100e3, "up": true}},
		{"a cliff, and back", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				resulttest.Scale(run, e, "put", 20, 45, 0.3)
			}
		}, []finding.Code{finding.RateStep}, finding.Params{"arm": "elm", "before": 100e3, "after": 30e3, "blocks": 5}},
		{"a cliff in one of five blocks", func(run *record.Run) { resulttest.Scale(run, resulttest.Trials(run, "elm")[0], "put", 40, 60, 0.3) }, nil, nil},
		{"stalls", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				resulttest.Scale(run, e, "put", 30, 33, 0.001)
			}
		}, []finding.Code{finding.RateDrops}, finding.Params{"arm": "elm", "count": 5, "longest_s": 3}},
		{"stalls while garbage is collected", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				resulttest.Scale(run, e, "put", 30, 33, 0.001)
				for i, s := range run.InMemory[e.Plan.ID] {
					run.InMemory[e.Plan.ID][i].Stats = record.ValuesOf(map[string]float64{"jvm_gc_copy_ns": 0.8e9 * min(3, max(0, s.At-30))})
				}
			}
		}, []finding.Code{finding.RateDrops}, finding.Params{"arm": "elm", "count": 5, "collected": 5}},
		{"a short run", func(run *record.Run) {
			for _, e := range run.Trials {
				resulttest.Shorten(run, e, 3)
			}
		}, []finding.Code{finding.RateUnknownIn}, finding.Params{"short": 6, "of": 6}},
		{"a run that is short by design", func(run *record.Run) {
			for i := range run.Experiment.Phases {
				run.Experiment.Phases[i].Duration = 100 * time.Millisecond
			}
			for id, e := range run.Trials {
				resulttest.Shorten(run, e, 2)
				for i := range run.InMemory[id] {
					run.InMemory[id][i].At, run.InMemory[id][i].Seconds = run.InMemory[id][i].At/20,
						run.InMemory[id][i].Seconds/20
				}
				for i := range e.Phases {
					e.Phases[i].ElapsedNS = 1e8
				}
			}
		}, []finding.Code{finding.RateUnknownIn}, finding.Params{"severity": string(finding.Notice), "short": 6}},
		{"one block", func(run *record.Run) {
			run.Plan = slices.DeleteFunc(run.Plan, func(p plan.Trial) bool { return p.Block > 1 })
		}, nil, nil}, // the verdicts say so
		{"a noisy machine", func(run *record.Run) { resulttest.Slow(run, "oak (A/A)", 0.85) }, []finding.Code{finding.Noisy}, finding.Params{"tables": 2, "of": 2, "arms": []string{"oak"}, "by_table": []string{"18 % in put (D1)", "18 % in get (D1)"}}},
		{"no twin", func(run *record.Run) { resulttest.Drop(run, "oak (A/A)") }, nil, nil}, // the tables note it
		{"data in memory", func(run *record.Run) { run.Experiment.Cells[0].MemoryLimit = 2e9 }, []finding.Code{finding.InMemory}, finding.Params{"tables": 1, "of": 1}},
		{"data in the store's cache", func(run *record.Run) {
			run.Experiment.Stores[1].Description.Options = []store.Option{{Name: "block_cache_bytes", Type: store.Bytes, Default: "2GiB"}}
		}, []finding.Code{finding.InMemory}, finding.Params{"arms": []string{"elm"}}},
		{"a memory limit that did not hold", func(run *record.Run) {
			resulttest.Trials(run, "elm")[0].Memory = &record.Memory{PeakBytes: resulttest.Pointer(uint64(300e6))}
		}, []finding.Code{finding.LimitNotEnforced}, finding.Params{"arms": []string{"elm"}}},
		{"short values", func(run *record.Run) { run.Experiment.Cells[0].ValueBytes = 10 }, []finding.Code{finding.Unverified}, finding.Params{"why": detect.UncheckedVersions}},
		{"records that were not judged", func(run *record.Run) { resulttest.Trials(run, "elm")[0].Final.Unknown = 5 }, []finding.Code{finding.Unverified}, finding.Params{"why": detect.UncheckedOutcomes}},
		{"values not checked", func(run *record.Run) { run.Experiment.Verify = false }, []finding.Code{finding.Unverified}, finding.Params{"why": detect.UncheckedReads}},
		{"nothing read back, and histories", func(run *record.Run) {
			run.Experiment.VerifyRecords = 0
			resulttest.Trials(run, "elm")[0].Phases[0].History = &record.History{Consistency: history.Consistency{Covered: 31}}
		}, []finding.Code{finding.Unverified}, finding.Params{"why": detect.UncheckedEnd, "covered": uint64(31)}},
		{"nothing read back", func(run *record.Run) { run.Experiment.VerifyRecords = 0 }, []finding.Code{finding.Unverified}, finding.Params{"why": detect.UncheckedEnd}},
		{"an arm that was not read back", func(run *record.Run) { resulttest.Trials(run, "elm")[2].Final = nil },
			[]finding.Code{finding.Unverified}, finding.Params{"why": detect.UncheckedArms, "arms": []string{"elm"}}},
		{"a failed trial that was not read back", func(run *record.Run) {
			e := resulttest.Trials(run, "elm")[2]
			e.Final, e.State, e.Cause = nil, record.Failed, finding.CauseDied
		}, []finding.Code{finding.TrialFailed}, nil},
		{"a null driver that was not read back", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "null") {
				e.Final = nil
			}
		}, nil, nil},
		{"writes that a store refused", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				o := &resulttest.PhaseOf(e, "put").Operations[0]
				o.OK, o.Conflict = o.OK-o.OK/4, o.OK/4
			}
		}, []finding.Code{finding.Conflicts}, finding.Params{"arm": "elm", "share": 0.25}},
		{"less than the work", func(run *record.Run) {
			resulttest.FixedWork(run, func(p plan.Trial) record.Ending {
				if p.Arm == "elm" {
					return record.EndedDuration
				}
				return record.EndedOperations
			})
		}, []finding.Code{finding.StoppedEarly}, finding.Params{"arm": "elm"}},
		{"syncs in memory", func(run *record.Run) {
			run.Environment.Filesystem = "tmpfs"
			run.Experiment.Cells[0].Durability = store.D3
		}, []finding.Code{finding.NothingSynced}, finding.Params{"arms": []string{"ash", "elm", "oak"}, "filesystem": "tmpfs"}},
		{"a class that needs no syncs", func(run *record.Run) { run.Environment.Filesystem = "tmpfs" }, nil, nil},
		{"a phase that did not begin cold", func(run *record.Run) {
			for _, arm := range []string{"oak", "elm", "ash"} {
				for _, trial := range resulttest.Trials(run, arm) {
					resulttest.PhaseOf(trial, "get").Cold = &host.PageCache{FileBytes: 1e9, ResidentBytes: 40e6}
				}
			}
			get(run).Cold.ResidentBytes = 400e6
		}, []finding.Code{finding.NotCold}, finding.Params{"arm": "elm", "share": 0.4}},
		{"data that never outgrew its limit", func(run *record.Run) {
			resulttest.PhaseNamedIn(run, "put").Mix = map[string]float64{"insert": 1}
			for _, e := range resulttest.Trials(run, "elm") {
				e.Memory = &record.Memory{PeakBytes: resulttest.Pointer(uint64(100e6)),
					LimitHits: resulttest.Pointer(uint64(0))}
			}
		}, []finding.Code{finding.LimitUnreached}, finding.Params{"arms": []string{"elm"}, "place": "put (D1)"}},
	})
}

// machined is the clean run on a machine that tells everything and took nothing.
func machined() *record.Run {
	run := resulttest.CleanRun()
	for _, trial := range run.Trials {
		for i := range trial.Phases {
			trial.Phases[i].Machine = &record.Machine{Seconds: 60, Foreign: &host.Bounds{Most: 0.01},
				Steal:        &host.Bounds{Most: 0.01},
				QuotaSeconds: resulttest.Pointer(0.0), QuotaPeriods: resulttest.Pointer(uint64(0)),
				HeatEvents: resulttest.Pointer(uint64(0)), HeatSeconds: resulttest.Pointer(0.0)}
		}
	}
	return run
}

func TestDetectBusyMachine(t *testing.T) {
	one := func(change func(m *record.Machine)) func(run *record.Run) {
		return func(run *record.Run) { change(resulttest.PhaseOf(resulttest.Trials(run, "elm")[0], "put").Machine) }
	}
	busy, unknown := []finding.Code{finding.BusyMachine}, []finding.Code{finding.NoMachine}
	expect(t, machined, []planted{
		{"nothing", one(func(*record.Machine) {}), nil, nil},
		{"foreign load for certain", one(func(m *record.Machine) { m.Foreign = &host.Bounds{Least: 0.08, Most: 0.12} }),
			busy, finding.Params{"phases": 1, "of": 50, "foreign": 0.08, "ranked": false}},
		{"a phase that was stopped, of which nothing was judged", func(run *record.Run) {
			p := resulttest.PhaseOf(resulttest.Trials(run, "elm")[0], "put")
			p.Machine.Foreign, p.EndedBy = &host.Bounds{Least: 0.54, Most: 0.6}, record.EndedInterrupted
		}, nil, nil},
		{"foreign load that may be none", one(func(m *record.Machine) { m.Foreign = &host.Bounds{Least: 0.01, Most: 0.2} }), nil, nil},
		{"two in one phase", one(func(m *record.Machine) {
			m.Foreign, m.Steal = &host.Bounds{Least: 0.08, Most: 0.08}, &host.Bounds{Least: 0.03, Most: 0.04}
		}), busy, finding.Params{"phases": 1, "foreign": 0.08, "steal": 0.03}},
		{"reported and ranked", func(run *record.Run) {
			run.Experiment.BusyMachine = experiment.BusyMachineTell
			m := resulttest.PhaseOf(resulttest.Trials(run, "elm")[0], "put").Machine
			m.Foreign = &host.Bounds{Least: 0.6, Most: 0.7}
			m.Tolerate(true)
		}, busy, finding.Params{"foreign": 0.6, "ranked": true}},
		{"a quota, marked", func(run *record.Run) {
			e := resulttest.Trials(run, "elm")[0]
			e.State = record.Marked
			e.Marks = []finding.Mark{{Message: finding.New(finding.MarkQuotaParams{Group: "/box", Periods: 2, HeldS: 9.0, Seconds: 60.0}), Phase: "put"}}
			m := resulttest.PhaseOf(e, "put").Machine
			m.QuotaSeconds, m.QuotaPeriods, m.QuotaGroup = resulttest.Pointer(9.0), resulttest.Pointer(uint64(90)), "/box"
		}, []finding.Code{finding.FaultThrottled}, nil},
		{"a quota, not marked", one(func(m *record.Machine) {
			m.QuotaSeconds, m.QuotaPeriods, m.QuotaGroup = resulttest.Pointer(0.2), resulttest.Pointer(uint64(3)), "/box"
		}), busy, finding.Params{"quota_s": 0.2}},
		{"heat that is only counted", one(func(m *record.Machine) { m.HeatEvents, m.HeatSeconds = resulttest.Pointer(uint64(2)), nil }), busy, finding.Params{"heat_times": 2}},
		{"heat that no phase reports", func(run *record.Run) {
			for _, trial := range run.Trials {
				for i := range trial.Phases {
					m := trial.Phases[i].Machine
					m.HeatEvents, m.HeatSeconds, m.NotMeasured = nil, nil, map[string]string{"heat": "a virtual machine"}
				}
			}
		}, unknown, finding.Params{"of": 50, "what": []string{"heat"}}},
		{"ticks that leave it open", one(func(m *record.Machine) {
			m.NotMeasured = map[string]string{"foreign": "from 20 % to 40 %", "quota": "not mounted"}
		}), unknown, finding.Params{"what": []string{"foreign", "quota"}}},
	})
}

func TestDetectNotSettled(t *testing.T) {
	began := func(notBack ...string) func(run *record.Run) {
		return func(run *record.Run) {
			for _, trial := range run.Trials {
				trial.Settled = &record.Settled{LimitSeconds: 3}
			}
			resulttest.Trials(run, "elm")[0].Settled = &record.Settled{Seconds: 3, LimitSeconds: 3, NotBack: notBack,
				Left: host.Left{DirtyBytes: resulttest.Pointer(4e8), Queue: resulttest.Pointer(3.0)}}
		}
	}
	expect(t, resulttest.CleanRun, []planted{
		{"all were back", began(), nil, nil},
		{"one was not", began(host.LeftDirty, host.LeftQueue), []finding.Code{finding.NotSettled},
			finding.Params{"trials": 1, "dirty": 1, "queue": 1}},
	})
}

// What is left out of a long list is counted.
func TestEvidenceIsBounded(t *testing.T) {
	run := machined()
	for _, trial := range run.Trials {
		for i := range trial.Phases {
			trial.Phases[i].Machine.Foreign = &host.Bounds{Least: 0.08, Most: 0.12}
		}
	}
	if f := resulttest.Find(resulttest.ResultOf(t, run), finding.BusyMachine); f == nil ||
		len(f.Evidence) != tell.EvidenceLimit || len(f.Evidence)+f.More != 50 {
		t.Errorf("%+v", f)
	}
}

// A cost of durability is decided as a difference between stores is.
func TestDetectDurabilityCost(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks int
		cost   float64 // rate at D3 ÷ rate at D1
		mix    string
		plant  func(run *record.Run)
		found  bool
	}{
		{"ten times", 5, 0.1, "update", nil, true},
		{"none", 5, 1, "update", nil, false},
		{"one block", 1, 0.1, "update", nil, false},
		{"less than the noise", 5, 0.5, "update", func(run *record.Run) { resulttest.Slow(run, "oak (A/A)", 0.15) }, false},
		{"more than the noise", 5, 0.1, "update", func(run *record.Run) { resulttest.Slow(run, "oak (A/A)", 0.8) }, true},
		{"queries sync nothing", 5, 0.1, "query", nil, false},
		{"no store in both", 5, 0.1, "update", func(run *record.Run) {
			for _, planned := range run.Plan {
				if planned.Arm == "oak" && planned.Cell == 0 || planned.Arm != "oak" && planned.Cell == 1 {
					*run.Trials[planned.ID] = record.Trial{Plan: planned, State: record.Refused, Cause: finding.CauseRefused, Error: "can't reach it"}
					delete(run.InMemory, planned.ID)
				}
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape := resulttest.Clean()
			shape.Classes, shape.Blocks = []store.Durability{store.D1, store.D3}, c.blocks
			for i := range shape.Arms {
				shape.Arms[i].ClassCost = map[store.Durability]float64{store.D3: c.cost}
			}
			run := resulttest.Built(shape)
			resulttest.PhaseNamedIn(run, "put").Mix = map[string]float64{c.mix: 1}
			if c.plant != nil {
				c.plant(run)
			}
			f := resulttest.Find(resulttest.ResultOf(t, run), finding.DurabilityCost)
			if (f != nil) != c.found {
				t.Fatalf("%+v", f)
			}
			if f != nil && (f.Params["weak"] != "D1" || f.Params["strong"] != "D3" || math.Abs(f.Message.Number("factor")*c.cost-1) > 0.1 || f.Where.Phase != "put") {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestOperationsAreReadsOrWrites(t *testing.T) {
	for _, name := range trace.OperationNames() {
		p := experiment.Phase{Mix: map[string]float64{name: 1, "insert": 0, "read": 0}}
		wantRead, wantWrite := false, true
		switch name {
		case "request":
			continue // a mix has its steps in its place
		case "read", "multi_read", "scan", "query", "count":
			wantRead, wantWrite = true, false
		case "read_modify_write", "compare_and_swap", "read_or_fill", "get_and_set":
			wantRead = true
		}
		if facts.IsRead(p) != wantRead || facts.IsWrite(p) != wantWrite {
			t.Errorf("%s: read %v, write %v", name, facts.IsRead(p), facts.IsWrite(p))
		}
	}
}

// In the clean run, data is of 1,016 MB, the limit is 200 MB, and get is the phase that reads.
func TestDetectInMemory(t *testing.T) {
	stores := []string{"oak", "elm", "ash"}
	// forgotten takes away what was counted as live, and makes the put phase one that inserts so
	// many records.
	forgotten := func(run *record.Run, arm string, inserts uint64) {
		for _, trial := range resulttest.Trials(run, arm) {
			for i := range trial.Phases {
				p := &trial.Phases[i]
				p.Sizes.LogicalBytes, p.Sizes.Records = nil, nil
				if p.Name == "put" {
					p.Operations[0].Name, p.Operations[0].OK = "insert", inserts
				}
			}
		}
	}
	all := func(inserts uint64) func(run *record.Run) {
		return func(run *record.Run) {
			for _, arm := range stores {
				forgotten(run, arm, inserts)
			}
		}
	}
	cold := func(arms ...string) func(run *record.Run) {
		return func(run *record.Run) {
			for _, arm := range arms {
				for _, trial := range resulttest.Trials(run, arm) {
					resulttest.PhaseOf(trial, "get").Cold = &host.PageCache{FileBytes: 1e9}
				}
			}
		}
	}
	holding := func(arm string, bytes uint64) func(run *record.Run) {
		return func(run *record.Run) {
			for _, trial := range resulttest.Trials(run, arm) {
				for i := range trial.Phases {
					trial.Phases[i].Sizes.LogicalBytes = &bytes
				}
			}
		}
	}
	for _, c := range []struct {
		name  string
		limit int64
		plant func(run *record.Run)
		found bool
		arms  []string // nil: all
		data  float64  // 0: not looked at
	}{
		{"less than the limit", 2e9, func(*record.Run) {}, true, nil, 1.016e9},
		{"more than the limit", 200e6, func(*record.Run) {}, false, nil, 0},
		{"without a limit", 0, func(*record.Run) {}, true, nil, 1.016e9},
		{"not counted, and nothing was inserted", 2e9, all(0), true, nil, 1.016e9},
		{"not counted, and with what was inserted below the limit", 2e9, all(500_000), true, nil, 1.524e9},
		{"not counted, and with what was inserted above the limit", 2e9, all(1_500_000), false, nil, 0},
		{"one has more than others", 2e9, holding("elm", 1.8e9), true, nil, 1.8e9},
		{"one has more than the limit", 2e9, holding("elm", 3e9), true, []string{"ash", "oak"}, 1.016e9},
		{"cold", 2e9, cold(stores...), false, nil, 0},
		{"cold but for a store that has no files", 2e9, cold("oak", "ash"), true, []string{"elm"}, 0},
		{"failed", 2e9, func(run *record.Run) {
			for _, trial := range run.Trials {
				trial.State, trial.Cause = record.Failed, finding.CauseDied
			}
		}, false, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := resulttest.CleanRun()
			run.Experiment.Cells[0].MemoryLimit = c.limit
			c.plant(run)
			f := resulttest.Find(resulttest.ResultOf(t, run), finding.InMemory)
			if (f != nil) != c.found {
				t.Fatalf("%+v", f)
			}
			if f == nil {
				return
			}
			if arms, some := f.Params["arms"].([]string); some != (c.arms != nil) || !slices.Equal(arms, c.arms) {
				t.Errorf("arms %v", arms)
			}
			if data := f.Evidence[0].Message.Number("data"); c.data > 0 && math.Abs(data/c.data-1) > 0.01 {
				t.Errorf("data of %g bytes", data)
			}
		})
	}
}

// The causes of a run with something of everything.
func TestExampleRun(t *testing.T) {
	r := resulttest.ResultOf(t, recordtest.Run(recordtest.Example()))
	for _, code := range []finding.Code{finding.FaultErrors, finding.TrialFailed, finding.RateDrops,
		finding.RateStep, finding.DurabilityCost} {
		if resulttest.Find(r, code) == nil {
			t.Errorf("%s was not found: %v", code, resulttest.CodesOf(r))
		}
	}
	if r.Findings[0].Severity != finding.Grave {
		t.Errorf("the first finding is a %s", r.Findings[0].Severity)
	}
}

// A class that was not held against a disk has a table of its own, which says so in its title, also
// where that is so in one trial alone.
func TestClaimedClassesHaveTablesOfTheirOwn(t *testing.T) {
	t.Parallel()
	run := resulttest.RaceOf(3, resulttest.Runner("ash", 1000), resulttest.Runner("elm", 2000), resulttest.Runner("oak", 3000))
	run.Experiment.Cells[0].Durability = store.D3
	resulttest.Trials(run, "oak")[1].Phases[len(resulttest.Trials(run, "oak")[1].Phases)-1].Syncs = &record.Syncs{Why: "the server writes /dev/shm/x, which is on no disk"}
	phase := resulttest.Trials(run, "oak")[1].Phases[len(resulttest.Trials(run, "oak")[1].Phases)-1].Name
	var checked, claimed *model.Table
	for _, table := range resulttest.ResultOf(t, run).Tables {
		if table.Phase != phase {
			continue
		}
		if strings.Contains(table.Title, "claimed by the store, not checked") {
			claimed = &table
		} else {
			checked = &table
		}
	}
	if checked == nil || claimed == nil {
		t.Fatalf("checked: %v, claimed: %v", checked, claimed)
	}
	if resulttest.RowIn(checked, "oak") != nil || resulttest.RowIn(claimed, "oak") == nil || resulttest.RowIn(claimed, "elm") != nil || resulttest.RowIn(checked, "elm") == nil {
		t.Errorf("the arms are %+v and %+v", checked.Rows, claimed.Rows)
	}
	if slices.Contains(checked.Best, "oak") || checked.Class == claimed.Class {
		t.Errorf("%q has the best %v, %q %v", checked.Class, checked.Best, claimed.Class, claimed.Best)
	}
}
