package finds

import (
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// gather reads the finds that can be judged: those that ended well, or with nothing.
func (c *checker) gather(recorded func(thread int) []counters.Recorded) {
	for i := range c.file.Threads {
		_, found := counters.CutFinds(c.file, i, recorded(i))
		for _, one := range found {
			entry, _ := c.file.Threads[i].EntryAt(one.Sequence())
			f := &find{Find: one, entry: entry, thread: i}
			if !c.judges(f) {
				c.result.NotJudged++
				continue
			}
			f.given = make(map[uint64]bool, len(f.Found))
			for _, index := range f.Found {
				f.given[index] = true
			}
			c.all = append(c.all, f)
		}
	}
}

func (c *checker) judges(f *find) bool {
	o := f.Outcome()
	ended := o == counters.OK || f.entry.Operation() != trace.Scan && (o == counters.Miss || o == counters.Lost)
	whole := f.entry.Operation() == trace.Count || uint64(len(f.Found)) == f.Read
	asked := f.entry.Operation() == trace.Scan || int(c.amount(f)) < len(c.Queries)
	return ended && whole && asked && !f.entry.Grows() && !slices.Contains(f.Found, counters.FoundUnknown)
}

// amount is what the size class of a find's entry stands for.
func (c *checker) amount(f *find) uint32 { return c.amountOf(f.entry) }

func (c *checker) amountOf(e trace.Entry) uint32 { return c.file.Amounts[e.SizeClass()] }
