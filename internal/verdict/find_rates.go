package verdict

import (
	"fmt"
	"slices"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
	"assay/store"
)

const (
	shortPhaseSeconds = 10.0 // below it, a phase by time is mostly warm-up
	shortWorkSeconds  = 1.0  // below it, a phase by operations is mostly start and end
)

func findHarness(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		if r.HarnessShare == nil || *r.HarnessShare < HarnessNoted {
			return
		}
		share, evidence := *r.HarnessShare, []string{fmt.Sprintf("%s does %s, the null driver %s", r.Arm, rate(r.Rate.Value), nullRate(t, r))}
		if share >= HarnessBound {
			sentence := fmt.Sprintf("%s in %s is harness-bound: %s of each operation is the harness, so that its rate says little of the store, and has no rank.", r.Arm, in(run, t), percent(share))
			if share >= harnessAll {
				sentence = fmt.Sprintf("%s in %s is as fast as the null driver: all of it is harness, so that its rate says nothing of the store, and has no rank.", r.Arm, in(run, t))
			}
			found = append(found, Finding{Code: FindHarnessBound, Severity: Warning, Sentence: sentence,
				Evidence: evidence, Remedy: lessHarness(run, r), Where: at(t, r.Arm)})
			return
		}
		found = append(found, Finding{Code: FindHarnessShare, Severity: Notice,
			Sentence: fmt.Sprintf("The harness is %s of each operation of %s in %s; the store takes the rest.", percent(share), r.Arm, in(run, t)),
			Evidence: evidence, Where: at(t, r.Arm)})
	})
	return found
}

// natively names the drivers of Assay's own worker whose library a native worker hosts, too: its harness takes less.
var natively = map[string]string{"sqlite": "sqlite-c"}

func lessHarness(run *record.Run, r *Row) string {
	arm := run.Experiment.Stores[r.Store]
	if native := natively[arm.Driver]; native != "" && len(arm.Worker) == 0 {
		return "use larger values, a slower order of keys, or its native driver, " + native + " (make native)"
	}
	return "use larger values, or a slower order of keys"
}

// nullRate writes the rate of a row's ceiling, with its arm's name where it is not Assay's own.
func nullRate(t *Table, r *Row) string {
	text := rate(t.ceilingNamed(r.Ceiling).Value)
	if r.Ceiling != spec.NullDriver {
		text = "of its worker (" + r.Ceiling + ") " + text
	}
	return text
}

// findOtherHarness names the stores whose harness was not measured: their workers have no null driver.
func findOtherHarness(run *record.Run, s *Summary) []Finding {
	var arms []string
	eachRow(s, func(_ *Table, r *Row) {
		if r.Ceiling == "" && r.Rate != nil && !slices.Contains(arms, r.Arm) {
			arms = append(arms, r.Arm)
		}
	})
	if len(arms) == 0 {
		return nil
	}
	return []Finding{{Code: FindOtherHarness, Severity: Notice,
		Sentence: fmt.Sprintf("How much of an operation is the harness is not known for %s: another program hosts it, and no null driver of that program is in the plan.", list(arms)),
		Evidence: []string{"stores with a worker of their own: " + list(arms)}, Remedy: "build null-c for stores of workers/c (make native), or give the other worker a driver of kind none, and run again"}}
}

