package badger_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	engine "github.com/dgraph-io/badger/v4"

	"assay/drivers/badger"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// TestBatchLimitIsTheLibrarys takes batches of the claimed bytes, of many small records and of few large
// ones, by default and with another memtable. Of a batch of twice as many nothing is taken.
func TestBatchLimitIsTheLibrarys(t *testing.T) {
	driver := badger.Driver{}
	for _, memtable := range []string{"64MiB", "16MiB"} {
		given := map[string]string{"memtable_bytes": memtable}
		d, err := driver.Describe().WithOptions(given)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []int{0, 20000} {
			_, h := drivertest.Open(t, driver, drivertest.Config(t, d, store.D1, given))
			batch := func(n int) []store.Write {
				writes := make([]store.Write, n)
				for i := range writes {
					writes[i].Key, writes[i].Value = binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, value)
				}
				return writes
			}
			batcher, most := h.(store.Batcher), d.BatchFits(4+value)
			if err := batcher.Apply(batch(2 * most)); !errors.Is(err, engine.ErrTxnTooBig) {
				t.Errorf("memtable %s: a batch of %d records of %d bytes: %v", memtable, 2*most, value, err)
			}
			if _, err := h.Get([]byte{0, 0, 0, 1}, nil); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("a part of a refused batch is there: %v", err)
			}
			if err := batcher.Apply(batch(most)); err != nil {
				t.Errorf("memtable %s: a batch of %d records of %d bytes: %v", memtable, most, value, err)
			}
		}
	}
}

func TestReservedKeysAndLargeValues(t *testing.T) {
	driver := badger.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D1, map[string]string{"value_log_file_bytes": "2MiB", "value_threshold_bytes": "1KiB"})
	_, h := drivertest.Open(t, driver, c)
	if err := h.Put([]byte("!badger!key"), nil); err == nil {
		t.Error("a reserved key was taken")
	}
	for name, size := range map[string]int{"in the tree": 1000, "in the value log": 2000, "large": 2<<20 - 100} {
		if err := h.Put([]byte(name), []byte(strings.Repeat("v", size))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := h.Get([]byte(name), nil); err != nil || len(got) != size {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if err := h.Put([]byte("too large"), make([]byte, 2<<20+1)); err == nil {
		t.Error("a value larger than a value log file was taken")
	}
}

// A power cut may leave a log without a byte, which the library would not open.
func TestEmptyLogsAreRemoved(t *testing.T) {
	driver := badger.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D3, nil)
	s, err := driver.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Put([]byte("key"), []byte("value")), h.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"00009.mem", "000009.vlog"} {
		if err := os.WriteFile(filepath.Join(c.Directory, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := engine.Open(engine.DefaultOptions(c.Directory).WithLogger(nil)); err == nil {
		t.Error("the library opens them by itself now: the driver need not")
		_ = again.Close()
	}
	for _, name := range []string{"00009.mem", "000009.vlog"} { // what the library has made of them
		if err := os.Truncate(filepath.Join(c.Directory, name), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	_, h = drivertest.Open(t, driver, c)
	if got, err := h.Get([]byte("key"), nil); err != nil || string(got) != "value" {
		t.Errorf("%q, %v", got, err)
	}
}
