package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/execution/phasefiles"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/testkit/misbehave"
	"assay/store"
)

// A trace that can't be made is Assay's failure: the run ends, and no store has failed.
func TestFailedTraceIsNotTheStoresFailure(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	result, err := runChanged(t, anExperiment(misbehave.Honest, own()), directory,
		func(e *experiment.Experiment) { e.Cells[0].Records = 1 << 40 })
	if err == nil || !strings.Contains(err.Error(), "not at fault") || !strings.Contains(err.Error(), "making the trace") ||
		strings.Contains(err.Error(), "EntriesMax") {
		t.Errorf("the run ended with %v", err)
	}
	if result.Failed > 0 {
		t.Errorf("a store has failed: %+v", result)
	}
}

// Nor is one for which there is no room.
func TestTraceWithoutRoomIsNotTheStoresFailure(t *testing.T) {
	err := phasefiles.CheckRoom(1 << 60)
	if err == nil || !strings.Contains(err.Error(), "free some memory") {
		t.Fatal(err)
	}
	if w := fmt.Errorf("phase load: %w", ownFault{err}); !errors.Is(w, errRunDirectory) || !errors.As(w, new(ownFault)) || !strings.HasSuffix(w.Error(), err.Error()) {
		t.Errorf("%v is not known for Assay's own", w)
	}
}

// runChanged runs an experiment that no file could give.
func runChanged(t *testing.T, text, directory string, change func(*experiment.Experiment)) (Result, error) {
	t.Helper()
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	change(e)
	return New(context.Background(), e, []byte(text), options(directory))
}
