package agents

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startSSHD starts Debian's sshd on loopback, with keys of its own, and returns the target and the
// command of an ssh that may enter it.
func startSSHD(t *testing.T) (target string, ssh []string) {
	t.Helper()
	const sshd = "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil || os.Getuid() != 0 {
		t.Skipf("SKIPPED: %s is not installed, or this is not root: %v", sshd, err)
	}
	here := t.TempDir()
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(here, key)).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: ssh-keygen: %v %s", err, out)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Skipf("SKIPPED: sshd's own directory: %v", err)
	}
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\n", port, here, here)
	if err := os.WriteFile(filepath.Join(here, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(here, "config"))
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait() // it was killed
	})
	eventually(t, "an answer of sshd", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return fmt.Sprintf("root@127.0.0.1:%d", port), []string{"ssh", "-F", "none", "-i", filepath.Join(here, "user"), "-o", "IdentitiesOnly=yes",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"}
}

// An agent that ssh starts joins through ssh's own tunnel; its binary is copied once, under the name of
// its checksum; and it ends with the connection.
func TestAnAgentBySSH(t *testing.T) {
	target, ssh := startSSHD(t)
	there := filepath.Join(t.TempDir(), "a place")
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
		t.Errorf("a machine that lets nobody in: %v", err)
	}
}

// A machine whose disk is full: the run says what could not be copied there, and why.
func TestAnAgentWhoseDiskIsFull(t *testing.T) {
	target, ssh := startSSHD(t)
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
