package pogreb_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	engine "github.com/akrylysov/pogreb"

	"assay/drivers/pogreb"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// crash copies the files of an open store, as a killed process would leave them, to a new
// directory.
func crash(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestWritesAfterARecoverySurviveTheNextCrash has a crash that leaves half a record behind, synced
// writes after it, and one more crash.
func TestWritesAfterARecoverySurviveTheNextCrash(t *testing.T) {
	driver := pogreb.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D3, nil)
	_, h := drivertest.Open(t, driver, c)
	put(t, h, "first")
	c.Directory = crash(t, c.Directory)
	tear(t, c.Directory)
	_, h = drivertest.Open(t, driver, c)
	put(t, h, "second")
	c.Directory = crash(t, c.Directory)
	_, h = drivertest.Open(t, driver, c)
	for _, prefix := range []string{"first", "second"} {
		if lost := missing(t, h, prefix); lost > 0 {
			t.Errorf("%d of %d synced writes of the %s session are lost", lost, records, prefix)
		}
	}
}

// TestLibraryAloneLosesRecords says when the driver's second opening is needed no more.
func TestLibraryAloneLosesRecords(t *testing.T) {
	options := &engine.Options{BackgroundSyncInterval: -1}
	open := func(directory string) *engine.DB {
		db, err := engine.Open(directory, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	}
	directory := t.TempDir()
	put(t, open(directory), "first")
	directory = crash(t, directory)
	tear(t, directory)
	put(t, open(directory), "second")
	db := open(crash(t, directory))
	if value, err := db.Get([]byte("second 0")); err != nil || value != nil {
		t.Errorf("got %q, %v: this version of pogreb recovers rightly, so that the driver need not open twice", value, err)
	}
}

const records = 100

func put(t *testing.T, h interface{ Put(key, value []byte) error }, prefix string) {
	t.Helper()
	for i := range records {
		if err := h.Put(fmt.Appendf(nil, "%s %d", prefix, i), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
}

func missing(t *testing.T, h store.Handle, prefix string) (lost int) {
	t.Helper()
	for i := range records {
		_, err := h.Get(fmt.Appendf(nil, "%s %d", prefix, i), nil)
		if errors.Is(err, store.ErrNotFound) {
			lost++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return lost
}

// tear appends half a record: key and value lengths, and a part of the key.
func tear(t *testing.T, directory string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(directory, "*.psg"))
	if err != nil || len(segments) != 1 {
		t.Fatal("expected one segment: ", segments, err)
	}
	f, err := os.OpenFile(segments[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte{5, 0, 200, 0, 0, 0, 't', 'o', 'r'})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
