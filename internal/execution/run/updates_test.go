package run

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/drivers/memory"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/store"
)

// swallowing is the map of driver memory, which does not do every tenth swap that it acknowledges.
type swallowing struct{ memory.Driver }

const swallowedEvery = 10

func (swallowing) Describe() store.Description {
	return store.Description{Name: "swallowing", Summary: "stands in for another", Licence: "NONE", Kind: store.Memory, HandlesShareable: true,
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}, Abilities: store.Abilities{CompareAndSwap: true}}
}

func (d swallowing) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return &swallower{Store: s}, err
}

type swallower struct {
	store.Store
	lock  sync.Mutex
	swaps int
}

func (s *swallower) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return swallowingHandle{h, s}, err
}

type swallowingHandle struct {
	store.Handle
	of *swallower
}

func (h swallowingHandle) CompareAndSwap(key, old, value []byte) error {
	h.of.lock.Lock()
	defer h.of.lock.Unlock()
	now, err := h.Get(key, nil)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return store.ErrConflict
	}
	if h.of.swaps++; h.of.swaps%swallowedEvery == 0 {
		return nil
	}
	return h.Put(key, value)
}

// What is lost is counted exactly: none where each record has one writer, and of a store that drops
// acknowledged swaps each one, which marks the trial.
func TestLostUpdatesAreCounted(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	text := anExperiment("swallowing", "['"+os.Args[0]+"', worker]", "durability: D1", "durability: D0", "records: 200", "records: 40")
	begin, end := strings.Index(text, "  - {name: look"), strings.Index(text, "blocks: 1")
	text = text[:begin] + `  - {name: own, request: [read, {update: 300, adds: 3}], order: sequential, operations: 2000}
  - {name: swap, request: [read, {compare_and_swap: 300, adds: 2}], order: uniform, operations: 2000}
  - {name: blind, request: [{update: 100}, read], order: uniform, operations: 200}
` + text[end:]
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(t.Context(), text, directory); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for id, trial := range run.Trials {
		for _, p := range trial.Phases {
			if p.Load {
				continue
			}
			checked++
			steps := map[string]uint64{}
			for _, o := range p.Steps {
				steps[o.Name] = o.OK
			}
			u := p.History.Updates
			switch p.Name {
			case "own":
				if u == nil || u.Keys != 40 || u.Done != steps["update"] || u.Lost+u.Atomic.Lost != 0 || u.Items != 3*u.Done || u.ItemsLost != 0 || u.Undecided != 0 {
					t.Errorf("%s, one writer a record: %+v", id, u)
				}
				if len(p.Operations) != 1 || p.Operations[0].Name != "request" || p.Operations[0].OK != 2000 || p.Attempted != 2000 || steps["read"] != 2000 {
					t.Errorf("%s: %+v %+v", id, p.Operations, p.Steps)
				}
			case "swap":
				if swaps := steps["compare_and_swap"]; u == nil || u.Atomic.Done != swaps || u.Atomic.Lost != swaps/swallowedEvery || u.Done != 0 ||
					u.Atomic.Items != 2*swaps || u.Atomic.ItemsLost != 2*u.Atomic.Lost {
					t.Errorf("%s, a store that drops swaps: %+v of %d", id, u, swaps)
				}
			case "blind":
				if u != nil {
					t.Errorf("%s: writes of clients that had not read: %+v", id, u)
				}
			}
		}
		var lost []finding.Code
		for _, m := range trial.Marks {
			if m.Phase == "swap" && m.Fault() == finding.FaultUpdates {
				lost = append(lost, m.Message.Code)
			}
		}
		// once, not as seen too
		if trial.State != record.Marked || !slices.Equal(lost, []finding.Code{finding.MarkAtomicLost}) {
			t.Errorf("%s is %s: %v", id, trial.State, trial.Marks)
		}
	}
	if checked != 3 {
		t.Errorf("%d phases were checked", checked)
	}
}

// A group of clients may do requests while others do not: each is counted by what it is made of.
func TestRequestsInAGroup(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	text := anExperiment("swallowing", "['"+os.Args[0]+"', worker]", "durability: D1", "durability: D0", "records: 200", "records: 40")
	begin, end := strings.Index(text, "  - {name: look"), strings.Index(text, "blocks: 1")
	text = text[:begin] + `  - name: beside
    groups:
      - {name: look, threads: 1, mix: {read: 1}, for: 600ms}
      - {name: cart, threads: 2, request: [read, {compare_and_swap: 300, adds: 2}], order: uniform, rate: 2000, operations: 1000}
` + text[end:]
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(t.Context(), text, directory); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, "swallowing")
	if !slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool { return m.Message.Code == finding.MarkAtomicLost && m.Phase == "beside" }) {
		t.Errorf("marks %v", trial.Marks)
	}
	if len(trial.Phases) != 2 || len(trial.Phases[1].Groups) != 2 {
		t.Fatalf("%s, marks %v", trial.Error, trial.Marks)
	}
	p := trial.Phases[1]
	look, cart := p.Groups[0], p.Groups[1]
	if names(look.Operations) != "read" || len(look.Steps) > 0 || look.Attempted != look.Operations[0].OK || look.Operations[0].Response != nil {
		t.Errorf("look: %d attempted, %+v, steps %+v", look.Attempted, look.Operations, look.Steps)
	}
	if names(cart.Operations) != "request" || names(cart.Steps) != "read compare_and_swap" || cart.Attempted != 1000 || cart.Operations[0].Done() != 1000 || cart.Steps[0].OK != 1000 {
		t.Errorf("cart: %d attempted, %+v, steps %+v", cart.Attempted, cart.Operations, cart.Steps)
	}
	if names(p.Operations) != "read request" || names(p.Steps) != "read compare_and_swap" || p.Attempted != look.Attempted+1000 ||
		p.Operations[0].OK != look.Operations[0].OK || p.Steps[0].OK != 1000 || names(p.Calls()) != "read read compare_and_swap" {
		t.Errorf("the phase: %d attempted, %+v, steps %+v", p.Attempted, p.Operations, p.Steps)
	}
	swaps := cart.Steps[1].OK
	if u := p.History.Updates; u == nil || u.Atomic.Done != swaps || u.Atomic.Lost != swaps/swallowedEvery ||
		u.Atomic.ItemsLost != 2*u.Atomic.Lost {
		t.Errorf("of %d swaps, each tenth lost: %+v", swaps, u)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	inSamples := map[string]uint64{}
	for _, planned := range run.Plan {
		for _, s := range run.Samples(planned.ID, "") {
			for k, g := range s.Groups {
				inSamples[p.Groups[k].Name] += g.Operations
				s.Operations -= g.Operations
			}
			if s.Phase == "beside" && s.Operations != 0 {
				t.Errorf("a sample has %d operations that no group has", s.Operations)
			}
		}
	}
	if n := inSamples["beside · cart"]; n == 0 || n > 1000 {
		t.Errorf("the samples have %d requests", n)
	}
}

func names(operations []record.Operation) string {
	var all []string
	for _, o := range operations {
		all = append(all, o.Name)
	}
	return strings.Join(all, " ")
}
