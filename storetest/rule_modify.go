package storetest

import (
	"errors"
	"fmt"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// changed is a store of records whose columns an operation changes in place: a modify or an
// increment. The stamp is indexed, where the store has indexes.
type changed struct {
	*records
	by      trace.Operation
	threads int
	base    uint64
}

// openChanged opens a store for the rule of such an operation, whose ability the driver has or not.
func (b *bench) openChanged(by trace.Operation, has bool) (*changed, error) {
	if !has {
		return nil, skip("%s has no %s", b.description.Name, by)
	}
	if err := b.withoutColumns(by); err != nil {
		return nil, err
	}
	c := &changed{by: by, threads: b.threads(4), base: b.base(b.keys())}
	var err error
	c.records, err = b.openRecords(opening{threads: c.threads}, columns, true)
	return c, err
}

// withoutColumns prepares the operation on records that have no column for it.
func (b *bench) withoutColumns(o trace.Operation) error {
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	s.do(0, o, b.base(s.keys), 0)
	what := fmt.Sprintf("a trace with %s before define", o)
	r, err := b.prepare(s)
	if err == nil {
		b.fault("%s was accepted", what)
		err = errors.Join(r.counters.Unmap(), b.call(control.Request{Command: control.CommandRun}, nil))
	} else {
		err = b.judgeRefusal(what, control.ClassBadRequest, err)
	}
	return errors.Join(err, b.close())
}

// writeAndChange writes some records, lets each append what is done to one of them, and reads all
// back.
func (c *changed) writeAndChange(count int, each func(change *script, i, index uint64)) error {
	insert, change := c.script(1), c.script(1)
	for i := range uint64(count) {
		insert.do(0, trace.Insert, c.base+i, proofBytes)
		each(change, i, c.base+i)
	}
	if err := c.write("writing records", insert); err != nil {
		return err
	}
	if err := c.write(fmt.Sprintf("changing records by %s", c.by), change); err != nil {
		return err
	}
	return c.readBack(fmt.Sprintf("records that were changed by %s", c.by), insert, c.base)
}

// absent changes what is not there: it must be a miss, make no record, and be lost where the record
// must be there.
func (c *changed) absent(indexes ...uint64) error {
	missing, read, lost := c.script(1), c.reader(), c.script(1)
	for _, index := range indexes {
		missing.do(0, c.by, index, 0)
		read.do(0, trace.Read, index, 0)
	}
	last := indexes[len(indexes)-1]
	lost.mustHitBelow = last + 1
	lost.do(0, c.by, last, 0)
	for _, step := range []struct {
		what     string
		script   *script
		of       trace.Operation
		expected counters.Outcome
		n        int
	}{
		{"of keys that are not there", missing, c.by, counters.Miss, len(indexes)},
		{"of keys that were changed while they were not there", read, trace.Read, counters.Miss, len(indexes)},
		{"of a key that must be there and is not", lost, c.by, counters.Lost, 1},
	} {
		r, err := c.run(step.script)
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		c.expect(r, step.what, step.of, step.expected, step.n)
		if bytes := r.total(step.of).BytesWritten; bytes != 0 {
			c.fault("%s %s: counted %d bytes written", step.of, step.what, bytes)
		}
	}
	return nil
}

// together lets threads change the same records at once, so often each, with what behind appends
// after each change. Operations of each kind must be ok, or conflicts where the driver says that they
// may be.
func (c *changed) together(what string, base, keys, rounds uint64, behind func(s *script, thread int,
	i uint64)) (*ran, error) {
	s := c.script(c.threads)
	s.loaded = c.loaded
	for thread := range c.threads {
		for i := range rounds {
			s.do(thread, c.by, base+i%keys, 0)
			behind(s, thread, i)
		}
	}
	r, err := c.run(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	for _, total := range r.sample.Totals {
		fine := total.Outcomes[counters.OK]
		if c.description.WriteConflicts {
			fine += total.Outcomes[counters.Conflict]
		}
		if expected := uint64(c.threads) * rounds; fine != expected {
			c.fault("%s: expected %d of %s that are ok, counted %s", what, expected, total.Operation, r.outcomes(total.Operation))
		}
	}
	return r, nil
}

// verify reads records in a phase that records their versions.
func (s *records) verify(what string, from, n uint64) (*ran, error) {
	verify := s.script(1)
	verify.flags = trace.FlagRecordVersions
	for i := range n {
		verify.do(0, trace.Read, from+i, 0)
	}
	r, err := s.run(verify)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return r, nil
}

// columnUpdateRule is the rule of modify.
func columnUpdateRule(b *bench) error {
	c, err := b.openChanged(trace.Modify, b.description.Abilities.Modify)
	if err != nil {
		return err
	}
	err = c.writeAndChange(40, func(change *script, i, index uint64) {
		switch i % 4 {
		case 0:
			change.do(0, trace.Modify, index, 0)
		case 1:
			change.do(0, trace.Modify, index, 0)
			change.do(0, trace.Modify, index, 0)
		case 2:
			change.do(0, trace.Update, index, proofBytes)
			change.do(0, trace.Modify, index, 0)
		}
	})
	if err != nil {
		return err
	}
	if err := c.groups("after records were modified", c.base); err != nil {
		return err
	}
	remove := c.script(1)
	remove.do(0, trace.Delete, c.base+3, 0)
	if err := c.write("deleting a record", remove); err != nil {
		return err
	}
	if err := c.absent(c.base+3, c.base+1000, c.base+1001); err != nil {
		return err
	}
	if err := c.readBack("after modifies of keys that are not there", remove, c.base); err != nil {
		return err
	}
	return c.modifyTogether(c.base + 10)
}

// modifyTogether holds that each of the records that several threads modify at once has all columns
// of one thread's last modify, never a proof of one and a stamp of another.
func (c *changed) modifyTogether(base uint64) error {
	const keys, what = 5, "one record modified by several threads"
	r, err := c.together(what, base, keys, 60, func(s *script, thread int, i uint64) {
		s.do(thread, trace.Read, base+(i+1)%keys, 0)
	})
	if err != nil {
		return err
	}
	seen, err := c.verify(what, base, keys)
	if err != nil {
		return err
	}
	told := newLedger()
	for i, word := range seen.observed {
		if !told.stoodLast(r, base+uint64(i), word) {
			c.fault("%s: record %d holds %s, which is the last modify of none of the %d threads", what, i, observedText(word), c.threads)
		}
	}
	told.audit(c.bench, what)
	return nil
}
