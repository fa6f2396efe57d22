package run

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/store"
)

// keepsakeFile names the environment variable with the file in which the driver keepsake keeps its
// first trial's data.
const keepsakeFile = "ASSAY_TEST_KEEPSAKE"

// keepsake keeps what its first trial wrote and drops every write of later ones, whose values are
// the same but for the trial's tag.
type keepsake struct{}

func (keepsake) Describe() store.Description {
	return store.Description{Name: "keepsake", Summary: "keeps its first trial's data for ever", Licence: "NONE", Kind: store.Memory, HandlesShareable: true,
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}}
}

func (keepsake) Open(context.Context, store.Config) (store.Store, error) {
	s := &keepsakeStore{records: map[string][]byte{}}
	file, err := os.Open(os.Getenv(keepsakeFile))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s.kept = true
	return s, gob.NewDecoder(file).Decode(&s.records)
}

type keepsakeStore struct {
	mu      sync.Mutex
	records map[string][]byte
	kept    bool
}

func (s *keepsakeStore) Handle() (store.Handle, error) { return keepsakeHandle{s}, nil }
func (s *keepsakeStore) Settings() map[string]string   { return nil }

func (s *keepsakeStore) Close() error {
	if s.kept || len(s.records) == 0 {
		return nil
	}
	file, err := os.Create(os.Getenv(keepsakeFile))
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(file).Encode(s.records), file.Close())
}

type keepsakeHandle struct{ of *keepsakeStore }

func (h keepsakeHandle) Close() error { return nil }

func (h keepsakeHandle) Get(key, _ []byte) ([]byte, error) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	value, ok := h.of.records[string(key)]
	if !ok {
		return nil, store.ErrNotFound
	}
	return value, nil
}

func (h keepsakeHandle) Put(key, value []byte) error {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if !h.of.kept {
		h.of.records[string(key)] = append([]byte(nil), value...)
	}
	return nil
}

func (h keepsakeHandle) Delete(key []byte) error { return nil }

// All trials write the same keys, versions and bodies: only the tag tells the data of the first
// from that of the others.
//
// Fault (values): a server keeps the first trial's data and drops every write of the next
// Assay: `values-of-another-trial` (`operations`, `readback`), by the trial's tag in each value
func TestDataOfAnotherTrialIsFound(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	text := fmt.Sprintf(`name: kept
stores: [{driver: keepsake, worker: [env, '%s=%s', '%s', worker]}]
records: 100
values: {bytes: 60}
durability: D0
threads: 1
phases:
  - {name: load, load: true}
  - {name: read, mix: {read: 1}, operations: 200}
blocks: 2
busy_machine: tell
verify_records: 50
`, keepsakeFile, filepath.Join(t.TempDir(), "kept"), os.Args[0])
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(t.Context(), text, directory); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	first, tags := true, map[uint32]bool{}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if planned.Arm == "null" || trial == nil || trial.Final == nil {
			continue
		}
		if trial.Tag == 0 || tags[trial.Tag] {
			t.Errorf("%s has the tag %d, as another trial has", planned.ID, trial.Tag)
		}
		tags[trial.Tag] = true
		var foreign, marks uint64
		for _, p := range trial.Phases {
			for _, o := range p.Operations {
				foreign += o.Foreign
			}
		}
		for _, m := range trial.Marks {
			if m.Code == finding.MarkOtherTrial || m.Code == finding.MarkReadbackOther {
				marks++
			}
		}
		switch {
		case first && (foreign > 0 || trial.Final.Foreign > 0 || len(codes(trial)) > 0):
			t.Errorf("the first trial is accused: %d, %+v, %v", foreign, trial.Final, trial.Marks)
		case !first && (foreign != 200 || trial.Final.Foreign != 50 || marks != 2):
			t.Errorf("%s: %d foreign reads, %+v, %v", planned.ID, foreign, trial.Final, trial.Marks)
		}
		first = false
	}
	if len(tags) < 2 {
		t.Errorf("only %d trials of the store were run", len(tags))
	}
}
