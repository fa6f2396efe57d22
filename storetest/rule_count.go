package storetest

import (
	"fmt"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// openAny opens a store, also one that keeps nothing.
func (b *bench) openAny(o opening) error {
	_, err := b.open(o)
	return err
}

func countsRule(b *bench) error {
	threads := b.threads(2)
	if err := b.openAny(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(threads)
	base := b.base(s.keys)
	keyBytes := keyval.NewKeyMaker(s.keys)
	key := len(keyBytes.Key(base)) // of all keys alike: the kit's own shape has one length
	for thread := range threads {
		own := base + uint64(thread)*1000
		for i := range uint64(20) {
			s.do(thread, trace.Insert, own+i, 100)
		}
		for i := range uint64(10) {
			s.do(thread, trace.Update, own+i, 60)
			s.do(thread, trace.Upsert, own+50+i, 30)
			s.do(thread, trace.Read, own+i, 0)
			s.do(thread, trace.Read, own+10+i, 0)
		}
		for i := range uint64(5) {
			s.do(thread, trace.Delete, own+i, 0)
			s.do(thread, trace.ReadModifyWrite, own+5+i, 40)
		}
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	refused := uint64(0) // of writes, where the driver claims that they may be: then it is not told which
	if b.description.WriteConflicts {
		b.allDone(r, "a mix of operations")
		refused = r.refused()
	}
	for _, expected := range []struct {
		operation           trace.Operation
		count, sent, gotten int // of one thread
	}{
		{trace.Insert, 20, 20 * (key + 100), 0},
		{trace.Update, 10, 10 * (key + 60), 0},
		{trace.Upsert, 10, 10 * (key + 30), 0},
		{trace.Read, 20, 0, 10*60 + 10*100},
		{trace.Delete, 5, 5 * key, 0},
		{trace.ReadModifyWrite, 5, 5 * (key + 40), 5 * 60},
	} {
		total := r.total(expected.operation)
		done := uint64(threads * expected.count)
		if refused == 0 {
			b.expect(r, "a mix of operations", expected.operation, counters.OK, int(done))
		} else {
			done = total.Outcomes[counters.OK] // allDone has judged the rest
		}
		if sent := done * uint64(expected.sent/expected.count); total.BytesWritten != sent {
			b.fault("%s: %d bytes counted as sent, expected %d: keys of %d bytes and the values", expected.operation, total.BytesWritten, sent, key)
		}
		if refused == 0 && b.needsRecords() == nil && total.BytesRead != uint64(threads*expected.gotten) {
			b.fault("%s: %d bytes counted as read, expected %d", expected.operation, total.BytesRead, threads*expected.gotten)
		}
		if total.Items != 0 {
			b.fault("%s: %d items counted, but it has none", expected.operation, total.Items)
		}
	}
	if r.elapsedNS <= 0 {
		b.fault("the phase took %d ns", r.elapsedNS)
	}
	return nil
}

func lapsRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(10) {
		s.grow(0, trace.Insert, base+i, 40)
		s.grow(0, trace.Read, base+i, 0)          // what this lap has written
		s.do(0, trace.Upsert, base+2000+i, 40)    // the same each lap
		s.grow(0, trace.Insert, base+500+2*i, 25) // a second stretch of the stride
	}
	s.threads[0].Stride = 100
	s.threads[0].Limit = 40*3 + 15 // into the fourth lap
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allOK(r, "three laps and a part")
	m := model{}
	m.remember(r)
	m[base+310] = absent // where the fifth lap would have gone on
	m[base+400] = absent
	return b.holds(m, s, "after three laps and a part")
}

func limitRule(b *bench) error {
	threads := b.threads(4)
	if err := b.openAny(opening{threads: threads}); err != nil {
		return err
	}
	limits := []uint64{1, 7, 23, 0}[:threads]
	s := b.script(threads)
	base := b.base(s.keys)
	for thread, limit := range limits {
		if limit == 0 {
			continue // no entries either: the thread does nothing
		}
		for i := range uint64(7) {
			s.do(thread, trace.Upsert, base+uint64(thread)*100+i, 50)
		}
		s.threads[thread].Limit = limit
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	for thread, limit := range limits {
		if got := r.sample.Attempted[thread]; got != limit {
			b.fault("thread %d of 7 entries a lap did %d entries, its limit is %d", thread, got, limit)
		}
	}
	return nil
}

func deadlineRule(b *bench) error {
	if err := b.openAny(opening{}); err != nil {
		return err
	}
	const deadline = 60 * time.Millisecond
	s := b.script(1)
	s.endless, s.deadline = true, deadline
	base := b.base(s.keys)
	for i := range uint64(5) {
		s.do(0, trace.Upsert, base+i, 50)
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	if r.sample.Attempted[0] == 0 {
		b.fault("nothing was done before the deadline")
	}
	if took := time.Duration(r.elapsedNS); took < deadline {
		b.fault("the phase ended after %v, before its deadline of %v", took, deadline)
	}
	return nil
}

func stopRule(b *bench) error {
	threads := b.threads(2)
	if err := b.openAny(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(threads)
	s.endless = true
	base := b.base(s.keys)
	for thread := range threads {
		for i := range uint64(5) {
			s.do(thread, trace.Upsert, base+uint64(thread)*10+i, 50)
		}
	}
	running, err := b.begin(s)
	if err != nil {
		return err
	}
	err = running.await("operations of each thread", func(now counters.Sample) bool {
		for _, n := range now.Acknowledged {
			if n < 20 {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	running.counters.Stop()
	if _, err := running.wait(); err != nil {
		return fmt.Errorf("after stop was set: %w", err)
	}
	return nil
}

func lostRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	s.mustHitBelow = base + 10
	for i := range uint64(10) {
		s.do(0, trace.Read, base+i, 0)            // lost
		s.do(0, trace.Read, base+10+i, 0)         // the bound itself is above
		s.do(0, trace.ReadModifyWrite, base+i, 9) // reads, too
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	total := r.total(trace.Read).Outcomes
	if total[counters.Lost] != 10 || total[counters.Miss] != 10 {
		b.fault("10 reads below must_hit_below and 10 from it on: expected 10 lost, 10 miss, counted %s", r.outcomes(trace.Read))
	}
	b.expect(r, "below must_hit_below", trace.ReadModifyWrite, counters.Lost, 10)
	b.explained(r, counters.Lost, 20)
	return nil
}

// explained holds the messages of an outcome to add up.
func (b *bench) explained(r *ran, outcome counters.Outcome, n uint64) {
	var sum uint64
	for _, m := range r.messages {
		if m.Outcome == outcome || m.Text == counters.OtherMessages {
			sum += m.Count
		}
		if m.Text == "" {
			b.fault("a message of outcome %s has no text", m.Outcome)
		}
	}
	if sum != n {
		b.fault("%d operations ended in %s, their messages add up to %d", n, outcome, sum)
	}
}

func wrongRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	const n = 10
	write, loaded := b.script(1), b.script(1)
	loaded.zeroVersions = true
	short := b.description.ValueBytesMin < keyval.StampBytes
	base := b.base(write.keys)
	for i := range uint64(n) {
		write.do(0, trace.Insert, base+i, 100)
		loaded.do(0, trace.Insert, base+100+i, 100)
		if short {
			write.do(0, trace.Insert, base+200+i, 12)
		}
	}
	for _, s := range []*script{write, loaded} {
		r, err := b.run(s)
		if err != nil {
			return err
		}
		b.allOK(r, "writing")
	}
	reads := func(what string, from uint64, outcome counters.Outcome, change func(*script)) error {
		s := b.script(1)
		for i := range uint64(n) {
			s.do(0, trace.Read, from+i, 0)
		}
		change(s)
		r, err := b.run(s)
		if err != nil {
			return err
		}
		b.expect(r, what, trace.Read, outcome, n)
		if outcome == counters.Wrong {
			b.explained(r, counters.Wrong, n)
		}
		return nil
	}
	for _, step := range []struct {
		what    string
		from    uint64
		outcome counters.Outcome
		change  func(*script)
	}{
		{"values of this trial", base, counters.OK, func(*script) {}},
		{"bytes of another pool", base, counters.Wrong, func(s *script) { s.poolSeed = 2 }},
		{"bytes of another pool, unverified", base, counters.OK, func(s *script) { s.poolSeed, s.unverified = 2, true }},
		{"loaded values", base + 100, counters.OK, func(s *script) { s.loaded = base + 100 + n }},
		{"loaded values of records that were never loaded", base + 100, counters.Wrong, func(s *script) { s.loaded = base + 100 }},
		{"short values of this trial", base + 200, counters.OK, func(*script) {}},
		{"short values where all values are long", base + 200, counters.Wrong, func(s *script) { s.longOnly = true }},
	} {
		if step.from == base+200 && !short {
			continue
		}
		if err := reads(step.what, step.from, step.outcome, step.change); err != nil {
			return err
		}
	}

	// A version of a phase that this worker never prepared: the checksum is right, the write is not
	// of this trial.
	if len(b.survivors()) == 0 {
		return nil
	}
	o := opening{durability: b.survivors()[0]}
	if err := b.close(); err != nil {
		return err
	}
	r, err := b.request(o)
	if err != nil {
		return err
	}
	o.directory = r.Open.Directory
	if _, err := b.open(o); err != nil {
		return err
	}
	foreign := b.script(1)
	for i := range uint64(n) {
		foreign.do(0, trace.Upsert, base+200+i, 100)
	}
	if _, err := b.run(foreign); err != nil {
		return err
	}
	if err := b.close(); err != nil {
		return err
	}
	if _, err := b.open(o); err != nil {
		return err
	}
	b.phases = 100
	if err := reads("values of a phase from before the store was closed, whose trace is not here", base+200, counters.Wrong, func(*script) {}); err != nil {
		return err
	}
	return b.close()
}

func messagesRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	write := b.script(1)
	base := b.base(write.keys)
	const n = 30
	for i := range uint64(n) {
		write.do(0, trace.Insert, base+i, int(i)) // short ones and long ones, so that messages may differ
	}
	r, err := b.run(write)
	if err != nil {
		return err
	}
	b.allOK(r, "writing")
	read := b.script(1)
	read.poolSeed = 2
	read.mustHitBelow = base + 2*n
	wrong := 0
	for i := range uint64(n) {
		if i > keyval.StampBytes { // a body of at least a byte; the pool of seed 2 has another
			for range 3 {
				read.do(0, trace.Read, base+i, 0)
				wrong++
			}
		}
		read.do(0, trace.Read, base+n+i, 0)
		read.do(0, trace.ReadModifyWrite, base+n+i, 50)
	}
	if r, err = b.run(read); err != nil {
		return err
	}
	total := r.total(trace.Read).Outcomes
	if total[counters.Lost] != n {
		b.fault("reads of records that must be there and are not: expected %d lost, counted %s", n, r.outcomes(trace.Read))
	}
	b.expect(r, "of records that must be there and are not", trace.ReadModifyWrite, counters.Lost, n)
	// One byte may be the same by chance: as many as were counted wrong must be explained.
	var sum uint64
	for _, m := range r.messages {
		sum += m.Count
	}
	if outcomes := total[counters.Wrong] + total[counters.Lost] + n; sum != outcomes {
		b.fault("%d operations ended in wrong or lost, all messages add up to %d", outcomes, sum)
	}
	if total[counters.Wrong] == 0 {
		b.fault("none of %d reads of another pool's bytes was counted wrong", wrong)
	}
	if len(r.messages) == 0 || len(r.messages) > counters.ErrorPlaces {
		b.fault("one thread has %d messages, expected 1 to %d", len(r.messages), counters.ErrorPlaces)
	}
	return nil
}

func openLoadRule(b *bench) error {
	if err := b.openAny(opening{}); err != nil {
		return err
	}
	paced := b.script(1)
	paced.flags = trace.FlagDue
	base := b.base(paced.keys)
	const n, every = 30, 2 * time.Millisecond
	for i := range uint64(n) {
		paced.do(0, trace.Upsert, base+i, 50)
		paced.threads[0].Due = append(paced.threads[0].Due, i*uint64(every))
	}
	paced.threads[0].LapNS = n * uint64(every)
	paced.threads[0].Limit = n + n/2 // into the second lap
	r, err := b.run(paced)
	if err != nil {
		return err
	}
	lastDue := time.Duration(n+n/2-1) * every
	if took := time.Duration(r.elapsedNS); took < lastDue {
		b.fault("the phase ended after %v, but its last operation was due after %v: operations began before their due time", took, lastDue)
	}
	total := r.total(trace.Upsert)
	if total.Response == nil {
		return fmt.Errorf("no response-time histogram") // the kit's own counters file has one
	}

	// Everything is due at once: each operation waits only for those before it.
	queued := b.script(1)
	queued.flags = trace.FlagDue
	for i := range uint64(n) {
		queued.do(0, trace.Upsert, base+i, 50)
	}
	queued.threads[0].Due = make([]uint64, n)
	queued.threads[0].LapNS = 1
	if r, err = b.run(queued); err != nil {
		return err
	}
	if r.sample.LatenessMaxNS == 0 {
		b.fault("%d operations were due at once, but none is reported to have begun late", n)
	}
	total = r.total(trace.Upsert)
	if last, service := total.Response.Quantile(1), total.Service.Quantile(1); last < service {
		b.fault("the longest response time, %.0f ns from the due time, is below the longest service time, %.0f ns", last, service)
	}
	// a bucket's middle may lie below by 1/256
	if late := float64(r.sample.LatenessMaxNS); total.Response.Quantile(1) < late*0.99 {
		b.fault("an operation began %.0f ns late, but the longest response time is %.0f ns", late, total.Response.Quantile(1))
	}

	// A deadline in the middle of a wait ends the phase.
	cut := b.script(1)
	cut.flags, cut.deadline = trace.FlagDue, 300*time.Millisecond // a busy machine takes a while to begin a thread
	cut.do(0, trace.Upsert, base, 50)
	cut.do(0, trace.Upsert, base, 50)
	cut.threads[0].Due = []uint64{0, uint64(time.Hour)}
	cut.threads[0].LapNS = uint64(time.Hour)
	if r, err = b.run(cut); err != nil {
		return fmt.Errorf("a deadline before an operation is due: %w", err)
	}
	if got := r.sample.Attempted[0]; got != 1 {
		b.fault("%d operations were done before the deadline, one was due", got)
	}
	return nil
}
