package crash

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/execution/powercut"
	"assay/internal/testkit/walstore"
	"assay/store"
)

// asUser runs this test once more, as a user who is not root, with a /dev/fuse that is open to everybody.
// Both are seen by that process alone.
const asUser = `mount --make-rprivate / && mknod "$1/fuse" c 10 229 && chmod 666 "$1/fuse" && mount --bind "$1/fuse" /dev/fuse &&
TMPDIR=$1 XDG_STATE_HOME=$1 exec setpriv --reuid=65534 --regid=65534 --clear-groups "$1/test" -test.run='^TestPowerWithoutRoot$' -test.v`

// Strict POSIX needs no root, where /dev/fuse is open and the helper that mounts is there.
func TestPowerWithoutRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		needsRig(t)
		for _, program := range []string{"fusermount3", "unshare", "setpriv"} {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("SKIPPED: %s is not installed (Debian: apt-get install fuse3 util-linux)", program)
			}
		}
		place, err := os.MkdirTemp("", "crash-user-") // the user can't enter t.TempDir, nor where this program stands
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(place) })
		if err := os.Chmod(place, 0o777); err != nil {
			t.Fatal(err)
		}
		copyProgram(t, filepath.Join(place, "test"))
		output, err := exec.Command("unshare", "--mount", "sh", "-c", asUser, "sh", place).CombinedOutput()
		t.Logf("%s", output)
		if err != nil || !strings.Contains(string(output), "--- PASS: TestPowerWithoutRoot") {
			t.Errorf("as a user: %v", err)
		}
		return
	}
	o := optionsOf(t, Power, 4)
	o.FileSystem = powercut.Strict
	if err := powercut.Check(o.DataRoot, powercut.Strict, "", o.Rig); err != nil {
		t.Skip("SKIPPED: " + err.Error())
	}
	if err := powercut.Check(o.DataRoot, powercut.DefaultFileSystem, "", o.Rig); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("a loop device without root: %v", err)
	}
	target := targetOf(t, walstore.Honest, store.D3, 8)
	target.Operations = 400
	if r := tested(t, target, o); r.State != Kept || len(r.Cuts) != 4 {
		t.Errorf("it is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
	}
	o.Cuts, o.FirstOnly = 50, true
	target = targetOf(t, walstore.NeverSyncs, store.D3, 8)
	target.Operations = 400
	if r := tested(t, target, o); r.State != Refuted {
		t.Errorf("a store that never syncs is %s after %d cuts: %s", r.State, len(r.Cuts), r.Why)
	}
	if left, err := filepath.Glob(filepath.Join(o.DataRoot, "*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left: %v", left, err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), powercut.MountName+" "+o.DataRoot) {
		t.Errorf("%v; what is mounted:\n%s", err, mounts)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, from)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatal(err)
	}
}
