package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/execution/crash"
	"assay/internal/testkit/walstore"
	"assay/store"
)

func TestCrash(t *testing.T) {
	t.Parallel()
	few := []string{"--cuts", "2", "--operations", "200", "--records", "50"}
	t.Run("a store that keeps its promise", func(t *testing.T) {
		t.Parallel()
		e := assay(t, append([]string{"crash", "bbolt", "--durability", "D1", "--format", "json"}, few...)...)
		e.wants(t, 0, "bbolt D1: kept after 2 cuts")
		var r crash.Report
		if err := json.Unmarshal([]byte(e.stdout), &r); err != nil {
			t.Fatalf("%v in %s", err, e.stdout)
		}
		if len(r.Results) != 1 || r.Results[0].State != crash.Kept || r.Results[0].Control == nil ||
			r.Results[0].Cuts[0].Records == 0 {
			t.Errorf("the result is %+v", r)
		}
	})
	t.Run("one that does not", func(t *testing.T) {
		t.Parallel()
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		file := fmt.Sprintf("name: w\nstores: [{driver: %s, worker: [%s, worker]}, {driver: %s, worker: [%[2]s, worker]}]\ndurability: D1\n"+
			"phases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n", walstore.Buffers, own, walstore.Honest)
		e := assayIn(t, "", file, append(append([]string{"crash", "-"}, few...), "--cuts", "10")...) // several among writes
		e.wants(t, exitTrials, "refuted: wal-buffers (D1)")
		wantParts(t, "the text", e.stdout, "wal-buffers (D1) is refuted. cut ", "--cut ", "wal-honest", "kept")
		proofs := assay(t, "crash", "--proofs")
		wantParts(t, "the list of proofs", proofs.stdout, "wal-buffers", "refuted: cut ", "wal-honest", "proved by 10 kills")
	})
	t.Run("bad arguments", func(t *testing.T) {
		t.Parallel()
		for expected, arguments := range map[string][]string{
			"takes an experiment file, a preset or stores":                 {},
			`there is no file, preset or driver "bolltt"`:                  {"bolltt"},
			"--kind flood: expected kill or power":                         {"bbolt", "--kind", "flood"},
			"--fs is for --kind power":                                     {"bbolt", "--kind", "kill", "--fs", "posix"},
			"--fs fat: expected ext4, xfs, btrfs and posix":                {"bbolt", "--kind", "power", "--fs", "fat"},
			"--replay: open":                                               {"--replay", "/nowhere"},
			"take no stores":                                               {"bbolt", "--proofs"},
			"--ignore-flushes is for --kind power":                         {"bbolt", "--ignore-flushes"},
			"--mount-options is for --kind power":                          {"bbolt", "--mount-options", "sync"},
			"posix takes no mount options":                                 {"bbolt", "--fault", "sync-error", "--mount-options", "sync"},
			"--open-max -1s: expected a time":                              {"bbolt", "--open-max", "-1s"},
			"--fault flood: expected sync-error, no-space and short-write": {"bbolt", "--kind", "power", "--fault", "flood"},
			"short-write needs the file system posix":                      {"bbolt", "--kind", "power", "--fault", "short-write", "--fs", "ext4"},
			"--sector 1000: expected 512, 1024, 2048 or 4096":              {"bbolt", "--kind", "power", "--sector", "1000"},
			"--one-node is for --kind power":                               {"etcd@start", "--one-node"},
			"--cuts 0: expected 1 or more":                                 {"bbolt", "--cuts", "0"},
			"--cut 30: expected one of the 20 of --cuts":                   {"bbolt", "--cut", "30"},
			`unknown durability class "D9"`:                                {"bbolt", "--durability", "D9"},
		} {
			assay(t, append([]string{"crash"}, arguments...)...).wants(t, exitUsage, expected)
		}
	})
	t.Run("a file says how", func(t *testing.T) {
		t.Parallel()
		file := "name: cuts\nstores: [bbolt]\nrecords: 50\ndurability: D1\nphases: [{name: load, load: true}, {name: w, mix: {update: 1}, for: 1s}]\ncrash: {kind: kill, cuts: 2}\n"
		e := assayIn(t, "", file, "crash", "-", "--records", "50", "--operations", "200", "--format", "json", "--no-proof")
		var r crash.Report
		if err := json.Unmarshal([]byte(e.stdout), &r); err != nil || r.Kind != crash.Kill || r.Cuts != 2 ||
			len(r.Results) != 1 || len(r.Results[0].Cuts) != 2 {
			t.Errorf("%v: %s%s", err, e.stdout, e.stderr)
		}
		e = assayIn(t, "", file, "crash", "-", "--records", "50", "--operations", "200", "--format", "json", "--no-proof", "--cuts", "1")
		if err := json.Unmarshal([]byte(e.stdout), &r); err != nil || r.Cuts != 1 {
			t.Errorf("the flag does not win: %v: %s%s", err, e.stdout, e.stderr)
		}
	})
	t.Run("a store that can't be cut off", func(t *testing.T) {
		t.Parallel()
		e := assay(t, "crash", "memory")
		e.wants(t, exitTrials, "nothing was tested")
		wantParts(t, "the text", e.stdout, "memory (D0) was not tested: keeps nothing after it is closed.")
	})
}

