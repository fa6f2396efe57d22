package trace

import (
	"cmp"
	"slices"
)

// Span is the indexes from From on that are below Below. Empty where there are none.
type Span struct{ From, Below uint64 }

// Spans are indexes: spans in ascending order that do not touch.
type Spans []Span

// With returns the indexes of s and of others, which may overlap and be empty.
func (s Spans) With(others ...Span) Spans {
	all := slices.Concat(s, others)
	slices.SortFunc(all, func(x, y Span) int { return cmp.Compare(x.From, y.From) })
	var united Spans
	for _, next := range all {
		last := len(united) - 1
		switch {
		case next.From >= next.Below:
		case last >= 0 && next.From <= united[last].Below:
			united[last].Below = max(united[last].Below, next.Below)
		default:
			united = append(united, next)
		}
	}
	return united
}

// Count returns how many indexes there are.
func (s Spans) Count() (n uint64) {
	for _, span := range s {
		n += span.Below - span.From
	}
	return n
}

// End returns an index above all of them.
func (s Spans) End() uint64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].Below
}

// At returns the k-th index, counted from 0. k must be below Count.
func (s Spans) At(k uint64) uint64 {
	i := 0
	for ; k >= s[i].Below-s[i].From; i++ {
		k -= s[i].Below - s[i].From
	}
	return s[i].From + k
}

// Has reports whether an index is among them.
func (s Spans) Has(index uint64) bool {
	for _, span := range s {
		if index >= span.From && index < span.Below {
			return true
		}
	}
	return false
}