// findKeptData: Assay empties no server without being told, so that trials on one may meet what earlier ones left.
func findKeptData(run *record.Run, _ *Summary) []Finding {
	var kept []string
	for _, s := range run.Experiment.Stores {
		if s.Description.Kind == store.Server && s.Options["flush_at_open"] != "true" {
			kept = append(kept, s.Name)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []Finding{{Code: FindKeptData, Severity: Warning,
		Sentence: fmt.Sprintf("The server of %s was not emptied between trials: a record that one should not find may have been left by another.", list(kept)),
		Evidence: []string{"flush_at_open is not set for " + list(kept)}, Remedy: "if everything on the server may be deleted, set the option flush_at_open"}}
}

func findUnsteady(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		var restless []Observation
		for _, o := range r.Trials {
			if o.Rate != nil && o.restless() {
				restless = append(restless, o)
				evidence = append(evidence, fmt.Sprintf("%s: %s: %s", o.Trial, o.Steadiness.Kind, o.Steadiness.Why))
			}
		}
		if len(evidence) == 0 {
			return
		}
		consequence, severity := "look at its time series, not at one figure", Warning
		switch {
		case t.FixedWork:
			consequence, severity = "its rate is that of this amount of work and would be another for more", Notice
		case 2*len(evidence) < len(r.used()):
			consequence, severity = otherBlocks(r), Notice
		}
		found = append(found, Finding{Code: FindUnsteady, Severity: severity,
			Sentence: fmt.Sprintf("%s found no steady state in %s%s: %s.", r.Arm, in(run, t), blocksOf(len(evidence), r), consequence),
			Evidence: evidence, Remedy: longer(restless) + ", to see where it settles", Where: at(t, r.Arm)})
	})
	return found
}

// otherBlocks says of the blocks of a row that are not known to be restless which were steady: of some, nobody can tell.
func otherBlocks(r *Row) string {
	steady, others := 0, 0
	for _, o := range r.Trials {
		if o.Rate != nil && o.restless() {
			continue
		}
		others++
		if o.Rate != nil && o.Steadiness != nil && o.Steadiness.Kind == stat.Steady {
			steady++
		}
	}
	switch {
	case steady == others && others == 1:
		return "the other block was steady"
	case steady == others:
		return "the other blocks were steady"
	case steady == 0 && others == 1:
		return "of the other block it can't be told"
	case steady == 0:
		return "of the other blocks it can't be told"
	}
	return fmt.Sprintf("%d of the other %d blocks %s, of the rest it can't be told", steady, others, map[bool]string{true: "was steady", false: "were steady"}[steady == 1])
}

// findUndecided has one finding for each phase in which it can't be told whether arms settled.
func findUndecided(run *record.Run, s *Summary) (found []Finding) {
	var phases []string
	rows, evidence, unknown := map[string]int{}, map[string][]string{}, map[string][]Observation{}
	eachRow(s, func(t *Table, r *Row) {
		if t.FixedWork || len(r.used()) == 0 {
			return
		}
		if !slices.Contains(phases, t.Phase) {
			phases = append(phases, t.Phase)
		}
		rows[t.Phase]++
		var undecided []Observation
		for _, o := range r.used() {
			if o.Steadiness != nil && o.Steadiness.Kind == stat.TooShort {
				undecided = append(undecided, o)
			}
		}
		if n := len(undecided); n > 0 && 2*n >= len(r.used()) {
			evidence[t.Phase] = append(evidence[t.Phase], undecided[0].Trial+": "+undecided[0].Steadiness.Why)
			unknown[t.Phase] = append(unknown[t.Phase], undecided...)
		}
	})
	for _, phase := range phases {
		if n := len(evidence[phase]); n > 0 {
			found = append(found, Finding{Code: FindUndecided, Severity: Warning,
				Sentence: fmt.Sprintf("Whether a rate had settled can't be told for %d of %s of phase %s.", n, plural(rows[phase], "row", "rows"), phase),
				Evidence: evidence[phase], Remedy: longer(unknown[phase]), Where: Where{Phase: phase}})
		}
	}
	return found
}

// findShortRuns has one finding for each phase, of its shortest arm.
func findShortRuns(run *record.Run, s *Summary) (found []Finding) {
	type shortest struct {
		seconds float64
		trial   string
	}
	var order []string
	short := map[string]shortest{}
	eachRow(s, func(t *Table, r *Row) {
		least := shortPhaseSeconds
		if t.FixedWork {
			least = shortWorkSeconds
		}
		for _, o := range r.used() {
			elapsed := float64(o.phase.ElapsedNS) / 1e9
			// A phase of ten seconds ends a little before or after them. What ran out of room is told apart, and no more time would help it.
			if elapsed >= 0.95*least || o.ranOut() {
				continue
			}
			known, seen := short[t.Phase]
			if !seen {
				order = append(order, t.Phase)
			}
			if !seen || elapsed < known.seconds {
				short[t.Phase] = shortest{elapsed, o.Trial}
			}
		}
	})
	for _, phase := range order {
		found = append(found, Finding{Code: FindShortRun, Severity: Warning,
			Sentence: fmt.Sprintf("Phase %s is short, down to %s: too short for compaction, caches and checkpoints to show.", phase, seconds(short[phase].seconds)),
			Evidence: []string{fmt.Sprintf("%s ran it for %s", short[phase].trial, seconds(short[phase].seconds))},
			Remedy:   "run it for a minute or more before drawing conclusions", Where: Where{Phase: phase}})
	}
	return found
}

