package host

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The tests write where the package stands: the system's directory for temporary files is often
// memory, which has no page cache to drop.
func onDisk(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp(".", "pagecache-test-")
	if err != nil {
		t.Skipf("no directory on a disk: %v", err)
	}
	var filesystem unix.Statfs_t
	if err := unix.Statfs(directory, &filesystem); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	if filesystem.Type == unix.TMPFS_MAGIC {
		t.Skip("the source stands in memory, which has no page cache to drop")
	}
	return directory
}

func TestDroppedPagesAreGone(t *testing.T) {
	directory := onDisk(t)
	below := filepath.Join(directory, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	const size = 4 << 20
	for _, path := range []string{filepath.Join(directory, "a"), filepath.Join(below, "b"), filepath.Join(directory, "empty")} {
		content := bytes.Repeat([]byte{7}, size)
		if filepath.Base(path) == "empty" {
			content = nil
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, err := PagesOf(directory)
	if err != nil {
		t.Fatal(err)
	}
	if before.FileBytes != 2*size || before.ResidentBytes < size {
		t.Fatalf("what was just written should be in memory: %+v", before)
	}
	after, err := DropPages(directory)
	if err != nil {
		t.Fatal(err)
	}
	if after.FileBytes != 2*size || after.ResidentBytes > size/4 {
		t.Errorf("%+v after dropping, %+v before", after, before)
	}
	if _, err := os.ReadFile(filepath.Join(below, "b")); err != nil {
		t.Fatal(err)
	}
	if again, err := PagesOf(directory); err != nil || again.ResidentBytes < size {
		t.Errorf("what was read should be back in memory: %+v, %v", again, err)
	}
}

func TestDirectoryThatIsNotThereHasNoPages(t *testing.T) {
	if got, err := DropPages(filepath.Join(t.TempDir(), "gone")); err != nil || got != (PageCache{}) {
		t.Errorf("%+v, %v", got, err)
	}
}
