package detect

import (
	"math"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
)

const (
	// workTolerance is the share of its records by which an arm may stay below what is owed or
	// below the others, and the share of operations by which its misses may lie above the others'.
	workTolerance = 0.01
	// workDoubt is the probability with which chance alone may go beyond workChance, a comparison.
	workDoubt = 1e-6
)

// workDone is what an arm's operations of one kind did, over the trials that its row shows.
type workDone struct {
	row             *facts.Row
	ok, hits, items uint64
	miss            uint64
	owed            uint64
	owedKnown       bool   // in each trial
	refused         uint64 // of all kinds, by conflicts that ask no condition
}

func (w *workDone) itemsEach() float64 { return float64(w.items) / float64(w.ok) }

func (w *workDone) missed() float64 { return float64(w.miss) / float64(w.hits+w.miss) }

// workJudge holds the arms of a table, which ran the same trace, against each other.
type workJudge struct {
	t     *facts.Table
	past  past
	found []finding.Finding
	// ranOut: the records were deleted, so that what operations find hangs on when they come.
	ranOut bool
}

// LessWork finds arms that did less work an operation than the trace asked for, or than the
// others of the table. Where what they did can't be compared, it says so.
func LessWork(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for _, t := range tables {
		j := workJudge{t: t, past: pastOf(run, t), ranOut: t.RanOut() > facts.VainShareMax}
		for _, name := range operationNames(t) {
			all := workOf(t, name)
			j.judgeItems(name, all)
			j.judgeMisses(name, all)
		}
		found = append(found, j.found...)
	}
	return found
}

// tell makes one finding of each arm, with an evidence for each kind of operation. because is why
// the arms can't be compared; "": they can.
func (j *workJudge) tell(arm string, because string, seen finding.Parameters) {
	code := finding.LessWork
	if because != "" {
		code = finding.WorkIncomparable
	}
	e := finding.Evidence{Message: finding.New(seen)}
	at := slices.IndexFunc(j.found, func(f finding.Finding) bool { return f.Code == code && f.Where.Arm == arm })
	if at >= 0 {
		j.found[at].Evidence = append(j.found[at].Evidence, e)
		return
	}
	j.found = append(j.found, placed(j.t, arm, finding.PlaceParams{Code: code, At: atOf(j.t, arm)}, e))
}

