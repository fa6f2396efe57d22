package powercut

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What the kernel passes on of each way to sync, and of writes without a sync.
func TestStrictFileSystem(t *testing.T) {
	r := started(t, Strict)
	must(t, r.New("recorded", 0))
	must(t, r.Mount("recorded"))
	at := func(name string) string { return filepath.Join(r.Point(), name) }
	syncDirectory := func(name string) {
		d, err := os.Open(at(name))
		must(t, err)
		must(t, errors.Join(d.Sync(), d.Close()))
	}
	for _, name := range []string{"known", "unknown"} {
		must(t, os.Mkdir(at(name), 0o700))
	}
	written(t, at("known/synced"), "synced", true)
	written(t, at("known/not-synced"), "lost", false)
	written(t, at("known/old-name"), "renamed", true)
	written(t, at("known/changed"), "first", true)
	written(t, at("known/mapped"), "......", true)
	written(t, at("known/removed"), "removed", true)
	syncDirectory("known")
	syncDirectory("")
	written(t, at("unknown/synced"), "synced", true) // and not its name
	must(t, os.Rename(at("known/old-name"), at("known/new-name")))
	must(t, os.Remove(at("known/removed")))
	file, err := os.OpenFile(at("known/changed"), os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString("again")
	must(t, errors.Join(err, file.Close())) // a close syncs nothing
	file, err = os.OpenFile(at("known/forced"), os.O_WRONLY|os.O_CREATE|unix.O_DSYNC, 0o600)
	must(t, err)
	_, err = file.WriteString("forced")
	must(t, err)
	syncDirectory("unknown/..") // the root's, not that of known
	file2, err := os.OpenFile(at("known/mapped"), os.O_RDWR, 0)
	must(t, err)
	memory, err := unix.Mmap(int(file2.Fd()), 0, 6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	copy(memory, "mapped")
	must(t, unix.Msync(memory, unix.MS_SYNC))
	must(t, errors.Join(unix.Munmap(memory), file.Close(), file2.Close()))
	events, err := r.Stop("recorded")
	must(t, err)
	must(t, r.Unmount())
	for keep, want := range map[Keep]map[string]string{
		KeepNone: {"known/synced": "synced", "known/not-synced": "", "known/old-name": "renamed", "known/new-name": gone, "known/changed": "first",
			"known/mapped": "mapped", "known/removed": "removed", "known/forced": gone, "unknown/synced": gone},
		KeepAll: {"known/synced": "synced", "known/not-synced": "lost", "known/old-name": gone, "known/new-name": "renamed", "known/changed": "again",
			"known/mapped": "mapped", "known/removed": gone, "known/forced": "forced", "unknown/synced": "synced"},
	} {
		cut := "cut-" + string(keep)
		digest, err := r.Cut(cut, Cut{Of: "recorded", At: len(events), Keep: keep, Seed: 1})
		must(t, err)
		again, err := r.Cut(cut+"-again", Cut{Of: "recorded", At: len(events), Keep: keep, Seed: 1})
		must(t, err)
		if digest != again {
			t.Errorf("%s leaves %s, and then %s", keep, digest, again)
		}
		must(t, r.Mount(cut))
		for name, text := range want {
			got, err := os.ReadFile(at(name))
			if text == gone && !errors.Is(err, os.ErrNotExist) || text != gone && (err != nil || string(got) != text) {
				t.Errorf("%s: %s is %q (%v), expected %q", keep, name, got, err, text)
			}
		}
		must(t, r.Unmount())
		must(t, errors.Join(r.Drop(cut), r.Drop(cut+"-again")))
	}
}

// gone is a file that is not there.
const gone = "\x00"

// A server may run as another user, who owns its directory and what it makes there, also after a cut.
func TestStrictFileSystemHasOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may run something as another user")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("SKIPPED: " + err.Error())
	}
	directory, err := os.MkdirTemp("", "power-cut-owner-") // the user can't enter t.TempDir
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	must(t, os.Chmod(directory, 0o711))
	r, err := Start(directory, Strict, "", []string{os.Args[0], "power-cut-rig"})
	must(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	must(t, errors.Join(os.Chmod(r.Directory(), 0o711), r.New("recorded", 0), r.Mount("recorded")))
	const user = 65534
	place := filepath.Join(r.Point(), "place")
	must(t, errors.Join(os.Mkdir(place, 0o700), os.Chown(place, user, user)))
	asUser := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "echo here > file && mkdir inner && echo there > inner/file && sync file . inner inner/file ..")
	asUser.Dir = place
	if output, err := asUser.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	events, err := r.Stop("recorded")
	must(t, errors.Join(err, r.Unmount()))
	_, err = r.Cut("cut", Cut{Of: "recorded", At: len(events), Keep: KeepNone})
	must(t, errors.Join(err, r.Mount("cut")))
	for _, name := range []string{"place", "place/file", "place/inner", "place/inner/file"} {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(r.Point(), name), &stat); err != nil || stat.Uid != user ||
			stat.Gid != user {
			t.Errorf("%s is of user %d, group %d: %v", name, stat.Uid, stat.Gid, err)
		}
	}
	must(t, r.Unmount())
}
