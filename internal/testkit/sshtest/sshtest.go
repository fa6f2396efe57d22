// Package sshtest starts a real sshd for tests.
package sshtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Start starts Debian's sshd on loopback, with keys of its own, and returns the target and the
// command of an ssh that may enter it.
func Start(t *testing.T) (target string, ssh []string) {
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
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close() // it was to answer, no more
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("sshd does not answer: %v", err)
		}
	}
	return fmt.Sprintf("root@127.0.0.1:%d", port), []string{"ssh", "-F", "none", "-i", filepath.Join(here, "user"), "-o", "IdentitiesOnly=yes",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"}
}
