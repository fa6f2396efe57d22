package read

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"assay/internal/experiment"
)

// resolver turns a decoded file into an experiment. The tree is kept for the places of what it
// finds wrong.
type resolver struct {
	root    *node
	file    *File
	drivers Drivers
	e       *experiment.Experiment
	notes   []string

	// follows are the fields that follow from the stores where they don't fit: "baseline",
	// "durability", "phases".
	follows    map[string]bool
	lost       string                     // the baseline that is not one of the stores any more; "": it is
	folder     string                     // of files that the experiment names
	fromStores bool                       // durability and keys are left to the stores
	replays    map[int]*experiment.Replay // by phase
}

// within is what stands at a path of the file: a store, a phase, a group.
type within struct {
	*resolver
	path []string
}

// in returns a path below it.
func (r within) in(parts ...string) []string { return slices.Concat(r.path, parts) }

func (r within) below(parts ...string) within { return within{r.resolver, r.in(parts...)} }

func (r *resolver) note(text string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(text, args...))
}

// fail points at the field of a path, or at the nearest thing around it that stands in the file.
func (r *resolver) fail(parts []string, format string, args ...any) *Error {
	at, n := r.root.at, r.root
	for _, part := range parts {
		next := n.field(part)
		if next == nil {
			next = member(n, part)
		} else if next.kind == list || next.kind == table {
			at = keyPlace(n, part)
			n = next
			continue
		}
		if next == nil {
			break
		}
		at, n = next.at, next
	}
	return at.fail(strings.Join(parts, "."), format, args...)
}

// member returns the element of a list that has a name, or stands at a position.
func member(n *node, name string) *node {
	for i, item := range n.items {
		if fmt.Sprint(i) == name {
			return item
		}
	}
	return nil
}

func keyPlace(n *node, key string) place {
	for _, e := range n.entries {
		if e.key == key {
			return e.at
		}
	}
	return n.at
}

// atKey moves an error from a value to its key, where the key itself is the mistake.
func (r *resolver) atKey(e *Error, parts []string, key string) *Error {
	n := r.root
	for _, part := range parts {
		next := n.field(part)
		if next == nil {
			next = member(n, part)
		}
		if next == nil {
			return e
		}
		n = next
	}
	moved := keyPlace(n, key).fail(e.Path, "%s", e.Message)
	moved.Hint, moved.Nearest = e.Hint, e.Nearest
	return moved
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func orCount(c *Count, otherwise int) int { return int(min(orCount64(c, uint64(otherwise)), 1<<31)) }

func orCount64(c *Count, otherwise uint64) uint64 {
	if c == nil {
		return otherwise
	}
	return uint64(*c)
}

func orDuration(d DurationForm, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return time.Duration(d)
}

func orNumber(n *float64, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	return *n
}

func firstOf(names []string, n int) []string { return names[:min(n, len(names))] }

// workResolver resolves a phase, or one of its groups.
type workResolver struct{ within }

func (r *resolver) ofPhase(i int) workResolver {
	return workResolver{within{r, []string{"phases", fmt.Sprint(i)}}}
}

// part is where a part of a phase stands: one of its groups, or the phase itself.
func (r *resolver) part(p experiment.Phase, phase, part int) workResolver {
	if len(p.Groups) == 0 {
		return r.ofPhase(phase)
	}
	return r.ofPhase(phase).ofGroup(part)
}

func (r workResolver) ofGroup(number int) workResolver {
	return workResolver{r.below("groups", fmt.Sprint(number))}
}

// parts visits each part of each phase, with the paths below it.
func (r *resolver) parts() iter.Seq2[experiment.Phase, func(parts ...string) []string] {
	return func(yield func(experiment.Phase, func(parts ...string) []string) bool) {
		for i, p := range r.e.Phases {
			for j, part := range p.Parts() {
				if !yield(part, r.part(p, i, j).in) {
					return
				}
			}
		}
	}
}

// has says if the file has a field that is not empty.
func (r *resolver) has(parts []string) bool {
	n := r.root
	for _, part := range parts {
		next := n.field(part)
		if next == nil {
			next = member(n, part)
		}
		if next == nil {
			return false
		}
		n = next
	}
	return n.kind != null
}

// storeResolver resolves one store.
type storeResolver struct{ within }

func (r *resolver) ofStore(i int) storeResolver {
	return storeResolver{within{r, []string{"stores", fmt.Sprint(i)}}}
}

// driverNames are the drivers that a store may have.
func (r *resolver) driverNames() []string {
	return slices.DeleteFunc(slices.Clone(r.drivers.Names),
		func(name string) bool { return name == experiment.NullDriver })
}
