package experiment

import (
	"fmt"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment/trace"
)

// ThreadStep is how many threads of closed load work for a while.
type ThreadStep struct {
	Threads  int           `json:"threads"`
	Duration time.Duration `json:"duration_ns"`
}

// Spans returns when threads work so that the steps have as many as they ask for: of those that work, the
// last that began ends first. until says that the last step ends before its phase does; otherwise its
// threads go on to the phase's end.
func Spans(steps []ThreadStep, until bool) (spans []trace.WorkSpan) {
	var working []int
	var at time.Duration
	for _, s := range steps {
		for len(working) > s.Threads {
			last := len(working) - 1
			spans[working[last]].UntilNS = uint64(at)
			working = working[:last]
		}
		for len(working) < s.Threads {
			working = append(working, len(spans))
			spans = append(spans, trace.WorkSpan{FromNS: uint64(at)})
		}
		at += s.Duration
	}
	if until {
		for _, i := range working {
			spans[i].UntilNS = uint64(at)
		}
	}
	return spans
}

// MostThreadsIn returns how many threads of a part of a phase work at once at most, in a cell.
func (p Phase) MostThreadsIn(c Cell) (threads int) {
	for _, part := range p.Parts() {
		n, _ := part.TasksIn(c)
		if len(part.Staircase) > 0 {
			n = 0
			for _, s := range part.Staircase {
				n = max(n, s.Threads)
			}
		}
		threads += n
	}
	return threads
}

// StaircaseText says how many threads work: "1 to 16 threads in 16 steps".
func StaircaseText(steps []ThreadStep) string {
	if len(steps) == 0 {
		return ""
	}
	least, most := steps[0].Threads, steps[0].Threads
	for _, s := range steps {
		least, most = min(least, s.Threads), max(most, s.Threads)
	}
	return fmt.Sprintf("%d to %s in %s", least, format.Plural(most, "thread", ""), format.Plural(len(steps), "step", ""))
}

func lastingSteps(steps []ThreadStep, share float64) (all []ThreadStep) {
	for _, s := range steps {
		s.Duration = max(time.Duration(share*float64(s.Duration)), 1)
		all = append(all, s)
	}
	return all
}
