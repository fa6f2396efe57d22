package read

import (
	"fmt"
	"reflect"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// ClientsForm is how many clients do a phase or group: [TasksForm], or steps of closed load, one after
// the other.
type ClientsForm struct {
	TasksForm
	Steps []ThreadStepFile // none: TasksForm
}

// ThreadStepFile is a number of threads for a while, or one after the other from one number to another.
type ThreadStepFile struct {
	At   Count        `yaml:"at" jsonschema_description:"How many threads work."`
	For  DurationForm `yaml:"for" jsonschema_description:"How long they do. Default, of the last step: to the phase's end."`
	From Count        `yaml:"from" jsonschema_description:"In place of at: how many threads work at first."`
	To   Count        `yaml:"to" jsonschema_description:"How many work at last: with from, one more, or less, at a time."`
	Over DurationForm `yaml:"over" jsonschema_description:"How long that takes. Default, of the last step: to the phase's end."`
}

const threadStepForms = "{at: 8, for: 10s} or {from: 1, to: 16, over: 60s}"

func (f *ClientsForm) fromNode(n *node, path string) *Error {
	if n.kind != list {
		return f.TasksForm.fromNode(n, path)
	}
	if len(n.items) == 0 {
		return n.at.fail(path, "an empty list: expected at least one step").hint("expected %s", threadStepForms)
	}
	for i, item := range n.items {
		if item.kind != table {
			return item.expected(path, "a step of threads").
				hint("expected %s; numbers of threads to compare stand in threads of the whole experiment", threadStepForms)
		}
		var s ThreadStepFile
		if err := decodeStruct(item, reflect.ValueOf(&s).Elem(), join(path, fmt.Sprint(i))); err != nil {
			return err
		}
		f.Steps = append(f.Steps, s)
	}
	return nil
}

func (f *ClientsForm) changes() bool { return f != nil && len(f.Steps) > 0 }

func (f *ClientsForm) hasEnd() bool {
	last := f.Steps[len(f.Steps)-1]
	return last.For > 0 || last.Over > 0
}

// staircase resolves how many threads work when, and with that how long the phase lasts.
func (r workResolver) staircase(p PhaseFile, resolved *experiment.Phase) *Error {
	switch {
	case p.Load:
		return r.fail(r.in("threads"), "a load ends when every record is stored: its threads don't change")
	case p.Rate != nil:
		return r.fail(r.in("threads"), "threads that come and go are of closed load: beside a rate all wait for what is due").
			hint("expected a rate that changes, or no rate")
	case len(r.file.Agents.Places) > 0:
		return r.fail(r.in("threads"), "threads that come and go are of one process: agents do the phases here")
	}
	var sum time.Duration
	for i, s := range p.Threads.Steps {
		at := func(field ...string) []string { return r.in(append([]string{"threads", fmt.Sprint(i)}, field...)...) }
		stays := s.At > 0
		if stays == (s.From > 0 && s.To > 0) || stays && s.Over > 0 || !stays && s.For > 0 {
			return r.fail(at(), "a step of threads is one number for a while, or goes from one to another").hint("expected %s", threadStepForms)
		}
		length := time.Duration(max(s.For, s.Over))
		if length == 0 && i == len(p.Threads.Steps)-1 {
			length = resolved.Duration - sum
		}
		if length <= 0 {
			return r.fail(at(), "the step has no length").
				hint("expected for: DURATION, or over of a ramp, or for: DURATION in the phase %s, to whose end the last step goes on", p.Name)
		}
		sum += length
		if stays {
			resolved.Staircase = append(resolved.Staircase, experiment.ThreadStep{Threads: int(min(s.At,
				trace.ThreadsMax+1)), Duration: length})
			continue
		}
		from, to := int(min(s.From, trace.ThreadsMax+1)), int(min(s.To, trace.ThreadsMax+1))
		steps, up := max(to-from, from-to)+1, 1
		if to < from {
			up = -1
		}
		for k := range steps {
			each := length*time.Duration(k+1)/time.Duration(steps) - length*time.Duration(k)/time.Duration(steps)
			resolved.Staircase = append(resolved.Staircase, experiment.ThreadStep{Threads: from + k*up, Duration: each})
		}
	}
	switch {
	case resolved.Duration == 0:
		resolved.Duration = sum
	case resolved.Duration != sum:
		return r.fail(r.in("for"), "the steps of threads last %s, but the phase %s lasts %s", sum, p.Name, resolved.Duration).
			hint("leave for out, or the length of the last step: it then goes on to the phase's end")
	}
	if len(resolved.Staircase) > trace.SegmentsMax {
		return r.fail(r.in("threads"), "%d steps: at most %d", len(resolved.Staircase), trace.SegmentsMax)
	}
	resolved.Threads = len(experiment.Spans(resolved.Staircase, false))
	if resolved.Threads > trace.ThreadsMax {
		return r.fail(r.in("threads"), "%d threads work at some time: at most %d", resolved.Threads, trace.ThreadsMax)
	}
	return nil
}
