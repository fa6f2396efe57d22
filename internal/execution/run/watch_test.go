package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/live"
	"assay/internal/testkit/misbehave"
)

// A worker that a real CPU quota holds back is marked; one beside it, without a quota, is not; nor
// is one whose experiment only wants to be told.
func TestWorkerUnderACPUQuotaIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	const cgroups = "/sys/fs/cgroup/cpu" // version 1, where most machines that have it mount it
	group := filepath.Join(cgroups, fmt.Sprintf("assay-test-worker-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no cgroup of version 1 can be made here (needs root): %v", err)
	}
	t.Cleanup(func() {
		var err error
		deadline := time.Now().Add(60 * time.Second)
		for ; time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if err = os.Remove(group); err == nil { // the kernel needs a moment after the worker's end
				return
			}
		}
		t.Errorf("a cgroup was left behind: %v", err)
	})
	// With so many shares the worker uses its quota up on any machine, however busy.
	for file, number := range map[string]string{"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "10000", "cpu.shares": "262144"} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(number), 0o644); err != nil {
			t.Skipf("no CPU quota can be set here: %v", err)
		}
	}
	inside := fmt.Sprintf("[sh, -c, 'echo $$ > %s/cgroup.procs && exec %s worker']", group, os.Args[0])
	for _, c := range []struct {
		worker, busy string
		throttled    bool
	}{{own(), "mark", false}, {inside, "mark", true}, {inside, "tell", false}} {
		text, _, _ := strings.Cut(anExperiment(misbehave.Honest, c.worker), "  - {name: look")
		text += "  - {name: overwrite, mix: {update: 1}, order: shuffled, for: 200ms}\nblocks: 1\nrepeats: 0\nbusy_machine: " + c.busy + "\nstep_timeout: 300s\n"
		directory := filepath.Join(t.TempDir(), "run")
		if _, err := runText(context.Background(), text, directory); err != nil {
			t.Fatal(err)
		}
		trial := trialOf(t, directory, misbehave.Honest)
		if trial.Error != "" {
			t.Fatal(trial.Error)
		}
		marked := slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool {
			within, _ := m.Params["group"].(string)
			return m.Code == finding.MarkQuota && m.Phase == "overwrite" && strings.Contains(within, filepath.Base(group))
		})
		for _, p := range trial.Phases {
			if p.Machine == nil || p.Machine.QuotaSeconds == nil {
				t.Errorf("%s: the quota was not measured: %+v", p.Name, p.Machine)
			} else if p.Name == "overwrite" {
				if *p.Machine.QuotaPeriods == 0 && c.worker == inside {
					t.Error("the quota was never used up, so that nothing was shown")
				}
				t.Logf("throttled %v: held back %.3f s in %d periods of %.3f s, by %q", c.throttled, *p.Machine.QuotaSeconds, *p.Machine.QuotaPeriods, p.Machine.Seconds, p.Machine.QuotaGroup)
			}
		}
		if marked != c.throttled {
			t.Errorf("busy_machine %s, worker %s: marked %v: %v", c.busy, c.worker, marked, trial.Marks)
		}
	}
}

// A user who stops a run while no operation ends for long, for none is due, does not make a worker
// fail.
func TestStoppingALongWaitIsNoHang(t *testing.T) {
	t.Parallel()
	text, _, _ := strings.Cut(anExperiment(misbehave.Honest, own()), "  - {name: look")
	text += "  - {name: rarely, mix: {read: 1}, rate: 0.01, for: 300s}\nblocks: 1\nstep_timeout: 10s\n"
	directory := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v := &faultyView{View: live.NewPlain(discard{}), in: "rarely", fault: func() {
		time.Sleep(10500 * time.Millisecond) // longer than a step may take
		cancel()
	}}
	result, err := runTextWith(ctx, text, directory, func(o *Options) { o.View = v })
	if err != nil || !result.Interrupted {
		t.Fatalf("%+v, %v", result, err)
	}
	trial := trialOf(t, directory, misbehave.Honest)
	if trial.State != record.Interrupted || len(trial.Phases) != 2 ||
		trial.Phases[1].EndedBy != record.EndedInterrupted {
		t.Errorf("state %s (%s), phases %+v", trial.State, trial.Error, trial.Phases)
	}
}

// Open load that no deadline ends is watched as well: operations that are due must end.
func TestHangInOpenLoadIsFound(t *testing.T) {
	t.Parallel()
	text, _, _ := strings.Cut(anExperiment("hangs-operation", own(), "records: 200", "records: 20"), "  - {name: look")
	text = strings.Replace(text, "load: true, batch: 20", "load: true, batch: 1", 1)
	text += "  - {name: paced, mix: {read: 1}, rate: 1000, operations: 3000}\nblocks: 1\nstep_timeout: 10s\n"
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(context.Background(), text, directory); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, "hangs-operation")
	if trial.State != record.Failed || len(trial.Phases) != 2 || !strings.Contains(trial.Error, "no operation ended") {
		t.Errorf("state %s (%s) after %d phases", trial.State, trial.Error, len(trial.Phases))
	}
}
