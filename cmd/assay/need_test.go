package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// vast needs more disk than there is anywhere.
const vast = `name: vast
stores: [bbolt]
records: 1e13
durability: D1
phases:
  - {name: load, load: true, batch: 100}
  - {name: read, mix: {read: 1}, for: 100ms}
blocks: 1
`

func TestTooSmallDiskIsReportedBeforeTheRun(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, flags := range [][]string{nil, {"--data", directory}, {"--out", filepath.Join(directory, "not", "there")}} {
		plan := assayIn(t, directory, vast, append([]string{"run", "-", "--dry-run"}, flags...)...)
		plan.wants(t, 0)
		wantParts(t, "the plan", plan.stdout, "\nWarning: in ", "may need up to about 3480 TB of disk", " are free", "--data")
		if len(flags) > 0 {
			wantParts(t, "the plan", plan.stdout, "Warning: in "+directory+",")
		}
	}
	small := assayIn(t, directory, strings.Replace(vast, "1e13", "1000", 1), "run", "-", "--dry-run")
	small.wants(t, 0)
	wantParts(t, "the plan of a small one", small.stdout, "about 348 kB of data for a trial", "preallocate", "logs")
	if strings.Contains(small.stdout, "Warning") {
		t.Errorf("a warning of 348 kB: %s", small.stdout)
	}
	memory := assayIn(t, directory, strings.NewReplacer("bbolt", "memory", "D1", "D0").Replace(vast), "run", "-", "--dry-run")
	memory.wants(t, 0)
	if strings.Contains(memory.stdout, "Warning") || strings.Contains(memory.stdout, "Disk:") {
		t.Errorf("a store in memory has no files: %s", memory.stdout)
	}
}

func TestMemoryLimitThatBoundsNothingIsReported(t *testing.T) {
	t.Parallel()
	limited := strings.Replace(vast, "1e13", "1000", 1) + "memory_limit: [64MiB, 900TiB]\n"
	p := assayIn(t, t.TempDir(), limited, "run", "-", "--dry-run")
	p.wants(t, 0)
	wantParts(t, "the plan", p.stdout, "Warning: a memory_limit of 900 TiB has no effect")
	small := assayIn(t, t.TempDir(), strings.Replace(limited, ", 900TiB", "", 1), "run", "-", "--dry-run")
	small.wants(t, 0)
	if strings.Contains(small.stdout, "Warning") {
		t.Errorf("a warning of 64 MiB: %s", small.stdout)
	}
}

// It is a warning: the run begins anyway, and goes on after it was stopped.
func TestRunWarnsOfADiskThatIsTooSmall(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	for _, arguments := range [][]string{{written(t, "vast.yaml", vast), "--out", directory}, {"--resume", directory}} {
		p := start(t, nil, append([]string{"run", "--plain", "--no-html"}, arguments...)...)
		p.shows(t, "Rate: ")
		p.send(t, syscall.SIGINT)
		e := p.end(t)
		e.wants(t, exitTrials, "assay: warning: in "+filepath.Dir(directory), "3480 TB", "--data")
		if warned, began := strings.Index(e.stderr, "assay: warning: "), strings.Index(e.stderr, "Run: "); began < 0 || warned > began {
			t.Errorf("the warning does not come before the run:\n%s", e.stderr)
		}
		readable(t, directory)
	}
}
