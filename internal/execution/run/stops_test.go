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
	"assay/internal/analysis/stat"
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
  - {name: insert, mix: {insert: 1}, rate: 200, for: 2400ms}
blocks: 1
repeats: 0
sample: 50ms
`

// A process that something outside stopped is no store that stalls, and a store that stalls is no
// such process.
//
// Fault (stops): SIGSTOP or a debugger stops the worker, or the worker and Assay, or its cgroup is
// frozen
// Assay: `machine-disturbed` (`stopped`), which costs the block; the time is left out of the series
// With: host.TestStopped_sees_a_signal, run.TestStopMarks
//
// Fault (stops): a store that sleeps in a put
// Assay: a stall or a step of the store, not marked
// With: run.TestStopFromOutsideIsNoStall/dozing
func TestStopFromOutsideIsNoStall(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		driver string
		why    []string // of a stop, one of these; nil: none
	}{
		{"dozing", nil},
		{"halted", []string{host.StoppedBySignal, host.StoppedGap}}, // the latter where the stop was not seen in time
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
			marked := slices.ContainsFunc(trial.Marks,
				func(m finding.Mark) bool { return m.Fault() == finding.FaultStopped && m.Machine() })
			rates, kept := facts.Rates(samples, p.Name, 2400*time.Millisecond)
			interrupted := slices.Contains(rates.Interrupted, true)
			if interrupted {
				// What is left of the stop is looked for, not what else this machine was busy with.
				usual := stat.Median(rates.Rates)
				for i := range rates.Rates {
					within := func(s record.Stop) bool {
						return s.At < kept[i].At && s.At+s.Seconds > kept[i].At-kept[i].Seconds
					}
					if !rates.Interrupted[i] && !slices.ContainsFunc(p.Stops, within) {
						rates.Rates[i] = usual
					}
				}
			}
			shape := series.Analyze(rates)
			stalls := false
			for _, e := range shape.Events {
				stalls = stalls || e.Drops != nil && e.Drops.Longest > restTime.Seconds()/2 ||
					e.Kind == series.Step && e.After < e.Before/10
			}
			if c.why == nil {
				if byProcess := slices.ContainsFunc(p.Stops,
					func(s record.Stop) bool { return s.Why != host.StoppedGap }); byProcess {
					t.Errorf("a store that slept is reported as stopped: %+v", p.Stops)
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

func TestStopMarks(t *testing.T) {
	const s = int64(1e9)
	p := record.Phase{Name: "p", Stops: append(
		stopsIn(2*s, []host.Stop{{Why: host.StoppedGap, FromNS: 2 * s, ToNS: 3 * s}, {Why: host.StoppedSuspend, FromNS: 4 * s, ToNS: 5 * s, SleptNS: 60 * s}}, ""),
		stopsIn(2*s, []host.Stop{{Why: host.StoppedBySignal, FromNS: 6 * s, ToNS: 7 * s}, {Why: host.StoppedBySignal, FromNS: 8 * s, ToNS: 9 * s}}, "load1")...)}
	var said []string
	for _, m := range p.Marks() {
		if !m.Machine() || m.Fault() != finding.FaultStopped {
			t.Errorf("%+v", m)
		}
		said = append(said, finding.Text(m.Message))
	}
	want := []string{
		"Assay itself did not run for 1.0 s, first at 0.00 s: it was stopped, the virtual machine was paused, or no CPU was free",
		"the machine was suspended for 61.0 s, first at 2.00 s",
		"a signal (SIGSTOP) stopped a worker on the agent load1 for 2.0 s, first at 4.00 s",
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q, expected %q", said, want)
	}
}
