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
				text += ", " + significant(*share) + " times the memory"
				if *share < 1 {
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
				Evidence: small, Remedy: "run the phase longer, or set a smaller memory_limit", Where: at(t, "")})
		}
	}
	return found
}

// neverFell says whether every trial was long enough to tell and fell in none.
func (r *Row) neverFell() bool {
	for _, o := range r.used() {
		c := o.Course
		if c == nil || c.Has(stat.ShapeTooShort) || c.Has(stat.ShapeWandering) || c.LastFall != nil ||
			len(c.Cliffs)+len(c.Declines)+len(c.Alternations) > 0 || c.Sunken() != nil {
			return false
		}
	}
	return true
}

// filesShare is the mean of what the store's data takes, in its files or by itself where that is more, to the memory that its trials might use; nil: not
// measured.
func filesShare(r *Row) *float64 {
	var shares []float64
	for _, o := range r.used() {
		sizes := o.phase.Sizes
		if sizes.DataToMemory == nil {
			continue
		}
		share := *sizes.DataToMemory
		if sizes.DiskBytes != nil && sizes.LogicalBytes != nil && *sizes.LogicalBytes > 0 {
			share *= max(1, float64(*sizes.DiskBytes)/float64(*sizes.LogicalBytes))
		}
		shares = append(shares, share)
	}
	return meanOf(shares)
}
