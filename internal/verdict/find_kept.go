package verdict

import (
	"fmt"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// grows says whether a phase makes the data grow without end: what is then asked is where a store breaks.
func grows(p spec.Phase) bool {
	var inserts, all float64
	for operation, weight := range p.Mix {
		all += weight
		if operation == "insert" || operation == "upsert" && p.Order.Distribution == "counting" {
			inserts += weight
		}
	}
	return all > 0 && 2*inserts >= all
}

// findKept says, where memory or disk was bounded, which stores did not break as their data grew, how far they got, and whether that was far enough to tell: that a collapse did not appear
// is an answer, too.
func findKept(run *record.Run, s *Summary) (found []Finding) {
	for i := range s.Tables {
		t := &s.Tables[i]
		asked := t.Parameters.MemoryLimit > 0 || t.Parameters.DiskQuota > 0
		if t.Open || !asked || !grows(phaseNamed(run, t.Phase)) {
			continue
		}
		var kept, small []string
		var smallTrials []Observation
		measured := 0
		for j := range t.Rows {
			r := &t.Rows[j]
			if r.Role != plan.Measured || len(r.used()) == 0 {
				continue
			}
			measured++
			if !r.neverFell() {
				continue
			}
			text := r.Arm + " up to " + amount(breakOf(r).reached) + " records"
			if share := filesShare(r); share != nil {
				text += ", files " + significant(*share) + " times the memory"
				if *share < 1 {
					smallTrials = append(smallTrials, r.used()...)
					small = append(small, fmt.Sprintf("%s: %s of the memory", r.Arm, percent(*share)))
				}
			}
			kept = append(kept, text)
		}
		if len(kept) > 0 {
			found = append(found, Finding{Code: FindKept, Severity: Notice,
				Sentence: fmt.Sprintf("%d of %s show no fall in %s, as far as was run.", len(kept), plural(measured, "store", "stores"), in(run, t)),
				Evidence: kept, Where: at(t, "")})
		}
		if len(small) > 0 {
			found = append(found, Finding{Code: FindNotOutgrown, Severity: Warning,
				Sentence: fmt.Sprintf("In %s, the files of %s without a fall did not outgrow the memory: what is beyond it is not known.", in(run, t), plural(len(small), "store", "stores")),
				Evidence: small, Remedy: longer(smallTrials) + ", or set a smaller memory_limit", Where: at(t, "")})
		}
	}
	return found
}

// heldShare is how much of its highest level a rate must have left at its end: what has less fell, if in steps.
const heldShare = 1 - stat.SteadyTolerance

// neverFell says whether every trial was long enough to tell and fell in none.
func (r *Row) neverFell() bool {
	for _, o := range r.used() {
		c := o.Course
		if c == nil || c.Has(stat.ShapeTooShort) || c.Has(stat.ShapeWandering) || c.LastFall != nil ||
			len(c.Cliffs)+len(c.Declines)+len(c.Alternations) > 0 || c.Sunken() != nil {
			return false
		}
		highest := 0.0
		for _, level := range c.Segments {
			highest = max(highest, level.Rate)
		}
		if c.Has(stat.ShapeStepped) && c.Segments[len(c.Segments)-1].Rate < heldShare*highest {
			return false
		}
	}
	return len(r.used()) > 0
}

// filesShare is the mean of what the store's files take, or where it has none, its data, to the memory that its trials might use; nil: not measured.
func filesShare(r *Row) *float64 {
	var shares []float64
	for _, o := range r.used() {
		sizes := o.phase.Sizes
		if sizes.DataToMemory == nil {
			continue
		}
		share := *sizes.DataToMemory
		if sizes.DiskBytes != nil && *sizes.DiskBytes > 0 && sizes.LogicalBytes != nil && *sizes.LogicalBytes > 0 {
			share *= float64(*sizes.DiskBytes) / float64(*sizes.LogicalBytes)
		}
		shares = append(shares, share)
	}
	return meanOf(shares)
}

// limitNearby is the share of its memory limit that a trial must have come to for the limit to have had a part in what it did.
const limitNearby = 0.95

// findLimitNotMet names, where data was to outgrow a memory limit, the stores that never came near it: what they did, they did by themselves.
func findLimitNotMet(run *record.Run, s *Summary) (found []Finding) {
	for i := range s.Tables {
		t := &s.Tables[i]
		limit := float64(t.Parameters.MemoryLimit)
		if t.Open || limit <= 0 || !grows(phaseNamed(run, t.Phase)) {
			continue
		}
		var far []string
		measured := 0
		for j := range t.Rows {
			r := &t.Rows[j]
			if r.Role != plan.Measured || len(r.used()) == 0 {
				continue
			}
			measured++
			most, known := 0.0, true
			for _, o := range r.used() {
				m := o.trial.Memory
				if m == nil || m.PeakBytes == nil || m.LimitHits == nil {
					known = false
					break
				}
				if *m.LimitHits > 0 {
					most = limit
				}
				most = max(most, float64(*m.PeakBytes))
			}
			if known && most < limitNearby*limit {
				far = append(far, fmt.Sprintf("%s: at most %s of %s, page cache included", r.Arm, size(most), size(limit)))
			}
		}
		if len(far) > 0 {
			found = append(found, Finding{Code: FindLimitNotMet, Severity: Notice,
				Sentence: fmt.Sprintf("%d of %s never came near their memory limit in %s: it had no part in what they did there.", len(far), plural(measured, "store", "stores"), in(run, t)),
				Evidence: far, Remedy: "run the phase longer, or set a smaller memory_limit", Where: at(t, "")})
		}
	}
	return found
}
