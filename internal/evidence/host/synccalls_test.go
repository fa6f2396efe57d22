package host

import (
	"os"
	"path/filepath"
	"testing"
)

// Each sync of a file is counted, and a write without one is not.
func TestSyncCallsAreCounted(t *testing.T) {
	directory := t.TempDir()
	if err := CheckSyncCalls(directory); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	f, err := os.Create(filepath.Join(directory, "synced"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, syncs := range []int{0, 7} {
		c, err := NewSyncCalls([]int{os.Getpid()}, directory)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := f.WriteString("a"); err != nil {
				t.Fatal(err)
			}
			if i < syncs {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if calls, err := c.Done(); err != nil || calls != uint64(syncs) {
			t.Errorf("%d syncs: %d counted, %v", syncs, calls, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
