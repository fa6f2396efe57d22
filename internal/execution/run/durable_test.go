package run

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/proof"
	"assay/internal/evidence/record"
	"assay/internal/testkit/walstore"
	"assay/store"
)

const syncedText = `name: synced
stores: [{driver: DRIVER, worker: WORKER}]
records: 0
keys: {format: binary, bytes: 16}
values: {bytes: 100}
threads: THREADS
durability: D3
phases:
  - {name: insert, mix: {insert: 1}, for: 150ms}
blocks: 1
busy_machine: tell
sample: 50ms
`

// syncedRun returns the measured phase of a short run in class D3.
func syncedRun(t *testing.T, driver string, threads int, root string, change ...func(*Options)) (*record.Trial,
	*record.Phase) {
	t.Helper()
	text := strings.NewReplacer("WORKER", own(), "DRIVER", driver, "THREADS", strconv.Itoa(threads)).Replace(syncedText)
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runIn(text, directory, root, change...); err != nil {
		t.Fatal(err)
	}
	trial, _ := readable(t, directory, driver)
	if len(trial.Phases) != 1 || trial.Phases[0].Syncs == nil {
		t.Fatalf("%s: %s %s: %+v", driver, trial.State, trial.Error, trial.Phases)
	}
	return trial, &trial.Phases[0]
}

func notShown(trial *record.Trial) bool {
	return slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool { return m.Fault() == finding.FaultNotDurable })
}

// diskCounts skips where the directory's disk does not count what a sync needs.
func diskCounts(t *testing.T, directory string) {
	t.Helper()
	if _, err := host.NewSyncCounter(directory); err != nil {
		t.Skip(err)
	}
}

// What cuts have shown is asked for with all that decides what runs, kept with the trial, and a refutation of
// any kind takes the rank; one of something else takes none.
func TestProofsAreCited(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, shown := range []struct {
		refuted string // by this kind of cuts
		differs []string
		marked  bool
	}{{}, {refuted: proof.Power, marked: true}, {refuted: proof.Kill, marked: true}, {refuted: proof.Kill,
		differs: []string{proof.OtherProgram}}} {
		var asked proof.Question
		trial, _ := syncedRun(t, "bbolt", 1, t.TempDir(), func(o *Options) {
			o.Proved = func(q proof.Question, kind string) (*proof.Cited, error) {
				asked = q
				return &proof.Cited{Proof: proof.Proof{Question: q, Kept: kind != shown.refuted, Cuts: 50, Why: "cut 3: lost 1 of 9 records"}, Differs: shown.differs}, nil
			}
		})
		if asked.Store != "bbolt" || asked.Class != store.D3 || len(asked.Settings) == 0 || asked.Program == "" || asked.FileSystem == "" {
			t.Errorf("asked for %+v", asked)
		}
		if c := trial.Proof; c == nil || c.Kept == (shown.refuted == proof.Power) || c.Cuts != 50 ||
			notShown(trial) != shown.marked {
			t.Errorf("%+v: %+v, marks %+v", shown, c, trial.Marks)
		}
	}
}

// The attacker keeps everything in memory and says that each write survives a power cut. Another
// program that syncs all the time does not hide it.
//
// Fault (physics): a store claims D3 and never syncs
// Assay: `durability-not-shown` (`syncs-too-few`), no rank, exit status 3: the disk did far fewer
// flushes than the writes need
// With: record.TestNotDurable
func TestClassThatNeedsSyncsIsHeldAgainstThem(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	root := t.TempDir()
	diskCounts(t, root)
	other, err := os.Create(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	ended, stop := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-ended; other.Close() }()
	go func() {
		defer close(ended)
		for at := int64(0); ; at++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := other.WriteAt([]byte{1, 2, 3}, at); err != nil {
				return
			}
			if unix.Fdatasync(int(other.Fd())) != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	trial, p := syncedRun(t, "forgetful", 1, root)
	if s := p.Syncs; s.Done == nil || !notShown(trial) || trial.State != record.Marked {
		t.Fatalf("%s, marks %+v, %+v", trial.State, trial.Marks, p.Syncs)
	}
	t.Logf("%d acknowledged, %d %s", p.Syncs.Acknowledged, *p.Syncs.Done, p.Syncs.Counted)
}

// The attacker syncs, but each tenth commit alone; a disk that counts two flushes for a sync, and
// eight threads that may share one, hide that. What its own processes ask for does not.
//
// Fault (physics): an engine syncs each tenth commit, at eight threads that could share a sync
// Assay: `durability-not-shown` (`syncs-too-few`), where its own syncs may be counted. Else only a
// power cut finds it; the summary says how many writes a sync may have covered
// With: crash.TestPower
func TestEngineThatSyncsEachTenthCommitIsFound(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		driver string
		lies   bool
	}{{walstore.SyncsTenth, true}, {walstore.Honest, false}} {
		trial, p := syncedRun(t, c.driver, 8, t.TempDir())
		if p.Syncs.Calls == nil {
			t.Skip("SKIPPED: " + p.Syncs.CallsWhy)
		}
		if notShown(trial) != c.lies {
			t.Errorf("%s: %+v, %d syncs of its own, marks %+v", c.driver, p.Syncs, *p.Syncs.Calls, trial.Marks)
		}
		t.Logf("%s: %d acknowledged, %d syncs of its own", c.driver, p.Syncs.Acknowledged, *p.Syncs.Calls)
	}
}

func TestStoresThatSyncAreNotAccused(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	root := t.TempDir()
	diskCounts(t, root)
	for _, c := range []struct {
		driver  string
		threads int
	}{{"bbolt", 1}, {"pebble", 8}} {
		trial, p := syncedRun(t, c.driver, c.threads, root)
		if p.Syncs.Done == nil || notShown(trial) || *p.Syncs.Done < p.Syncs.Least {
			t.Errorf("%s, %d threads: %+v, marks %+v", c.driver, c.threads, p.Syncs, trial.Marks)
			continue
		}
		calls := "not counted: " + p.Syncs.CallsWhy
		if p.Syncs.Calls != nil {
			calls = strconv.FormatUint(*p.Syncs.Calls, 10)
		}
		t.Logf("%s, %d threads: %d acknowledged, %d needed, %d %s, syncs of its own %s",
			c.driver, c.threads, p.Syncs.Acknowledged, p.Syncs.Least, *p.Syncs.Done, p.Syncs.Counted, calls)
	}
}

// Syncs that can't be counted accuse no store, and are reported as not measured.
//
// Fault (physics): the disk does not count flushes, or there is none
// Assay: reported once as not measured
func TestSyncsOnNoDiskAreNotMeasured(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	const inMemory = "/dev/shm"
	if _, err := host.NewSyncCounter(inMemory); err == nil {
		t.Skip(inMemory + " is on a disk")
	}
	root, err := os.MkdirTemp(inMemory, "assay-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(root)
	if trial, p := syncedRun(t, "forgetful", 1, root); p.Syncs.Done != nil || p.Syncs.Why == "" || notShown(trial) {
		t.Errorf("%+v, marks %+v", p.Syncs, trial.Marks)
	}
}
