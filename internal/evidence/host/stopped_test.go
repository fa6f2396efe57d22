package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStopped_sees_a_signal(t *testing.T) {
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	s := NewStopped(command.Process.Pid)
	until := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); s.Look() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it is %q, want %q", s.Look(), want)
			}
		}
	}
	until("")
	for range 2 {
		if err := command.Process.Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		until(StoppedBySignal)
		if err := command.Process.Signal(unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		until("")
	}
}

func TestStopped_reads_states_and_freezers(t *testing.T) {
	for _, c := range []struct{ name, stat, cgroup, file, text, want string }{
		{name: "runs", stat: "7 (a) R 1", want: ""},
		{name: "a name like a state", stat: "7 (a) T 1) S 1", want: ""},
		{name: "signal", stat: "7 (a) T 1", want: StoppedBySignal},
		{name: "debugger", stat: "7 (a b) t 1", want: StoppedByDebugger},
		{name: "waits for a disk", stat: "7 (a) D 1", want: ""},
		{name: "frozen, version 2", stat: "7 (a) S 1", cgroup: "0::/box\n", file: "fs/cgroup/box/cgroup.events", text: "populated 1\nfrozen 1\n", want: StoppedFrozen},
		{name: "not frozen, version 2", stat: "7 (a) S 1", cgroup: "0::/box\n", file: "fs/cgroup/box/cgroup.events", text: "populated 1\nfrozen 0\n", want: ""},
		{name: "frozen, version 1", stat: "7 (a) D 1", cgroup: "5:cpu:/\n4:freezer:/box\n", file: "fs/cgroup/freezer/box/freezer.state", text: "FROZEN\n", want: StoppedFrozen},
		{name: "thawed, version 1", stat: "7 (a) S 1", cgroup: "4:freezer:/box\n", file: "fs/cgroup/freezer/box/freezer.state", text: "THAWED\n", want: ""},
	} {
		r := roots{t.TempDir(), t.TempDir()}
		files := map[string]string{filepath.Join(r.proc, "7", "stat"): c.stat, filepath.Join(r.proc, "7", "cgroup"): c.cgroup}
		if c.file != "" {
			files[filepath.Join(r.sys, c.file)] = c.text
		}
		for path, text := range files {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := newStopped(r, 7).Look(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := NewStopped(os.Getpid()).SleptNS(); got != 0 {
		t.Errorf("the machine slept for %d ns meanwhile", got)
	}
	if strings.Contains(NewStopped(os.Getpid()).Look(), StoppedBySignal) {
		t.Error("this process is stopped")
	}
}
