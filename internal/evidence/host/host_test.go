package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSeal(t *testing.T) {
	directory := t.TempDir()
	e := Seal(directory, []string{"assay", "run", "x"})
	for name, known := range map[string]bool{
		"go": e.Go != "", "kernel": strings.HasPrefix(e.Kernel, "Linux "), "cpus": e.CPUs > 0, "memory": e.MemoryBytes > 1<<20,
		"file system": e.Filesystem != "", "mount options": e.Mount != "", "device": e.Device != "", "host": e.Host != "",
		"fdatasync": e.SyncMicros > 0, "directory": e.Directory == directory, "command": len(e.Command) == 3, "assay": e.Assay != "",
	} {
		if !known {
			t.Errorf("%s is not known: %+v", name, e)
		}
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 0 {
		t.Errorf("something was left behind: %v, %v", entries, err)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Error(err)
	}
}

func TestSealOfAMissingDirectory(t *testing.T) {
	e := Seal(filepath.Join(t.TempDir(), "nowhere"), nil)
	if e.Filesystem != "" || e.Mount != "" || e.Device != "" || e.SyncMicros != 0 {
		t.Errorf("a directory that is not there has %+v", e)
	}
}

func TestChanges(t *testing.T) {
	was := Environment{Kernel: "Linux 6", Modules: map[string]string{"a": "v1", "b": "v1"}, SyncMicros: 3, Command: []string{"x"}}
	now := Environment{Kernel: "Linux 7", Modules: map[string]string{"a": "v2", "b": "v1", "c": "v1"}, SyncMicros: 4, Directory: "y"}
	want := []string{"a: v1 → v2", "c: not known → v1", "kernel: Linux 6 → Linux 7"}
	if got := Changes(was, now); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Changes(was, was); got != nil {
		t.Errorf("no change is %q", got)
	}
}

func TestVersionOf(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for want, info := range map[string]debug.BuildInfo{
		"(devel)": {},
		"v1.2.0":  {Main: debug.Module{Version: "v1.2.0"}},
		"(devel) (0123456789ab, modified)": {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			setting("vcs.revision", "0123456789abcdef"), setting("vcs.modified", "true")}},
		"v2.0.0 (01)": {Main: debug.Module{Version: "v2.0.0"}, Settings: []debug.BuildSetting{
			setting("vcs.revision", "01"), setting("vcs.modified", "false")}},
	} {
		if got := versionOf(&info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOSRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "os-release")
	if err := os.WriteFile(path, []byte("NAME=x\nPRETTY_NAME=\"Some OS 12\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := osRelease(path); got != "Some OS 12" {
		t.Errorf("got %q", got)
	}
	if got := osRelease(path + "x"); got != "" {
		t.Errorf("of no file: %q", got)
	}
}

func TestContainerOfCgroups(t *testing.T) {
	for text, want := range map[string]string{
		"0::/\n": "", "0::/init.scope\n": "", "4:memory:/docker/0123\n": "docker",
		"0::/kubepods.slice/docker-1.scope\n": "kubepods", "1:name=systemd:/lxc/a\n": "lxc",
	} {
		if got := containerOfCgroups(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestDiskUse(t *testing.T) {
	directory := t.TempDir()
	check := func(what string, bytesMin, bytesMax, wantFiles uint64) {
		t.Helper()
		bytes, files, err := DiskUse(directory)
		if err != nil || bytes < bytesMin || bytes > bytesMax || files != wantFiles {
			t.Errorf("%s: %d bytes in %d files, %v; want %d to %d bytes in %d files", what, bytes, files, err, bytesMin, bytesMax, wantFiles)
		}
	}
	const mega, slack = 1 << 20, 64 << 10
	check("empty", 0, 0, 0)
	full := filepath.Join(directory, "full")
	content := make([]byte, mega)
	for i := range content {
		content[i] = byte(i)
	}
	if err := os.WriteFile(full, content, 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(full)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil { // blocks may be allocated late
		t.Fatal(err)
	}
	check("a full file", mega, mega+slack, 1)
	sparse, err := os.Create(filepath.Join(directory, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	if err := sparse.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	check("a sparse file has no blocks", mega, mega+slack, 2)
	if err := os.Link(full, filepath.Join(directory, "second name")); err != nil {
		t.Fatal(err)
	}
	check("a second name", mega, mega+slack, 2)
	if err := os.Symlink("/usr", filepath.Join(directory, "link")); err != nil {
		t.Fatal(err)
	}
	check("a symbolic link is not followed", mega, mega+2*slack, 2)
	if _, _, err := DiskUse(filepath.Join(directory, "nowhere")); err != nil {
		// filepath.WalkDir gives the root's error, and a data directory that is gone is no
		// measurement.
		return
	}
	t.Error("a directory that is not there was measured")
}

func TestFreeBytes(t *testing.T) {
	directory := t.TempDir()
	if err := unix.Mount("assay-test", directory, "tmpfs", 0, "size=1m"); err == nil {
		defer unix.Unmount(directory, unix.MNT_DETACH)
		if free, err := FreeBytes(directory); err != nil || free != 1<<20 {
			t.Errorf("%d bytes free, %v", free, err)
		}
	} else {
		t.Logf("a small file system can't be mounted (needs root): %v", err)
		if free, err := FreeBytes(directory); err != nil || free == 0 {
			t.Errorf("%d bytes free, %v", free, err)
		}
	}
	if _, err := FreeBytes(filepath.Join(directory, "nowhere")); err == nil {
		t.Error("no error for a directory that is not there")
	}
}
