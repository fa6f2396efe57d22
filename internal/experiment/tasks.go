package experiment

import (
	"cmp"
	"fmt"
	"reflect"

	"assay/internal/base/format"
	"assay/internal/experiment/trace"
)

// TasksForm is how many clients do a phase: 8 is so many threads of one process, {processes: 20} so
// many processes of one thread each, and {processes: 4, threads: 5} of five each.
type TasksForm struct {
	Processes Count `yaml:"processes"`
	Threads   Count `yaml:"threads"` // in each process
}

func (f *TasksForm) fromNode(n *node, path string) *Error {
	switch n.kind {
	case scalar:
		return f.Threads.fromNode(n, path)
	case null:
		return nil
	case list:
		return n.expected(path, countRange(path)+", or {processes: N}")
	}
	f.Threads = 1
	if err := decodeStruct(n, reflect.ValueOf(f).Elem(), path); err != nil {
		return err
	}
	if processes := n.field("processes"); processes != nil && f.Processes == 0 {
		return processes.expected(join(path, "processes"), countRange("processes"))
	}
	return nil
}

// total returns how many threads there are in all; more than a trace has are one more.
func (f TasksForm) total() int {
	processes := min(max(f.Processes, 1), trace.ProcessesMax+1)
	return int(min(min(f.Threads, trace.ThreadsMax+1)*processes, trace.ThreadsMax+1))
}

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

// tasks refuses what no trace has.
func (r *resolver) tasks(parts []string, threads, processes int) *Error {
	if processes > trace.ProcessesMax {
		return r.fail(parts, "processes must be 1 to %d, not %d", trace.ProcessesMax, processes)
	}
	if threads < 1 || threads > trace.ThreadsMax {
		return r.fail(parts, "threads must be 1 to %d", trace.ThreadsMax)
	}
	if processes > 0 && r.e.Clock == "tsc" {
		return r.fail([]string{"clock"}, "processes tell their times apart by CLOCK_MONOTONIC, which they share: not by tsc").
			hint("leave clock out")
	}
	return nil
}

// ProcessThreads returns how many threads each process has in a phase: a group whose clients are processes
// has these, and any other group beside it one of its own. Where none has processes, one does all.
func (p Phase) ProcessThreads(c Cell) (threads []int) {
	own := false
	for _, part := range p.Parts() {
		n, processes := part.tasksIn(c)
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

// tasksIn returns the threads of a part of a phase and their processes; 0: they need none of their
// own.
func (p Phase) tasksIn(c Cell) (threads, processes int) {
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
		_, processes := parts[0].tasksIn(c)
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
