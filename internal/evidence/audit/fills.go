package audit

import (
	"cmp"
	"slices"
)

// Fills are the reads of a sample of keys that found nothing and put a value: how many clients at a time
// did so for one key.
type Fills struct {
	Fills  uint64 `json:"fills"`        // how many there were
	Beside uint64 `json:"beside"`       // that began while another one of the same key was under way
	Most   uint64 `json:"most_at_once"` // the most of one key that were under way at once
}

// Fills returns what the sample shows of them; nil: none was filled.
func (h *History) Fills() *Fills {
	var fills []HistoryEvent
	for _, e := range h.Events {
		if e.Fill {
			fills = append(fills, e)
		}
	}
	if len(fills) == 0 {
		return nil
	}
	slices.SortFunc(fills, func(a, b HistoryEvent) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.BeginNS, b.BeginNS))
	})
	all := &Fills{Fills: uint64(len(fills))}
	var ends []int64 // of those of one key that are under way
	for i, e := range fills {
		if i > 0 && fills[i-1].Index != e.Index {
			ends = ends[:0]
		}
		ends = slices.DeleteFunc(ends, func(end int64) bool { return end <= e.BeginNS })
		if len(ends) > 0 {
			all.Beside++
		}
		ends = append(ends, e.EndNS)
		all.Most = max(all.Most, uint64(len(ends)))
	}
	return all
}
