package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"assay/drivers/memory"
	"assay/store"
)

// waits is the memory store, of which each operation ends no sooner than a given time after its
// begin: a version that is slower by what is known.
type waits struct{ memory.Driver }

func (waits) Describe() store.Description {
	d := memory.Driver{}.Describe()
	d.Name = "waits"
	d.Options = append(d.Options, store.Option{Name: "operation", Type: store.Duration, Default: "100us", Help: "how long each operation takes"})
	d.Abilities = store.Abilities{}
	return d
}

func (w waits) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := w.Driver.Open(ctx, c)
	return waiting{s, c.Options.Duration("operation")}, err
}

type waiting struct {
	store.Store
	operation time.Duration
}

func (w waiting) Handle() (store.Handle, error) {
	h, err := w.Store.Handle()
	return waitingHandle{h, w.operation}, err
}

type waitingHandle struct {
	store.Handle
	operation time.Duration
}

func (w waitingHandle) wait(begun time.Time) {
	for time.Since(begun) < w.operation {
	}
}

func (w waitingHandle) Get(key, buf []byte) ([]byte, error) {
	defer w.wait(time.Now())
	return w.Handle.Get(key, buf)
}

func (w waitingHandle) Put(key, value []byte) error {
	defer w.wait(time.Now())
	return w.Handle.Put(key, value)
}

func (w waitingHandle) Delete(key []byte) error {
	defer w.wait(time.Now())
	return w.Handle.Delete(key)
}

// versions runs two versions of one store, and returns what the report says of the second beside the
// first.
func versions(t *testing.T, second string, blocks int) (ratio struct {
	Value, Low, High float64
	Significant      bool
}) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	e := assay(t, "run", written(t, "versions.yaml", fmt.Sprintf(`name: versions
stores:
  - {driver: waits, name: old, worker: %[1]s}
  - {driver: waits, name: new, worker: %[1]s, options: {operation: %[2]s}}
baseline: old
records: 1000
durability: D0
phases:
  - {name: load, load: true}
  - {name: read, mix: {read: 1}, operations: 5000}
blocks: %[3]d
busy_machine: tell
`, hosted(), second, blocks)), "--out", directory)
	if e.status != 0 && e.status != exitTrials { // trials may be disturbed
		t.Fatalf("exit status %d\n%s", e.status, e.stderr)
	}
	var result struct {
		Tables []struct {
			Phase string
			Rows  []struct {
				Arm        string
				ToBaseline *struct {
					Value, Low, High float64
					Significant      bool
				} `json:"ratio_to_baseline"`
			}
		}
	}
	if err := json.Unmarshal([]byte(assay(t, "report", directory, "--format", "json").stdout), &result); err != nil {
		t.Fatal(err)
	}
	for _, table := range result.Tables {
		for _, row := range table.Rows {
			if table.Phase == "read" && row.Arm == "new" && row.ToBaseline != nil {
				return *row.ToBaseline
			}
		}
	}
	t.Fatalf("no ratio in %+v", result)
	return ratio
}

// A version that is slower by a tenth is found with enough blocks, by an interval that covers the tenth;
// of 20 comparisons of one version with itself at least 19 show no difference.
func TestKnownSlowdown(t *testing.T) {
	if os.Getenv("ASSAY_LONG") != "1" {
		t.Skip("SKIPPED: minutes of runs; ASSAY_LONG=1 makes them")
	}
	t.Run("a tenth", func(t *testing.T) {
		ratio := versions(t, "110us", 10)
		t.Logf("%+v", ratio)
		if !ratio.Significant || ratio.Low > 1/1.1 || ratio.High < 1/1.1 {
			t.Errorf("%+v, expected %.3f", ratio, 1/1.1)
		}
	})
	t.Run("none", func(t *testing.T) {
		found := 0
		for i := range 20 { // each by itself: a quiet machine is seldom had for so long
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				if ratio := versions(t, "100us", 4); ratio.Significant {
					found++
					t.Logf("%+v", ratio)
				}
			})
		}
		t.Logf("%d of 20 comparisons show a difference", found)
		if found > 1 {
			t.Errorf("%d of 20 comparisons of one version show a difference, expected at most 1", found)
		}
	})
}
