package read

import (
	"reflect"

	"assay/internal/experiment"
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

// usualThreads are those where the file gives none: one, and of agents so many that each has as many, in
// any number of them that the file lists.
func (r *resolver) usualThreads() TasksForm {
	agents := r.file.Agents
	numbers := agents.Numbers
	if len(numbers) == 0 {
		numbers = []int{max(experiment.CountAgents(agents.Places), defaultThreads)}
	}
	threads := defaultThreads
	for _, number := range numbers {
		for one := threads; threads%number != 0 && threads <= trace.ThreadsMax; {
			threads += one
		}
	}
	return TasksForm{Threads: Count(threads)}
}
