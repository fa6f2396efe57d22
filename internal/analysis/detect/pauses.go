package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
)

// When a store paused. An operation that takes so much longer than most is no slow one: it waited for
// something else, a compaction, a collection of garbage or a sync, and so did those of all threads.
const (
	pauseLeastNS  = 50e6
	pauseTimes    = 100  // the operation's median
	pauseShareMin = 0.03 // of the threads' time
	pausesMin     = 3    // in each thread: one may be chance
)

// detectPauses names the arms that spent a part of their time in few operations, in most trials. Their
// rate has it, and their percentiles may not: in a second without a pause there is nothing to see.
func detectPauses(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var evidence []finding.Evidence
		var most finding.SeenPausesParams
		used := r.Used()
		for _, o := range used {
			seen, paused := pausesIn(o.Phase)
			if !paused {
				continue
			}
			evidence = append(evidence, seenIn(o, finding.New(seen)))
			if seen.Share > most.Share {
				most = seen
			}
		}
		if 2*len(evidence) > len(used) {
			found = append(found, placed(t, r.Arm, finding.PausesParams{At: atOf(t, r.Arm), SeenPausesParams: most},
				evidence...))
		}
	})
	return found
}

// slowOpenSeconds is how long an opening takes that is worth telling: most take milliseconds.
const slowOpenSeconds = 1.0

// detectSlowOpen names the arms whose stores took long to open, which is in no rate.
func detectSlowOpen(run *record.Run, _ []*facts.Table) []finding.Finding {
	var s sightings[float64]
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil || len(trial.OpenSeconds) == 0 {
			continue
		}
		if most := slices.Max(trial.OpenSeconds); most >= slowOpenSeconds {
			s.add(sighting{finding.SlowOpen, planned.Arm, "", planned.Cell}, most,
				finding.Evidence{Trial: planned.ID, Message: finding.New(finding.SeenSlowOpenParams{Seconds: most})})
		}
	}
	return s.findings(run, func(_ sighting, seen *sighted[float64]) finding.Parameters {
		return finding.SlowOpenParams{At: seen.at, Seconds: slices.Max(seen.facts)}
	})
}

// pausesIn looks at a phase whose operations follow one another in each thread and were all timed, and
// in which no fault was asked for.
func pausesIn(p *record.Phase) (seen finding.SeenPausesParams, paused bool) {
	if p == nil || p.ElapsedNS <= 0 || p.Threads <= 0 || p.Pipeline > 1 || p.TimedEvery > 1 || len(p.Faults) > 0 {
		return seen, false
	}
	waited := 0.0
	for _, o := range p.Calls() {
		if o.Service == nil {
			continue
		}
		median := o.Service.Quantile(0.5)
		least := max(pauseLeastNS, pauseTimes*median)
		for bucket, count := range o.Service.All() {
			if took := histogram.Middle(bucket); took >= least {
				waited += took * float64(count)
				seen.Operations += count
				seen.MedianNS = max(seen.MedianNS, median)
			}
		}
	}
	if seen.Operations < uint64(pausesMin*p.Threads) {
		return seen, false
	}
	seen.PauseNS = waited / float64(seen.Operations)
	seen.Share = waited / float64(p.Threads) / float64(p.ElapsedNS)
	return seen, seen.Share >= pauseShareMin
}
