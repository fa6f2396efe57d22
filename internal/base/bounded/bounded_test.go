package bounded_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/internal/base/bounded"
)

func TestRead_bound(t *testing.T) {
	for length, fits := range map[int]bool{0: true, 99: true, 100: true, 101: false, 5000: false} {
		data, err := bounded.Read(strings.NewReader(strings.Repeat("x", length)), 100)
		if (err == nil) != fits || fits && len(data) != length || !fits && !errors.Is(err, bounded.ErrTooMuch) {
			t.Errorf("%d bytes of at most 100: %d, %v", length, len(data), err)
		}
	}
}

// Fault (conductor): an experiment's file never ends (`/dev/zero`)
// Assay: at most 1 MiB of it is read, and it is refused
// With: main.TestRun_a_file_that_never_ends
func TestReadFile_that_never_ends(t *testing.T) {
	if _, err := bounded.ReadFile("/dev/zero", 1<<20); !errors.Is(err, bounded.ErrTooMuch) || !strings.Contains(err.Error(), "/dev/zero") {
		t.Errorf("got %v", err)
	}
}

// A program that prints for ever is ended long before its time is over, also if it hears no signal
// that a closed pipe sends.
//
// Fault (conductor): a program that is asked for its version never stops printing
// Assay: killed once it has printed 64 KiB
func TestOutput_of_a_program_that_never_stops_printing(t *testing.T) {
	for _, script := range []string{"yes 1.2.3", "trap '' PIPE; while :; do echo 1.2.3 || :; done 2>&1", "yes >&2"} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		text, err := bounded.Output(exec.CommandContext(ctx, "sh", "-c", "exec 2>&1; "+script))
		if !errors.Is(err, bounded.ErrTooMuch) || ctx.Err() != nil || len(text) != 64<<10 {
			t.Errorf("%s: %d bytes, %v, %v", script, len(text), err, ctx.Err())
		}
		cancel()
	}
	if text, err := bounded.Output(exec.Command("sh", "-c", "echo out; echo err >&2; exit 3")); string(text) != "out\nerr\n" || err == nil {
		t.Errorf("%q, %v", text, err)
	}
}
