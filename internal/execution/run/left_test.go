package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/drivers/memory"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/tell"
	"assay/store"
)

// filling stands for a server that refuses all writes once it is full, and goes on so: the file that its
// option names is that server's state.
type filling struct{ memory.Driver }

func (filling) Describe() store.Description {
	return store.Description{Name: "filling", Summary: "refuses writes once it is full", Licence: "NONE", Kind: store.Server,
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}, Abilities: store.Abilities{Inspect: true},
		Options: []store.Option{{Name: "state", Type: store.String}}}
}

func (d filling) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return &filled{Store: s, state: c.Options.String("state")}, err
}

type filled struct {
	store.Store
	state string
	puts  int
}

func (f *filled) Inspect() (told store.Inspection) {
	if _, err := os.Stat(f.state); err == nil {
		told.Left = []store.Left{{State: "it is full: all writes are refused", Undo: []string{"fillctl empty", "fillctl on"}}}
	}
	return told
}

func (f *filled) Handle() (store.Handle, error) {
	h, err := f.Store.Handle()
	return &fillingHandle{h, f}, err
}

type fillingHandle struct {
	store.Handle
	of *filled
}

func (h *fillingHandle) Put(key, value []byte) error {
	if h.of.puts++; h.of.puts > 100 {
		return errors.Join(errors.New("full"), os.WriteFile(h.of.state, nil, 0o600))
	}
	return h.Handle.Put(key, value)
}

// What a run leaves changed on a server that is not its own is reported, with what undoes it. Trials that
// would begin on it are refused with the same text. Of a server that is left as it was nothing is said.
//
// Fault (servers): a run leaves a named server in a state that outlasts it: etcd at its quota
// refuses all writes
// Assay: on the first screen, with the commands that undo it; trials and runs that would begin on
// it are refused. Before it, a quota that the loads may fill is warned of
// With: etcd.TestServerAtItsQuotaIsReported
func TestStateLeftOnAServerIsReported(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, c := range []struct {
		operations int
		left       bool
	}{{60, false}, {200, true}} {
		directory, state := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "state")
		text := strings.NewReplacer("DRIVER, worker:", fmt.Sprintf("filling, options: {state: %q}, endpoints: [%q], worker:", state, listener.Addr()), "WORKER",
			fmt.Sprintf("[%q, worker]", os.Args[0])).Replace(fmt.Sprintf(`name: left
stores: [{driver: DRIVER, worker: WORKER}]
records: 10
durability: D0
threads: 1
blocks: 2
busy_machine: tell
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, operations: %d}
`, c.operations))
		if _, err := runIn(text, directory, ""); err != nil {
			t.Fatal(err)
		}
		run, err := record.Open(directory)
		if err != nil {
			t.Fatal(err)
		}
		var left, refused int
		for _, planned := range run.Plan {
			trial := run.Trials[planned.ID]
			left += len(trial.Left)
			if trial.State == record.Refused {
				refused++
				if want := "it is full: all writes are refused, until you run: fillctl empty; fillctl on"; trial.Error != want {
					t.Errorf("refused with %q; expected %q", trial.Error, want)
				}
			}
		}
		if (left > 0) != c.left || (refused > 0) != c.left {
			t.Errorf("%d operations: %d states left, %d trials refused", c.operations, left, refused)
		}
		result, err := tell.Result(run)
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(result.Findings,
			func(f finding.Finding) bool { return f.Code == finding.ServerLeft })
		if told != c.left {
			t.Errorf("%d operations: told %v", c.operations, told)
		}
	}
}
