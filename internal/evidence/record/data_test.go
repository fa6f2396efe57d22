package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/evidence/record"
)

func TestDataDirectories(t *testing.T) {
	for _, where := range []string{"in the run directory", "under a root of the user's"} {
		t.Run(where, func(t *testing.T) {
			directory, root := t.TempDir(), ""
			if where != "in the run directory" {
				root = t.TempDir()
				write(t, filepath.Join(root, "other"), "the user's")
			}
			w := create(t, directory)
			data, err := w.DataDirectory(root, "b1-001-a")
			if err != nil {
				t.Fatal(err)
			}
			if entries, err := os.ReadDir(data); err != nil || len(entries) != 0 {
				t.Fatalf("not an empty directory: %v, %v", entries, err)
			}
			write(t, filepath.Join(data, "000001.sst"), "data")
			outside := t.TempDir()
			write(t, filepath.Join(outside, "precious"), "")
			if err := os.Symlink(outside, filepath.Join(data, "link")); err != nil {
				t.Fatal(err)
			}

			// A try that was interrupted is removed by the next one.
			mustClose(t, w)
			w, _, err = record.Resume(directory)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			again, err := w.DataDirectory(root, "b1-001-a")
			if err != nil || again != data {
				t.Fatalf("%s, %v; want %s again", again, err, data)
			}
			if entries, _ := os.ReadDir(again); len(entries) != 0 {
				t.Fatalf("the earlier try's files are still there: %v", entries)
			}
			if err := w.RemoveData("b1-001-a"); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Dir(data)); err == nil {
				t.Error("not removed")
			}
			if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
				t.Errorf("a symbolic link was followed: %v", err)
			}
			if root != "" {
				if _, err := os.Stat(filepath.Join(root, "other")); err != nil {
					t.Errorf("the user's file: %v", err)
				}
			}
		})
	}
}

func TestRemoveDataRefuses(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "precious"), "")
	cases := map[string]struct {
		change func(place string)
		parts  []string
	}{
		"no marker": {
			func(place string) { os.Remove(filepath.Join(place, ".assay-data")) }, []string{"no .assay-data", "won't remove"},
		},
		"another run's marker": {
			func(place string) { write(t, filepath.Join(place, ".assay-data"), `{"run":"0123","trial":"b1-001-a"}`) },
			[]string{`of run "0123"`, "won't remove"},
		},
		"another trial's marker": {
			func(place string) {
				text, _ := os.ReadFile(filepath.Join(place, ".assay-data"))
				write(t, filepath.Join(place, ".assay-data"), strings.Replace(string(text), "b1-001-a", "b1-002-a-aa", 1))
			},
			[]string{`trial "b1-002-a-aa"`, "won't remove"},
		},
		"a damaged marker": {func(place string) { write(t, filepath.Join(place, ".assay-data"), `{`) }, []string{".assay-data:1"}},
		"a marker that is a link": {
			func(place string) {
				os.Rename(filepath.Join(place, ".assay-data"), filepath.Join(place, "real"))
				os.Symlink("real", filepath.Join(place, ".assay-data"))
			},
			[]string{"no .assay-data"},
		},
		"a link in its place": {
			func(place string) {
				text, _ := os.ReadFile(filepath.Join(place, ".assay-data"))
				write(t, filepath.Join(outside, ".assay-data"), string(text))
				os.RemoveAll(place)
				os.Symlink(outside, place)
			},
			[]string{"not a directory", "won't remove"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := create(t, t.TempDir())
			defer w.Close()
			data, err := w.DataDirectory("", "b1-001-a")
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(data, "file"), "")
			c.change(filepath.Dir(data))
			wantError(t, w.RemoveData("b1-001-a"), c.parts...)
			_, err = w.DataDirectory("", "b1-001-a")
			wantError(t, err, c.parts...)
			if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
				t.Fatal("it followed the link out of the run directory")
			}
			if name != "a link in its place" {
				if _, err := os.Stat(filepath.Join(data, "file")); err != nil {
					t.Error("it removed files before it refused")
				}
			}
		})
	}
}

func TestDataDirectoryRefuses(t *testing.T) {
	directory := t.TempDir()
	w := create(t, directory)
	defer w.Close()
	_, err := w.DataDirectory("", "../../x")
	wantError(t, err, "not in the plan")
	_, err = w.DataDirectory(filepath.Join(directory, "mistyped"), "b1-001-a")
	wantError(t, err, "no such file")
	_, err = w.DataDirectory(filepath.Join(directory, "run.json"), "b1-001-a")
	wantError(t, err, "not a directory")
	wantError(t, w.RemoveData("b1-001-a"), "has no data directory")
	if err := os.Symlink(t.TempDir(), filepath.Join(directory, "data")); err != nil {
		t.Fatal(err)
	}
	_, err = w.DataDirectory("", "b1-001-a")
	wantError(t, err, "not a directory of the run's own")
}

// A kill while the marker is written leaves it empty. What else may stand beside such a file is not
// Assay's.
func TestCleanDataWhoseMarkerWasNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		marker  string
		beside  string
		removed bool
	}{
		"empty":              {"", "", true},
		"empty, with a file": {"", "notes.txt", false},
		"cut off":            {`{"run":`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			place := filepath.Join(t.TempDir(), "place")
			if err := os.Mkdir(place, 0o755); err != nil {
				t.Fatal(err)
			}
			files := map[string]string{".assay-data": c.marker}
			if c.beside != "" {
				files[c.beside] = "mine"
			}
			for name, text := range files {
				write(t, filepath.Join(place, name), text)
			}
			err := record.CleanData(place)
			left, _ := os.ReadDir(place)
			if removed := err == nil && left == nil; removed != c.removed || !removed && len(left) != len(files) {
				t.Errorf("%v; left %v", err, left)
			}
		})
	}
}
