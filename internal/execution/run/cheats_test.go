package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay/drivers/memory"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/store"
)

// cheat is a client of the map of driver memory that is faster than an honest one can be, or hides
// what went wrong.
type cheat struct {
	memory.Driver
	name string
	put  func(h *cheatHandle, n uint64, key, value []byte) error
	keep bool // each handle answers a read of a key that it knows from what it keeps itself
}

// cheats are clients as they are found: an error is logged and not returned, and a set is sent and its
// answer not read.
var cheats = []cheat{
	{name: "swallows-errors", put: func(h *cheatHandle, n uint64, key, value []byte) error {
		if err := h.send(n, key, value); err != nil {
			return nil // it has logged it
		}
		return nil
	}},
	{name: "tells-errors", put: func(h *cheatHandle, n uint64, key, value []byte) error { return h.send(n, key, value) }},
	{name: "refuses-in-load", put: func(h *cheatHandle, n uint64, key, value []byte) error {
		if n == 100 {
			return errors.New("Txn is too big to fit into one request")
		}
		return h.Handle.Put(key, value)
	}},
	{name: "loses-of-thousand", put: func(h *cheatHandle, n uint64, key, value []byte) error {
		if n%1000 == 0 {
			return nil
		}
		return h.Handle.Put(key, value)
	}},
	{name: "answers-from-cache", keep: true, put: func(h *cheatHandle, _ uint64, key, value []byte) error {
		h.kept[string(key)] = slices.Clone(value)
		return h.Handle.Put(key, value)
	}},
}

func (d cheat) Describe() store.Description {
	return store.Description{Name: d.name, Summary: "a client that cheats", Licence: "NONE", Kind: store.Memory,
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}}
}

func (d cheat) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return &cheated{Store: s, cheat: d}, err
}

type cheated struct {
	store.Store
	cheat cheat
	puts  atomic.Uint64
}

func (s *cheated) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return &cheatHandle{h, s, map[string][]byte{}}, err
}

type cheatHandle struct {
	store.Handle
	of   *cheated
	kept map[string][]byte
}

func (h *cheatHandle) Get(key, buf []byte) ([]byte, error) {
	if value, known := h.kept[string(key)]; known {
		return append(buf[:0], value...), nil
	}
	value, err := h.Handle.Get(key, buf)
	if err == nil && h.of.cheat.keep {
		h.kept[string(key)] = slices.Clone(value)
	}
	return value, err
}

func (h *cheatHandle) Put(key, value []byte) error {
	return h.of.cheat.put(h, h.of.puts.Add(1), key, value)
}

// send fails in one of 200 once the records are loaded: the record is not stored then.
func (h *cheatHandle) send(n uint64, key, value []byte) error {
	if n > 5000 && n%200 == 0 {
		return errors.New("SERVER_ERROR out of memory storing object")
	}
	return h.Handle.Put(key, value)
}

const cheatingRun = `name: cheats
stores: [{driver: DRIVER, worker: [WORKER, worker]}]
durability: D0
threads: 2
records: 5000
verify_records: 5000
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: 100}
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, order: uniform, operations: 20000}
  - {name: both, mix: {read: 1, update: 1}, order: uniform, operations: 20000}
`

// A client that hides errors, and one that loses one set in a thousand, are caught by what the store
// gives back: records hold less than was acknowledged. One that answers from a cache of its own is
// caught by the histories of keys that another client changes. One that tells its errors is no liar.
//
// Fault (clients): a client logs an error and returns none
// Assay: `stale-values` or `lost-values` (`readback`). One that returns its errors is marked
// `errors` alone
// With: run.TestCheatingClientsAreCaught
//
// Fault (clients): a client does not do one set in a thousand
// Assay: `lost-values` or `stale-values` (`readback`), where `verify_records` reads enough back
// With: run.TestCheatingClientsAreCaught
//
// Fault (clients): a client answers reads from a cache of its own
// Assay: `stale-values` (`history`), where another client changes the keys. A cache for all clients
// of a process is not found but for its rate
// With: run.TestCheatingClientsAreCaught
func TestCheatingClientsAreCaught(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, want := range map[string]finding.Code{
		"swallows-errors":    finding.FaultStale,
		"loses-of-thousand":  finding.FaultStale,
		"answers-from-cache": finding.FaultStale,
		"tells-errors":       finding.FaultErrors,
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("WORKER", fmt.Sprintf("%q", os.Args[0]), "DRIVER", driver).Replace(cheatingRun)
			trial, _, _ := runCounted(t, text, driver, "")
			var faults []finding.Code
			for _, m := range trial.Marks {
				faults = append(faults, m.Fault())
			}
			if !slices.Contains(faults, want) {
				t.Errorf("not marked %s: %v", want, trial.Marks)
			}
			if lies := slices.Contains(faults, finding.FaultStale) || slices.Contains(faults, finding.FaultLost); driver == "tells-errors" && lies {
				t.Errorf("who tells its errors is marked %v", trial.Marks)
			}
		})
	}
}

// Of a load, one write that failed is enough: what follows would meet records that are not there. The
// trial says so in the store's words.
//
// Fault (servers): a part of a load fails
// Assay: the trial ends there, in the store's words (`load-failed`). A load's batches have at most
// the bytes that the driver says, and 64 MiB
// With: read.TestLoadsTakeTheBatchesThatAStoreHas, the kit's rule `batch`
func TestLoadThatFailsInPartEndsItsTrial(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := strings.NewReplacer("WORKER", fmt.Sprintf("%q", os.Args[0]), "DRIVER", "refuses-in-load").Replace(cheatingRun)
	if _, err := runIn(text, directory, ""); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, "refuses-in-load")
	if trial.State != record.Failed || trial.Cause != finding.CauseLoad || len(trial.Phases) != 1 ||
		!strings.Contains(trial.Error, "1 of 5,000 operations failed, most often with: Txn is too big") {
		t.Errorf("%s, %s, %d phases: %s", trial.State, trial.Cause, len(trial.Phases), trial.Error)
	}
}
