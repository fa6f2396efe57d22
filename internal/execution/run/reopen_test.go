package run

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/execution/control"
	"assay/internal/testkit/misbehave"
)

// After a load every store is synced, closed and opened again, whatever its weakest class:
// otherwise stores of one table are measured in different states. Only one in memory is not, for it
// would be empty.
func TestEachStoreIsOpenedAgainAfterTheLoad(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	again := []string{"open D1", "run", "sync", "close", "open"}
	for _, c := range []struct {
		driver, class string
		want          []string
	}{
		{misbehave.Honest, "D1", again}, // its weakest class
		{misbehave.Honest, "D3", again},
		{"memory", "D0", []string{"open D0", "run", "run"}},
	} {
		t.Run(c.driver+" "+c.class, func(t *testing.T) {
			t.Parallel()
			requests := filepath.Join(t.TempDir(), "requests")
			worker := fmt.Sprintf(`[sh, -c, 'tee "$0" | "$1" worker', %q, %q]`, requests, os.Args[0])
			text := anExperiment(c.driver, worker, "durability: D1", "durability: "+c.class)
			if _, err := runText(context.Background(), text, filepath.Join(t.TempDir(), "run")); err != nil {
				t.Fatal(err)
			}
			got := commandsOf(t, requests)
			want := slices.Clone(c.want)
			if want[len(want)-1] == "open" {
				want[len(want)-1] += " " + c.class
			}
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("the worker was asked for %v, expected to begin with %v", got, want)
			}
		})
	}
}

// commandsOf returns what opens, runs, syncs and closes a store among the requests that a worker
// got; opens with their class.
func commandsOf(t *testing.T, requests string) []string {
	t.Helper()
	file, err := os.Open(requests)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var commands []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r control.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		switch r.Command {
		case control.CommandOpen:
			commands = append(commands, strings.TrimSpace("open "+string(r.Open.Durability)))
		case control.CommandRun, control.CommandSync, control.CommandClose:
			commands = append(commands, r.Command)
		}
	}
	return commands
}
