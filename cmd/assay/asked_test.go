package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"assay/drivers/memory"
	"assay/store"
)

// asSet is a server whose settings, the option as, decide the one class that it gives; "": it gives none,
// whatever is asked.
type asSet struct{ memory.Driver }

func (asSet) Describe() store.Description {
	d := memory.Driver{}.Describe()
	d.Name, d.Kind, d.ServerSetsClass = "as-set", store.Server, true
	d.Durability = []store.DurabilityClaim{{Class: store.D0, How: "as it is set"}, {Class: store.D2, How: "as it is set"}, {Class: store.D3, How: "as it is set"}}
	d.Options = append(d.Options, store.Option{Name: "as", Type: store.String, Help: "the class"})
	return d
}

func (a asSet) Open(ctx context.Context, c store.Config) (store.Store, error) {
	switch as := c.Options.String("as"); {
	case as == "":
		return nil, fmt.Errorf("as-set is a replica: it takes no writes: %w", store.ErrRefused)
	case as != string(c.Durability):
		return nil, fmt.Errorf("as-set can't reach %s: its settings give %s; --sync would: %w", c.Durability, as, store.ErrRefused)
	}
	c.Durability = store.D0 // all that is behind it
	return a.Driver.Open(ctx, c)
}

// A server is asked before the plan: the class follows its settings, and one that it refuses ends the run
// before the first trial, with the server's own words where a result stands.
//
// Fault (conductor): a named server refuses the class that is asked for, or every class (a replica,
// a password, no slots)
// Assay: the run ends before its first trial, with the server's words
func TestNamedServerIsAskedBeforeThePlan(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := func(as, more string) string {
		return fmt.Sprintf("name: x\nstores: [{driver: as-set, worker: [%q, worker], endpoints: [%q], options: {as: %q}}]\n%s"+
			"records: 100\nblocks: 1\nbusy_machine: tell\nphases: [{name: put, mix: {upsert: 1}, for: 60ms}]\n", self, listener.Addr(), as, more)
	}
	t.Run("the class follows the settings", func(t *testing.T) {
		t.Parallel()
		directory := filepath.Join(t.TempDir(), "run")
		e := assayIn(t, "", file("D0", ""), "run", "-", "--out", directory, "--no-html")
		wantParts(t, "standard error", e.stderr, "durability: D0, the strongest class that all stores reach; as it is set, as-set can't reach D3", "--sync would\n")
		if run := fine(t, e, directory); run.Experiment.Cells[0].Durability != store.D0 {
			t.Errorf("it ran in %s", run.Experiment.Cells[0].Durability)
		}
	})
	t.Run("a server that gives the strongest is not accused", func(t *testing.T) {
		t.Parallel()
		e := assayIn(t, t.TempDir(), file("D3", ""), "run", "-", "--no-html")
		wantParts(t, "standard error", e.stderr, "durability: D3, the strongest class that all stores reach\n", "as-set D3") // which it only claims
	})
	for name, c := range map[string]struct{ as, more, want, next string }{
		"a class that it refuses": {"D0", "durability: D3\n", "as-set can't reach D3: its settings give D0; --sync would.\n", "assay run - --durability D0\n"},
		"every class":             {"", "", "as-set is a replica: it takes no writes.\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			e := assayIn(t, here, file(c.as, c.more), "run", "-")
			e.wants(t, exitTrials, "no trial was begun")
			wantParts(t, "standard output", e.stdout, "Nothing was measured:", c.want, c.next)
			if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
				t.Errorf("%v is left (%v)", left, err)
			}
			e = assayIn(t, here, file(c.as, c.more), "run", "-", "--json")
			e.wants(t, exitTrials, c.want[:len(c.want)-2])
			if e.stdout != "" {
				t.Errorf("JSON was asked for, and this is none: %q", e.stdout)
			}
		})
	}
}
