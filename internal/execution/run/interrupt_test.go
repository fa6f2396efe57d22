package run

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/testkit/misbehave"
	"assay/store"
)

// The first Ctrl-C ends whatever the worker is at. Had it to wait for the step, these tests would
// take an hour.
//
// Fault (conductor): Ctrl-C while the worker is in `open`, `prepare`, `run`, `inspect`, `sync` or
// `close`
// Assay: the step ends at once, a phase within 2 s; the trial is done again by `--resume`
//
// Fault (conductor): a run is interrupted or killed
// Assay: `interruptions` of run.json: when, and by which signal
// With: run.TestKillIsRecorded
func TestCtrlCIsHeardInEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"open", "prepare", "run", "inspect", "sync", "close"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			directory, reached := filepath.Join(root, "run"), filepath.Join(root, "reached")
			// The worker does not get the request of the step, and no further one.
			const deaf = `"$1" deaf "$2" "$3" | "$1" worker`
			worker := fmt.Sprintf("[sh, -c, %q, sh, %q, %q, %q]", deaf, os.Args[0], step, reached)
			text := anExperiment("bbolt", worker, "300s", "1h")
			e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() {
				for !exists(reached) {
					time.Sleep(time.Millisecond)
				}
				cancel(Stopped{"SIGTERM"})
			}()
			result, err := New(ctx, e, []byte(text), options(directory))
			if err != nil || !result.Interrupted {
				t.Fatalf("%+v, %v", result, err)
			}
			run, err := record.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			if n := run.Header.Interruptions; len(n) != 1 || n[0].Signal != "SIGTERM" || n[0].At.IsZero() {
				t.Errorf("interruptions %+v", n)
			}
			interrupted := 0
			for _, trial := range run.Trials {
				if trial.State == record.Interrupted {
					interrupted++
				}
			}
			if interrupted != 1 {
				t.Errorf("%d trials were interrupted", interrupted)
			}
		})
	}
}

// goDeaf passes requests on until that of a step, which it says that it has reached.
func goDeaf(step, reached string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if strings.Contains(lines.Text(), `"command":"`+step+`"`) {
			if err := os.WriteFile(reached, nil, 0o600); err != nil {
				panic(err)
			}
			time.Sleep(time.Hour)
		}
		fmt.Println(lines.Text())
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A resumed run says that it was killed, too.
func TestKillIsRecorded(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := anExperiment(misbehave.Honest, own())
	stopped, cancel := context.WithCancelCause(context.Background())
	cancel(Stopped{"SIGINT"})
	if _, err := runText(stopped, text, directory); err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(directory, "events.jsonl")
	lines, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Join(strings.SplitAfter(string(lines), "\n")[:1], "") // the end of the run was never written
	if err := os.WriteFile(events, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	header := filepath.Join(directory, "run.json")
	if lines, err = os.ReadFile(header); err != nil {
		t.Fatal(err)
	}
	cut, _, _ := strings.Cut(string(lines), `,
  "interruptions"`)
	if err := os.WriteFile(header, []byte(cut+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(stopped, options(directory)); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	n := run.Header.Interruptions
	if len(n) != 2 || n[0].Signal != record.SignalKilled || n[1].Signal != "SIGINT" || n[0].At.After(n[1].At) {
		t.Errorf("%+v", n)
	}
}