// moreRoom says what gives a phase more of what it ran out of, by how it ended.
var moreRoom = map[record.Ending]string{
	record.EndedQuota:    "raise disk_quota, so that the phase runs longer",
	record.EndedDiskFull: "give the store more disk, so that the phase runs longer",
	record.EndedMemory:   "raise memory_limit, so that the phase runs longer",
}

// ranOut says whether a phase ended before its time because the trial had no more disk or memory.
func (o Observation) ranOut() bool { return moreRoom[o.phase.EndedBy] != "" }

// longer says what makes the phase of these trials run longer: where all ran out of the same, more time is no help.
func longer(trials []Observation) string {
	ending := trials[0].phase.EndedBy
	if moreRoom[ending] == "" || slices.ContainsFunc(trials, func(o Observation) bool { return o.phase.EndedBy != ending }) {
		return "run the phase longer"
	}
	return moreRoom[ending]
}

// findQuotaEnded has one finding for each phase and quota at which stores' files reached it. A full disk is a fault of the trial, and a worker that the
// kernel killed a failed one: findFaults and findFailed tell of these.
func findQuotaEnded(run *record.Run, s *Summary) (found []Finding) {
	type place struct {
		phase string
		quota int64
	}
	var order []place
	arms, evidence, ended := map[place][]string{}, map[place][]string{}, map[place][]float64{}
	eachRow(s, func(t *Table, r *Row) {
		p := place{t.Phase, t.Parameters.DiskQuota}
		for _, o := range r.Trials {
			if o.phase == nil || o.phase.EndedBy != record.EndedQuota {
				continue
			}
			if evidence[p] == nil {
				order = append(order, p)
			}
			if !slices.Contains(arms[p], r.Arm) {
				arms[p] = append(arms[p], r.Arm)
			}
			after := float64(o.phase.ElapsedNS) / 1e9
			ended[p] = append(ended[p], after)
			text := fmt.Sprintf("%s: after %s", o.Trial, seconds(after))
			if planned := phaseNamed(run, t.Phase).Duration; planned > 0 {
				text += " of " + seconds(planned.Seconds())
			}
			evidence[p] = append(evidence[p], text)
		}
	})
	for _, p := range order {
		slices.Sort(arms[p])
		who := list(arms[p])
		if len(arms[p]) > evidenceMax {
			who = plural(len(arms[p]), "store", "stores")
		}
		least, most := seconds(slices.Min(ended[p])), seconds(slices.Max(ended[p]))
		if least != most {
			least += " to " + most
		}
		severity := Notice
		if slices.Min(ended[p]) < shortPhaseSeconds {
			severity = Warning
		}
		found = append(found, Finding{Code: FindQuotaEnded, Severity: severity,
			Sentence: fmt.Sprintf("Phase %s reached its disk quota of %s after %s (%s), and ended.", p.phase, binary(p.quota), least, who),
			Evidence: evidence[p], Remedy: "raise disk_quota", Where: Where{Phase: p.phase}})
	}
	return found
}

