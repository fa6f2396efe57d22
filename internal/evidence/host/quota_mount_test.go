package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/base/mounts"
)

func mountsBelow(t *testing.T, directory string) (found []mounts.Mount) {
	t.Helper()
	seen, err := mounts.Seen()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range seen {
		if strings.HasPrefix(m.Point, directory+"/") {
			found = append(found, m)
		}
	}
	return found
}

func TestQuotaMountIsFullAtItsSizeAndGoesAway(t *testing.T) {
	t.Parallel()
	for _, by := range []string{QuotaLoop, QuotaTmpfs} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			if err := tryQuotaMount(directory, by); err != nil {
				t.Skipf("skipped: no %s mount is possible here: %v", by, err)
			}
			q := QuotaMount{By: by, Directory: directory, Bytes: 4 << 20}
			t.Cleanup(func() { q.Unmount() })
			if err := q.Mount(); err != nil {
				t.Fatal(err)
			}
			if found := mountsBelow(t, directory); len(found) != 1 || found[0].Point != q.Point() {
				t.Fatalf("mounts %+v", found)
			}
			file, err := os.Create(filepath.Join(q.Point(), "file"))
			if err != nil {
				t.Fatal(err)
			}
			written, err := file.Write(make([]byte, 8<<20))
			if !errors.Is(err, unix.ENOSPC) || written > 4<<20 || written < 1<<20 {
				t.Errorf("%d bytes were written: %v", written, err)
			}
			if by == QuotaLoop {
				if err := os.Remove(q.image()); err != nil { // as one may who cleans up by hand
					t.Error(err)
				}
			}
			// The file is still open: the mount is busy.
			if err := q.Unmount(); err != nil {
				t.Fatal(err)
			}
			if entries, err := os.ReadDir(directory); err != nil || len(entries) > 0 ||
				len(mountsBelow(t, directory)) > 0 {
				t.Errorf("left: %v, %v", entries, err)
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
			if err := q.Unmount(); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

func TestUnmountLeavesWhatOthersMounted(t *testing.T) {
	t.Parallel()
	for _, by := range []string{QuotaLoop, QuotaTmpfs} {
		directory := t.TempDir()
		q := QuotaMount{By: by, Directory: directory}
		if err := os.Mkdir(q.Point(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("another", q.Point(), "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("skipped: nothing can be mounted here: %v", err)
		}
		err := q.Unmount()
		if err == nil || !strings.Contains(err.Error(), "Assay did not make") || len(mountsBelow(t, directory)) != 1 {
			t.Errorf("%s: %v", by, err)
		}
		if err := unix.Unmount(q.Point(), 0); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckQuotaMountLeavesNothing(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	by, why, err := CheckQuotaMount(directory)
	t.Logf("%q %q %v", by, why, err)
	if (err == nil) != (by != "") {
		t.Errorf("by %q, %v", by, err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
