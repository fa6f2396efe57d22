package finds

import (
	"bytes"
	"slices"

	"assay/internal/evidence/answers"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

const (
	// recordsMax bounds the records of which answers are made, candidatesMax those that all finds of a
	// phase are about, and candidatesEach those of one: what is beyond is not judged.
	recordsMax     = 1 << 22
	candidatesMax  = 1 << 22
	candidatesEach = 1 << 16
)

// candidates sets what each find is about: for each record that may be there at some moment of the
// phase, whether the question would find it. Finds of which that is too much to list are left out.
func (c *checker) candidates() {
	if c.universe = c.universeOf(); c.universe == nil {
		c.giveUp()
		return
	}
	var scans []*stretch
	budget := candidatesMax
	for _, f := range c.all {
		if f.entry.Operation() == trace.Scan {
			scans = append(scans, c.stretchOf(f))
			continue
		}
		c.answer(f)
		if len(f.about) > candidatesEach || budget < len(f.about) {
			f.given = nil
			continue
		}
		budget -= len(f.about)
	}
	fillScans(c.Keys, scans, c.universe)
	c.all = slices.DeleteFunc(c.all, func(f *find) bool {
		if f.given == nil {
			c.result.NotJudged++
		}
		return f.given == nil
	})
}

// universeOf lists all records that may be there; nil: they are too many.
func (c *checker) universeOf() []uint64 {
	there := c.Before.Through(c.file, c.begun)
	of := there.Possible
	if of == nil { // records of others may have the trial's keys: those that the trial knows of count
		only := c.Before
		only.Possible = c.Before.Certain
		of = only.Through(c.file, c.begun).Possible
	}
	if of == nil || of.Count() > recordsMax {
		return nil
	}
	return of.List()
}

// answer sets what a query or count is about.
func (c *checker) answer(f *find) {
	of := c.answersTo(c.amount(f))
	of.Find(f.entry.Index(), func(found answers.Found) {
		if found.To-found.From > candidatesEach-len(f.about) {
			f.about = make([]uint64, candidatesEach+1)
			return
		}
		of.Indexes(found, func(index uint64) { f.about = append(f.about, index) })
	})
	if len(f.about) <= candidatesEach {
		slices.Sort(f.about) // several alternatives may find one record
		f.about = slices.Compact(f.about)
	}
}

// answersTo is what a query finds among the records that may be there.
func (c *checker) answersTo(query uint32) *answers.Answers {
	if c.answers[query] == nil {
		c.answers[query] = answers.New(c.Columns, c.Queries[query], uint64(len(c.universe)),
			func(k uint64) uint64 { return c.universe[k] })
	}
	return c.answers[query]
}

// stretch is the part of the order of keys that a scan is about: all from its key on, to the last
// record that it gave where it gave as many as it was asked for.
type stretch struct {
	f        *find
	from, to []byte // nil: there is no end
}

func (c *checker) stretchOf(f *find) *stretch {
	s := &stretch{f: f, from: c.Keys.Append(nil, f.entry.Index())}
	if n := len(f.Found); n > 0 && n >= int(c.amount(f)) {
		s.to = c.Keys.Append(nil, f.Found[n-1])
	}
	return s
}

// fillScans sets what each scan is about. Each key is made once, and looked for among the scans.
func fillScans(keys keyval.KeyShape, scans []*stretch, universe []uint64) {
	if len(scans) == 0 {
		return
	}
	slices.SortFunc(scans, func(a, b *stretch) int { return bytes.Compare(a.from, b.from) })
	// furthest is the last end of the scans up to one; endless is how many of them have none.
	furthest, endless := make([][]byte, len(scans)), make([]bool, len(scans))
	for i, s := range scans {
		furthest[i], endless[i] = s.to, s.to == nil
		if i == 0 {
			continue
		}
		if endless[i] = endless[i] || endless[i-1]; bytes.Compare(furthest[i-1], furthest[i]) > 0 {
			furthest[i] = furthest[i-1]
		}
	}
	room := make([]byte, 0, keys.BytesMax()+8)
	for _, index := range universe {
		key := keys.Append(room[:0], index)
		last, exact := slices.BinarySearchFunc(scans, key, func(s *stretch, key []byte) int {
			return bytes.Compare(s.from, key)
		})
		for exact && last < len(scans) && bytes.Equal(scans[last].from, key) {
			last++
		}
		for i := last - 1; i >= 0 && (endless[i] || bytes.Compare(furthest[i], key) >= 0); i-- {
			s := scans[i]
			if s.f.given == nil || s.to != nil && bytes.Compare(s.to, key) < 0 {
				continue
			}
			if s.f.about = append(s.f.about, index); len(s.f.about) > candidatesEach {
				s.f.given = nil
			}
		}
	}
}
