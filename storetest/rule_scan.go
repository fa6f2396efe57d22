package storetest

import (
	"fmt"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// scanned holds what one scan, alone in its phase, has walked over: so many records of so many
// bytes in all. Each record has a length of its own, so that the sum tells which ones they were.
func (b *bench) scanned(what string, keys keyval.KeyShape, start uint64, limit, records, bytes int) error {
	s := b.script(1)
	s.keys = keys
	s.do(0, trace.Scan, start, limit)
	r, err := b.run(s)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	b.expect(r, what, trace.Scan, counters.OK, 1)
	if total := r.total(trace.Scan); total.Outcomes[counters.OK] == 1 && (total.Items != uint64(records) ||
		total.BytesRead != uint64(bytes)) {
		b.fault("%s: the scan gave %d records of %d bytes in all, expected %d of %d", what, total.Items, total.BytesRead, records, bytes)
	}
	return nil
}

// scanLength is the length of a record's value, different for each, and the sum of those from one
// up to but without another.
func scanLength(i int) int { return keyval.StampBytes + 1 + i*i%199 + i }

func scanLengths(from, to, step int) (records, bytes int) {
	for i := from; i < to; i += step {
		records, bytes = records+1, bytes+scanLength(i)
	}
	return records, bytes
}

const scanRecords = 60

// scannable opens a store and inserts every step-th of the records, in an order that is none.
func (b *bench) scannable(step int) (*script, error) {
	if !b.description.Abilities.Scan {
		return nil, skip("%s has no scans", b.description.Name)
	}
	if err := b.openFor(opening{}); err != nil {
		return nil, err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range scanRecords {
		if shuffled := i * 37 % scanRecords; shuffled%step == 0 { // 37 and 60 have no common divisor
			s.do(0, trace.Insert, base+uint64(shuffled), scanLength(shuffled))
		}
	}
	r, err := b.run(s)
	if err != nil {
		return nil, err
	}
	b.allOK(r, "writing what is to be scanned")
	return s, nil
}

func scanOrderRule(b *bench) error {
	s, err := b.scannable(1)
	if err != nil {
		return err
	}
	base := b.base(s.keys)
	for _, start := range []int{0, 1, 17, scanRecords - 1} {
		records, bytes := scanLengths(start, scanRecords, 1)
		if err := b.scanned(fmt.Sprintf("from record %d to the last", start), s.keys, base+uint64(start), records, records, bytes); err != nil {
			return err
		}
	}
	if b.description.Kind == store.Server || b.description.KeyText {
		return nil // other keys would lie between
	}
	// Scattered keys come in no order of indexes: the worker checks that they ascend and that each
	// has its own value.
	if err := b.close(); err != nil {
		return err
	}
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	scattered := b.script(1)
	scattered.keys = keyval.KeyShape{Format: keyval.Binary, Bytes: 16, Scatter: true}
	if !b.takes(scattered.keys) {
		return nil
	}
	smallest := uint64(0)
	for i := range uint64(scanRecords) {
		scattered.do(0, trace.Insert, i, scanLength(int(i)))
		if keyval.Mix(i) < keyval.Mix(smallest) {
			smallest = i
		}
	}
	r, err := b.run(scattered)
	if err != nil {
		return err
	}
	b.allOK(r, "writing scattered records")
	records, bytes := scanLengths(0, scanRecords, 1)
	return b.scanned("all scattered records", scattered.keys, smallest, records, records, bytes)
}

func scanStartRule(b *bench) error {
	s, err := b.scannable(3)
	if err != nil {
		return err
	}
	base := b.base(s.keys)
	for _, start := range []int{1, 2, 4, 20, 22} {
		first := (start + 2) / 3 * 3
		bytes := scanLength(first) + scanLength(first+3)
		if err := b.scanned(fmt.Sprintf("two records from %d, which is in a gap before %d", start, first), s.keys, base+uint64(start), 2, 2, bytes); err != nil {
			return err
		}
	}
	return nil
}

func scanLimitRule(b *bench) error {
	s, err := b.scannable(1)
	if err != nil {
		return err
	}
	base := b.base(s.keys)
	for _, limit := range []int{1, 2, 10, 50} {
		records, bytes := scanLengths(5, 5+limit, 1)
		if err := b.scanned(fmt.Sprintf("%d records from 5", limit), s.keys, base+5, limit, records, bytes); err != nil {
			return err
		}
	}
	if b.description.Kind == store.Server {
		return nil // the keys do not end here
	}
	records, bytes := scanLengths(50, scanRecords, 1)
	if err := b.scanned("more records than there are", s.keys, base+50, 1000, records, bytes); err != nil {
		return err
	}
	return b.scanned("a start past the last key", s.keys, base+scanRecords+5, 10, 0, 0)
}

func scanDeletedRule(b *bench) error {
	s, err := b.scannable(1)
	if err != nil {
		return err
	}
	base := b.base(s.keys)
	change := b.script(1)
	for i := range scanRecords {
		switch {
		case i%2 == 1:
			change.do(0, trace.Delete, base+uint64(i), 0)
		case i%10 == 0:
			change.do(0, trace.Update, base+uint64(i), 700)
			change.do(0, trace.Update, base+uint64(i), scanLength(i))
		}
	}
	r, err := b.run(change)
	if err != nil {
		return err
	}
	b.allOK(r, "deleting and overwriting")
	for _, start := range []int{0, 1, 11} {
		records, bytes := scanLengths(start+start%2, scanRecords, 2)
		if err := b.scanned(fmt.Sprintf("from %d, where every second record was deleted", start), s.keys, base+uint64(start), records, records, bytes); err != nil {
			return err
		}
	}
	return nil
}

// scanBesideRule scans over records that stay, while others come and go between them: empty ones,
// so that the sum of the lengths is that of those that stay.
func scanBesideRule(b *bench) error {
	threads := b.threads(3)
	switch d := b.description; {
	case !d.Abilities.Scan:
		return skip("%s has no scans", d.Name)
	case threads < 2:
		return skip("%s takes one thread only", d.Name)
	case d.Kind == store.Server:
		return skip("other keys would lie between those of this rule")
	}
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	const stay, length, under = 300, 50, 8 // under: so many of a writer's records are there at a time
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(stay) {
		s.do(0, trace.Insert, base+2*(i*37%stay), length) // 37 and 300 have no common divisor
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allOK(r, "writing what is to be scanned")
	beside := b.script(threads)
	beside.endless, beside.deadline = true, 200*time.Millisecond
	beside.do(0, trace.Scan, base, 2*stay+1)
	for thread := 1; thread < threads; thread++ {
		var own []uint64
		for i := uint64(thread - 1); i < stay; i += uint64(threads - 1) {
			own = append(own, base+2*(i*37%stay)+1)
		}
		for i, index := range own {
			beside.do(thread, trace.Upsert, index, 0)
			beside.do(thread, trace.Delete, own[(i+len(own)-under)%len(own)], 0)
		}
	}
	if r, err = b.run(beside); err != nil {
		return err
	}
	total := r.total(trace.Scan)
	done := total.Outcomes[counters.OK]
	if done == 0 || done+total.Outcomes[counters.Conflict] != total.Operations() {
		b.fault("scans beside inserts and deletes: expected all to be ok, counted %s", r.outcomes(trace.Scan))
	}
	if expected := done * stay * length; total.BytesRead != expected {
		b.fault("%d scans beside inserts and deletes of other, empty records gave %d bytes, expected %d: each of the %d records that stay, once",
			done, total.BytesRead, expected, stay)
	}
	return nil
}
