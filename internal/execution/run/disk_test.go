package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
	"assay/internal/presentation/html"
	"assay/internal/presentation/tell"
)

// smallDisk mounts a file system of so many bytes, as a quota is mounted: ext4, where there are
// loop devices.
func smallDisk(t *testing.T, bytes int64) string {
	t.Helper()
	q := host.QuotaMount{By: mountable(t), Directory: t.TempDir(), Bytes: bytes}
	t.Cleanup(func() {
		if err := q.Unmount(); err != nil {
			t.Error(err)
		}
	})
	if err := q.Mount(); err != nil {
		t.Fatal(err)
	}
	return q.Point()
}

// arms is the experiment of inserts with several stores.
func arms(class, limit string, drivers ...string) string {
	one := inserts(drivers[0], class, limit)
	begin, after, _ := strings.Cut(one, "stores: [")
	_, rest, _ := strings.Cut(after, "]}]")
	var all []string
	for _, d := range drivers {
		all = append(all, "{driver: "+d+", worker: "+own()+"}")
	}
	return begin + "stores: [" + strings.Join(all, ", ") + "]" + rest
}

// reported makes the report in both forms and returns the page.
func reported(t *testing.T, run *record.Run) string {
	t.Helper()
	result, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := html.Write(&page, result); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func lastEvent(run *record.Run) string { return run.Events[len(run.Events)-1].Kind }

// The stores fill the disk that the run directory stands on, too: each trial ends, and the run goes
// on.
func TestFullDiskEndsTheTrialNotTheRun(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	// On a full disk pebble goes on trying for as long as it may: without success, and busily.
	withCeiling := func(trials []plan.Trial) []plan.Trial {
		return slices.DeleteFunc(trials, func(p plan.Trial) bool { return p.Role == plan.AA })
	}
	for _, c := range []struct {
		class, patience string
		drivers         []string
		trials          func([]plan.Trial) []plan.Trial
	}{{"D1", "300s", []string{"bbolt", "goleveldb"}, ofStores}, {"D0", "10s", []string{"pebble"}, withCeiling}} {
		t.Run(strings.Join(c.drivers, " and "), func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, 64<<20)
			directory, others := filepath.Join(disk, "run"), filepath.Join(disk, "theirs")
			if err := os.WriteFile(others, []byte("not Assay's"), 0o644); err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(arms(c.class, "", c.drivers...), "300s", c.patience, 1)
			result, err := runIn(text, directory, "", func(o *Options) { o.trials = c.trials })
			if err != nil {
				t.Fatal(err)
			}
			unmounted(t, filepath.Join(directory, "data"))
			if left, err := os.ReadDir(filepath.Join(directory, "data")); err != nil || len(left) > 0 {
				t.Errorf("left of the data: %v, %v", left, err)
			}
			if text, err := os.ReadFile(others); err != nil || string(text) != "not Assay's" {
				t.Errorf("a file that is not Assay's: %q, %v", text, err)
			}
			run, err := record.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Missing) > 0 || lastEvent(run) != record.EventEnded || len(run.Trials) != len(run.Plan) ||
				result.Marked+result.Failed < len(c.drivers) {
				t.Errorf("missing %v, last event %s, %d of %d trials, %+v", run.Missing, lastEvent(run), len(run.Trials), len(run.Plan), result)
			}
			for _, planned := range run.Plan {
				trial := run.Trials[planned.ID]
				if planned.Role == plan.Ceiling {
					if trial.State == record.Failed || trial.SamplesMissing > 0 {
						t.Errorf("%s: %s %s", planned.ID, trial.State, trial.Error)
					}
					continue
				}
				t.Logf("%s: %s; %s; %v; %d samples", planned.ID, trial.State, trial.Error, trial.Marks, len(run.Samples(planned.ID, "")))
				if len(trial.Phases) != 1 || trial.Phases[0].EndedBy != record.EndedDiskFull ||
					!slices.Contains(codes(trial), string(finding.FaultDiskFull)) {
					t.Fatalf("%s: marks %v, phases %+v", planned.ID, trial.Marks, trial.Phases)
				}
				if slices.Contains(codes(trial), string(finding.FaultCounts)) {
					t.Errorf("%s: %v", planned.ID, trial.Marks)
				}
				addsUp(t, &trial.Phases[0])
				if bytes := trial.Phases[0].Operations[0].OK * 4096; bytes > 64<<20 || bytes < 4<<20 {
					t.Errorf("%s: %d bytes of values were acknowledged", planned.ID, bytes)
				}
				if trial.Marks[0].Params["others_took"] != nil {
					t.Errorf("%s: nothing else took the disk, but: %v", planned.ID, trial.Marks[0])
				}
				// The series tells of the phase to its end, and of no more operations than there
				// were.
				var sampled uint64
				for _, s := range run.Samples(planned.ID, "") {
					if s.Phase == "insert" {
						sampled += s.Operations
					}
				}
				if trial.SamplesMissing > 0 || sampled == 0 || sampled > trial.Phases[0].Attempted {
					t.Errorf("%s: %d samples are missing; %d of %d operations are in the series", planned.ID, trial.SamplesMissing, sampled, trial.Phases[0].Attempted)
				}
			}
			if page := reported(t, run); !strings.Contains(page, "the disk was full") && !strings.Contains(page, "filled the disk") {
				t.Error("the report does not tell of the full disk")
			}
		})
	}
}

