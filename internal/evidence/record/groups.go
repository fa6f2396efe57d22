package record

import (
	"slices"

	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// ByGroup returns the run as if each group of clients had been a phase of its own, at the same time
// as the others of its phase and on the same time axis: what holds for a phase holds for a group.
// Their samples are those of the time in which the group had work. What was recorded of such a
// phase as a whole stands before them, and is not measured. A run without groups is returned as it is.
func (r *Run) ByGroup() *Run {
	if !slices.ContainsFunc(r.Experiment.Phases, func(p experiment.Phase) bool { return len(p.Groups) > 0 }) {
		return r
	}
	split := *r
	split.Experiment.Phases = nil
	for _, p := range r.Experiment.Phases {
		split.Experiment.Phases = append(split.Experiment.Phases, p.Parts()...)
	}
	split.Plan = slices.Clone(r.Plan)
	for i := range split.Plan {
		split.Plan[i] = planByGroup(split.Plan[i], r.Experiment.Phases)
	}
	split.Trials, split.InMemory, split.stretches, split.whole = map[string]*Trial{}, nil, nil, r
	for id, t := range r.Trials {
		split.Trials[id] = t.byGroup()
	}
	return &split
}

// planByGroup leaves out of a trial the groups of the phases that it leaves out.
func planByGroup(t plan.Trial, phases []experiment.Phase) plan.Trial {
	skip := map[string]string{}
	for _, p := range phases {
		if why, skipped := t.Skip[p.Name]; skipped {
			for _, part := range p.Parts() {
				skip[part.Name] = why
			}
		}
	}
	if t.Skip != nil {
		t.Skip = skip
	}
	return t
}

// byGroup puts the groups of a phase behind it.
func (t *Trial) byGroup() *Trial {
	split := *t
	split.Phases = nil
	for i := range t.Phases {
		p := &t.Phases[i]
		whole := *p
		whole.Measured = p.Measured && !whole.IsSum()
		split.Phases = append(split.Phases, whole)
		for _, g := range p.Groups {
			split.Phases = append(split.Phases, p.withGroup(g))
		}
	}
	return &split
}

// withGroup returns a group with what holds for all that worked at that time: where the process, the
// machine and the files stood. What the phase used in all, no group used alone.
func (p *Phase) withGroup(g Phase) Phase {
	g.whole, g.Number, g.Measured, g.SampleNS, g.Clock, g.ClockDrift = p, p.Number, p.Measured, p.SampleNS,
		p.Clock, p.ClockDrift
	g.Stats, g.Sizes, g.Stops, g.Machine, g.Cold = p.Stats, p.Sizes, p.Stops, p.Machine, p.Cold
	g.Process = Process{RSSMaxBytes: p.Process.RSSMaxBytes, ServerRSSMaxBytes: p.Process.ServerRSSMaxBytes,
		ServerSharedWhy: p.Process.ServerSharedWhy, ServerWhy: p.Process.ServerWhy}
	return g
}

// GroupOf returns the name of the phase that a group is of, in a run by group; "": it is none.
func (p *Phase) GroupOf() string {
	if p.whole == nil {
		return ""
	}
	return p.whole.Name
}

// IsSum says if the phase is the sum of its groups, which stand behind it in a run by group.
func (p *Phase) IsSum() bool { return len(p.Groups) > 0 }

// samplesByGroup parts the samples of phases with groups. t is nil for a trial without a result: its
// groups are then taken to have worked all the time.
func samplesByGroup(samples []Sample, phases []experiment.Phase, t *Trial) (split []Sample) {
	for _, s := range samples {
		at := slices.IndexFunc(phases, func(p experiment.Phase) bool { return p.Name == s.Phase })
		if at < 0 || len(phases[at].Groups) == 0 {
			split = append(split, s)
			continue
		}
		for i, part := range phases[at].Parts() {
			if i >= len(s.Groups) || !t.atWork(s, i) {
				continue
			}
			g, of := s.Groups[i], s
			of.Phase, of.Groups = part.Name, nil
			of.Operations, of.ByName, of.Bad, of.P50NS, of.P99NS, of.MaxNS =
				g.Operations, g.ByName, g.Bad, g.P50NS, g.P99NS, g.MaxNS
			split = append(split, of)
		}
	}
	return split
}

// atWork says if a group had work all through a sample, or did some in it.
func (t *Trial) atWork(s Sample, group int) bool {
	if t == nil {
		return true
	}
	at := slices.IndexFunc(t.Phases, func(p Phase) bool { return p.Name == s.Phase })
	if at < 0 || group >= len(t.Phases[at].Groups) {
		return true
	}
	g := &t.Phases[at].Groups[group]
	const slack = 1e-3 // seconds: a sample that begins with the group
	begin, end := float64(g.BeganNS)/1e9, float64(g.BeganNS+g.ElapsedNS)/1e9
	return s.At-s.Seconds >= begin-slack && s.At <= end+slack
}
