package plan_test

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/store"
)

// ceilings lists the ceilings that are planned for a cell in a block, in the order of their names,
// refused ones with "!".
func ceilings(trials []plan.Trial, block, cell int) (arms []string) {
	for _, t := range trials {
		if t.Role == plan.Ceiling && t.Block == block && t.Cell == cell {
			arm := t.Arm
			if t.Refuse != "" {
				arm += "!"
			}
			arms = append(arms, arm)
		}
	}
	slices.Sort(arms)
	return arms
}

func null(name string, classes ...store.Durability) experiment.Store {
	d := describe(store.Abilities{Scan: true}, classes...)
	d.Kind = store.None
	return experiment.Store{Name: name, Driver: name, Worker: []string{"./" + name}, Description: d}
}

func TestEachWorkerHasItsCeilingOnceInEachBlockAndCell(t *testing.T) {
	all := []store.Durability{store.D0, store.D1, store.D3}
	hostedBy := func(s *experiment.Store, ceiling string) { s.Worker, s.Ceiling = []string{"./" + s.Name}, ceiling }
	for _, c := range []struct {
		name  string
		plant func(e *experiment.Experiment)
		want  [3]string // of block 1, by cell: D0 (a alone can), D1 (b and c.d can), D3 (all can)
		later string    // of block 2, cell D1
	}{
		{"Assay's own worker alone", func(*experiment.Experiment) {}, [3]string{"null", "null", "null"}, "null"},
		{"two stores of one other worker share theirs", func(e *experiment.Experiment) {
			hostedBy(&e.Stores[1], "null-c")
			hostedBy(&e.Stores[2], "null-c")
			e.Ceilings = []experiment.Store{null("null-c", all...)}
		}, [3]string{"null", "null null-c", "null null-c"}, "null null-c"},
		{"two other workers", func(e *experiment.Experiment) {
			hostedBy(&e.Stores[0], "null-c")
			hostedBy(&e.Stores[2], "nought")
			e.Ceilings = []experiment.Store{null("null-c", all...), null("nought", all...)}
		}, [3]string{"null null-c", "nought null", "nought null null-c"}, "nought null"},
		{"a worker without a null driver", func(e *experiment.Experiment) { hostedBy(&e.Stores[1], "") }, [3]string{"null", "null", "null"}, "null"},
		{"a null driver that can't do the cell is shown once", func(e *experiment.Experiment) {
			hostedBy(&e.Stores[1], "nought")
			e.Ceilings = []experiment.Store{null("nought", store.D3)}
		}, [3]string{"null", "nought! null", "nought null"}, "null"},
		{"a null driver that the file lists", func(e *experiment.Experiment) {
			hostedBy(&e.Stores[1], "null-c")
			e.Stores[2] = null("null-c", all...)
			e.Stores[2].Ceiling = "null-c"
		}, [3]string{"null null-c", "null null-c", "null null-c"}, "null null-c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := anExperiment()
			c.plant(e)
			trials := plan.Plan(e)
			for cell, want := range c.want {
				words := strings.Fields(want)
				slices.Sort(words)
				if got := ceilings(trials, 1, cell); !slices.Equal(got, words) {
					t.Errorf("cell %d has the ceilings %q, want %q", cell, got, words)
				}
			}
			words := strings.Fields(c.later)
			slices.Sort(words)
			if got := ceilings(trials, 2, 1); !slices.Equal(got, words) {
				t.Errorf("block 2 has the ceilings %q, want %q", got, words)
			}
			ids := map[string]bool{}
			for _, trial := range trials {
				if ids[trial.ID] {
					t.Errorf("two trials are named %s", trial.ID)
				}
				ids[trial.ID] = true
				if trial.Role == plan.AA && strings.HasPrefix(trial.Arm, "null") {
					t.Errorf("%s measures the noise with a null driver", trial.ID)
				}
			}
		})
	}
}
