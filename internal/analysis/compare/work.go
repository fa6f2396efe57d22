package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// durationsDiffer is how many times as long a phase may last in one run as in the other and still
// be the same work.
const durationsDiffer = 2

// otherWorkIn says in what the work of a phase, or what was done to the data before it, differs
// between two runs: then no ratio of its figures means anything. None: it is the same.
func otherWorkIn(old, new *facts.Table) []string {
	var d workDifferences
	a, b := &old.Run.Experiment, &new.Run.Experiment
	d.between("keys", a.Keys, b.Keys)
	d.between("sizes", a.Values.Sizes, b.Values.Sizes)
	d.between("repeated", float64(a.Values.RepeatedPermille)/1000, float64(b.Values.RepeatedPermille)/1000)
	d.between("pool_bytes", a.Values.PoolBytes, b.Values.PoolBytes)
	d.between("columns", a.Values.Columns, b.Values.Columns)
	d.between("indexes", a.Values.Indexes, b.Values.Indexes)
	d.between("verify", a.Verify, b.Verify)
	d.between("latency", a.LatencyText(), b.LatencyText())
	d.between("clock", clockOf(old), clockOf(new))
	d.between("cache", cmp.Or(a.Cache, experiment.CacheWarm), cmp.Or(b.Cache, experiment.CacheWarm))
	if old.Parameters.DiskQuota > 0 {
		d.between("disk_quota_by", cmp.Or(a.DiskQuotaBy, experiment.QuotaByStop),
			cmp.Or(b.DiskQuotaBy, experiment.QuotaByStop))
	}
	d.betweenPhases(old, new)
	return d
}

// clockOf returns the clock that the experiment asks for, and where it leaves the choice, those that
// were taken.
func clockOf(t *facts.Table) string {
	asked := t.Run.Experiment.Clock
	if asked == "tsc" || asked == "monotonic" {
		return asked
	}
	var taken []string
	for _, p := range t.Recorded(t.Phase) {
		if p.Clock != "" && !slices.Contains(taken, p.Clock) {
			taken = append(taken, p.Clock)
		}
	}
	if len(taken) == 0 {
		return asked
	}
	slices.Sort(taken)
	return format.List(taken)
}

// endsByTime says whether a phase ended by its time: it has no number of operations, or these were not
// all done.
func endsByTime(t *facts.Table, p experiment.Phase) bool {
	return p.Operations == 0 || slices.ContainsFunc(t.Recorded(p.Name),
		func(r *record.Phase) bool { return r.EndedBy == record.EndedDuration })
}

// workDifferences are sentences' ends: what differs, with both values.
type workDifferences []string

func (d *workDifferences) betweenPhases(old, new *facts.Table) {
	a, b := old.PhasesUntil(), new.PhasesUntil()
	if len(a) != len(b) {
		d.between("phases", namesOf(a), namesOf(b))
		a, b = a[len(a)-1:], b[len(b)-1:]
	}
	for i := range a {
		within := a[i].Name + "."
		if i == len(a)-1 {
			within = ""
		}
		x, y := workOnly(a[i], old.Parameters), workOnly(b[i], new.Parameters)
		d.compare(within, asJSON(x), asJSON(y))
		shorter, longer := min(a[i].Duration, b[i].Duration), max(a[i].Duration, b[i].Duration)
		if (endsByTime(old, a[i]) || endsByTime(new, b[i])) && shorter > 0 && longer > durationsDiffer*shorter {
			d.between(within+"for", a[i].Duration.String(), b[i].Duration.String())
		}
	}
}

func namesOf(phases []experiment.Phase) string {
	var names []string
	for _, p := range phases {
		names = append(names, p.Name)
	}
	return format.List(names)
}

// workOnly returns a phase without what does not change its work. Durations are compared apart.
func workOnly(p experiment.Phase, cell experiment.Cell) experiment.Phase {
	p.Name, p.Unmeasured, p.Optional, p.Duration = "", false, false, time.Duration(0)
	if p.Batch, p.MultiRead = max(p.Batch, 1), max(p.MultiRead, 1); p.Threads == 0 {
		p.Threads, p.Processes = cell.Threads, cell.Processes
	}
	return p
}

func (d *workDifferences) between(what string, a, b any) { d.compare(what, asJSON(a), asJSON(b)) }

// compare goes down to the fields that differ, which are named as in the experiment file:
// order.theta.
func (d *workDifferences) compare(what string, a, b any) {
	x, isObject := a.(map[string]any)
	y, isToo := b.(map[string]any)
	if isObject || isToo {
		if what != "" && !strings.HasSuffix(what, ".") {
			what += "."
		}
		both := maps.Clone(x)
		if both == nil {
			both = map[string]any{}
		}
		maps.Copy(both, y)
		for _, field := range slices.Sorted(maps.Keys(both)) {
			d.compare(what+field, x[field], y[field])
		}
		return
	}
	if !reflect.DeepEqual(a, b) {
		*d = append(*d, fmt.Sprintf("%s (old: %s, new: %s)", what, shownJSON(a), shownJSON(b)))
	}
}

// asJSON returns a value as JSON has it: objects, arrays, strings, numbers and booleans.
func asJSON(v any) (p any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // parts of an experiment, which is JSON on the disk
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&p); err != nil {
		panic(err)
	}
	return p
}

func shownJSON(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case []any:
		text, _ := json.Marshal(v)
		return string(text)
	}
	return fmt.Sprint(v)
}
