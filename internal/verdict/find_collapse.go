package verdict

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/record"
	"assay/internal/stat"
)

// findCliffs tells of falls that came at once, or within a few samples, and lasted, with what they coincide with.
func findCliffs(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		var falls []float64
		var coinciding [][]string
		first, stored, back := math.Inf(1), "", 0
		for _, o := range r.Trials {
			if o.Cliff == nil {
				continue
			}
			c := o.Course.Cliffs[0]
			if c.Seconds < first {
				first, stored = c.Seconds, ""
				if c.Records != nil {
					stored = " and " + amount(*c.Records) + " records"
				}
			}
			if c.Back != nil {
				back++
			}
			falls = append(falls, 1-c.Left)
			evidence = append(evidence, o.Trial+": "+o.Course.cliffText(o.sampled, 0))
			coinciding = append(coinciding, o.changedWith(stat.WithCliff))
		}
		if len(evidence) == 0 {
			return
		}
		lasted := "it lasted"
		if 2*back > len(evidence) {
			lasted = "a part of it came back"
		}
		found = append(found, Finding{Code: FindCliff, Severity: Warning,
			Sentence: fmt.Sprintf("%s fell off a cliff in %s%s: by %s, first at %s%s, and %s.%s",
				r.Arm, in(run, t), blocksOf(len(evidence), r), percent(stat.Median(falls)), seconds(first), stored, lasted, together(coinciding, "It")),
			Evidence: evidence, Remedy: "run longer before trusting a figure; compare with sizes, faults and host writes at this time", Where: at(t, r.Arm)})
	})
	return found
}

// togetherMax is how many names a sentence bears.
const togetherMax = 3

// changedWith names the resources that changed their level with the first fall of a kind.
func (o Observation) changedWith(kind string) (names []string) {
	for _, with := range o.Course.Coincidences {
		if with.Kind == kind && with.Cliff == 0 && with.Decline == 0 {
			names = append(names, named(with))
		}
	}
	return names
}

// together names what most of the falls of an arm coincide with.
func together(coinciding [][]string, fall string) string {
	var names []string
	for _, one := range coinciding {
		for _, name := range one {
			seen := 0
			for _, other := range coinciding {
				if slices.Contains(other, name) {
					seen++
				}
			}
			if 2*seen > len(coinciding) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s coincides with a change of %s.", fall, list(names[:min(len(names), togetherMax)]))
}

// findDeclines tells of rates that fall as records or bytes pile up. A fall over time alone is a drift: see findUnsteady.
func findDeclines(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		var coinciding [][]string
		var halves []float64
		blocks := 0
		for _, o := range r.Trials {
			if o.Course == nil {
				continue
			}
			before := len(evidence)
			for _, d := range o.Course.Declines {
				if d.Basis == stat.OverRecords && d.HalfAt != nil && !d.Extrapolated {
					halves = append(halves, *d.HalfAt)
				}
				if d.Basis != stat.OverSeconds {
					evidence = append(evidence, o.Trial+": "+declineText(o.sampled, d))
				}
			}
			if len(evidence) > before {
				blocks++
				coinciding = append(coinciding, o.changedWith(stat.WithStep))
			}
		}
		if blocks == 0 {
			return
		}
		half := ""
		if len(halves) > 0 {
			half = ": half of its early rate is left at " + amount(stat.Median(halves)) + " records"
		}
		found = append(found, Finding{Code: FindDecline, Severity: Warning,
			Sentence: fmt.Sprintf("%s gets slower as data piles up, in %s%s%s.%s", r.Arm, in(run, t), blocksOf(blocks, r), half, together(coinciding, "Its steepest step")),
			Evidence: evidence, Remedy: "look at the rate against records stored, and compare stores at the size that you will have", Where: at(t, r.Arm)})
	})
	return found
}

// findSunken tells of rates that ended far below where they began, though no cliff or decline can be told from a random walk: several steps
// down within a minute look like one. It is a description, with no claim of a place or a cause.
func findSunken(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		for _, o := range r.Trials {
			if o.Course == nil {
				continue
			}
			if sunken := o.Course.Sunken(); sunken != nil {
				evidence = append(evidence, o.Trial+": "+sunken.Text)
			}
		}
		if len(evidence) > 0 {
			found = append(found, Finding{Code: FindSank, Severity: Warning,
				Sentence: fmt.Sprintf("%s sank to less than half of its first level in %s%s, in a way that gives no place of a break.",
					r.Arm, in(run, t), blocksOf(len(evidence), r)),
				Evidence: evidence, Remedy: "look at the time series; run longer, or alone on the machine, to see where it settles", Where: at(t, r.Arm)})
		}
	})
	return found
}

