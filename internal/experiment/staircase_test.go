package experiment

import (
	"slices"
	"testing"
	"time"

	"assay/internal/experiment/trace"
)

// At each moment as many threads work as the step asks for, and the last that began ends first.
func TestSpansOfAStaircase(t *testing.T) {
	const second = time.Second
	steps := []ThreadStep{{2, second}, {4, second}, {1, second}, {3, second}}
	want := []trace.WorkSpan{{}, {UntilNS: 2e9}, {FromNS: 1e9, UntilNS: 2e9}, {FromNS: 1e9, UntilNS: 2e9},
		{FromNS: 3e9}, {FromNS: 3e9}}
	if got := Spans(steps, false); !slices.Equal(got, want) {
		t.Errorf("spans %+v, want %+v", got, want)
	}
	ended := Spans(steps, true)
	for _, i := range []int{0, 4, 5} {
		want[i].UntilNS = 4e9
	}
	if !slices.Equal(ended, want) {
		t.Errorf("spans of a group %+v, want %+v", ended, want)
	}
	for i, s := range steps {
		working, at := 0, uint64(i)*1e9+5e8
		for _, span := range ended {
			if span.FromNS <= at && at < span.UntilNS {
				working++
			}
		}
		if working != s.Threads {
			t.Errorf("%d threads work in step %d, expected %d", working, i, s.Threads)
		}
	}
	p := Phase{Threads: len(want), Staircase: steps}
	if n := p.MostThreadsIn(Cell{}); n != 4 || len(p.Stretches()) != 4 || StaircaseText(steps) != "1 to 4 threads in 4 steps" {
		t.Errorf("most %d, %d stretches, %s", n, len(p.Stretches()), StaircaseText(steps))
	}
}
