package verdict

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/trace"
)

const (
	// workTolerance is the share of its records by which an arm may stay below what is owed or below the others, and the share of operations by
	// which its misses may lie above the others'.
	workTolerance = 0.01
	// workDoubt is the probability with which chance alone may go beyond workChance, a comparison.
	workDoubt = 1e-6
)

// work is what an arm's operations of one kind did, over the trials that its row shows.
type work struct {
	row             *Row
	ok, hits, items uint64
	miss            uint64
	owed            uint64
	owedKnown       bool // in each trial
}

func (w *work) itemsEach() float64 { return float64(w.items) / float64(w.ok) }
func (w *work) missed() float64    { return float64(w.miss) / float64(w.hits+w.miss) }

// weighWork finds arms that did less work an operation than the trace asked for, or than the others, which had the same trace. It sets each row's
// lessWork, and unweighed where what they did can't be compared. It comes before rank: who did less has no rank.
func (t *Table) weighWork(run *record.Run) {
	past := pastOf(run, t.Phase)
	past.records = t.Parameters.Records
	for _, name := range t.operationNames() {
		all := t.workOf(name)
		t.weighItems(name, all, past)
		weighMisses(name, all, past)
	}
}

func (t *Table) operationNames() (names []string) {
	for i := range t.Rows {
		for _, o := range t.Rows[i].used() {
			for _, operation := range o.phase.Operations {
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
func (t *Table) workOf(name string) (all []work) {
	for i := range t.Rows {
		r := &t.Rows[i]
		used := r.used()
		if r.Role != plan.Measured || len(used) == 0 || slices.ContainsFunc(used, func(o Observation) bool { return o.State != record.OK }) {
			continue
		}
		w := work{row: r, owedKnown: true}
		for _, o := range used {
			for _, operation := range o.phase.Operations {
				if operation.Name != name {
					continue
				}
				w.ok, w.items, w.miss = w.ok+operation.OK, w.items+operation.Items, w.miss+operation.Miss
				w.hits += operation.Good() - operation.Miss
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

// past is what the phases up to and with one do to the data. What differs by how fast an arm is makes the arms' answers differ.
type past struct {
	phase   spec.Phase
	records uint64 // of the load
	loaded  bool
	grows   bool
	deletes bool
}

func pastOf(run *record.Run, phase string) (p past) {
	for i, q := range run.Experiment.Phases {
		p.phase = q
		p.loaded = p.loaded || i == 0 && q.Load
		p.grows = p.grows || q.Mix["insert"] > 0 || q.Mix["add"] > 0 || q.Mix["upsert"] > 0 && (!p.loaded || q.Order.Distribution == trace.Counting)
		p.deletes = p.deletes || q.Mix["delete"] > 0
		if q.Name == phase {
			break
		}
	}
	return p
}

// itemsMax returns the most records that one operation gives; infinite: not known.
func (p past) itemsMax(name string) float64 {
	switch name {
	case trace.Scan.String():
		return float64(p.phase.Scan.Max)
	case trace.Query.String():
		return float64(p.phase.Query.Limit)
	}
	return math.Inf(1)
}

// itemsDiffer says why honest arms may have different numbers of records an operation, or "".
func (p past) itemsDiffer(name string) string {
	switch {
	case p.deletes:
		return "records are deleted, by faster arms more of them"
	case p.grows && !(name == trace.Scan.String() && p.scansAreFull()):
		return "the data grows, with faster arms faster"
	}
	return ""
}

// scansAreFull says whether what was loaded alone gives scans all their records, whatever is inserted besides. Those that begin near the last key run
// out, and find the more the further an arm is: of so many records so few of them that workTolerance covers it. In the order latest, all may begin there.
func (p past) scansAreFull() bool {
	return p.loaded && p.phase.Order.Distribution != trace.Latest && float64(p.phase.Scan.Max) <= workTolerance*float64(p.records)
}

// missesDiffer says why honest arms may miss different shares, or "".
func (p past) missesDiffer(r *Row) string {
	switch {
	case p.deletes:
		return "records are deleted, by faster arms more of them"
	case !p.loaded:
		return "nothing was loaded: what is there is what each arm had time to write"
	case r.Outcomes.NotDone > 0:
		return "it refused writes, whose records it can't have"
	}
	return ""
}

// workChance is how far the mean of so many draws between 0 and most may lie from what is expected of it, but for a probability of workDoubt
// (Hoeffding, Journal of the American Statistical Association 58, 1963).
func workChance(most float64, operations uint64) float64 {
	return most * math.Sqrt(math.Log(2/workDoubt)/(2*float64(operations)))
}

func (t *Table) weighItems(name string, all []work, p past) {
	if name != trace.Scan.String() && name != trace.Query.String() && name != trace.Count.String() {
		return // of batches, the conductor has held items against the trace
	}
	var most *work
	for i := range all {
		w := &all[i]
		if w.ok > 0 && (most == nil || w.itemsEach() > most.itemsEach()) {
			most = w
		}
	}
	for i := range all {
		w := &all[i]
		switch {
		case w.ok == 0:
		case w.owedKnown && w.owed > 0:
			if float64(w.items) < float64(w.owed)*(1-workTolerance) {
				w.row.lessWork = append(w.row.lessWork, fmt.Sprintf("it did less work: %s records a %s, where the trace and what was stored ask for %s or more",
					significant(w.itemsEach()), name, significant(float64(w.owed)/float64(w.ok))))
			}
		case w.itemsEach() < most.itemsEach()*(1-workTolerance)-workChance(p.itemsMax(name), w.ok)-workChance(p.itemsMax(name), most.ok):
			told := fmt.Sprintf("%s records a %s, %s has %s of the same trace", significant(w.itemsEach()), name, most.row.Arm, significant(most.itemsEach()))
			if why := p.itemsDiffer(name); why != "" {
				w.row.unweighed = append(w.row.unweighed, fmt.Sprintf("%s: %s; but %s", w.row.Arm, told, why))
				continue
			}
			w.row.lessWork = append(w.row.lessWork, "it did less work: "+told)
		}
	}
}

func weighMisses(name string, all []work, p past) {
	var fewest *work
	for i := range all {
		if w := &all[i]; fewest == nil || w.missed() < fewest.missed() {
			fewest = w
		}
	}
	for i := range all {
		w := &all[i]
		if w.missed() <= fewest.missed()+workTolerance+workChance(1, w.hits+w.miss)+workChance(1, fewest.hits+fewest.miss) {
			continue
		}
		told := fmt.Sprintf("%s of %s operations of %s missed, of %s's %s of the same trace", percent(w.missed()), count(w.hits+w.miss), name, fewest.row.Arm, percent(fewest.missed()))
		if why := p.missesDiffer(w.row); why != "" {
			w.row.unweighed = append(w.row.unweighed, fmt.Sprintf("%s: %s; but %s", w.row.Arm, told, why))
			continue
		}
		w.row.lessWork = append(w.row.lessWork, "it did less work: "+told)
	}
}

// findLessWork tells of arms that answered faster because they looked at less, and of arms of which that can't be told.
func findLessWork(run *record.Run, s *Summary) (found []Finding) {
	for i := range s.Tables {
		t := &s.Tables[i]
		var unweighed []string
		for j := range t.Rows {
			r := &t.Rows[j]
			unweighed = append(unweighed, r.unweighed...)
			if len(r.lessWork) > 0 {
				found = append(found, Finding{Code: FindLessWork, Severity: Grave, Where: at(t, r.Arm),
					Sentence: fmt.Sprintf("%s did less work than it was asked for in %s, and has no rank there.", r.Arm, in(run, t)), Evidence: r.lessWork,
					Remedy: "take it for a defect of the store, its driver or its settings until shown otherwise: writes that show late, an index that is not kept up, scans that end early"})
			}
		}
		if len(unweighed) > 0 {
			found = append(found, Finding{Code: FindUnweighed, Severity: Notice, Where: at(t, ""),
				Sentence: fmt.Sprintf("Arms found different shares of what they looked for in %s, and whether one did less work can't be told.", in(run, t)), Evidence: unweighed,
				Remedy: "compare them in a phase that only reads, or give the phases before it operations instead of time"})
		}
	}
	return found
}
