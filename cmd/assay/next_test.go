package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// raced is a run of two stores that ran as race.yaml says, and came out in some way.
func raced(t *testing.T, shape func(*recordtest.Shape), change func(*record.Run), flags ...string) *record.Run {
	t.Helper()
	s := recordtest.Shape{Name: "race", Classes: []store.Durability{store.D3}, Blocks: 3, Seconds: 20, Seed: 3, AA: true, Ceiling: true}
	for _, name := range []string{"pebble", "bbolt"} {
		s.Arms = append(s.Arms, recordtest.Arm{Name: name, PutRate: 100e3, GetRate: 100e3, Noise: 0.03,
			BlockNoise: 0.005, DiskFactor: 1, RSSBytes: 90e6})
	}
	shape(&s)
	run := resulttest.Built(s)
	run.Environment.Command = append([]string{"assay", "run", "race.yaml"}, flags...)
	for _, flag := range flags {
		if limit, err := time.ParseDuration(strings.TrimPrefix(flag, "--time=")); err == nil {
			run.Experiment.Time = limit
		}
	}
	change(run)
	return run
}

// plannedBy is what the dry run of an offered command says.
type plannedBy struct {
	Phases []struct {
		Name    string
		Seconds float64
	}
	Estimate struct {
		Blocks, Blocks_max int
	}
	Notes []string
}

// Each command that the screen offers can be typed, and does what its sentence promises.
func TestOfferedCommandsDoWhatTheirSentenceSays(t *testing.T) {
	t.Parallel()
	noisy := func(s *recordtest.Shape) {
		for i := range s.Arms {
			s.Arms[i].BlockNoise = 0.08
		}
	}
	short := func(s *recordtest.Shape) { s.Seconds = 2 }
	one := func(s *recordtest.Shape) { s.Blocks = 1 }
	none := func(*record.Run) {}
	hurried := func(run *record.Run) {
		run.Experiment.HelpersOnce = true
		run.Experiment.Layout = []finding.Message{finding.New(finding.LayoutQuickParams{Helpers: true, Phases: true})}
	}
	for _, c := range []struct {
		name   string
		offers finding.Code
		run    *record.Run
	}{
		{"noise", finding.NextBlocks, raced(t, noisy, none)},
		{"noise within a time", finding.NextBlocks, raced(t, noisy, none, "--time", "3m")},
		{"one block", finding.NextEnoughBlocks, raced(t, one, none)},
		{"one block within a time", finding.NextEnoughBlocks, raced(t, one, none, "--blocks", "1", "--time", "3m")},
		{"short phases", finding.NextLonger, raced(t, short, none)},
		{"short phases within a time", finding.NextLonger, raced(t, short, none, "--time", "3m")},
		{"short phases of a hurry", finding.NextLonger, raced(t, short, hurried, "--time", "20s")},
		{"short phases and a setting", finding.NextLonger, raced(t, short, none, "--set", "phases.put.for=2s", "--time=3m")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			text := fmt.Sprintf("name: race\nstores: [pebble, bbolt]\nrecords: 1000\ndurability: D3\nblocks: %d\nphases:\n"+
				"  - {name: load, load: true, batch: 100}\n  - {name: put, mix: {update: 1}, for: 2s}\n  - {name: get, mix: {read: 1}, for: 2s}\n", c.run.Blocks())
			if err := os.WriteFile(filepath.Join(here, "race.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			next := resulttest.ResultOf(t, c.run).Summary.Next
			if !slices.ContainsFunc(next, func(n model.Next) bool { return n.Why.Code == c.offers }) {
				t.Fatalf("offered %+v, want %s", next, c.offers)
			}
			for _, n := range next {
				keeps(t, here, n)
			}
		})
	}
}

func keeps(t *testing.T, here string, n model.Next) {
	t.Helper()
	command := words(n.Command)
	if command[0] != "assay" {
		t.Fatalf("%s", n.Command)
	}
	if command[1] != "run" {
		return // a look that changes nothing
	}
	e := assayIn(t, here, "", append(command[1:], "--dry-run", "--json")...)
	e.wants(t, 0)
	var plan plannedBy
	if err := json.Unmarshal([]byte(e.stdout), &plan); err != nil {
		t.Fatal(err)
	}
	for _, note := range plan.Notes {
		if strings.Contains(note, "suffices") || strings.Contains(note, "shorter") || strings.Contains(note, "Left out") {
			t.Errorf("%s: %s", n.Command, note)
		}
	}
	if blocks, promised := n.Why.Params["blocks"].(int); promised && max(plan.Estimate.Blocks, plan.Estimate.Blocks_max) < blocks {
		t.Errorf("%s promises %d blocks and plans %+v", n.Command, blocks, plan.Estimate)
	}
	phases, _ := n.Why.Params["phases"].([]string)
	for _, name := range phases {
		for _, p := range plan.Phases {
			if asked := fmt.Sprintf("phases.%s.for=%gs", name, p.Seconds); p.Name == name && !slices.Contains(command, asked) {
				t.Errorf("%s promises a longer %s and plans %g s", n.Command, name, p.Seconds)
			}
		}
	}
	if len(phases) == 0 && n.Why.Code == finding.NextLonger {
		t.Errorf("%s: which phases?", n.Command)
	}
}
