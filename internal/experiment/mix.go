package experiment

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"assay/internal/base/format"
)

// MixOperations returns the operations of a mix that have a weight, sorted.
func MixOperations(mix map[string]float64) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(mix)), func(name string) bool { return mix[name] == 0 })
}

// MixText says what a phase does: "95 % read, 5 % update".
func (p Phase) MixText() string {
	if len(p.Request) > 0 {
		return p.requestText()
	}
	total := 0.0
	for _, weight := range p.Mix {
		total += weight
	}
	operations := MixOperations(p.Mix)
	slices.SortStableFunc(operations, func(a, b string) int { return cmp.Compare(p.Mix[b], p.Mix[a]) })
	var parts []string
	for _, operation := range operations {
		parts = append(parts, format.Tenths(100*p.Mix[operation]/total)+" % "+operation)
	}
	return strings.Join(parts, ", ")
}

// HasRequests says if the phase, or one of its groups, has requests.
func (p Phase) HasRequests() bool {
	return slices.ContainsFunc(p.Parts(), func(part Phase) bool { return len(part.Request) > 0 })
}

// requestText says what a request is: "request of update 300 B, read, update 600 B".
func (p Phase) requestText() string {
	var steps []string
	for _, s := range p.Request {
		text := strings.ReplaceAll(s.Operation, "_", " ")
		if s.Bytes > 0 {
			text += " " + format.Bytes(float64(s.Bytes))
		}
		steps = append(steps, text)
	}
	return "request of " + strings.Join(steps, ", ")
}
