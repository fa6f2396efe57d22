package crash

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/execution/control"
	"assay/internal/execution/powercut"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/testkit/walstore"
	"assay/store"
	"assay/worker"
)

// The test binary is also the worker that hosts the stores of walstore, and drivers of servers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(worker.Main(slices.Concat(walstore.Drivers(), serverDrivers, replicaDrivers)...))
	}
	if len(os.Args) > 1 && os.Args[1] == asReplica {
		os.Exit(replica(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "power-cut-rig" {
		if err := powercut.Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	state, err := os.MkdirTemp("", "crash-state-")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state) // notes of what is made, apart from the user's
	}
	if err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(state)
	os.Exit(status)
}

// targetOf is a store of walstore in a class.
func targetOf(t *testing.T, name string, class store.Durability, threads int) *Target {
	t.Helper()
	for _, d := range walstore.Drivers() {
		if d.Describe().Name != name {
			continue
		}
		return &Target{
			Store: experiment.Store{Name: name, Driver: name, Description: d.Describe()},
			Cell: experiment.Cell{Durability: class, ValueBytes: 100, Threads: threads,
				Handles: control.HandlesShared},
			Keys:      keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
			PoolBytes: 1 << 16, PoolSeed: 1, Records: 100, Operations: 2000,
		}
	}
	t.Fatalf("no driver %q", name)
	return nil
}

func optionsOf(t *testing.T, kind Kind, cuts int) Options {
	t.Helper()
	return Options{Kind: kind, Cuts: cuts, Seed: 1, Worker: []string{os.Args[0], "worker"}, DataRoot: t.TempDir(),
		Timeout: 5 * time.Minute, Log: os.Stderr, Rig: []string{os.Args[0], "power-cut-rig"}, FileSystem: powercut.DefaultFileSystem}
}

func tested(t *testing.T, target *Target, o Options) Result {
	t.Helper()
	r, err := Test(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s %s", target.Name(), r.State, r.Why)
	for _, cut := range r.Cuts {
		t.Logf("cut %d in %s after %d: %+v", cut.Number, cut.Moment, cut.Entry, cut.Check)
	}
	return r
}

// Fault (physics): after a recovery, an index lacks a record or has another in its place, or a
// count is wrong
// Assay: every second life in `assay crash` has records with columns, queries and counts, which
// must find what reads find
// With: crash.TestByColumns
//
// Fault (physics): a recovery takes longer than a user can wait
// Assay: `assay crash --open-max`: refuted
func TestKill(t *testing.T) {
	t.Run("a store that keeps its promise is not refuted", func(t *testing.T) {
		for _, class := range []store.Durability{store.D1, store.D3} {
			target := targetOf(t, walstore.Honest, class, 4)
			if class == store.D3 {
				target.Operations = 200 // each waits for the disk
			}
			r := tested(t, target, optionsOf(t, Kill, 4))
			if r.State != Kept || len(r.Cuts) != 4 {
				t.Errorf("%s is %s after %d cuts: %s", class, r.State, len(r.Cuts), r.Why)
			}
			for _, cut := range r.Cuts {
				if cut.Records == 0 || cut.Found == 0 || cut.Right != cut.Records || cut.Scanned == nil ||
					(cut.ByColumns != nil) != target.hasColumns(cut.Number) {
					t.Errorf("cut %d was not looked at: %+v", cut.Number, cut.Check)
				}
			}
		}
	})
	t.Run("a store that opens too slowly is refuted", func(t *testing.T) {
		o := optionsOf(t, Kill, 50)
		o.FirstOnly, o.OpenMax = true, walstore.SlowTime-1
		if r := tested(t, targetOf(t, walstore.OpensSlowly, store.D1, 4), o); r.State != Refuted || !strings.Contains(r.Why, "opened in") {
			t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
		}
	})
	const cuts = 50
	refuted := []string{walstore.Buffers, walstore.Undeletes, walstore.WontOpen, walstore.ShortScans,
		walstore.ShortIndex, walstore.StaleIndex, walstore.CountsWrong}
	if os.Getenv("ASSAY_LONG") == "1" {
		refuted = walstore.FlawedAtKill
	}
	for _, name := range refuted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := targetOf(t, name, store.D1, 4)
			if name == walstore.TearsValues || name == walstore.HalfBatches {
				target.Operations = 60 // each takes a while, so that a kill meets one
			}
			o := optionsOf(t, Kill, cuts)
			o.FirstOnly = true
			if r := tested(t, target, o); r.State != Refuted {
				t.Errorf("it is %s after %d cuts", r.State, len(r.Cuts))
			}
		})
	}
}

