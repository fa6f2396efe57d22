package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
)

const stopsText = `name: stops
stores: [{driver: DRIVER, worker: WORKER}]
records: 0
keys: {format: binary, bytes: 16}
values: {bytes: 100}
threads: 1
durability: D0
phases:
  - {name: insert, mix: {insert: 1}, rate: 200, for: 1400ms}
blocks: 1
repeats: 0
sample: 50ms
`

// A process that something outside stopped is no store that stalls, and a store that stalls is no
// such process.
func TestAStopFromOutsideIsNoStall(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		driver string
		why    []string // of a stop, one of these; nil: none
	}{
		{"dozing", nil},
		{"halted", []string{host.StoppedBySignal}},
		{"halted-with-assay", []string{host.StoppedBySignal, host.StoppedGap}},
		{haltedInSample, []string{host.StoppedBySignal, host.StoppedGap}},
	} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("WORKER", own(), "DRIVER", c.driver).Replace(stopsText)
			directory := filepath.Join(t.TempDir(), "run")
			conductor := exec.Command(os.Args[0], "conduct", text, directory, "")
			if output, err := conductor.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			trial, samples := readable(t, directory, c.driver)
			if len(trial.Phases) != 1 {
				t.Fatalf("%s: %s", trial.State, trial.Error)
			}
			p := &trial.Phases[0]
			var seconds float64
			for _, s := range p.Stops {
				if slices.Contains(c.why, s.Why) {
					seconds = max(seconds, s.Seconds)
				}
			}
			marked := slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool { return m.Fault() == finding.FaultStopped && m.Machine() })
			rates, _ := facts.Rates(samples, p.Name, 1400*time.Millisecond)
			shape := series.Analyze(rates)
			stalls := false
			for _, e := range shape.Events {
				stalls = stalls || e.Drops != nil && e.Drops.Longest > restTime.Seconds()/2 || e.Kind == series.Step && e.After < e.Before/10
			}
			interrupted := slices.Contains(rates.Interrupted, true)
			if c.why == nil {
				if byProcess := slices.ContainsFunc(p.Stops, func(s record.Stop) bool { return s.Why != host.StoppedGap }); byProcess {
					t.Errorf("a store that slept is told to have been stopped: %+v", p.Stops)
				}
				// What came of it is in the samples that count, where package series finds it.
				if len(p.Stops) == 0 && (interrupted || slices.Min(rates.Rates) > 0.1*slices.Max(rates.Rates)) {
					t.Errorf("no sample shows it: %v", rates.Rates)
				}
				return
			}
			if !marked || !interrupted || seconds < restTime.Seconds()*3/4 || stalls || trial.State != record.Marked {
				t.Errorf("marked %v, interrupted %v, %.2f s, stalls %v: stops %+v, marks %+v, events %+v",
					marked, interrupted, seconds, stalls, p.Stops, trial.Marks, shape.Events)
			}
		})
	}
}

func TestStops_gaps_and_joins(t *testing.T) {
	const ms = int64(1e6)
	s := stops{processes: host.NewStopped(), lookedNS: 1000 * ms}
	s.look(1050 * ms)
	s.look(1500 * ms) // late, as on a busy machine
	if len(s.all) > 0 {
		t.Fatalf("a busy machine is a stop: %+v", s.all)
	}
	s.look(2500 * ms) // nothing ran
	s.look(2550 * ms)
	s.add(stop{why: host.StoppedSuspend, fromNS: 3000 * ms, toNS: 3050 * ms, sleptNS: 60_000 * ms})
	s.add(stop{why: host.StoppedSuspend, fromNS: 3050 * ms, toNS: 3100 * ms, sleptNS: 1_000 * ms})
	for _, c := range []struct {
		from, to int64
		want     string
	}{{1000, 1500, ""}, {1400, 1600, host.StoppedGap}, {2500, 3000, ""}, {3000, 3010, host.StoppedSuspend}, {3100, 4000, ""}} {
		if got := s.within(c.from*ms, c.to*ms); got != c.want {
			t.Errorf("%d to %d ms: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	p := record.Phase{Name: "p", Stops: s.since(1600 * ms)}
	if len(p.Stops) != 2 || p.Stops[0].At != 0 || p.Stops[0].Seconds != 0.9 || p.Stops[1].Seconds != 61.1 {
		t.Fatalf("%+v", p.Stops)
	}
	marks := stopMarks(&p)
	if len(marks) != 2 || marks[0].Code != finding.MarkStoppedGap || marks[1].Code != finding.MarkStoppedSuspend || !marks[0].Machine() {
		t.Errorf("%+v", marks)
	}
}