// fill takes all room of a disk until stop is called, even room that is made meanwhile. stop removes
// what it wrote.
func fill(t *testing.T, disk string) (stop func()) {
	t.Helper()
	file, err := os.Create(filepath.Join(disk, "foreign"))
	if err != nil {
		t.Fatal(err)
	}
	enough, ended, full := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		chunk, seen := make([]byte, 1<<20), false
		for size := len(chunk); ; {
			_, err := file.Write(chunk[:size])
			switch {
			case err == nil:
				size = min(2*size, len(chunk))
				continue
			case !errors.Is(err, unix.ENOSPC):
				t.Error(err)
				return
			case size > 512:
				size /= 2
				continue
			}
			if !seen {
				seen = true
				close(full)
			}
			select {
			case <-enough:
				return
			case <-time.After(100 * time.Microsecond):
			}
		}
	}()
	<-full
	return func() {
		close(enough)
		<-ended
		if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
			t.Error(err)
		}
	}
}

// Something that is not Assay's fills the disk of the run directory: there is nothing to remove
// that would help. The run ends and says so; once there is room, it goes on.
func TestDiskThatOthersFillEndsTheRun(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, place := range []string{"run directory", "data root"} {
		t.Run("data in the "+place, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, 64<<20)
			directory := filepath.Join(disk, "run")
			var o Options
			if o = options(directory); place == "data root" {
				o.DataRoot = t.TempDir()
			}
			allTrials(&o)
			text := strings.ReplaceAll(inserts("bbolt", "D1", ""), "600s, operations: 60000", "1s, operations: 3000")
			type end struct {
				result Result
				err    error
			}
			ended := make(chan end, 1)
			go func() {
				result, err := runIn(text, directory, o.DataRoot, allTrials)
				ended <- end{result, err}
			}()
			for !hasSamples(directory) {
				select {
				case e := <-ended:
					t.Fatalf("it ended before it had samples: %+v, %v", e.result, e.err)
				case <-time.After(5 * time.Millisecond):
				}
			}
			stop := fill(t, disk)
			e := <-ended
			t.Logf("%v", e.err)
			if !record.IsFull(e.err) || e.result.Planned == 0 || !strings.Contains(e.err.Error(), "disk") || !strings.Contains(e.err.Error(), "free some space") {
				t.Errorf("it ended with %+v and not with one error that says what to do: %v", e.result, e.err)
			}
			before, err := record.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d trials; missing: %q", len(before.Trials), before.Missing)
			reported(t, before)
			for id, trial := range before.Trials {
				t.Logf("%s: %s; %s; %v; %d samples missing", id, trial.State, trial.Error, trial.Marks, trial.SamplesMissing)
				for i := range trial.Phases {
					addsUp(t, &trial.Phases[i])
				}
				said := strings.Contains(strings.Join(before.Missing, "\n"), "samples of trial "+id)
				if said != (trial.SamplesMissing > 0) {
					t.Errorf("%d samples of %s are missing; said: %v", trial.SamplesMissing, id, said)
				}
			}
			if place == "data root" { // no trial's end can have made room: the one under way tells nothing of its store
				for id, trial := range before.Trials {
					if slices.Contains(codes(trial), string(finding.FaultDiskFull)) && (trial.State != record.Interrupted || !strings.Contains(trial.Error, "something else fills it")) {
						t.Errorf("%s: %s, %q", id, trial.State, trial.Error)
					}
				}
			}
			for _, data := range []string{filepath.Join(directory, "data"), o.DataRoot} {
				if left, err := os.ReadDir(data); err == nil && len(left) > 0 {
					t.Errorf("left of the data: %v", left)
				}
			}
			stop()
			result, err := Resume(context.Background(), o)
			if err != nil || result.Interrupted || result.OK+result.Marked+result.Failed != result.Planned {
				t.Errorf("resumed: %+v, %v", result, err)
			}
			after, err := record.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			if len(after.Trials) != len(after.Plan) || lastEvent(after) != record.EventEnded {
				t.Errorf("%d of %d trials, last event %s", len(after.Trials), len(after.Plan), lastEvent(after))
			}
			for id, trial := range after.Trials {
				if before.Trials[id] != nil && before.Trials[id].State != record.Interrupted {
					continue // it was done before
				}
				if full := slices.Contains(codes(trial), string(finding.FaultDiskFull)); full ||
					trial.State == record.Failed || trial.SamplesMissing > 0 {
					t.Errorf("%s after --resume: %s, %s, %v", id, trial.State, trial.Error, trial.Marks)
				}
			}
			reported(t, after)
		})
	}
}

