package owned

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "as-owner" {
		_, err := NewDirectory(os.Args[2], "test")
		fmt.Println("ready", err)
		time.Sleep(time.Hour)
	}
	state, err := os.MkdirTemp("", "assay-state-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(state)
	os.Exit(status)
}

func leftBelow(t *testing.T, directory string) (paths []string) {
	t.Helper()
	for _, note := range Left() {
		if filepath.Dir(note.Path) == directory {
			paths = append(paths, note.Path)
		}
		note.Keep()
	}
	return paths
}

func TestNotesOfRunningProcessesAreNotLeft(t *testing.T) {
	directory := t.TempDir()
	place, err := NewDirectory(directory, "test")
	if err != nil {
		t.Fatal(err)
	}
	if left := leftBelow(t, directory); len(left) > 0 || !IsTemporary(place.Path) {
		t.Errorf("left: %v", left)
	}
	if err := os.WriteFile(filepath.Join(place.Path, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := place.Remove(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) > 0 || len(leftBelow(t, directory)) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestNotesOfKilledProcessesAreLeft(t *testing.T) {
	directory := t.TempDir()
	owner := exec.Command(os.Args[0], "as-owner", directory)
	owner.Stderr = os.Stderr
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready <nil>\n" {
		t.Fatal(line, err)
	}
	if left := leftBelow(t, directory); len(left) > 0 {
		t.Errorf("left by the living: %v", left)
	}
	_ = owner.Process.Kill()
	_ = owner.Wait() // killed, as was wanted
	made, err := filepath.Glob(filepath.Join(directory, ".assay-*"))
	if left := leftBelow(t, directory); err != nil || len(made) != 1 || !slices.Equal(left, made) {
		t.Errorf("left %v, made %v, %v", left, made, err)
	}
}

// A bind mount has the device of the file system that it shows: only the mount table tells.
//
// Fault (left): something of the user's is mounted in a store's directory
// Assay: the directory is left, and reported
// With: run.TestMountInTheDataIsNotRemoved
func TestRemoveAllDoesNotEnterMounts(t *testing.T) {
	for _, place := range []string{"below", "on it", "with a space"} {
		t.Run(place, func(t *testing.T) {
			directory, precious := t.TempDir(), t.TempDir()
			tree := filepath.Join(directory, "tree")
			point := map[string]string{"below": filepath.Join(tree, "a", "b"), "on it": tree, "with a space": filepath.Join(tree, "a b")}[place]
			if err := os.MkdirAll(point, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(precious, "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount(precious, point, "", unix.MS_BIND, ""); err != nil {
				t.Skipf("skipped: nothing can be mounted here: %v", err)
			}
			err := RemoveAll(tree)
			if _, statErr := os.Stat(file); err == nil || statErr != nil {
				t.Errorf("%v, %v", err, statErr)
			}
			if err := unix.Unmount(point, 0); err != nil {
				t.Fatal(err)
			}
			if err := RemoveAll(tree); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoteWithoutTextIsNothing(t *testing.T) {
	where, err := directory()
	if err != nil {
		t.Fatal(err)
	}
	young, old := filepath.Join(where, "young.json"), filepath.Join(where, "old.json")
	for _, path := range []string{young, old} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	for _, note := range Left() {
		if note.path == young || note.path == old {
			t.Errorf("%+v", note.Thing)
		}
		note.Keep()
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("a note that is about to be written was taken away")
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an empty note stays")
	}
}
