package history

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
)

// cover counts the acknowledged writes that some read would have shown to be lost: those after
// which the key was read before another write of it began, recorded or not. It is of a key on one clock.
func (k *key) cover(c *Consistency) {
	var byBegin []*write
	for _, w := range k.ordered {
		if w.begin > before {
			byBegin = append(byBegin, w)
		}
	}
	slices.SortFunc(byBegin, func(a, b *write) int { return cmp.Compare(a.begin, b.begin) })
	var reads []int64 // begins, ascending: events are sorted by them
	ends := map[int64]int64{}
	for _, e := range k.events {
		if e.Read < counters.ObservedLowest || e.Read == counters.ObservedMiss {
			reads = append(reads, e.BeginNS-slackNS)
			ends[e.BeginNS-slackNS] = e.EndNS
		}
	}
	ended := int64(before) // all writes that began before this one
	for i, w := range byBegin {
		alone := ended < w.begin // else either of them may be the newer
		end := w.acknowledged()
		ended = max(ended, end)
		if !alone || end == never || w.version == audit.Absent {
			continue
		}
		at, _ := slices.BinarySearch(reads, end)
		if at < len(reads) && ends[reads[at]] < k.untilNS && (i == len(byBegin)-1 ||
			byBegin[i+1].begin > ends[reads[at]]) {
			c.Covered++
		}
	}
}

// Found returns the chance that a store which loses that share of its acknowledged writes would
// have lost one of those that were covered.
func Found(share float64, covered uint64) float64 {
	return -math.Expm1(float64(covered) * math.Log1p(-share))
}

// Rarest returns n where a store that loses one of n acknowledged writes would be found with a chance
// of 95 % by the writes that were covered.
func Rarest(covered uint64) float64 { return -1 / math.Expm1(math.Log(0.05)/float64(covered)) }
