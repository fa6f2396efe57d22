package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Fault (conductor): Assay itself panics, or faults in a mapped file
// Assay: exit status 1 and a stack; in a goroutine other than the main one Go's own status, 2
func TestCrashExitsOne(t *testing.T) {
	for name, crash := range map[string]func() int{
		"panic": func() int { var trial *struct{ phases []int }; return trial.phases[0] },
		"fault": func() int { return int(truncatedMap(t)[4096]) },
	} {
		t.Run(name, func(t *testing.T) {
			if status := guarded(crash); status != exitFailed {
				t.Errorf("exit status %d, want %d", status, exitFailed)
			}
		})
	}
}

func truncatedMap(t *testing.T) []byte {
	file, err := os.Create(filepath.Join(t.TempDir(), "mapped"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(8192); err != nil {
		t.Fatal(err)
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, 8192, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(data) })
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	return data
}
