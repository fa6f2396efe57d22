package experiment

import (
	"cmp"
	"fmt"

	"assay/internal/base/format"
)

// TasksText says how many threads there are, and in how many processes; 0: in one.
func TasksText(threads, processes int) string {
	switch each := threads / max(processes, 1); {
	case processes == 0:
		return format.Plural(threads, "thread", "")
	case each == 1:
		return format.Plural(processes, "process", "")
	default:
		return fmt.Sprintf("%s of %s", format.Plural(processes, "process", ""), format.Plural(each, "thread", ""))
	}
}

// ProcessThreads returns how many threads each process has in a phase: a group whose clients are processes
// has these, and any other group beside it one of its own. Where none has processes, one does all.
func (p Phase) ProcessThreads(c Cell) (threads []int) {
	own := false
	for _, part := range p.Parts() {
		n, processes := part.TasksIn(c)
		own = own || processes > 0
		threads = append(threads, evenly(n, processes)...)
	}
	if !own {
		return []int{p.ThreadsIn(c)}
	}
	return threads
}

// ProcessNumbers returns which of the trial's processes does each of the shares that [Phase.ProcessThreads]
// lists; nil: the first the first, and so on.
func (p Phase) ProcessNumbers() (numbers []int) {
	for _, part := range p.Parts() {
		if part.On == nil {
			return nil // no part has
		}
		for i := range part.On.Count {
			numbers = append(numbers, part.On.First+i)
		}
	}
	return numbers
}

// TasksIn returns the threads of a part of a phase and their processes; 0: they need none of their
// own.
func (p Phase) TasksIn(c Cell) (threads, processes int) {
	if p.On != nil {
		return cmp.Or(p.Threads, c.Threads), p.On.Count
	}
	if p.Threads > 0 {
		return p.Threads, cmp.Or(p.Processes, c.Agents)
	}
	return c.Threads, c.Processes
}

// ProcessesIn returns how many processes the phase's clients are in a cell; 0: threads of one.
func (p Phase) ProcessesIn(c Cell) int {
	if layout := p.ProcessThreads(c); len(layout) > 1 {
		return len(layout)
	}
	if parts := p.Parts(); len(parts) == 1 {
		_, processes := parts[0].TasksIn(c)
		return processes
	}
	return 0
}

func evenly(threads, processes int) (each []int) {
	processes = max(processes, 1)
	for range processes {
		each = append(each, threads/processes)
	}
	return each
}

// ProcessThreads returns how many threads each process has at most in the phases of a cell. A load is done by
// the first process alone: see [Experiment.LoadThreads].
func (e *Experiment) ProcessThreads(c Cell) []int {
	widest := evenly(c.Threads, c.Processes)
	widen := func(p Phase) {
		numbers := p.ProcessNumbers()
		for i, n := range p.ProcessThreads(c) {
			if numbers != nil {
				i = numbers[i] // of an agent, each of which has a process
			}
			if i == len(widest) {
				widest = append(widest, 0)
			}
			widest[i] = max(widest[i], n)
		}
	}
	for _, p := range e.Phases {
		if p.whole != nil {
			p = Phase{Groups: p.whole}
		}
		if !p.Load {
			widen(p)
		}
	}
	if len(widest) == 1 {
		widest[0] = max(widest[0], e.LoadThreads(c))
	}
	return widest
}

// LoadThreads returns how many threads the load has in a cell; 0: there is none.
func (e *Experiment) LoadThreads(c Cell) int {
	for _, p := range e.Phases {
		if p.Load {
			return p.ThreadsIn(c)
		}
	}
	return 0
}