func TestControl(t *testing.T) {
	r := tested(t, targetOf(t, walstore.ForgetsClose, store.D1, 1), optionsOf(t, Kill, 3))
	if r.State != NotPassing || len(r.Cuts) > 0 {
		t.Errorf("a store that forgets everything when it is closed: %s, %d cuts", r.State, len(r.Cuts))
	}
}

// needsRig skips a test where no disk can be cut.
func needsRig(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a power-cut rig needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("SKIPPED: " + err.Error())
	}
}

// Fault (physics): a store acknowledges a write before its sync has ended
// Assay: refuted by `assay crash --kind power`, whose flushes take 0.2 ms at least
func TestPower(t *testing.T) {
	needsRig(t)
	cuts, refuted := 4, []string{walstore.NeverSyncs, walstore.SyncsTenth, walstore.SyncsLate}
	if os.Getenv("ASSAY_LONG") == "1" {
		cuts, refuted = 100, walstore.FlawedAtPower
	}
	t.Run("a store that keeps its promise is not refuted", func(t *testing.T) {
		target := targetOf(t, walstore.Honest, store.D3, 8)
		target.Operations = 400
		r := tested(t, target, optionsOf(t, Power, cuts))
		if r.State != Kept || len(r.Cuts) != cuts {
			t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
		}
		if r.Rate == nil || r.Rate.DiskPerSecond <= 0 || r.Rate.RigPerSecond <= 0 || r.Loss == nil || r.Loss.Worst > 0 {
			t.Errorf("the rates are %+v, the loss %+v", r.Rate, r.Loss)
		}
	})
	t.Run("a device that ignores flushes refutes it", func(t *testing.T) {
		target := targetOf(t, walstore.Honest, store.D3, 8)
		target.Operations = 400
		o := optionsOf(t, Power, 2)
		o.IgnoresFlushes = true
		if r := tested(t, target, o); r.State != Refuted || r.Broken != len(r.Cuts) {
			t.Errorf("it is %s, %d of %d cuts broken: %s", r.State, r.Broken, len(r.Cuts), r.Why)
		}
	})
	t.Run("a class without a promise is measured", func(t *testing.T) {
		r := tested(t, targetOf(t, walstore.Honest, store.D1, 2), optionsOf(t, Power, 2))
		if r.State != NoPromise {
			t.Errorf("D1 is %s: %s", r.State, r.Why)
		}
	})
	t.Run("D2 that syncs within no time is refuted", func(t *testing.T) {
		target := targetOf(t, walstore.NeverSyncs, store.D2, 2)
		target.Cell.LossWindow = 2 * time.Millisecond
		o := optionsOf(t, Power, 50)
		o.FirstOnly = true
		if r := tested(t, target, o); r.State != Refuted {
			t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
		}
	})
	t.Run("a recovery that a second cut does not leave whole is refuted", func(t *testing.T) {
		target := targetOf(t, walstore.LosesTwice, store.D3, 8)
		target.Operations = 200
		o := optionsOf(t, Power, 50)
		// ext4 forgives it: it writes a file that was emptied when that is closed
		o.FileSystem, o.FirstOnly = powercut.Strict, true
		r := tested(t, target, o)
		if last := len(r.Cuts) - 1; r.State != Refuted || r.Cuts[last].Moment != "recovery" {
			t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
		}
	})
	for _, name := range refuted {
		t.Run(name, func(t *testing.T) {
			target := targetOf(t, name, store.D3, 8)
			target.Operations = 400
			o := optionsOf(t, Power, 50)
			directory := filepath.Join(t.TempDir(), "case")
			o.FirstOnly, o.CaseOf = true, func(*Result) (string, error) { return directory, nil }
			r := tested(t, target, o)
			if r.State != Refuted {
				t.Fatalf("it is %s after %d cuts", r.State, len(r.Cuts))
			}
			kept, err := ReadCase(r.Case)
			if err != nil {
				t.Fatal(err)
			}
			again, same, err := Replay(t.Context(), &kept, r.Case, o)
			if err != nil {
				t.Fatal(err)
			}
			if was := kept.Cut; !same || again.Missing() != was.Missing() || again.Right != was.Right ||
				again.Damage() != was.Damage() {
				t.Errorf("the case is not the same again (%v): %+v, was %+v", same, again, was)
			}
		})
	}
}