// The words of a full disk may stand in the worker's log alone.
func TestFullDiskIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"background error: write x.sst: no space left on device\npanic: 0x1\n" + strings.Repeat("stack\n", 1000): true, "panic: 0x1\n": false, "": false} {
		writer, id := writerOf(t)
		w, err := writer.TrialStarted(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Log().Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		one := &disk{writer: w, data: small(t, "2m")} // with more free than a disk that is full without a word
		if got := one.noRoom(errors.New("the worker died: exit status 2")); got != want {
			t.Errorf("%.40q: %v", text, got)
		}
		if err := errors.Join(w.Abandon(), writer.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Samples that find no room end a phase, but not the final check, which reports nothing if it is cut
// short.
func TestSamplesWithoutRoomEndThePhase(t *testing.T) {
	t.Parallel()
	for tireless, want := range map[bool]record.Ending{false: record.EndedDiskFull, true: ""} {
		file, err := trace.Generate(trace.Spec{Load: true, Records: 10, Fresh: 10, Order: trace.Order{Distribution: "sequential"}, Sizes: []trace.Size{{Bytes: 100, Weight: 1}}, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		files, err := mapFiles(phaseTrace{file: file}, 1)
		if err != nil {
			t.Fatal(err)
		}
		files.Forget()
		p := &phase{phaseInput: &phaseInput{tireless: tireless}, files: files, workers: &workers{}}
		if p.meetNoRoom(); p.end.why != want {
			t.Errorf("a tireless phase, %v: ended by %q, want %q", tireless, p.end.why, want)
		}
		if err := files.Counters.Unmap(); err != nil {
			t.Error(err)
		}
	}
}

func TestFullDiskIsReportedOnce(t *testing.T) {
	full, again, other := fmt.Errorf("first: %w", unix.ENOSPC), fmt.Errorf("again: %w", unix.EDQUOT), errors.New("other")
	for _, c := range []struct {
		first error
		more  []error
		want  string
	}{
		{full, []error{again, nil}, "first: no space left on device"},
		{full, []error{other, again}, "first: no space left on device\nother"},
		{other, []error{again}, "other\nagain: disk quota exceeded"},
		{nil, []error{again, nil}, "again: disk quota exceeded"},
		{nil, []error{nil}, "<nil>"},
	} {
		if got := fmt.Sprint(onceFull(c.first, c.more...)); got != c.want {
			t.Errorf("%v, %v: %q", c.first, c.more, got)
		}
	}
}

// writerOf returns the writer of a run directory with one trial, and the trial's ID.
func writerOf(t *testing.T) (w *record.Writer, trial string) {
	t.Helper()
	trials := []plan.Trial{{ID: "b1-001-a", Block: 1, Arm: "a", Role: plan.Measured}}
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), nil, &experiment.Experiment{Name: "log"}, trials, record.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	return w, trials[0].ID
}
