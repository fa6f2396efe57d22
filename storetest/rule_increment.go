package storetest

import (
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// counterRule is the rule of increment.
func counterRule(b *bench) error {
	can := b.description.Abilities
	c, err := b.openChanged(trace.Increment, can.Increment)
	if err != nil {
		return err
	}
	const records = 20
	sum := uint64(0)
	err = c.writeAndChange(records, func(change *script, i, index uint64) {
		for range i % 4 { // less than ten, so that no record gets longer
			change.do(0, trace.Increment, index, 0)
			sum++
		}
		if i%5 == 0 && can.Modify {
			change.do(0, trace.Modify, index, 0)
		}
	})
	if err != nil {
		return err
	}
	if err := c.addUp("counters that were incremented", records, sum); err != nil {
		return err
	}
	if err := c.absent(c.base + 1000); err != nil {
		return err
	}
	const keys, what = 3, "counters that several threads increment"
	r, err := c.together(what, c.base, keys, 60, func(s *script, thread int, i uint64) {
		if can.Modify {
			s.do(thread, trace.Modify, c.base+i%keys, 0)
		}
	})
	if err != nil {
		return err
	}
	done := r.total(trace.Increment).Outcomes[counters.OK]
	return c.addUp(what, keys, done+0+1+2) // what they had before
}

// addUp holds the counters of the first records, read back in a verify phase, against their sum.
func (c *changed) addUp(what string, records, sum uint64) error {
	r, err := c.verify(what, c.base, records)
	if err != nil {
		return err
	}
	if got := r.total(trace.Read).SortSum; got != sum {
		c.fault("%s: they add up to %d, expected %d", what, got, sum)
	}
	return nil
}
