package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/drivers/memory"
	"assay/internal/evidence/record"
	"assay/store"
)

// idleClosing stands for a client whose connections a server has closed: the first read of each handle
// after so many fails, and it connects again. Without a limit each read fails.
type idleClosing struct {
	memory.Driver
	name string
	once bool
}

func (d idleClosing) Describe() store.Description {
	return store.Description{Name: d.name, Summary: "loses its connections", Licence: "NONE", Kind: store.Memory,
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}}
}

func (d idleClosing) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return idleClosed{s, d.once}, err
}

type idleClosed struct {
	store.Store
	once bool
}

func (s idleClosed) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return &idleHandle{Handle: h, once: s.once}, err
}

type idleHandle struct {
	store.Handle
	once  bool
	reads int
}

// Get fails in the handle's third read, or in each one from then on.
func (h *idleHandle) Get(key, buf []byte) ([]byte, error) {
	if h.reads++; h.reads == 3 || h.reads > 3 && !h.once {
		return nil, errors.New("the server closed the connection")
	}
	return h.Handle.Get(key, buf)
}

// The final check is not measured: what fails in it because a connection was gone is read again. A
// store that can't be read says so still.
//
// Fault (servers): a server closes idle connections before the final check
// Assay: what could not be read is read once more. In a phase such failures count
func TestFinalCheckReadsAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver string
		right  uint64
	}{{"closes-once", 100}, {"closes-always", 6}} {
		directory := filepath.Join(t.TempDir(), "run")
		if _, err := runIn(strings.NewReplacer("WORKER", fmt.Sprintf("[%q, worker]", os.Args[0]), "DRIVER", c.driver).Replace(`name: again
stores: [{driver: DRIVER, worker: WORKER}]
records: 100
verify_records: 100
durability: D0
threads: 2
blocks: 1
busy_machine: tell
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, operations: 10}
`), directory, ""); err != nil {
			t.Fatal(err)
		}
		run, err := record.Open(directory)
		if err != nil {
			t.Fatal(err)
		}
		trial := run.Trials[run.Plan[0].ID]
		if f := trial.Final; f == nil || c.right == 100 && (f.Right != 100 || f.Errors != 0) || c.right < 100 &&
			f.Right > c.right {
			t.Errorf("%s: %+v", c.driver, f)
		}
	}
}
