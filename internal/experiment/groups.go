package experiment

import (
	"slices"
	"time"

	"assay/internal/experiment/trace"
)

// GroupSeparator stands between the names of a phase and of its group where both are shown. Neither
// can have it in it.
const GroupSeparator = " · "

// Parts returns what works at the same time in a phase, each with the name that reports give it: its
// groups, or itself where it has none.
func (p Phase) Parts() []Phase {
	if len(p.Groups) == 0 {
		return []Phase{p}
	}
	parts := slices.Clone(p.Groups)
	for i := range parts {
		parts[i].Name = p.Name + GroupSeparator + parts[i].Name
		parts[i].Unmeasured, parts[i].Optional = p.Unmeasured, p.Optional
		parts[i].whole, parts[i].phaseEnds = p.Groups, p.Duration
	}
	return parts
}

// End is when a part of a phase ends, counted from the phase's start; 0: with the phase.
func (p Phase) End() time.Duration {
	if p.Duration == 0 {
		return 0
	}
	return p.From + p.Duration
}

// Lasts is for how long a phase, or a part of one, works; 0: until its operations are done.
func (p Phase) Lasts() time.Duration {
	if p.Duration == 0 {
		return max(p.phaseEnds-p.From, 0)
	}
	return p.Duration
}

// Does says if the phase, or one of its groups, has an operation in its mix.
func (p Phase) Does(o trace.Operation) bool {
	return slices.ContainsFunc(p.Parts(), func(part Phase) bool { return part.Mix[o.String()] > 0 })
}

// ThreadsIn returns how many threads the phase has in a cell, over all of its groups.
func (p Phase) ThreadsIn(c Cell) (threads int) {
	for _, part := range p.Parts() {
		n, _ := part.TasksIn(c)
		threads += n
	}
	return threads
}

// Lasting returns the phase with another duration. Its groups begin and end, and its faults
// happen, at the same share of it, and a rate that changes over time does so in as much of it.
func (p Phase) Lasting(duration time.Duration) Phase {
	if duration == p.Duration || p.Duration == 0 {
		return p
	}
	share := float64(duration) / float64(p.Duration)
	p.Duration, p.Groups = duration, slices.Clone(p.Groups)
	p.Segments, p.Staircase = lastingSegments(p.Segments, share), lastingSteps(p.Staircase, share)
	p.Capacity = lastingCapacity(p.Capacity, share)
	for i := range p.Groups {
		g := &p.Groups[i]
		g.From = time.Duration(share * float64(g.From))
		g.Duration = time.Duration(share * float64(g.Duration))
		g.Segments, g.Staircase = lastingSegments(g.Segments, share), lastingSteps(g.Staircase, share)
	}
	p.Faults = slices.Clone(p.Faults)
	for i := range p.Faults {
		p.Faults[i].At = time.Duration(share * float64(p.Faults[i].At))
	}
	return p
}
