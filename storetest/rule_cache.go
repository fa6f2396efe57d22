package storetest

import (
	"errors"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// touchRule writes values with a short TTL and with a long one, and gives each the other one by a touch: when
// the short time is over, the first are there and the second are gone.
func touchRule(b *bench) (err error) {
	if !b.description.Abilities.Touch || b.description.Expiry == nil {
		return skip("%s has no touch", b.description.Name)
	}
	if b.description.Kind == store.None {
		return skip("%s keeps nothing", b.description.Name)
	}
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	const n = 8
	s := b.script(1)
	base := b.base(s.keys)
	lives, err := newLivesFile(1, base+3*n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lives.close()) }()
	x := *b.description.Expiry
	short := wholeUnits(x.UnitNS, max(2*time.Second, time.Duration(x.EarlyNS)+2*time.Second, time.Duration(x.LeastNS)))
	long := wholeUnits(x.UnitNS, 20*short)
	s.lives = lives
	for i := range uint64(n) {
		s.doFor(trace.Upsert, base+i, 100, short)
		s.doFor(trace.Upsert, base+n+i, 90, long)
	}
	for i := range uint64(n) {
		s.doFor(trace.Touch, base+i, 100, long)
		s.doFor(trace.Touch, base+n+i, 100, short)
		s.doFor(trace.Touch, base+2*n+i, 100, long) // is not there
	}
	began := time.Now()
	r, err := b.run(s)
	if err != nil {
		return err
	}
	written := time.Now()
	b.bothOutcomes(r, trace.Touch, 2*n, n)
	if time.Duration(x.LateNS) > expiryWaitMost {
		return nil
	}
	time.Sleep(time.Until(written.Add(short + time.Duration(x.LateNS) + counters.LivesSlackNS)))
	for _, part := range []struct {
		from, there uint64
		what        string
	}{
		{base, n, "that a touch lets live longer"}, {base + n, 0, "whose time a touch made shorter"},
		{base + 2*n, 0, "that were touched and never written"},
	} {
		read := b.script(1)
		read.lives = lives
		for i := range uint64(n) {
			read.do(0, trace.Read, part.from+i, 0)
		}
		if r, err = b.run(read); err != nil {
			return err
		}
		there := r.total(trace.Read).Outcomes[counters.OK]
		if sure := time.Since(began) < long-time.Duration(x.EarlyNS); there != part.there && (sure || part.there == 0) {
			b.fault("%d of %d values %s are there, expected %d", there, n, part.what, part.there)
		}
	}
	return nil
}

// bothOutcomes: so many keys are there, and so many are not.
func (b *bench) bothOutcomes(r *ran, o trace.Operation, there, missing uint64) {
	total := r.total(o)
	if total.Outcomes[counters.OK] != there || total.Outcomes[counters.Miss] != missing ||
		total.Operations() != there+missing {
		b.fault("%s of %d keys that are there and %d that are not: expected %d ok and %d miss, counted %s", o, there,
			missing, there, missing, r.outcomes(o))
	}
}

// wholeUnits rounds a time up to whole units.
func wholeUnits(unitNS int64, t time.Duration) time.Duration {
	unit := max(time.Duration(unitNS), time.Millisecond)
	return (t + unit - 1) / unit * unit
}

// partBytes is the length of what rules append.
const partBytes = 40