func operationNames(t *facts.Table) (names []string) {
	for _, r := range t.Rows {
		for _, o := range r.Used() {
			for _, operation := range o.Phase.Calls() {
				if !slices.Contains(names, operation.Name) {
					names = append(names, operation.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// workOf adds up one kind of operation for each measured arm that nothing else speaks against.
func workOf(t *facts.Table, name string) (all []workDone) {
	for _, r := range t.Rows {
		used := r.Used()
		if r.Role != plan.Measured || len(used) == 0 || slices.ContainsFunc(used,
			func(o *facts.Observation) bool { return o.State != record.OK }) {
			continue
		}
		w := workDone{row: r, owedKnown: true}
		for _, o := range used {
			w.refused += facts.RefusedBy(o.Phase)
			for _, operation := range o.Phase.Calls() {
				if operation.Name != name {
					continue
				}
				miss := operation.Miss
				if operation.Vain != nil { // not every driver tells a delete of nothing from a delete
					miss = *operation.Vain
				}
				w.ok, w.items, w.miss = w.ok+operation.OK, w.items+operation.Items, w.miss+miss
				w.hits += operation.Good() - min(miss, operation.Good())
				if operation.ItemsOwed == nil {
					w.owedKnown = false
				} else {
					w.owed += *operation.ItemsOwed
				}
			}
		}
		if w.ok+w.miss > 0 {
			all = append(all, w)
		}
	}
	return all
}

// past is what the phases up to and with one do to the data. What depends on how fast an arm is
// makes honest arms answer differently.
type past struct {
	phase   experiment.Phase
	records uint64 // of the load
	loaded  bool
	grows   bool
	deletes bool
	queries []keyval.Query
}

func pastOf(run *record.Run, t *facts.Table) (p past) {
	p.records, p.queries = t.Parameters.Records, run.Experiment.Values.Queries
	for i, q := range t.PhasesUntil() {
		p.phase = q
		p.loaded = p.loaded || i == 0 && q.Load
		p.grows = p.grows || q.Mix["insert"] > 0 || q.Mix["add"] > 0 || q.Mix["upsert"] > 0 && (!p.loaded || q.Order.Distribution == trace.Counting)
		p.deletes = p.deletes || q.Mix["delete"] > 0 || q.Mix["delete_query"] > 0
	}
	return p
}

// itemsMax returns the most records that one operation gives; infinite: not known.
func (p past) itemsMax(name string) float64 {
	switch name {
	case trace.Scan.String():
		return float64(p.phase.Scan.Max)
	case trace.Query.String():
		most := 0
		for _, a := range p.phase.Asked {
			if a.Operation == name {
				most = max(most, p.queries[a.Query].Limit)
			}
		}
		return float64(most)
	}
	return math.Inf(1)
}

// Why honest arms may differ.
const (
	BecauseDeletes = "deletes"   // by faster arms, more
	BecauseGrows   = "growth"    // with faster arms, faster
	BecauseEmpty   = "no-load"   // what is there is what each arm had time to write
	becauseRefused = "conflicts" // it refused writes, whose records it can't have
)

// itemsDiffer says why honest arms may have different numbers of records an operation, or "".
func (p past) itemsDiffer(name string) string {
	switch {
	case p.deletes:
		return BecauseDeletes
	case p.grows && !(name == trace.Scan.String() && p.scansAreFull()):
		return BecauseGrows
	}
	return ""
}

// scansAreFull reports whether what was loaded alone gives scans all their records. Those that
// begin near the last key run out, and find more the further an arm is: of so many records so few
// that workTolerance covers it. In the order latest, all may begin there.
func (p past) scansAreFull() bool {
	return p.loaded && p.phase.Order.Distribution != trace.Latest &&
		float64(p.phase.Scan.Max) <= workTolerance*float64(p.records)
}

// missesDiffer says why honest arms may miss different shares, or "".
func (p past) missesDiffer(w *workDone) string {
	switch {
	case p.deletes:
		return BecauseDeletes
	case !p.loaded:
		return BecauseEmpty
	case w.refused > 0:
		return becauseRefused
	}
	return ""
}

// workChance is how far the mean of so many draws between 0 and most may lie from what is expected
// of it, but for a probability of workDoubt (Hoeffding, JASA 58, 1963).
func workChance(most float64, operations uint64) float64 {
	return most * math.Sqrt(math.Log(2/workDoubt)/(2*float64(operations)))
}

func (j *workJudge) judgeItems(name string, all []workDone) {
	if name != trace.Scan.String() && name != trace.Query.String() && name != trace.Count.String() {
		return // of batches, the conductor has held items against the trace
	}
	var most *workDone
	for i := range all {
		if w := &all[i]; w.ok > 0 && (most == nil || w.itemsEach() > most.itemsEach()) {
			most = w
		}
	}
	chance := func(w *workDone) float64 { return workChance(j.past.itemsMax(name), w.ok) }
	for i := range all {
		w := &all[i]
		switch {
		case w.ok == 0, j.ranOut && !w.owedKnown:
		case w.owedKnown && w.owed > 0:
			if float64(w.items) < float64(w.owed)*(1-workTolerance) {
				j.tell(w.row.Arm, "", finding.SeenItemsOwedParams{Operation: name, Items: w.itemsEach(),
					Owed: float64(w.owed) / float64(w.ok)})
			}
		case w.itemsEach() < most.itemsEach()*(1-workTolerance)-chance(w)-chance(most):
			because := j.past.itemsDiffer(name)
			j.tell(w.row.Arm, because, finding.SeenItemsParams{Operation: name, Items: w.itemsEach(),
				Other: most.row.Arm, OtherItems: most.itemsEach(), Because: because})
		}
	}
}

func (j *workJudge) judgeMisses(name string, all []workDone) {
	if j.t.Expires() { // what was there is a matter of each store's time, against which each read was held
		return
	}
	if j.ranOut {
		return // whose driver counts a delete of nothing as a miss tells the truth: detectRanOut says what is so of all
	}
	var fewest *workDone
	for i := range all {
		if w := &all[i]; fewest == nil || w.missed() < fewest.missed() {
			fewest = w
		}
	}
	for i := range all {
		w := &all[i]
		if w.missed() <= fewest.missed()+workTolerance+workChance(1, w.hits+w.miss)+workChance(1,
			fewest.hits+fewest.miss) {
			continue
		}
		because := j.past.missesDiffer(w)
		j.tell(w.row.Arm, because, finding.SeenMissesParams{Operation: name, Share: w.missed(),
			Other: fewest.row.Arm, OtherShare: fewest.missed(), Because: because})
	}
}

// detectRanOut names the arms whose operations had nothing to do, because deletes had removed the records.
func detectRanOut(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		share := r.VainShare()
		if share <= facts.VainShareMax || t.RanOut() <= facts.VainShareMax {
			return
		}
		var evidence []finding.Evidence
		var longest *float64
		for _, o := range r.Used() {
			for _, operation := range o.Phase.Calls() {
				if operation.Vain == nil || *operation.Vain == 0 {
					continue
				}
				seen := finding.SeenVainParams{Operation: operation.Name, Vain: *operation.Vain,
					Of: operation.OK + operation.Miss}
				if operation.Name == trace.Delete.String() {
					if seen.Seconds = o.RecordsLasted(); longest == nil || seen.Seconds != nil &&
						*seen.Seconds > *longest {
						longest = seen.Seconds
					}
				}
				evidence = append(evidence, seenIn(o, finding.New(seen)))
			}
		}
		found = append(found, placed(t, r.Arm, finding.RanOutParams{At: atOf(t, r.Arm), Share: share,
			Records: t.Parameters.Records, Seconds: longest, Fixed: t.FixedWork}, evidence...))
	})
	return found
}

// detectConflicts names the arms that refused operations because of others, such as a deadlock's
// victims.
func detectConflicts(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var refused, done uint64
		for _, o := range r.Trials {
			if o.Phase != nil {
				refused, done = refused+facts.RefusedBy(o.Phase), done+facts.DoneOf(o.Phase)
			}
		}
		if refused > 0 {
			found = append(found, placed(t, r.Arm, finding.ConflictsParams{At: atOf(t, r.Arm),
				Share: float64(refused) / float64(done)}))
		}
	})
	return found
}

// detectStoppedEarly names the arms whose time was over, or disk quota reached, before they had
// done the operations that the phase asks for.
func detectStoppedEarly(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if t.Work.Operations == 0 || t.Open {
			return
		}
		var evidence []finding.Evidence
		least := 1.0
		for _, o := range r.Used() {
			if o.Phase.EndedBy != record.EndedDuration && o.Phase.EndedBy != record.EndedQuota {
				continue
			}
			least = min(least, float64(o.Phase.Attempted)/float64(t.Work.Operations))
			evidence = append(evidence, seenIn(o, finding.New(finding.SeenPartParams{Done: o.Phase.Attempted,
				Of: t.Work.Operations})))
		}
		if len(evidence) > 0 {
			found = append(found, placed(t, r.Arm, finding.StoppedEarlyParams{At: atOf(t, r.Arm),
				Share: least}, evidence...))
		}
	})
	return found
}
