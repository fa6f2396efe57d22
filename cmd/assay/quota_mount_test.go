package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
)

// mountsIn returns the lines of the mount table that tell of a directory.
func mountsIn(t *testing.T, directory string) (lines []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if strings.Contains(line, directory) {
			lines = append(lines, line)
		}
	}
	return lines
}

// A conductor that is killed leaves its mount and its data; assay doctor --clean, or the next run,
// takes them away.
func TestDoctorCleansWhatAKilledConductorLeft(t *testing.T) {
	t.Parallel()
	if _, _, err := host.CheckQuotaMount(t.TempDir()); err != nil {
		t.Skipf("skipped: %v", err)
	}
	for _, place := range []string{"run directory", "data root"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(paced, "[memory]", "[bbolt]", 1) + "disk_quota: 64MiB\ndisk_quota_by: mount\n"
			text = strings.Replace(text, "durability: D0", "durability: D1", 1)
			data, more := "", []string(nil)
			if place == "data root" {
				data = t.TempDir()
				more = []string{"--data", data}
			}
			state := "XDG_STATE_HOME=" + t.TempDir() // or the run of another test may clean first
			p, directory := begun(t, text, func(c *exec.Cmd) { c.Env = append(os.Environ(), state) }, more...)
			where := directory
			if data != "" {
				where = data
			}
			workers := p.workers(t)
			p.send(t, syscall.SIGKILL)
			p.end(t)
			gone(t, workers)
			if len(mountsIn(t, where)) != 1 {
				t.Errorf("a killed conductor was to leave one mount: %v", mountsIn(t, where))
			}
			clean := exec.Command(program, "doctor", "--clean")
			clean.Env = append(os.Environ(), state)
			if output, err := clean.CombinedOutput(); err != nil || !strings.Contains(string(output), "removed mount") || !strings.Contains(string(output), "removed data") {
				t.Errorf("%v: %s", err, output)
			}
			if left := mountsIn(t, where); len(left) > 0 {
				t.Errorf("still mounted: %v", left)
			}
			noData(t, filepath.Join(directory, "data"))
			if data != "" {
				noData(t, data)
			}
		})
	}
}

// Engines that write through a map die of SIGBUS on a full disk, which is reported as one.
func TestNativeStoreFillsItsMount(t *testing.T) {
	t.Parallel()
	if _, _, err := host.CheckQuotaMount(t.TempDir()); err != nil {
		t.Skipf("skipped: %v", err)
	}
	own := withNative(t, "tokyocabinet-hash")
	text := strings.NewReplacer("bbolt", "tokyocabinet-hash", ", batch: 100", "").Replace(growing)
	run := runNative(t, own, text+"disk_quota: 24MiB\ndisk_quota_by: mount\n", exitTrials)
	for _, trial := range trialsOf(t, run) {
		wantDiskFull(t, run, trial)
		said, mounted := trial.Error, false
		for _, mark := range trial.Marks {
			mounted = mounted || mark.Code == finding.MarkMountFull && mark.Params["size"] == float64(24<<20)
		}
		if !mounted || strings.Contains(said, "bus error") && !strings.Contains(said, "SIGBUS") {
			t.Errorf("%s: %q", trial.Plan.ID, said)
		}
		t.Log(said)
	}
}
