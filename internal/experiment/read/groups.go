package read

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// grouped resolves a phase of several groups.
func (r workResolver) grouped(p PhaseFile) (experiment.Phase, *Error) {
	if p.Load {
		return experiment.Phase{}, r.fail(r.in("groups"), "a load has no groups: it stores every record once")
	}
	for _, field := range []string{"mix", "request", "order", "batch", "scan", "query", "operations", "rate", "arrivals", "threads", "think", "ttl", "milestones"} {
		if r.has(r.in(field)) {
			return experiment.Phase{}, r.fail(r.in(field), "the phase %s has groups: %s is a field of each of them", p.Name, field)
		}
	}
	if len(p.Groups) > groupsMax {
		return experiment.Phase{}, r.fail(r.in("groups"), "%d groups: at most %d", len(p.Groups), groupsMax)
	}
	resolved := experiment.Phase{Name: p.Name, Duration: time.Duration(p.For), Unmeasured: p.Unmeasured,
		Optional: p.Optional}
	for j, g := range p.Groups {
		group, err := r.ofGroup(j).group(g, &resolved)
		if err != nil {
			return experiment.Phase{}, err
		}
		resolved.Groups = append(resolved.Groups, group)
	}
	if err := r.groupsTogether(&resolved); err != nil {
		return experiment.Phase{}, err
	}
	if resolved.Duration == 0 && !slices.ContainsFunc(resolved.Groups,
		func(g experiment.Phase) bool { return g.Duration == 0 }) {
		for _, g := range resolved.Groups { // the last one's end is the phase's
			resolved.Duration = max(resolved.Duration, g.From+g.Duration)
		}
	}
	return resolved, nil
}

func (r workResolver) group(g GroupFile, phase *experiment.Phase) (experiment.Phase, *Error) {
	if g.Name == "" {
		return experiment.Phase{}, r.fail(r.in(), "a group without a name").hint("expected name: NAME")
	}
	if len(g.Name) > nameBytesMax || !plainName(g.Name) {
		return experiment.Phase{}, r.fail(r.in("name"), "the name %q can't be part of a file name", g.Name).hint(plainNameRule)
	}
	if slices.ContainsFunc(phase.Groups, func(other experiment.Phase) bool { return other.Name == g.Name }) {
		return experiment.Phase{}, r.fail(r.in("name"), "a second group named %q in the phase %s", g.Name, phase.Name)
	}
	if len(g.Mix) == 0 && len(g.Request) == 0 {
		return experiment.Phase{}, r.fail(r.in(), "the group %s has no mix", g.Name).
			hint("expected mix: {OPERATION: WEIGHT}, with %s, or request: [OPERATION, …]", strings.Join(mixNames(), ", "))
	}
	work := PhaseFile{Name: g.Name, WorkFile: g.WorkFile}
	if open := work.Rate.changes() && !work.Rate.hasEnd() || work.Threads.changes() &&
		!work.Threads.hasEnd(); open && work.For == 0 { // the last segment goes on to the phase's end
		work.For = DurationForm(max(phase.Duration-time.Duration(g.From), 0))
	}
	if err := r.request(&work); err != nil {
		return experiment.Phase{}, err
	}
	named := work
	named.Name = phase.Name + experiment.GroupSeparator + g.Name
	mix, asked, err := r.asks(named)
	if err != nil {
		return experiment.Phase{}, err
	}
	work.Mix = mix
	if err := r.mix(work); err != nil {
		return experiment.Phase{}, err
	}
	resolved, err := r.work(work, asked)
	if err != nil {
		return experiment.Phase{}, err
	}
	resolved.From = time.Duration(g.From)
	switch end := resolved.From + resolved.Duration; {
	case phase.Duration > 0 && resolved.From >= phase.Duration:
		return experiment.Phase{}, r.fail(r.in("from"), "the group %s begins after %s, but the phase %s lasts %s", g.Name, resolved.From, phase.Name, phase.Duration)
	case phase.Duration > 0 && end > phase.Duration:
		return experiment.Phase{}, r.fail(r.in("for"), "the group %s ends after %s, but the phase %s lasts %s", g.Name, end, phase.Name, phase.Duration)
	case phase.Duration == 0 && resolved.Duration == 0 && resolved.Operations == 0:
		return experiment.Phase{}, r.fail(r.in(), "the group %s has no end", g.Name).
			hint("expected for: DURATION or operations: NUMBER, here or for: in the phase %s", phase.Name)
	}
	return resolved, nil
}

// groupsTogether refuses groups that would claim of a key what another one makes wrong.
func (r workResolver) groupsTogether(p *experiment.Phase) *Error {
	counting, inserts, requests, adds := -1, -1, -1, -1
	for j, g := range p.Groups {
		if len(g.Request) > 0 {
			if says := slices.ContainsFunc(g.Request, func(s experiment.Step) bool { return s.Adds > 0 }); says {
				adds = j
			}
			if requests >= 0 && adds >= 0 {
				return r.fail(r.in("groups", fmt.Sprint(adds), "request"), "the groups %s and %s both have requests: whose items were lost would be unknown",
					p.Groups[requests].Name, g.Name).hint("leave adds out, or put the two groups in phases of their own")
			}
			requests = j
		}
		if g.Order.Distribution == trace.Counting {
			counting = j
		}
		if g.Mix[trace.Insert.String()] > 0 || g.Mix[trace.Add.String()] > 0 {
			inserts = j
		}
	}
	if counting >= 0 && inserts >= 0 {
		return r.fail(r.in("groups", fmt.Sprint(counting), "order"), "the order counting writes new keys from 0 on, and so would meet those that the group %s inserts",
			p.Groups[inserts].Name).hint("put the two groups in phases of their own")
	}
	return nil
}
