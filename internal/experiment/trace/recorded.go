package trace

import (
	"cmp"
	"slices"
)

// Bounds of the sample of keys whose history is recorded.
const (
	// sampleShare bounds which share of the entries the hot half of the sample may have, and the
	// uniform half: a record takes some ns and 32 bytes, and a sample of the very hottest keys
	// alone would be most of the operations. Where keys are so few that each has more than an even
	// part, as in a small load, each half may have as much again.
	sampleShare = 1.0 / 32
	// hottestFirst keys may each have a quarter of what is left of that; the others share the rest
	// evenly.
	hottestFirst = 6
	// looksMax bounds how many entries are looked at to tell how often a key comes.
	looksMax = 1 << 20
	// denseMost words for each index that is counted take less time than to sort them.
	denseMost = 4
)

// counted is a key and how often it came among the entries that were looked at.
type counted struct {
	index uint64
	times int
}

// ChooseKeys chooses at most n keys of fixed index whose history is worth recording: half of them
// from the hottest down, half drawn at random from all that the trace touches. Keys that would have
// more than their part of the operations are passed over, so that both halves together have about a
// sixteenth, or an eighth where keys are few; one key of each half is taken whatever its share. It
// returns none where nothing is changed at a fixed index: there is nothing to be checked then. The
// same seed chooses the same keys. Of 2,000 keys that come equally often, some 250 are chosen.
func (f *File) ChooseKeys(n int, seed uint64) (indexes []uint64) {
	all, looks, changes := f.countKeys()
	if !changes || n < 1 {
		return nil
	}
	chosen := map[uint64]bool{}
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.index, b.index))
	})
	choose(all, (n+1)/2, looks, chosen)
	r := newRandom(seed, 0, purposeHistory)
	for i := len(all) - 1; i > 0; i-- {
		j := r.below(uint64(i + 1))
		all[i], all[j] = all[j], all[i]
	}
	choose(all, n/2, looks, chosen)
	for index := range chosen {
		indexes = append(indexes, index)
	}
	slices.Sort(indexes)
	return indexes
}

// AllKeys returns every key of fixed index that the trace touches, if they are no more than most;
// otherwise none.
func (f *File) AllKeys(most int) (indexes []uint64) {
	all := map[uint64]bool{}
	for i := range f.Threads {
		for _, e := range f.Threads[i].Entries {
			if !e.recordable() || all[e.Index()] {
				continue
			}
			if len(all) == most {
				return nil
			}
			all[e.Index()] = true
		}
	}
	for index := range all {
		indexes = append(indexes, index)
	}
	slices.Sort(indexes)
	return indexes
}

// choose takes up to n keys in their order, as far as their part of the operations goes.
func choose(from []counted, n, looks int, chosen map[uint64]bool) {
	room, taken := sampleShare*float64(looks), 0
	for _, key := range from {
		if taken == n {
			return
		}
		most := room / float64(n-taken)
		if taken < hottestFirst {
			most = max(most, room/4)
		}
		if !chosen[key.index] && float64(key.times) <= most {
			chosen[key.index] = true
			room -= float64(key.times)
			taken++
		}
	}
	room += sampleShare * float64(looks)
	for _, key := range from {
		if taken < n && !chosen[key.index] && float64(key.times) <= room {
			chosen[key.index] = true
			room -= float64(key.times)
			taken++
		}
	}
	for i := len(from) - 1; taken == 0 && i >= 0; i-- {
		if !chosen[from[i].index] {
			chosen[from[i].index] = true
			taken++
		}
	}
}

// countKeys counts the keys of fixed index among evenly spaced entries.
func (f *File) countKeys() (keys []counted, looks int, changes bool) {
	entries := 0
	for i := range f.Threads {
		entries += len(f.Threads[i].Entries)
	}
	step := entries/looksMax + 1
	var indexes []uint64
	for i := range f.Threads {
		for p := i % step; p < len(f.Threads[i].Entries); p += step {
			e := f.Threads[i].Entries[p]
			looks++
			if e.recordable() {
				indexes = append(indexes, e.Index())
				changes = changes || e.Operation().Changes()
			}
		}
	}
	if len(indexes) == 0 {
		return nil, looks, changes
	}
	if below := slices.Max(indexes) + 1; below <= denseMost*uint64(len(indexes)) {
		times := make([]uint32, below)
		for _, index := range indexes {
			times[index]++
		}
		for index, n := range times {
			if n > 0 {
				keys = append(keys, counted{uint64(index), int(n)})
			}
		}
		return keys, looks, changes
	}
	slices.Sort(indexes)
	for _, index := range indexes {
		if last := len(keys) - 1; last >= 0 && keys[last].index == index {
			keys[last].times++
		} else {
			keys = append(keys, counted{index, 1})
		}
	}
	return keys, looks, changes
}

func (e Entry) recordable() bool { return !e.Grows() && e.Operation().OneKey() }

// RecordKeys marks every entry of these keys, and the batches and multi-reads with such members, as
// recorded.
func (f *File) RecordKeys(indexes []uint64) {
	if len(indexes) == 0 {
		return
	}
	set := makeIndexSet(indexes)
	f.Flags |= FlagHistory
	for i := range f.Threads {
		entries, batch := f.Threads[i].Entries, 0
		for p, e := range entries {
			if e.Operation().HasMembers() && !e.IsMember() {
				batch = p
				continue
			}
			if !e.recordable() || !set.has(e.Index()) {
				continue
			}
			entries[p] = e.Record()
			if e.IsMember() {
				entries[batch] = entries[batch].Record()
			}
		}
	}
}

// indexSet is a hash table of few indexes: a trace has millions of entries to be asked for.
type indexSet struct {
	slots []uint64 // index + 1; 0: free
	mask  uint64
}

func makeIndexSet(indexes []uint64) indexSet {
	size := 16
	for size < 4*len(indexes) {
		size *= 2
	}
	s := indexSet{make([]uint64, size), uint64(size - 1)}
	for _, index := range indexes {
		at := s.at(index)
		for s.slots[at] != 0 {
			at = (at + 1) & s.mask
		}
		s.slots[at] = index + 1
	}
	return s
}

func (s *indexSet) at(index uint64) uint64 { return index * 0x9e3779b97f4a7c15 >> 32 & s.mask }

func (s *indexSet) has(index uint64) bool {
	for at := s.at(index); s.slots[at] != 0; at = (at + 1) & s.mask {
		if s.slots[at] == index+1 {
			return true
		}
	}
	return false
}
