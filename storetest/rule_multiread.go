package storetest

import (
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// multiReadRule reads keys that are there and keys that are not in one call: all, some and none of them
// there, in and against the order in which they were written.
func multiReadRule(b *bench) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	opened, err := b.open(opening{})
	if err != nil {
		return err
	}
	if !opened.Abilities.MultiGet {
		return skip("%s has no multi-reads", b.description.Name)
	}
	size := 24
	if most := b.description.MultiGetMax; most > 0 {
		size = min(size, most)
	}
	s := b.script(1)
	base := b.base(s.keys)
	var there, absent []uint64
	for i := range uint64(size) {
		length := 10*int(i) + 24
		if i == 1 {
			length = 0 // which is a value
		}
		s.do(0, trace.Insert, base+i, length)
		there, absent = append(there, base+i), append(absent, base+uint64(size)+i)
	}
	bytes := uint64(0)
	for _, e := range s.threads[0].Entries {
		bytes += uint64(s.amountOf(e.SizeClass()))
	}
	reversed := slices.Clone(there)
	slices.Reverse(reversed)
	var part []uint64 // every second one is there
	half := uint64(0)
	for i := range there {
		if i%2 == 0 {
			part = append(part, there[i])
			half += uint64(s.amountOf(s.threads[0].Entries[i].SizeClass()))
		} else {
			part = append(part, absent[i])
		}
	}
	s.multiRead(0, there...)
	s.multiRead(0, reversed...)
	s.multiRead(0, part...)
	s.multiRead(0, there[0])
	s.multiRead(0, absent...)
	bytes += bytes + half + uint64(s.amountOf(s.threads[0].Entries[0].SizeClass()))
	r, err := b.run(s)
	if err != nil {
		return err
	}
	total := r.total(trace.MultiRead)
	if total.Outcomes[counters.OK] != 4 || total.Outcomes[counters.Miss] != 1 || total.Operations() != 5 {
		b.fault("multi-reads: expected 4 ok and 1 miss, counted %s", r.outcomes(trace.MultiRead))
	}
	found := uint64(2*size + (size+1)/2 + 1)
	if missing := uint64(3*size+size+1) - found; total.Items != found || total.Absent != missing {
		b.fault("multi-reads of %d keys that are there and %d that are not: %d counted as found, %d as absent", found, missing, total.Items, total.Absent)
	}
	if total.BytesRead != bytes {
		b.fault("multi-reads of %d bytes counted %d", bytes, total.BytesRead)
	}
	if total.Calls < total.Operations() {
		b.fault("%d multi-reads counted %d calls", total.Operations(), total.Calls)
	}
	return b.losesOne(base, there, absent[0])
}

// losesOne: where a key that must be there is not, the call has lost it, whatever else it found.
func (b *bench) losesOne(base uint64, there []uint64, absent uint64) error {
	s := b.script(1)
	s.mustHitBelow = absent + 1
	s.loaded = base
	keys := append(slices.Clone(there[:len(there)-1]), absent)
	s.multiRead(0, keys...)
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, "of a key that must be there", trace.MultiRead, counters.Lost, 1)
	if total := r.total(trace.MultiRead); total.Items != uint64(len(keys)-1) || total.Absent != 1 {
		b.fault("a multi-read of %d keys that are there and of one that is not, which is lost, counted %d and %d", len(keys)-1, total.Items, total.Absent)
	}
	return nil
}
