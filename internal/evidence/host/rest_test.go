package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLeft_above_what_it_was(t *testing.T) {
	of := func(dirty, queue, cpu float64) Left { return Left{&dirty, &queue, &cpu} }
	before := of(100<<20, 0.1, 0.3)
	for _, c := range []struct {
		name string
		now  Left
		want []string
	}{
		{"back", of(50<<20, 0, 0.1), nil},
		{"about back", of(110<<20, 0.2, 0.35), nil},
		{"dirty pages", of(200<<20, 0, 0.1), []string{LeftDirty}},
		{"all", of(200<<20, 2, 0.9), []string{LeftDirty, LeftQueue, LeftCPU}},
		{"not measured", Left{}, nil},
	} {
		if got := c.now.Above(before); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	if got := before.Above(Left{}); got != nil {
		t.Errorf("above what was not measured: %q", got)
	}
}

// A kernel's files say what is left.
func TestRest_reads_the_kernels_files(t *testing.T) {
	r := roots{t.TempDir(), t.TempDir()}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(r.proc, "meminfo"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("MemTotal: 1000 kB\nDirty: 24 kB\nWriteback: 8 kB\n")
	rest := newRest(newSampler(r, "", os.Getpid()))
	if left := rest.Look(); left.DirtyBytes == nil || *left.DirtyBytes != 32<<10 || left.Queue != nil ||
		left.CPU != nil {
		t.Errorf("%+v", left)
	}
	real := NewRest(t.TempDir())
	if left := real.Look(); left.DirtyBytes == nil {
		t.Errorf("this machine's: %+v", left)
	}
}