// appendRule has several threads append to the same records, and holds each value against all that was appended
// to it.
func appendRule(b *bench) error {
	if !b.description.Abilities.Append {
		return skip("%s has no append", b.description.Name)
	}
	if b.description.Kind == store.None {
		return skip("%s keeps nothing", b.description.Name)
	}
	threads := b.threads(4)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	const keys, rounds = 10, 3
	first := b.script(1)
	base := b.base(first.keys)
	for i := range uint64(keys) {
		first.do(0, trace.Insert, base+i, 100)
	}
	r, err := b.run(first)
	if err != nil {
		return err
	}
	bytes := r.total(trace.Insert).BytesWritten
	s := b.script(threads)
	keyBytes := uint64(0)
	for thread := range threads {
		for part := range rounds {
			for i := range uint64(keys) {
				s.appendPart(thread, base+i, part+1)
				keyBytes += uint64(len(s.keys.Append(nil, base+i)))
			}
		}
	}
	if r, err = b.run(s); err != nil {
		return err
	}
	b.expect(r, "to values that are there", trace.Append, counters.OK, threads*rounds*keys)
	added := uint64(threads * rounds * keys * partBytes)
	if written := r.total(trace.Append).BytesWritten; written != keyBytes+added {
		b.fault("appends of %d bytes, keys and parts, counted %d", keyBytes+added, written)
	}
	for i := range uint64(keys) {
		bytes -= uint64(len(s.keys.Append(nil, base+i)))
	}
	read := b.script(1)
	for i := range uint64(keys) {
		read.do(0, trace.Read, base+i, 0)
	}
	if r, err = b.run(read); err != nil {
		return err
	}
	b.expect(r, "of values that parts were appended to", trace.Read, counters.OK, keys)
	if got := r.total(trace.Read).BytesRead; got != bytes+added {
		b.fault("values of %d bytes, to which %d bytes were appended, have %d bytes", bytes, added, got)
	}
	return b.appendsToNothing(base + keys)
}

// appendsToNothing appends where nothing is, and then to what a put leaves.
func (b *bench) appendsToNothing(from uint64) error {
	const n = 5
	s := b.script(1)
	for i := range uint64(n) {
		s.appendPart(0, from+i, 1)
	}
	outcome := counters.Miss
	if b.description.AppendMakes {
		outcome = counters.OK
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, "where nothing is", trace.Append, outcome, n)
	s = b.script(1)
	m := model{}
	for i := range uint64(n) {
		s.do(0, trace.Upsert, from+i, 60)
		s.appendPart(0, from+i, 1)
	}
	if r, err = b.run(s); err != nil {
		return err
	}
	m.remember(r)
	return b.holds(m, s, "after appends to what was just put")
}

// getAndSetRule exchanges values that are there and that are not, and has several threads exchange one.
func getAndSetRule(b *bench) error {
	const o, n = trace.GetAndSet, 10
	if !b.description.Abilities.GetAndSet {
		return skip("%s has no exchange", b.description.Name)
	}
	if b.description.Kind == store.None {
		return skip("%s keeps nothing", b.description.Name)
	}
	threads := b.threads(4)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(n) {
		s.do(0, trace.Insert, base+i, 100)
	}
	for round := range 3 {
		for i := range uint64(2 * n) {
			s.do(0, o, base+i, 60+round)
		}
	}
	s.recordAll()
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.bothOutcomes(r, o, 5*n, n)
	b.replay(r)
	m := model{}
	m.remember(r)
	if err := b.holds(m, s, "after exchanges"); err != nil {
		return err
	}
	return b.contendedExchanges(base, threads)
}

// contendedExchanges: each value of a record that several threads exchange is returned once, but for the last.
func (b *bench) contendedExchanges(index uint64, threads int) error {
	const o = trace.GetAndSet
	s := b.script(threads)
	for thread := range threads {
		for range b.many(200) {
			s.do(thread, o, index, 100)
		}
	}
	s.recordAll()
	r, err := b.run(s)
	if err != nil {
		return err
	}
	returned := map[uint64]int{}
	for thread := range threads {
		for _, record := range r.history[thread] {
			returned[record.Read]++
		}
	}
	twice := 0
	for _, times := range returned {
		if times > 1 {
			twice++
		}
	}
	total := r.total(o)
	if all := int(total.Outcomes[counters.OK]); twice > 0 || len(returned) != all || uint64(all) != total.Operations() {
		b.fault("%d exchanges of one value by %d threads returned %d different values, %d of them more than once", total.Operations(), threads, len(returned), twice)
	}
	return nil
}