// findOscillations tells of rates that go to and fro between two levels: their mean is a rate that hardly ever was.
func findOscillations(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		blocks := 0
		for _, o := range r.Trials {
			if o.Course == nil || len(o.Course.Alternations) == 0 {
				continue
			}
			blocks++
			for _, a := range o.Course.Alternations {
				evidence = append(evidence, o.Trial+": "+alternationText(o.sampled, a))
			}
		}
		if blocks == 0 {
			return
		}
		found = append(found, Finding{Code: FindOscillation, Severity: Warning,
			Sentence: fmt.Sprintf("%s goes to and fro between two levels in %s%s: a mean rate describes neither.", r.Arm, in(run, t), blocksOf(blocks, r)),
			Evidence: evidence, Remedy: "give both levels and their shares of the time; compare with dirty pages, writeback and compaction", Where: at(t, r.Arm)})
	})
	return found
}

func findStalls(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		blocks, longest, lasted := 0, 0.0, ""
		for _, o := range r.Trials {
			clock := clockOf(o.sampled)
			clock.decimals++ // samples are not all as long as the usual one: a length must agree with its two ends
			for _, stall := range o.Stalls {
				from, to := o.at(stall.From), o.at(stall.To)
				if to-from > longest {
					longest, lasted = to-from, clock.seconds(to-from)
				}
				end := "and recovered"
				if !stall.Recovered {
					end = "and the phase ended in it"
				}
				evidence = append(evidence, fmt.Sprintf("%s: from %s to %s down to %s, where %s is usual, %s",
					o.Trial, clock.seconds(from), clock.seconds(to), rate(stall.Lowest), rate(stall.Usual), end))
			}
			if len(o.Stalls) > 0 {
				blocks++
			}
		}
		if len(evidence) == 0 {
			return
		}
		found = append(found, Finding{Code: FindStall, Severity: Warning,
			Sentence: fmt.Sprintf("%s stalled %s in %s%s, for up to %s below a tenth of its usual rate%s.",
				r.Arm, plural(len(evidence), "time", "times"), in(run, t), blocksOf(blocks, r), lasted, rhythm(r)),
			Evidence: evidence, Remedy: "compare with compaction, flushes and host writes at these times; look at p99.9 and the maximum", Where: at(t, r.Arm)})
	})
	return found
}

// findDips tells of rates that fall far for a moment, again and again: what a mean hides and the slowest percentiles show.
func findDips(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		var left, lengths, shares []float64
		period := ""
		for _, o := range r.Trials {
			if o.Course == nil || o.Course.Dips == nil {
				continue
			}
			d := *o.Course.Dips
			evidence = append(evidence, o.Trial+": "+dipsText(o.sampled, d))
			left, lengths, shares = append(left, d.Left), append(lengths, d.Seconds), append(shares, d.Share)
			if d.Period != nil && period == "" {
				period = fmt.Sprintf(", in %s %s", o.Trial, periodText(*d.Period))
			}
		}
		if len(evidence) == 0 {
			return
		}
		found = append(found, Finding{Code: FindDips, Severity: Notice,
			Sentence: fmt.Sprintf("%s dips in %s%s: to %s of its usual rate for %s, %s of the time%s.", r.Arm, in(run, t), blocksOf(len(evidence), r),
				percent(stat.Median(left)), seconds(stat.Median(lengths)), percent(stat.Median(shares)), period),
			Evidence: evidence, Remedy: "compare with compaction, flushes and host writes at these times; look at p99.9 and the maximum", Where: at(t, r.Arm)})
	})
	return found
}

// rhythm names the period of stalls, where they have one.
func rhythm(r *Row) string {
	for _, o := range r.Trials {
		if o.Course != nil && o.Course.StallPeriod != nil {
			return fmt.Sprintf(", in %s %s", o.Trial, periodText(*o.Course.StallPeriod))
		}
	}
	return ""
}
