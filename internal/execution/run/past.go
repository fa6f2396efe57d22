package run

import (
	"assay/internal/evidence/audit"
	"assay/internal/experiment/trace"
)

// past is what the phases of a trial have done to its records so far.
type past struct {
	loaded  uint64      // records that were stored with version 0
	fresh   uint64      // an index from which on no key was used: the same for stores of about the same speed
	reached trace.Spans // indexes that phases have reached, so that there may be a record
	vanishing
	phases []audit.Phase
}

// add keeps what later phases and the final check need to know of one that has ended. attempted are
// the entries that each of its threads began, and acknowledged those that it ended; loaded is how many
// records a load stored, 0 for any other phase.
func (p *past) add(phase audit.Phase, file *trace.File, attempted, acknowledged []uint64, loaded uint64) {
	p.phases = append(p.phases, phase)
	p.loaded = max(p.loaded, loaded)
	p.fresh = max(p.fresh, file.IndexEnd(attempted))
	p.reached = p.reached.With(file.IndexesReached(attempted)...)
	p.vanishing = p.vanishing.after(file, attempted, acknowledged)
}

// written are the indexes below which, or in which, the trial may have a record.
func (p *past) written() trace.Spans { return p.reached.With(trace.Span{Below: p.loaded}) }
