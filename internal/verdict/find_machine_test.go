package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/finding"
	"assay/internal/host"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
)

// TestWhatTheMachineTook plants in a clean run what phases had to do without, and expects exactly the finding that it must bring.
func TestWhatTheMachineTook(t *testing.T) {
	every := func(change func(m *record.Machine)) func(run *record.Run) {
		return func(run *record.Run) {
			for _, trial := range run.Trials {
				for i := range trial.Phases {
					change(trial.Phases[i].Machine)
				}
			}
		}
	}
	one := func(change func(m *record.Machine)) func(run *record.Run) {
		return func(run *record.Run) { change(phaseOf(trials(run, "elm")[0], "put").Machine) }
	}
	for _, c := range []struct {
		name     string
		plant    func(run *record.Run)
		want     []string
		severity Severity
		says     []string
	}{
		{name: "nothing", plant: one(func(*record.Machine) {})},
		{"foreign load for certain", one(func(m *record.Machine) { m.Foreign = &host.Bounds{Least: 0.08, Most: 0.12} }),
			[]string{FindBusyMachine}, Warning, []string{"1 measured phase", "8.0 % to 12 %"}},
		{name: "foreign load that may be none", plant: one(func(m *record.Machine) { m.Foreign = &host.Bounds{Least: 0.01, Most: 0.2} })},
		{name: "samples are coarser than bounds", plant: func(run *record.Run) {
			samples := run.Series[trials(run, "elm")[0].Plan.ID]
			for i := range samples {
				samples[i].Foreign = pointer(0.08)
			}
		}},
		{"nor do samples stand in for bounds that say nothing", func(run *record.Run) {
			e := trials(run, "elm")[0]
			m := phaseOf(e, "put").Machine
			m.Foreign, m.NotMeasured = nil, map[string]string{"foreign": "too short"}
			for i := range run.Series[e.Plan.ID] {
				run.Series[e.Plan.ID][i].Foreign = pointer(0.5)
			}
		}, []string{FindMachineUntold}, Notice, []string{"too short"}},
		{"two of one phase", one(func(m *record.Machine) {
			m.Foreign, m.Steal = &host.Bounds{Least: 0.08, Most: 0.08}, &host.Bounds{Least: 0.03, Most: 0.04}
		}), []string{FindBusyMachine}, Warning, []string{"1 measured phase", "used 8.0 %", "took 3.0 % to 4.0 %"}},
		{"told and ranked", func(run *record.Run) {
			run.Experiment.BusyMachine = spec.BusyMachineTell
			phaseOf(trials(run, "elm")[0], "put").Machine.Foreign = &host.Bounds{Least: 0.6, Most: 0.7}
		}, []string{FindBusyMachine}, Warning, []string{"60 % to 70 %", "ranks these trials all the same"}},
		{"a quota, marked", func(run *record.Run) {
			e := trials(run, "elm")[0]
			e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkQuota, "group", "/box", "periods", 2, "held_s", 0.5, "seconds", 10.0), Phase: "put"}}
			m := phaseOf(e, "put").Machine
			m.QuotaSeconds, m.QuotaPeriods, m.QuotaGroup = pointer(9.0), pointer(uint64(90)), "/box"
		}, []string{string(finding.FaultThrottled)}, Warning, []string{"of elm in put", "quota of /box", "CPUQuota"}},
		{"a quota, not marked", one(func(m *record.Machine) {
			m.QuotaSeconds, m.QuotaPeriods, m.QuotaGroup = pointer(0.2), pointer(uint64(3)), "/box"
		}), []string{FindThrottling}, Warning, []string{"1 measured phase", "quota of /box", "3 periods", "0.20 s of 60.0 s", "CPUQuota"}},
		{"heat that is only counted", one(func(m *record.Machine) { m.HeatEvents, m.HeatSeconds = pointer(uint64(2)), nil }),
			[]string{FindThrottling}, Warning, []string{"2 times", "does not tell for how long"}},
		{"heat never told", every(func(m *record.Machine) {
			m.HeatEvents, m.HeatSeconds, m.NotMeasured = nil, nil, map[string]string{"heat": "a virtual machine"}
		}), []string{FindMachineUntold}, Notice, []string{"Whether heat held workers back", "heat: a virtual machine (in 50 measured phases)"}},
		{"ticks that leave it open", one(func(m *record.Machine) {
			m.NotMeasured = map[string]string{"foreign": "from 20 % to 40 %", "quota": "not mounted"}
		}), []string{FindMachineUntold}, Notice, []string{"other processes and a CPU quota", "put: other processes: from 20 % to 40 %"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := cleanRun()
			for _, trial := range run.Trials {
				for i := range trial.Phases {
					trial.Phases[i].Machine = &record.Machine{Seconds: 60, Foreign: &host.Bounds{Most: 0.01}, Steal: &host.Bounds{Most: 0.01},
						QuotaSeconds: pointer(0.0), QuotaPeriods: pointer(uint64(0)), HeatEvents: pointer(uint64(0)), HeatSeconds: pointer(0.0)}
				}
			}
			c.plant(run)
			s := summarise(t, run)
			if got := codes(s); !slices.Equal(got, c.want) {
				t.Fatalf("found %v, want %v: %+v", got, c.want, s.Findings)
			}
			if len(c.want) == 0 {
				return
			}
			f := s.Findings[0]
			text := strings.Join(append([]string{f.Sentence, f.Remedy}, f.Evidence...), "\n")
			for _, words := range c.says {
				if !strings.Contains(text, words) {
					t.Errorf("%q is not in\n%s", words, text)
				}
			}
			if f.More > 0 {
				t.Errorf("the same is said again and again:\n%s", text)
			}
			if f.Severity != c.severity || f.Remedy == "" || len(f.Evidence) == 0 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A quota costs the block, as other load does, and not the arm's rank.
func TestAThrottledBlockIsLeftOutAndTheRankStays(t *testing.T) {
	run := cleanRun()
	e := trials(run, "oak")[0]
	e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkQuota, "group", "/box", "periods", 2, "held_s", 0.5, "seconds", 10.0), Phase: "put"}}
	oak := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "oak")
	if oak == nil || !oak.Ranked || oak.Rate.N != 4 || oak.Trials[0].Used {
		t.Errorf("%+v", oak)
	}
}

// What is left out of a long list is counted, so that who writes it can tell how many there are in all.
func TestEvidenceThatIsLeftOutIsCounted(t *testing.T) {
	run := cleanRun()
	phases := 0
	for _, trial := range run.Trials {
		for i := range trial.Phases {
			trial.Phases[i].Machine = &record.Machine{Seconds: 60, Foreign: &host.Bounds{Least: 0.08, Most: 0.12}}
			if trial.Phases[i].Measured {
				phases++
			}
		}
	}
	for _, f := range summarise(t, run).Findings {
		if f.Code != FindBusyMachine {
			continue
		}
		if len(f.Evidence) != evidenceMax || len(f.Evidence)+f.More != phases {
			t.Errorf("of %d phases, %d are told and %d more counted: %q", phases, len(f.Evidence), f.More, f.Evidence)
		}
		return
	}
	t.Error("nobody was busy")
}