// findNoise has one finding for the run: the baseline against its twin, and where there is none, that.
func findNoise(run *record.Run, s *Summary) (found []Finding) {
	var noisy, unknown []string
	for i := range s.Tables {
		t := &s.Tables[i]
		if t.Open || t.rowOf(plan.Measured, t.Baseline) == nil {
			continue
		}
		if t.AA == nil {
			unknown = append(unknown, in(run, t))
			continue
		}
		apart := t.AA.Interval != nil && !t.AA.Interval.Contains(1)
		if distance := stat.Distance(t.AA.Value); distance > stat.DifferenceMin || apart {
			text := fmt.Sprintf("%s: %s against itself differs by %s", in(run, t), t.Baseline, percent(distance))
			switch {
			case t.AA.Interval == nil:
			case boundless(*t.AA.Interval):
				text += fmt.Sprintf(" (ratio %.3f, not told apart: the 95 %% interval goes beyond 1,000 times)", t.AA.Value)
			default:
				text += fmt.Sprintf(" (ratio %.3f, 95 %% interval %.3f to %.3f)", t.AA.Value, t.AA.Interval.Low, t.AA.Interval.High)
			}
			noisy = append(noisy, text)
		}
	}
	if len(noisy) > 0 {
		found = append(found, Finding{Code: FindNoisy, Severity: Warning,
			Sentence: fmt.Sprintf("The baseline differs from itself in %d of %s: there, smaller differences between stores are not shown.", len(noisy), plural(len(s.Tables), "table", "tables")),
			Evidence: noisy, Remedy: "use a quieter machine, or more and longer blocks"})
	}
	if len(unknown) > 0 {
		found = append(found, Finding{Code: FindNoTwin, Severity: Notice,
			Sentence: "There is no A/A comparison in some tables: 3 % stands for the noise there.",
			Evidence: unknown, Remedy: "see why the baseline's trials, or its twin's, did not end well"})
	}
	return found
}

func findOneBlock(run *record.Run, _ *Summary) []Finding {
	blocks := map[int]bool{}
	for _, planned := range run.Plan {
		blocks[planned.Block] = true
	}
	if len(blocks) != 1 {
		return nil
	}
	return []Finding{{Code: FindOneBlock, Severity: Warning,
		Sentence: "Each arm ran once: there are no intervals, and no difference can be shown.",
		Remedy:   "run at least 5 blocks (--set blocks=5)"}}
}

func findNoCeiling(run *record.Run, s *Summary) []Finding {
	var evidence []string
	for i := range s.Tables {
		t := &s.Tables[i]
		if t.Open {
			continue
		}
		if t.Ceiling == nil {
			evidence = append(evidence, in(run, t))
		}
		var named []string
		for _, r := range t.Rows {
			if null := r.Ceiling; null != "" && null != spec.NullDriver && t.ceilingNamed(null) == nil && !slices.Contains(named, null) {
				named = append(named, null)
				evidence = append(evidence, in(run, t)+", for the stores that are bounded by "+null)
			}
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []Finding{{Code: FindNoCeiling, Severity: Notice, Sentence: "A null driver has no unmarked rate in some tables: how much of an operation is the harness is not known there.", Evidence: evidence}}
}

// cutShort says whether a phase ended by its time or its disk quota. Where it had a number of operations to do as well, those were not all done.
func cutShort(o Observation) bool {
	return o.phase.EndedBy == record.EndedDuration || o.phase.EndedBy == record.EndedQuota
}

// findPartWork names the arms whose time was over, or disk quota reached, before they had done the work that others did.
func findPartWork(run *record.Run, s *Summary) (found []Finding) {
	operations := map[string]uint64{}
	for _, p := range run.Experiment.Phases {
		operations[p.Name] = p.Operations
	}
	eachRow(s, func(t *Table, r *Row) {
		asked := operations[t.Phase]
		if asked == 0 || t.Open {
			return
		}
		var evidence []string
		for _, o := range r.used() {
			if cutShort(o) {
				evidence = append(evidence, fmt.Sprintf("%s: %d of %d operations", o.Trial, o.phase.Attempted, asked))
			}
		}
		if len(evidence) > 0 {
			found = append(found, Finding{Code: FindPartWork, Severity: Warning,
				Sentence: fmt.Sprintf("%s did a part of the work of %s%s, for its time was over or its disk quota reached: its rate and sizes are of that part, those of others may be of the whole.", r.Arm, in(run, t), blocksOf(len(evidence), r)),
				Evidence: evidence, Remedy: "give the phase more time, or leave out its operations or its time", Where: at(t, r.Arm)})
		}
	})
	return found
}
