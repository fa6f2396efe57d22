package run

import (
	"path/filepath"
	"testing"

	"assay/internal/evidence/record"
)

// A real worker's phase, group and staircase: each operation that ended is in one interval, and each that
// was due was asked for, however late the looks come.
func TestOverTimeOfARun(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := `name: test
stores: [{driver: memory, worker: ` + own() + `}]
records: 1000
durability: D0
busy_machine: tell # no trial runs again
threads: 2
blocks: 1
phases:
  - {name: load, load: true}
  - {name: ramp, mix: {read: 1, update: 1}, rate: [{from: 100, to: 2000, over: 400ms}, {burst: 4000, every: 200ms, for: 50ms, above: 500, over: 400ms}]}
  - name: groups
    for: 500ms
    groups:
      - {name: paced, mix: {read: 1}, from: 100ms, rate: 200..1000}
      - {name: beside, mix: {update: 1}, threads: [{at: 1, for: 200ms}, {at: 3}]}
`
	if _, err := runTextWith(t.Context(), text, directory, func(o *Options) { o.trials = nil }); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for id, trial := range run.ByGroup().Trials {
		for i := range trial.Phases {
			p := &trial.Phases[i]
			if len(p.Intervals) == 0 {
				continue
			}
			followed++
			var asked, ended, never, timed, done uint64
			for k := range p.Intervals {
				interval := &p.Intervals[k]
				asked, ended, never, timed =
					asked+interval.Asked, ended+interval.Ended, never+interval.Never, timed+interval.Response.Count()
			}
			for _, op := range p.Operations {
				done += op.Done()
			}
			if ended != done || timed != done {
				t.Errorf("%s, %s: %d operations are done, %d ended in intervals and %d are timed there", id, p.Name, done, ended, timed)
			}
			if p.Open && asked != done+never || !p.Open && asked > 0 {
				t.Errorf("%s, %s: %d operations were asked for, %d are done and %d never ended", id, p.Name, asked, done, never)
			}
		}
	}
	if want := 3 * len(run.Trials); followed != want {
		t.Errorf("%d parts of phases were followed, expected %d", followed, want)
	}
}
