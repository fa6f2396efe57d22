package recording

import (
	"maps"
	"slices"

	"assay/internal/experiment/keyval"
)

// Places gives keys indexes by their lengths: a key gets the next index of its length's stretches. Where
// they are full, as those of another recording can be, it is the next one of the nearest length that has
// one; at last, one of the stretch that has no end. It is for one goroutine.
type Places struct {
	bytes   []int    // lengths, ascending
	free    [][]span // of each, in the order in which they are given
	beyond  uint64   // the next index of the last stretch
	unknown int64
}

// span is indexes from next to before end.
type span struct{ next, end uint64 }

// NewPlaces returns those of stretches, of which the last one has no end. unknown is the length of keys
// whose length is not recorded.
func NewPlaces(stretches []keyval.Stretch, unknown int) *Places {
	last := len(stretches) - 1
	p := &Places{beyond: stretches[last].From, unknown: int64(unknown)}
	free := map[int][]span{}
	for i, s := range stretches[:last] {
		free[s.Bytes] = append(free[s.Bytes], span{s.From, stretches[i+1].From})
	}
	for _, bytes := range slices.Sorted(maps.Keys(free)) {
		p.bytes, p.free = append(p.bytes, bytes), append(p.free, free[bytes])
	}
	return p
}

// next returns the index of a new key of a length; 0: its length is not recorded.
func (p *Places) next(bytes uint16) uint64 {
	wanted := int64(bytes)
	if bytes == 0 {
		wanted = p.unknown
	}
	if len(p.bytes) == 0 {
		return p.take()
	}
	at := NewNearest(p.bytes).Of(wanted)
	free := &p.free[at]
	index := (*free)[0].next
	if (*free)[0].next++; (*free)[0].next == (*free)[0].end {
		if *free = (*free)[1:]; len(*free) == 0 {
			p.bytes, p.free = slices.Delete(p.bytes, at, at+1), slices.Delete(p.free, at, at+1)
		}
	}
	return index
}

// take returns the next index beyond all that have a place.
func (p *Places) take() uint64 {
	p.beyond++
	return p.beyond - 1
}
