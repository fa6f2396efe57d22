package badger

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// Small memtables are flushed and compacted, which badger tells in its log, and the levels are
// told, empty or not.
func TestEventsAndLevelsAreReported(t *testing.T) {
	driver := Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D1, map[string]string{"memtable_bytes": "256KiB", "value_threshold_bytes": "32KiB",
		"l0_compaction_tables": "2", "base_level_bytes": "256KiB", "base_table_bytes": "256KiB"})
	s, h := drivertest.Open(t, driver, c)
	inspect := func() map[string]float64 { return s.(store.Inspector).Inspect().Stats }
	for level := range 7 {
		if tables, told := inspect()["level"+strconv.Itoa(level)+"_tables"]; !told || tables != 0 {
			t.Errorf("level %d of an empty store: %v tables, %v", level, tables, told)
		}
	}
	for i := range uint64(5000) {
		if err := h.Put(binary.BigEndian.AppendUint64(nil, i*0x9e3779b97f4a7c15), make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	stats := inspect()
	for end := time.Now().Add(time.Minute); stats["compactions"] == 0 && time.Now().Before(end); stats = inspect() {
		time.Sleep(time.Millisecond)
	}
	for _, name := range []string{"flushes", "compactions", "level6_tables", "level6_bytes"} {
		if stats[name] <= 0 {
			t.Errorf("5 MB through memtables of 256 KiB, and %s is %v of %v", name, stats[name], stats)
		}
	}
}

func TestStallsAreAddedUp(t *testing.T) {
	var e events
	e.Infof(stallMessage, 1500*time.Millisecond)
	e.Infof(stallMessage, 2*time.Second)
	e.Infof("Lifetime L0 stalled for: %s\n", time.Hour)
	if e.stalls.Load() != 2 || e.stallNS.Load() != int64(3500*time.Millisecond) {
		t.Errorf("two stalls of 3.5 s: %d of %d ns", e.stalls.Load(), e.stallNS.Load())
	}
}

// The library still says what is listened to: a stall takes long to bring about, and a count of
// none looks like a good store.
func TestLibraryStillLogsStalls(t *testing.T) {
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/dgraph-io/badger/v4").Output()
	if err != nil {
		t.Fatalf("finding the library: %v", err)
	}
	for file, calls := range map[string][]string{
		"db.go":     {"Debugf(" + strconv.Quote(flushMessage)},
		"levels.go": {"Debugf(" + strconv.Quote(compactionMessage), "Infof(" + strconv.Quote(stallMessage) + ", dur.Round(time.Millisecond))"},
	} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			if !strings.Contains(string(text), call) {
				t.Errorf("%s has no %s any more", file, call)
			}
		}
	}
}
