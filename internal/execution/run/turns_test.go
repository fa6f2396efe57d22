package run

import (
	"math"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// Threads 1 to 3 do what is given; thread 0 does step(i) operations up to sample i of ten, one a second.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name   string
		file   func(f *trace.Thread)
		mine   func(second int) uint64
		others uint64 // each second
		want   *record.Starved
	}{
		{"every thread goes on", nil, func(s int) uint64 { return uint64(s) }, 1000, nil},
		{"never a turn", nil, func(int) uint64 { return 0 }, 1000, &record.Starved{Threads: 1, Seconds: 10, Others: 10_000}},
		{"none any more", nil, func(s int) uint64 { return uint64(min(s, 4)) }, 1000,
			&record.Starved{Threads: 1, BeganS: 4, Seconds: 6, Others: 6000}},
		{"none for a while", nil, func(s int) uint64 { return uint64(max(min(s, 2), s-5)) }, 1000,
			&record.Starved{Threads: 1, BeganS: 2, Seconds: 5, Others: 5000}},
		{"all are slow", nil, func(int) uint64 { return 0 }, 9, nil},
		{"all stand still", nil, func(s int) uint64 { return uint64(min(s, 1)) }, 0, nil},
		{"a short wait", nil, func(s int) uint64 { return uint64(max(s, 2)) }, 1000, nil},
		{"it has done all", func(f *trace.Thread) { f.Limit = 3 }, func(s int) uint64 { return uint64(min(s, 3)) }, 1000, nil},
		{"it has nothing to do", func(f *trace.Thread) { f.Entries = nil }, func(int) uint64 { return 0 }, 1000, nil},
		{"its time is over", func(f *trace.Thread) { f.UntilNS = 2e9 }, func(s int) uint64 { return uint64(min(s, 2)) }, 1000, nil},
		{"its time comes late", func(f *trace.Thread) { f.FromNS = 8e9 }, func(s int) uint64 { return uint64(max(s, 8) - 8) }, 1000, nil},
		{"late, and then no turn", func(f *trace.Thread) { f.FromNS = 5e9 }, func(int) uint64 { return 0 }, 1000,
			&record.Starved{Threads: 1, BeganS: 5, Seconds: 5, Others: 5000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := &trace.File{Threads: make([]trace.Thread, 4)}
			for i := range file.Threads {
				file.Threads[i].Entries = make([]trace.Entry, 1)
			}
			if c.file != nil {
				c.file(&file.Threads[0])
			}
			turns := newTurns(file)
			for s := range 11 {
				n := c.others * uint64(s)
				turns.look([]uint64{c.mine(s), n, n, n}, float64(s))
			}
			got := turns.result(10)
			if short := newTurns(file); c.name == "never a turn" { // of a phase of 0.9 s
				short.look([]uint64{0, 1000, 1000, 1000}, 0.9)
				if s := short.result(0.9); s != nil {
					t.Errorf("a wait that the machine may have made: %+v", s)
				}
			}
			if (got == nil) != (c.want == nil) || got != nil && (got.Threads != c.want.Threads ||
				got.BeganS != c.want.BeganS ||
				got.Seconds != c.want.Seconds || math.Abs(got.Others-c.want.Others) > 1) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
