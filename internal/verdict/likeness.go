package verdict

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

	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// durationsApart is how many times as long a phase may last in one run as in the other and still be the same work.
const durationsApart = 2

// side is a table of one of two runs that are compared.
type side struct {
	run   *record.Run
	table *Table
}

// otherWork says in what the work of a phase, or what was done to the data before it, differs between two runs: then no ratio of its rates says
// anything. "": it is the same.
func otherWork(old, new side) string {
	var d differences
	a, b := &old.run.Experiment, &new.run.Experiment
	d.between("keys", a.Keys, b.Keys)
	d.between("sizes", a.Values.Sizes, b.Values.Sizes)
	d.between("repeated", float64(a.Values.RepeatedPermille)/1000, float64(b.Values.RepeatedPermille)/1000)
	d.between("pool_bytes", a.Values.PoolBytes, b.Values.PoolBytes)
	d.between("columns", a.Values.Columns, b.Values.Columns)
	d.between("indexes", a.Values.Indexes, b.Values.Indexes)
	d.between("verify", a.Verify, b.Verify)
	d.between("clock", old.clock(), new.clock())
	d.between("cache", cmp.Or(a.Cache, spec.CacheWarm), cmp.Or(b.Cache, spec.CacheWarm))
	if old.table.Parameters.DiskQuota > 0 {
		d.between("disk_quota_by", cmp.Or(a.DiskQuotaBy, spec.QuotaByStop), cmp.Or(b.DiskQuotaBy, spec.QuotaByStop))
	}
	d.betweenPhases(old, new)
	return strings.Join(d, ", ")
}

// phases returns those up to and with the table's.
func (s side) phases() []spec.Phase {
	all := s.run.Experiment.Phases
	return all[:1+slices.IndexFunc(all, func(p spec.Phase) bool { return p.Name == s.table.Phase })]
}

// recorded returns what the trials of the cell have of a phase.
func (s side) recorded(phase string) (found []*record.Phase) {
	for _, planned := range s.run.Plan {
		if t := s.run.Trials[planned.ID]; t != nil && planned.Cell == s.table.Cell {
			for i := range t.Phases {
				if t.Phases[i].Name == phase {
					found = append(found, &t.Phases[i])
				}
			}
		}
	}
	return found
}

// clock returns the clock that the experiment asks for, and where it leaves the choice, those that were taken.
func (s side) clock() string {
	asked := s.run.Experiment.Clock
	if asked == "tsc" || asked == "monotonic" {
		return asked
	}
	var taken []string
	for _, p := range s.recorded(s.table.Phase) {
		if p.Clock != "" && !slices.Contains(taken, p.Clock) {
			taken = append(taken, p.Clock)
		}
	}
	if len(taken) == 0 {
		return asked
	}
	slices.Sort(taken)
	return list(taken)
}

// timed says whether a phase ended by its time: it has no number of operations, or these were not all done.
func (s side) timed(p spec.Phase) bool {
	return p.Operations == 0 || slices.ContainsFunc(s.recorded(p.Name), func(r *record.Phase) bool { return r.EndedBy == record.EndedDuration })
}

// differences are sentences' ends: what differs, with both values.
type differences []string

func (d *differences) betweenPhases(old, new side) {
	a, b := old.phases(), new.phases()
	if len(a) != len(b) {
		d.between("phases", phaseNames(a), phaseNames(b))
		a, b = a[len(a)-1:], b[len(b)-1:]
	}
	for i := range a {
		within := a[i].Name + "."
		if i == len(a)-1 {
			within = ""
		}
		x, y := bare(a[i], old.table.Parameters), bare(b[i], new.table.Parameters)
		d.compare(within, plain(x), plain(y))
		shorter, longer := min(a[i].Duration, b[i].Duration), max(a[i].Duration, b[i].Duration)
		if (old.timed(a[i]) || new.timed(b[i])) && shorter > 0 && longer > durationsApart*shorter {
			d.between(within+"for", a[i].Duration.String(), b[i].Duration.String())
		}
	}
}

func phaseNames(phases []spec.Phase) string {
	var names []string
	for _, p := range phases {
		names = append(names, p.Name)
	}
	return list(names)
}

// bare returns a phase without what does not change its work. Durations are compared apart.
func bare(p spec.Phase, cell spec.Cell) spec.Phase {
	p.Name, p.Unmeasured, p.Optional, p.Duration = "", false, false, time.Duration(0)
	p.Batch, p.Threads = max(p.Batch, 1), cmp.Or(p.Threads, cell.Threads)
	return p
}

func (d *differences) between(what string, a, b any) { d.compare(what, plain(a), plain(b)) }

// compare goes down to the fields that differ, which are told as in the experiment file: order.theta.
func (d *differences) compare(what string, a, b any) {
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
		*d = append(*d, fmt.Sprintf("%s (old: %s, new: %s)", what, told(a), told(b)))
	}
}

// plain returns a value as JSON has it: objects, arrays, strings, numbers and booleans.
func plain(v any) (p any) {
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

func told(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case []any:
		text, _ := json.Marshal(v)
		return string(text)
	}
	return fmt.Sprint(v)
}

// otherArms warns where arms of one name are not the same in both runs: that may be what is compared, and may be a mistake.
func otherArms(old, new *record.Run) (warnings []stat.Warning) {
	var differ []string
	for _, a := range old.Experiment.Stores {
		for _, b := range new.Experiment.Stores {
			switch {
			case a.Name != b.Name:
			case a.Driver != b.Driver:
				differ = append(differ, fmt.Sprintf("%s is %s and %s", a.Name, a.Driver, b.Driver))
			case !maps.Equal(a.Options, b.Options):
				differ = append(differ, a.Name+" has other options")
			}
		}
	}
	if a, b := old.Environment.Assay, new.Environment.Assay; a != b {
		differ = append(differ, fmt.Sprintf("Assay is %s and %s", a, b))
	}
	if len(differ) == 0 {
		return nil
	}
	return []stat.Warning{{Code: "arms-differ", Evidence: strings.Join(differ, "; "), Remedy: "nothing, if that is what you compare"}}
}
