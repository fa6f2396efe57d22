package finds

import (
	"slices"

	"assay/internal/evidence/answers"
	"assay/internal/experiment/trace"
)

// write is an entry that changes a record, in one lap or in each.
type write struct {
	thread          int
	sequence, every uint64 // of the first time, and from one time to the next; every 0: there is no other
	operation       trace.Operation
	doubtful        bool // whether it was done is not known
}

// times returns how often it is among the first so many entries of its thread.
func (w write) times(entries uint64) uint64 {
	switch {
	case entries <= w.sequence:
		return 0
	case w.every == 0:
		return 1
	}
	return (entries-w.sequence-1)/w.every + 1
}

// listWrites notes what the phase's threads have begun to do to the records that finds are about; false: it is
// too much to be listed.
func (c *checker) listWrites() bool {
	c.writes = map[uint64][]write{}
	for _, f := range c.all {
		for _, index := range f.about {
			c.writes[index] = nil
		}
		for _, index := range f.Found {
			c.writes[index] = nil
		}
	}
	deleted := 0
	for i := range c.file.Threads {
		if deleted += c.listThread(i, c.begun[i], candidatesMax-deleted); deleted > candidatesMax {
			return false
		}
	}
	return true
}

// listThread returns how many records deletes by query may have deleted, and ends where they are more than most.
func (c *checker) listThread(thread int, begun uint64, most int) (deleted int) {
	t := &c.file.Threads[thread]
	n := uint64(len(t.Entries))
	batchDoubt := false
	for position, e := range t.Entries {
		if uint64(position) >= begun || deleted > most {
			return deleted
		}
		o := e.Operation()
		doubtful := c.Doubt[thread]>>o&1 != 0
		switch {
		case o == trace.Batch:
			batchDoubt = doubtful
			continue
		case !o.Changes() || o == trace.Touch:
			continue
		case e.IsMember():
			doubtful = batchDoubt
		}
		for sequence := uint64(position); sequence < begun; sequence += n {
			index, every := e.EffectiveIndex(sequence/n, t.Stride), n
			if e.Grows() {
				every = 0
			}
			w := write{thread, sequence, every, o, doubtful}
			if o == trace.DeleteQuery {
				deleted += c.listDeleted(c.amountOf(e), index, w, most-deleted)
			} else if writes, asked := c.writes[index]; asked {
				c.writes[index] = append(writes, w)
			}
			if every > 0 || deleted > most {
				break
			}
		}
	}
	return deleted
}

// listDeleted notes a delete by query at each record that its query finds, and returns how many those are.
func (c *checker) listDeleted(query uint32, asked uint64, w write, most int) (deleted int) {
	of := c.answersTo(query)
	of.Find(asked, func(found answers.Found) {
		if deleted += found.To - found.From; deleted > most {
			return
		}
		of.Indexes(found, func(index uint64) {
			if writes, is := c.writes[index]; is {
				c.writes[index] = append(writes, w)
			}
		})
	})
	return deleted
}

// state says whether a record is owed to a find, and whether it may be there.
func (c *checker) state(f *find, index uint64) (owed, possible bool) {
	owed = c.Before.Certain.Has(index)
	possible = c.Before.Possible == nil || c.Before.Possible.Has(index)
	stable := true
	for _, w := range c.writes[index] {
		acknowledged, begun := w.times(f.Before[w.thread]), w.times(f.After[w.thread])
		if c.Process != nil && c.Process[w.thread] != c.Process[f.thread] {
			acknowledged, begun = 0, w.times(c.begun[w.thread])
		}
		if begun == 0 {
			continue
		}
		puts := w.operation.Writes()
		possible = possible || puts
		owed = owed || puts && acknowledged > 0 && !w.doubtful
		stable = stable && acknowledged == begun && !w.operation.Deletes()
	}
	return owed && stable, possible
}

// judge adds what a find showed.
func (c *checker) judge(f *find) {
	c.result.Finds++
	var owed, missing, most uint64
	late := c.isLate(f)
	for _, index := range f.about {
		must, may := c.state(f, index)
		if may {
			most++
		}
		switch {
		case !must || late(index):
			continue
		case f.entry.Operation() != trace.Count && !f.given[index]:
			missing++
		}
		owed++
	}
	beyond := uint64(0)
	if f.entry.Operation() == trace.Count {
		missing = owed - min(owed, f.Read)
		if c.Before.Possible != nil {
			beyond = f.Read - min(most, f.Read)
		}
	}
	for _, index := range f.Found {
		if _, may := c.state(f, index); !may {
			beyond++
		}
	}
	c.result.Owed += owed
	c.result.Missing, c.result.Beyond = c.result.Missing+missing, c.result.Beyond+beyond
	if missing > 0 {
		c.result.MissingIn++
	}
	if beyond > 0 {
		c.result.BeyondIn++
	}
}

// isLate returns which records a find did not come to, because it gave as many as it was asked for: of a
// query without an order any, and of one with an order those that come no earlier than the last that it
// gave.
func (c *checker) isLate(f *find) func(index uint64) bool {
	never := func(uint64) bool { return false }
	if f.entry.Operation() != trace.Query {
		return never
	}
	shape := c.Queries[c.amount(f)]
	if len(f.Found) == 0 || len(f.Found) < shape.Query.Limit {
		return never
	}
	if shape.Query.Sort < 0 {
		return func(uint64) bool { return true }
	}
	var numbers []uint64
	for _, index := range f.Found {
		numbers = append(numbers, shape.SortNumber(index))
	}
	if shape.Query.Descending {
		last := slices.Min(numbers)
		return func(index uint64) bool { return shape.SortNumber(index) <= last }
	}
	last := slices.Max(numbers)
	return func(index uint64) bool { return shape.SortNumber(index) >= last }
}
