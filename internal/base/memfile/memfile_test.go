package memfile

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The attacker opens the file by the path that a worker gets.
//
// Fault (conductor): a worker truncates its trace or counters file
// Assay: EPERM, since the files are sealed memory; the trial goes on
// With: run.TestEachMisbehaviourIsCaught, c.TestConformance/null-c
func TestSealedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		seal  func(*os.File) error
		write error
	}{"size": {SealSize, nil}, "all": {SealAll, unix.EPERM}} {
		t.Run(name, func(t *testing.T) {
			file, err := Create("test")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := errors.Join(Allocate(file, 1<<16), c.seal(file)); err != nil {
				t.Fatal(err)
			}
			other, err := os.OpenFile(file.Name(), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			for _, size := range []int64{0, 4096, 1 << 20} {
				if err := other.Truncate(size); !errors.Is(err, unix.EPERM) {
					t.Errorf("truncated to %d: %v", size, err)
				}
			}
			if _, err := other.WriteAt([]byte("x"), 0); !errors.Is(err, c.write) {
				t.Errorf("write: %v, want %v", err, c.write)
			}
			if _, err := unix.FcntlInt(other.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); !errors.Is(err, unix.EPERM) {
				t.Errorf("another seal: %v", err)
			}
			if info, err := file.Stat(); err != nil || info.Size() != 1<<16 {
				t.Errorf("size %d, %v", info.Size(), err)
			}
		})
	}
}

// What was opened again is the same file, under a name of its own, and stays when it is closed.
func TestAgain(t *testing.T) {
	file, err := Create("test")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("all"), 0); err != nil {
		t.Fatal(err)
	}
	again, err := Again(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(again.Name())
	if err != nil || string(content) != "all" || again.Name() == file.Name() {
		t.Errorf("%s has %q, %v", again.Name(), content, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file.Name()); err != nil {
		t.Error(err)
	}
}
