package history

import (
	"cmp"
	"slices"

	"assay/internal/base/histogram"
	"assay/internal/evidence/audit"
)

// Staleness is how old what reads returned was, of a store that may answer with an older value.
type Staleness struct {
	// Of the reads that returned an overwritten value: from when the overwriting was acknowledged until the
	// read began.
	LateNS *histogram.Histogram `json:"late_ns,omitempty"`
	// Of all reads before which a write of the phase had been acknowledged, by the time from the newest such
	// write to their answer, the youngest first. They are reported where one clock gave all times.
	Ages []Age `json:"ages,omitempty"`
}

// Age is of reads whose answer came so long, at most, after the newest write that had been acknowledged
// before they began, and longer than in the Age before. Whether a read is counted here depends on when it
// was made alone, and not on what it returned: Old of Reads estimates how many replicas are so late.
type Age struct {
	NS    int64  `json:"ns"`            // at most so long after; the last one's has no end
	Reads uint64 `json:"reads"`         // that were so old
	Old   uint64 `json:"old,omitempty"` // returned an older value, or nothing yet
}

// ageEnds are 1, 2 and 5 of each power of ten from a microsecond to a thousand seconds.
var ageEnds = func() (ends []int64) {
	for power := int64(1e3); power < 1e12; power *= 10 {
		ends = append(ends, power, 2*power, 5*power)
	}
	return append(ends, 1e12)
}()

// ages counts reads by their age.
type ages struct {
	of   []Age
	acks []int64 // of the key's writes, in their order
}

// begin takes the acknowledgements of a key.
func (a *ages) begin(k *key) {
	a.acks = a.acks[:0]
	if k.clocks.ofThread != nil {
		return
	}
	for _, w := range k.ordered {
		if at := w.acknowledged(); at != never {
			a.acks = append(a.acks, at)
		}
	}
	slices.Sort(a.acks)
}

// count counts a read that found a value, or nothing. What reads in order to write may do so elsewhere.
func (a *ages) count(e *audit.HistoryEvent, old bool) {
	if e.Written != audit.NothingWritten {
		return
	}
	at, _ := slices.BinarySearch(a.acks, e.BeginNS-slackNS)
	if at == 0 {
		return
	}
	if a.of == nil {
		for _, end := range ageEnds {
			a.of = append(a.of, Age{NS: end})
		}
	}
	bin, _ := slices.BinarySearch(ageEnds, e.EndNS-a.acks[at-1])
	one := &a.of[min(bin, len(a.of)-1)]
	one.Reads++
	if old {
		one.Old++
	}
}

// told leaves out the ages that no read has, at both ends.
func (a *ages) told() []Age {
	some := func(one Age) bool { return one.Reads > 0 }
	first := slices.IndexFunc(a.of, some)
	if first < 0 {
		return nil
	}
	last := len(a.of) - 1
	for !some(a.of[last]) {
		last--
	}
	return slices.Clone(a.of[first : last+1])
}

// With returns what two phases, or trials, showed together.
func (s *Staleness) With(o *Staleness) *Staleness {
	if s == nil || o == nil {
		if s == nil {
			return o
		}
		return s
	}
	sum := &Staleness{}
	for _, one := range []*Staleness{s, o} {
		if one.LateNS != nil {
			if sum.LateNS == nil {
				sum.LateNS = histogram.New()
			}
			sum.LateNS.Add(one.LateNS)
		}
		for _, age := range one.Ages {
			at, there := slices.BinarySearchFunc(sum.Ages, age.NS, compareAge)
			if !there {
				sum.Ages = slices.Insert(sum.Ages, at, Age{NS: age.NS})
			}
			sum.Ages[at].Reads += age.Reads
			sum.Ages[at].Old += age.Old
		}
	}
	return sum
}

func compareAge(a Age, ns int64) int { return cmp.Compare(a.NS, ns) }

// What CurrentAfter asks for: so many reads in a step, of which no more are old than this share.
const (
	currentReads = 100
	currentShare = 0.01
)

// CurrentAfter returns the age from which on at most 1 % of the reads were old, in each step that has enough
// reads; known is false where the oldest ones were not current either, or were too few.
func (s *Staleness) CurrentAfter() (ns int64, known bool) {
	if s == nil {
		return 0, false
	}
	var reads, old uint64
	for i := len(s.Ages) - 1; i >= 0; i-- {
		reads, old = reads+s.Ages[i].Reads, old+s.Ages[i].Old
		if reads < currentReads {
			continue
		}
		if float64(old) > currentShare*float64(reads) {
			break
		}
		ns, known, reads, old = 0, true, 0, 0
		if i > 0 {
			ns = s.Ages[i-1].NS
		}
	}
	return ns, known
}
