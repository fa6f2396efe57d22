package run

import (
	"cmp"
	"errors"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/clients"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/server"
	"assay/store"
)

// outcome is what comes of a trial: its result, which grows with each phase, and for what it is
// marked.
type outcome struct{ record.Trial }

// memoryBytes is the memory that the trial may use; nil: it is not known.
func (o *outcome) memoryBytes() *uint64 {
	if o.Memory == nil {
		return nil
	}
	return o.Memory.Bytes
}

// mark marks the trial because of a phase.
func (o *outcome) mark(phase string, of finding.Parameters) {
	o.add([]finding.Mark{{Phase: phase, Message: finding.New(of)}})
}

func (o *outcome) add(marks []finding.Mark) { o.Marks = append(o.Marks, marks...) }

// addPhase adds a phase that has ended, and what it is marked for. problems are the counts that
// disagree, for each of its parts.
func (o *outcome) addPhase(p *record.Phase, problems [][]finding.Message) {
	o.Phases = append(o.Phases, *p)
	o.add(marksOf(p, problems))
}

// markFull marks the trial, in the phase that was the last to end, as one that met a full disk. The
// mark stands before the others of the phase, whose cause it is.
func (o *outcome) markFull(full finding.FullDiskParams) {
	if slices.ContainsFunc(o.Marks, isFullMark) {
		return // the phase that met it first is the one that tells
	}
	mark := finding.Mark{Message: finding.New(full)}
	if n := len(o.Phases); n > 0 {
		mark.Phase = o.Phases[n-1].Name
	}
	at := slices.IndexFunc(o.Marks, func(m finding.Mark) bool { return m.Phase == mark.Phase })
	if at < 0 {
		at = len(o.Marks)
	}
	o.Marks = slices.Insert(o.Marks, at, mark)
}

// end sets how the trial ended. refuse is why it was not begun; "": it was, and err is what conducting
// it gave.
func (o *outcome) end(refuse string, err error) {
	r := &o.Trial
	var reply *control.Error
	isReply := errors.As(err, &reply)
	switch {
	case refuse != "":
		r.State, r.Cause, r.Error = record.Refused, finding.CauseRefused, refuse
		return
	case err == nil && len(r.Marks) > 0:
		r.State = record.Marked
		return
	case err == nil:
		r.State = record.OK
		return
	case errors.Is(err, clients.ErrInterrupted):
		r.State, r.Cause = record.Interrupted, finding.CauseInterrupted
	case isReply && reply.Class == control.ClassRefused, errors.Is(err, store.ErrRefused):
		r.State, r.Cause, r.Error = record.Refused, finding.CauseRefused, record.WithoutClass(err.Error())
		return
	default:
		r.State = record.Failed
		r.Cause = cmp.Or(r.Cause, causeOf(err, isReply))
	}
	r.Error = err.Error()
}

// causeOf says what made a trial fail, where neither the kernel nor the disk did.
func causeOf(err error, isReply bool) finding.Code {
	switch {
	case errors.Is(err, server.ErrDied):
		return finding.CauseServerDied
	case errors.Is(err, agents.ErrLost), errors.Is(err, agents.ErrTaken):
		return finding.CauseAgentLost
	case errors.Is(err, conductor.ErrHung):
		return finding.CauseHung
	case errors.Is(err, conductor.ErrDied):
		return finding.CauseDied
	case isReply:
		return finding.CauseStore
	}
	return finding.CauseOther
}

// why returns what a person must know of how the trial ended, in a sentence; "" if it is fine.
func (o *outcome) why() string {
	if o.Error != "" {
		return o.Error
	}
	if len(o.Marks) > 0 {
		return o.Marks[0].Phase + ": " + finding.Text(o.Marks[0].Message)
	}
	return ""
}
