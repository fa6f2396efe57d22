package run

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/execution/powercut"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/live"
)

// A disk that answers late is in what the operations took, which sync it, and is lifted again. The load and
// the phases beside it do not have it, and nothing is left mounted.
func TestDiskThatAnswersLate(t *testing.T) {
	t.Parallel()
	rig := []string{os.Args[0], "power-cut-rig"}
	if err := powercut.CheckSlow(t.TempDir(), rig); err != nil {
		t.Skip(err)
	}
	p, _ := programOf("redis")
	if _, err := p.Find(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	var told heard
	directory := runServer(context.Background(), t, p, live.NewPlain(&told), `name: slow-disk
stores: [{driver: redis, worker: WORKER, server: start, options: {operation_timeout: 60s}}]
durability: D3
threads: 1
records: 100
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - name: slow
    mix: {update: 1}
    for: 3s
    faults: [{at: 500ms, slow_disk: {latency: 40ms}}, {at: 2500ms, start: node 1}]
  - {name: after, mix: {update: 1}, operations: 20}
step_timeout: 300s
`, func(o *Options) {
		o.Rig = rig
		o.trials = func(all []plan.Trial) []plan.Trial {
			return slices.DeleteFunc(all, func(one plan.Trial) bool { return one.Role != plan.Measured })
		}
	})
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	trial := run.Trials[run.Plan[0].ID]
	if trial == nil || !sound(trial) {
		t.Fatalf("the trial is %+v", trial)
	}
	var did []string
	for _, f := range trial.Phases[1].Faults {
		did = append(did, strings.TrimSpace(f.Does+" "+f.Amount+f.Error))
	}
	if want := []string{"slow_disk answers 40ms later", "start"}; !slices.Equal(did, want) ||
		trial.Phases[1].Faults[1].Undoes != experiment.FaultSlowDisk {
		t.Errorf("what happened is %q, want %q", did, want)
	}
	const latency = 40 * time.Millisecond
	late := func(p *record.Phase) (late, all uint64) {
		for _, o := range p.Operations {
			for bucket, n := range o.Service.All() {
				if all += n; histogram.Lowest(bucket) >= uint64(latency)*99/100 {
					late += n
				}
			}
		}
		return late, all
	}
	// In 2 s each update waits for a sync: at most 50 are done, and one more is on its way at each end.
	if slow, all := late(&trial.Phases[1]); slow < 5 || slow > all {
		t.Errorf("%d of %d updates took the disk's %v", slow, all, latency)
	}
	if slow, all := late(&trial.Phases[2]); slow == all {
		t.Errorf("all %d updates of the phase behind it took %v", all, latency)
	}
	if trial.Final == nil || trial.Final.Lost+trial.Final.Wrong > 0 {
		t.Errorf("read back: %+v", trial.Final)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), directory) {
		t.Errorf("left mounted:\n%s", mounts)
	}
}

// Where no disk of Assay's can be, the run ends before its first trial.
func TestSlowDiskThatCantBeMountedIsRefused(t *testing.T) {
	t.Parallel()
	e := &experiment.Experiment{
		Stores: []experiment.Store{{Name: "redis", Server: &experiment.Server{}}},
		Phases: []experiment.Phase{{Name: "slow", Faults: []experiment.Fault{{Does: experiment.FaultSlowDisk, Node: 1,
			Disk: &experiment.SlowDisk{Latency: time.Millisecond}}}}},
	}
	o := Options{DataRoot: t.TempDir(), Rig: []string{"/bin/false"}}
	if err := checkSlowDisks(e, o); err == nil || !strings.Contains(err.Error(), "in the phase slow a disk answers late, which can't be done here") {
		t.Errorf("%v", err)
	}
	e.Stores[0].Server = nil // another refusal says that only its own servers are limited
	if err := checkSlowDisks(e, o); err != nil {
		t.Error(err)
	}
}
