package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/riakstandin"
)

const riakRun = `name: carts
stores:
  - driver: riak
    worker: WORKER
    endpoints: [ENDPOINTS]
    options: {client: CLIENT, allow_mult: ALLOW_MULT, operation_timeout: 1m}
durability: CLASS
threads: 4
records: 200
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: 100}
phases:
  - {name: load, load: true}
  - {name: cart, mix: {read: 2, update: 2, read_modify_write: 4, insert: 1}, operations: 1500}
  - {name: deletes, mix: {read: 2, upsert: 2, delete: 1, insert: 1}, operations: 800}
`

// runRiak runs an experiment on a stand-in.
func runRiak(
	t *testing.T, experiment string, c *riakstandin.Cluster, class, client, allowMult string,
) []*record.Trial {
	t.Helper()
	var endpoints []string
	for _, endpoint := range c.Endpoints {
		endpoints = append(endpoints, "'"+endpoint+"'")
	}
	text := strings.NewReplacer("WORKER", fmt.Sprintf("['%s', worker]", os.Args[0]),
		"ENDPOINTS", strings.Join(endpoints, ", "), "CLASS", class, "CLIENT", client,
		"ALLOW_MULT", allowMult).Replace(experiment)
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(context.Background(), text, directory); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	var trials []*record.Trial
	for _, trial := range run.Trials {
		if trial.Plan.Store == 0 { // the A/A arm is the same store
			trials = append(trials, trial)
		}
	}
	if len(trials) == 0 {
		t.Fatal("no trial of riak")
	}
	return trials
}

// notAccused is for trials of which only the machine may be said to be at fault.
func notAccused(t *testing.T, trial *record.Trial) {
	t.Helper()
	accuses := func(m finding.Mark) bool { return !m.Machine() }
	if slices.ContainsFunc(trial.Marks, accuses) || trial.Error != "" {
		t.Errorf("%s: %s %v", trial.Plan.ID, trial.Error, trial.Marks)
	}
}

// A truthful cluster is not accused, and a trial leaves none of its records there, and all of others.
func TestRiakIsNotAccused(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, one := range []struct{ class, client, allowMult string }{
		{"D0", "lean", "true"}, {"D4", "lean", "default"}, {"D0", "riak-go-client", "default"},
	} {
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			t.Parallel()
			c := riakstandin.Start(t, 3)
			bucket := "assay"
			if one.allowMult != "default" {
				bucket += "-allow_mult=" + one.allowMult
			}
			c.Store(bucket, "foreign", "value")
			c.Store(bucket, "000000000007", "our")
			for _, trial := range runRiak(t, riakRun, c, one.class, one.client, one.allowMult) {
				notAccused(t, trial)
			}
			if c.Counts().PutsWithVClock == 0 {
				t.Error("no put after a get of its key sent the vector clock")
			}
			if n := c.Keys(bucket); n != 2 {
				t.Errorf("%d records are left, and 2 were others'", n)
			}
		})
	}
}

// Writes that a cluster acknowledges and drops mark the trial.
func TestRiakThatDropsWritesIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	c := riakstandin.Start(t, 3)
	puts := 0
	c.SetLie(func(r riakstandin.Request, w io.Writer) bool {
		if r.Code != riakstandin.Put {
			return false
		}
		if puts++; puts%50 != 0 {
			return false
		}
		_, _ = w.Write(riakstandin.Message(12, nil))
		return true
	})
	for _, trial := range runRiak(t, riakRun, c, "D0", "lean", "default") {
		seen := func(m finding.Mark) bool {
			return m.Code == finding.MarkLost || m.Code == finding.MarkReadbackLost
		}
		if trial.State != record.Marked || !slices.ContainsFunc(trial.Marks, seen) {
			t.Errorf("%s: %s %v", trial.Plan.ID, trial.State, trial.Marks)
		}
	}
}

// What nodes refuse is counted as errors, each once: nothing is tried again in secret.
func TestRiaksRefusalsAreCounted(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	c := riakstandin.Start(t, 3)
	puts, refused := 0, uint64(0)
	c.SetLie(func(r riakstandin.Request, w io.Writer) bool {
		if r.Code != riakstandin.Put {
			return false
		}
		if puts++; puts%40 != 0 {
			return false
		}
		refused++
		_, _ = w.Write(riakstandin.Error("overload"))
		return true
	})
	var counted uint64
	for _, trial := range runRiak(t, riakRun, c, "D0", "lean", "default") {
		for _, phase := range trial.Phases {
			for _, operation := range phase.Operations {
				counted += operation.Errors
			}
		}
	}
	if counted != refused || refused == 0 {
		t.Errorf("%d puts were refused, %d errors counted", refused, counted)
	}
}

// The last phase only reads: what the one before it wrote is old by its end.
const staleRun = `name: stale
stores: [{driver: riak, worker: WORKER, endpoints: [ENDPOINTS], options: {operation_timeout: 1m}}]
durability: CLASS
threads: 4
records: 50
blocks: 2
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: 100}
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 2, update: 1}, operations: 3000}
  - {name: quiet, mix: {read: 1}, operations: 400}
`

// Reads that return what was there before are counted, and are no fault of a store that promises no
// more.
func TestRiaksStaleReadsAreCounted(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	c := riakstandin.Start(t, 3)
	const soon = 20 // requests
	type write struct {
		before, value []byte
		at            int
	}
	written, requests, lies := map[string]write{}, 0, 0
	c.SetLie(func(r riakstandin.Request, w io.Writer) bool {
		requests++
		last := written[r.Key]
		switch {
		case r.Code == riakstandin.Put:
			written[r.Key] = write{last.value, r.Value, requests}
		case r.Code == riakstandin.Get && last.before != nil && requests-last.at < soon:
			lies++
			_, _ = w.Write(riakstandin.Found([][]byte{riakstandin.Content(last.before, 1, false)}, nil))
			return true
		}
		return false
	})
	var stale uint64
	for _, trial := range runRiak(t, staleRun, c, "D0", "", "") {
		notAccused(t, trial)
		for _, phase := range trial.Phases {
			if phase.History != nil {
				stale += phase.History.Stale
			}
		}
	}
	if stale == 0 || stale > uint64(lies) {
		t.Errorf("%d reads were stale, %d were counted", lies, stale)
	}
}
