package agents

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/testkit/sshtest"
)

// An agent that ssh starts joins through ssh's own tunnel; its binary is copied once, under the name of
// its checksum; and it ends with the connection.
func TestAgentBySSH(t *testing.T) {
	target, ssh := sshtest.Start(t)
	there := filepath.Join(t.TempDir(), "a place")
	// The first tunnel is not to be had, as where another program has its port.
	ssh = append([]string{"sh", "-c", `case " $* " in *" -R "*) mkdir "$0" 2>/dev/null && exit 255 ;; esac; exec "$@"`, filepath.Join(t.TempDir(), "refused")}, ssh...)
	var copied time.Time
	for round := range 2 {
		hub, err := NewHub(Options{Agents: []string{"ssh://" + target}, Version: "1", Agent: []string{os.Args[0], "agent"}, Log: io.Discard, Patience: long,
			SSH: ssh, SSHDirectory: there})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{hub: hub}
		present, err := hub.Gather(context.Background())
		if err != nil {
			hub.Close()
			t.Fatal(err)
		}
		r.agent = present[0]
		begun(t, r.opened(t))
		hub.Close()
		files, err := os.ReadDir(there)
		if err != nil || len(files) != 1 || !strings.HasPrefix(files[0].Name(), "assay-") {
			t.Fatalf("round %d: %v, %v", round, files, err)
		}
		program := filepath.Join(there, files[0].Name())
		eventually(t, "the end of all that ran there", func() bool {
			running, _ := filepath.Glob("/proc/[0-9]*/exe")
			for _, exe := range running {
				if link, err := os.Readlink(exe); err == nil && link == program {
					return false
				}
			}
			return true
		})
		info, err := os.Stat(program)
		if err != nil || round == 1 && !info.ModTime().Equal(copied) {
			t.Errorf("round %d: it was copied again (%v)", round, err)
		}
		copied = info.ModTime()
	}
	hub, err := NewHub(Options{Agents: []string{"ssh://nobody@" + strings.TrimPrefix(target, "root@")}, Version: "1", Agent: []string{os.Args[0], "agent"}, Log: io.Discard, SSH: ssh})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if _, err := hub.Gather(context.Background()); err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("a machine that refuses every login: %v", err)
	}
}

// A machine whose disk is full: the run says what could not be copied there, and why.
//
// Fault (agents): an agent's disk is full
// Assay: the run says what could not be copied there; nothing is left
func TestAgentWhoseDiskIsFull(t *testing.T) {
	target, ssh := sshtest.Start(t)
	small := t.TempDir()
	if err := unix.Mount("assay-test", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("SKIPPED: no small file system can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(small, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	hub, err := NewHub(Options{Agents: []string{"ssh://" + target}, Version: "1", Agent: []string{os.Args[0], "agent"}, Log: io.Discard, SSH: ssh, SSHDirectory: small})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if _, err := hub.Gather(context.Background()); err == nil || !strings.Contains(err.Error(), "copying this program") || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("it says %v", err)
	}
	if left, err := os.ReadDir(small); err != nil || len(left) > 0 {
		t.Errorf("left there: %v, %v", left, err)
	}
}
