package record_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/internal/evidence/record"
)

// Runs are found two folders deep, not in hidden ones, and the newest is the one that was begun last.
func TestFindAndNewest(t *testing.T) {
	here := t.TempDir()
	if _, err := record.Newest(here); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	for _, name := range []string{"one", "results/two", "results/more/three", ".hidden/four"} {
		directory := filepath.Join(here, name)
		if err := os.MkdirAll(filepath.Dir(directory), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := create(t, directory).Close(); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for _, directory := range record.Find(here) {
		name, err := filepath.Rel(here, directory)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, name)
	}
	slices.Sort(found)
	if want := []string{"one", "results/two"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if newest, err := record.Newest(here); err != nil || newest != filepath.Join(here, "results/two") {
		t.Errorf("newest %s, %v", newest, err)
	}
}
