package report

import (
	"slices"
	"strings"
)

// note is what a table says of arms without figures: those of one standing on one line, and of these, those with the same
// reason together.
type note struct {
	Standing Standing
	Parts    []notePart
}

type notePart struct {
	Arms []string
	Why  string
}

var noteWords = map[Standing]string{Refused: "Refused here", LeftOut: "Left out", Failed: "Failed", NotRanked: "No figure", Reference: "No figure"}

// Lead is how the note begins.
func (n note) Lead() string { return noteWords[n.Standing] + ": " }

// Text is what follows.
func (n note) Text() string {
	parts := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		parts[i] = p.Text()
	}
	return strings.Join(parts, "; ") + "."
}

// Text is the arms and why.
func (p notePart) Text() string {
	if p.Why == "" {
		return strings.Join(p.Arms, ", ")
	}
	return strings.Join(p.Arms, ", ") + " (" + p.Why + ")"
}

// notesOf gathers the rows of a table that have no figure.
func notesOf(t Table) []note {
	var notes []note
	for _, standing := range []Standing{Refused, LeftOut, Failed, NotRanked, Reference} {
		n := note{Standing: standing}
		for _, r := range t.Rows {
			if r.Standing != standing || r.Rate != nil {
				continue
			}
			why := reasonWithoutArm(r)
			at := slices.IndexFunc(n.Parts, func(p notePart) bool { return p.Why == why })
			if at < 0 {
				at = len(n.Parts)
				n.Parts = append(n.Parts, notePart{Why: why})
			}
			n.Parts[at].Arms = append(n.Parts[at].Arms, r.Arm)
		}
		if len(n.Parts) > 0 {
			notes = append(notes, n)
		}
	}
	return notes
}

// reasonWithoutArm is a row's reasons without the arm's name before each, so that arms of the same reason can share it.
// "a can't reach D0: its driver reaches D1, D3" is shortened to "only D1, D3": the class is the table's.
func reasonWithoutArm(r Row) string {
	var reasons []string
	for _, why := range r.Reasons {
		if own, ok := strings.CutPrefix(why, r.Arm+" can't reach "); ok {
			if _, reaches, ok := strings.Cut(own, ": its driver reaches "); ok {
				reasons = append(reasons, "only "+reaches)
				continue
			}
		}
		why = strings.TrimPrefix(why, r.Arm+" ")
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	return strings.Join(reasons, "; ")
}