// What is acknowledged after an error, or in spite of one, must be there.
//
// Fault (physics): a store acknowledges a write whose sync failed, believes the sync after it, goes
// on behind a half-written record, or takes a short write for a whole one
// Assay: refuted by `assay crash --fault`. The default cuts do not find it
func TestFaults(t *testing.T) {
	needsRig(t)
	long := os.Getenv("ASSAY_LONG") == "1"
	options := func(t *testing.T, kind powercut.FaultKind, cuts int) Options {
		o := optionsOf(t, Power, cuts)
		o.FileSystem, o.Fault = powercut.Strict, kind
		return o
	}
	cuts := 4
	if long {
		cuts = 100
	}
	for _, kind := range powercut.FaultKinds {
		t.Run(string(kind)+"/a store that keeps its promise is not refuted", func(t *testing.T) {
			target := targetOf(t, walstore.Honest, store.D3, 8)
			target.Operations = 400
			r := tested(t, target, options(t, kind, cuts))
			if r.State != Kept || len(r.Cuts) != cuts || len(r.Faults) != cuts/faultCuts {
				t.Errorf("it is %s after %d cuts in %d lives: %s", r.State, len(r.Cuts), len(r.Faults), r.Why)
			}
			for _, f := range r.Faults {
				t.Logf("%+v", f)
				if f.Calls == 0 || kind != powercut.ShortWrite && f.Errors == 0 {
					t.Errorf("the store met nothing: %+v", f)
				}
			}
		})
	}
	for name, kind := range map[string]powercut.FaultKind{walstore.Honest: powercut.NoSpace,
		walstore.WritesOn: powercut.NoSpace, walstore.IgnoresShortWrites: powercut.ShortWrite} {
		t.Run("and a kill/"+name, func(t *testing.T) {
			target := targetOf(t, name, store.D1, 8)
			target.Operations = 400
			want, o := Refuted, options(t, kind, 50)
			o.Kind, o.FirstOnly = Kill, true
			if name == walstore.Honest {
				want, o.Cuts = Kept, cuts
			}
			r := tested(t, target, o)
			if r.State != want {
				t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
			}
			for _, f := range r.Faults {
				if f.Calls == 0 {
					t.Errorf("the store met nothing: %+v", f)
				}
			}
		})
	}
	for name, kind := range map[string]powercut.FaultKind{walstore.IgnoresSyncErrors: powercut.SyncError,
		walstore.SyncsAgain: powercut.SyncError,
		walstore.WritesOn:   powercut.NoSpace, walstore.IgnoresShortWrites: powercut.ShortWrite} {
		t.Run(name, func(t *testing.T) {
			target := targetOf(t, name, store.D3, 8)
			target.Operations = 400
			o := options(t, kind, 50)
			o.FirstOnly = true
			if r := tested(t, target, o); r.State != Refuted {
				t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
			}
		})
	}
	if !long {
		return
	}
	for name := range powercut.FileSystems {
		t.Run("sync-error on "+name, func(t *testing.T) {
			for which, want := range map[string]State{walstore.Honest: Kept, walstore.IgnoresSyncErrors: Refuted} {
				target := targetOf(t, which, store.D3, 8)
				target.Operations = 400
				o := options(t, powercut.SyncError, 50)
				o.FileSystem, o.FirstOnly = name, true
				if r := tested(t, target, o); r.State != want {
					t.Errorf("%s is %s after %d cuts: %s", which, r.State, len(r.Cuts), r.Why)
				}
			}
		})
		t.Run("no-space below "+name, func(t *testing.T) {
			target, o := targetOf(t, walstore.Honest, store.D3, 8), options(t, powercut.NoSpace, 8)
			o.FileSystem = name
			r := tested(t, target, o)
			if r.State != Kept || len(r.Cuts) != 8 {
				t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
			}
			for _, f := range r.Faults {
				if f.Calls == 0 || f.Errors == 0 && f.Stopped == "" {
					t.Errorf("the store met nothing: %+v", f)
				}
			}
		})
	}
}
