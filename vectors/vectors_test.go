// Package vectors has no code: its test holds the files against the script that makes them.
package vectors

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestFilesMatchTheScript(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the vectors were not made again (the other packages' tests still use them)")
	}
	directory := t.TempDir()
	if out, err := exec.Command(python, "make_vectors.py", directory).CombinedOutput(); err != nil {
		t.Fatalf("make_vectors.py: %v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil || len(made) == 0 {
		t.Fatalf("the script made nothing (%v)", err)
	}
	kept, err := filepath.Glob("*.json")
	if err != nil || len(kept) != len(made) {
		t.Errorf("%d files are kept, the script makes %d (%v)", len(kept), len(made), err)
	}
	for _, file := range made {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Base(file))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what make_vectors.py makes", filepath.Base(file))
		}
	}
}