// rigsBelow are the mounts and loop devices of power-cut rigs below a directory.
func rigsBelow(t *testing.T, directory string) (found []string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, directory) {
			found = append(found, line)
		}
	}
	devices, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range devices {
		// an error: it has just gone
		if file, err := os.ReadFile(device); err == nil && strings.Contains(string(file), directory) {
			found = append(found, device)
		}
	}
	return found
}

// noRigBelow waits until the kernel has freed what is unmounted: a mkfs of another rig may hold it.
func noRigBelow(t *testing.T, directory string) {
	t.Helper()
	var left []string
	eventually(t, func() bool { left = rigsBelow(t, directory); return len(left) == 0 }, func() string { return fmt.Sprintf("left: %q", left) })
}

// D3 of every embedded driver, and of every server that is here, survives power cuts, and its D1
// does not: a rig that takes nothing from a store that never syncs proves nothing of one that does.
func TestShippedClassesAtPowerCuts(t *testing.T) {
	if os.Getenv("ASSAY_LONG") != "1" {
		t.Skip("SKIPPED: minutes of power cuts; ASSAY_LONG=1 makes them")
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a power-cut rig needs root")
	}
	for _, d := range descriptions() {
		name := d.Name
		switch p, starts := programOf(d.Name); {
		case d.Kind == store.Embedded:
		case d.Kind != store.Server || !starts || p.InMemory:
			continue
		default:
			if _, err := p.Find(); err != nil {
				t.Logf("SKIPPED: %s: %v", d.Name, err)
				continue
			}
			name += "@start"
		}
		for _, claim := range d.Durability {
			t.Run(d.Name+" "+string(claim.Class), func(t *testing.T) {
				if d.Name == "pogreb" && claim.Class == store.D3 {
					t.Skip("SKIPPED: the library brings deleted records back without any cut: docs/durability.md")
				}
				cuts := map[store.Durability]string{store.D1: "10", store.D3: "50"}[claim.Class]
				if cuts == "" {
					t.Skip("SKIPPED: neither D1 nor D3")
				}
				e := assayFor(t, longPatience, "crash", name, "--kind", "power", "--durability", string(claim.Class), "--cuts", cuts, "--format", "json", "--no-proof")
				var r crash.Report
				if err := json.Unmarshal([]byte(e.stdout), &r); err != nil || len(r.Results) != 1 {
					t.Fatalf("%v: %s%s", err, e.stdout, e.stderr)
				}
				switch result := &r.Results[0]; {
				case claim.Class == store.D3 && result.State != crash.Kept:
					t.Errorf("it is %s: %s", result.State, result.Why)
				case claim.Class == store.D1 && result.Window() != nil &&
					result.Window().RecordsMax == 0: // nil: it never opened again
					t.Errorf("D1 lost nothing: %+v", result.Window())
				}
			})
		}
	}
}

const longPatience = time.Hour

// assayFor is assay with another patience.
func assayFor(t *testing.T, most time.Duration, arguments ...string) ended {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	return ended{stdout.String(), stderr.String(), statusOf(t, err)}
}

// Whatever ends a run, no mount, loop device, process or file of its rig is left.
func TestPowerCutRigLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a power-cut rig needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("SKIPPED: " + err.Error())
	}
	t.Run("a mount that fails", func(t *testing.T) {
		directory := t.TempDir()
		e := assay(t, "crash", "bbolt", "--kind", "power", "--durability", "D3", "--mount-options", "data=nonsense", "--data", directory)
		e.wants(t, exitUsage, "mount ext4")
		noRigBelow(t, directory)
		if files, err := os.ReadDir(directory); err != nil || len(files) > 0 {
			t.Errorf("left: %v, %v", files, err)
		}
	})
	// From when the rig is there: in its work, most probably; the long test also meets the control, cuts and
	// recoveries.
	delays := []time.Duration{500 * time.Millisecond}
	if os.Getenv("ASSAY_LONG") == "1" {
		delays = nil
		for d := time.Duration(0); d < 8*time.Second; d += 400 * time.Millisecond {
			delays = append(delays, d)
		}
	}
	for i, delay := range slices.Concat(delays, delays) {
		s := syscall.SIGINT
		if i >= len(delays) {
			s = syscall.SIGKILL
		}
		t.Run(fmt.Sprint(s, " after ", delay), func(t *testing.T) {
			directory, state := t.TempDir(), "XDG_STATE_HOME="+t.TempDir()
			run := func(arguments ...string) *exec.Cmd {
				command := exec.Command(program, arguments...)
				command.Env = append(os.Environ(), state)
				return command
			}
			crash := run("crash", "bbolt", "--kind", "power", "--durability", "D3", "--data", directory)
			if err := crash.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return len(rigsBelow(t, directory)) >= 3 }, func() string { return "no rig was made" })
			time.Sleep(delay)
			if err := crash.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			status := statusOf(t, crash.Wait())
			if s == syscall.SIGINT && status != exitTrials {
				t.Errorf("exit status %d", status)
			}
			if s == syscall.SIGKILL {
				if text, err := run("doctor", "--clean").CombinedOutput(); err != nil || !strings.Contains(string(text), "removed rig") {
					t.Errorf("assay doctor --clean: %v: %s", err, text)
				}
			}
			noRigBelow(t, directory)
			if files, err := os.ReadDir(directory); err != nil || len(files) > 0 {
				t.Errorf("left: %v, %v", files, err)
			}
		})
	}
}
