package run

import (
	"bytes"
	"slices"
	"strconv"

	"assay/internal/evidence/audit"
	"assay/internal/experiment/keyval"
)

// Where the order of keys is not that of their indexes, the last keys are found by making all of
// them: 60 to 250 ns each.
const (
	keysMadeMax = 1 << 24
	keysLastMax = 1 << 16
)

// keysAfter returns a function that reports how many of the keys of some indexes are those of an index
// or come after it, in the bytewise order of keys; where it is more than most, it may tell most
// instead, and of an index that is none of them it may tell unknown. It returns nil where that would
// take too long to find out.
func keysAfter(shape keyval.KeyShape, of *audit.Indexes, most, unknown uint64) func(index uint64) uint64 {
	below, all := of.Prefix()
	if all && inOrder(shape, below) {
		return func(index uint64) uint64 { return below - min(index, below) }
	}
	if of.Count() > keysMadeMax || most > keysLastMax {
		return nil
	}
	indexes := of.List()
	if inOrder(shape, indexes[len(indexes)-1]+1) {
		return func(index uint64) uint64 {
			before, _ := slices.BinarySearch(indexes, index)
			return uint64(len(indexes) - before)
		}
	}
	last := lastKeys(shape, indexes, int(most))
	return func(index uint64) uint64 {
		if after, near := last[index]; near {
			return after
		}
		if !of.Has(index) {
			return unknown // its key may be the last of all
		}
		return most
	}
}

// inOrder says if the keys of indexes 0 … records−1 ascend with them.
func inOrder(shape keyval.KeyShape, records uint64) bool {
	if len(shape.Lengths) > 0 || shape.Scatter || records == 0 {
		return records == 0
	}
	return shape.Format == keyval.Binary || shape.Format == keyval.Decimal &&
		shape.Digits >= len(strconv.FormatUint(records-1+shape.First, 10))
}

// lastKeys returns the indexes of the last keys, at most so many, each with how many keys are it or
// come after it.
func lastKeys(shape keyval.KeyShape, indexes []uint64, most int) map[uint64]uint64 {
	type indexed struct {
		key   []byte
		index uint64
	}
	descending := func(a, b indexed) int { return bytes.Compare(b.key, a.key) }
	var found []indexed
	var least []byte // of the keys that are the last so far; nil: there are not enough of them
	room := make([]byte, 0, shape.BytesMax()+8)
	for _, index := range indexes {
		key := shape.Append(room[:0], index)
		if least != nil && bytes.Compare(key, least) < 0 {
			continue
		}
		if found = append(found, indexed{bytes.Clone(key), index}); len(found) >= 2*most && most > 0 {
			slices.SortFunc(found, descending)
			found = found[:most]
			least = found[most-1].key
		}
	}
	slices.SortFunc(found, descending)
	last := make(map[uint64]uint64, most)
	for i, k := range found[:min(most, len(found))] {
		last[k.index] = uint64(i) + 1
	}
	return last
}
