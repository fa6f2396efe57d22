package fsync_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/drivers/internal/fsync"
)

func TestSyncsAFolderOfFiles(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(directory, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A name that leads nowhere is what a file deleted between listing and opening looks like.
	if err := os.Symlink("nowhere", filepath.Join(directory, "gone")); err != nil {
		t.Fatal(err)
	}
	for name, sync := range map[string]func(string) error{
		"Files": fsync.Files, "Directory": fsync.Directory, "Filesystem": fsync.Filesystem,
	} {
		if err := sync(directory); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := sync(filepath.Join(directory, "absent")); err == nil {
			t.Errorf("%s of a folder that is not there told no error", name)
		}
	}
}

func TestReportsAFileThatCannotBeOpened(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may open every file, so that no file is unreadable")
	}
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "locked"), nil, 0o000); err != nil {
		t.Fatal(err)
	}
	if err := fsync.Files(directory); err == nil {
		t.Error("a file that could not be synced was passed over in silence")
	}
}
