package facts

import (
	"slices"

	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
)

// VainShareMax is the share of a phase's operations that may have had nothing to do, because deletes had
// removed the records, before its rate tells of no work. Below it the rate is off by less than the
// differences that blocks usually show.
const VainShareMax = 0.05

// VainShare is the share of a row's operations that had nothing to do; 0: none, or nothing was deleted.
func (r *Row) VainShare() float64 {
	var vain, done uint64
	for _, o := range r.Used() {
		for _, operation := range o.Phase.Calls() {
			done += operation.OK + operation.Miss
			if operation.Vain != nil {
				vain += *operation.Vain
			}
		}
	}
	return float64(vain) / float64(max(done, 1))
}

// RanOut is the share of work by which arms are compared by how fast they emptied the store. Of a phase that
// deletes more than it puts, it is the largest share of an arm's operations that had nothing to do; of any
// other, by which these shares differ, for then the mix itself has some of them, the same in all arms. In
// trials that delete, it is also the share of records an operation by which an arm found fewer than another.
func (t *Table) RanOut() (share float64) {
	found := map[string][]float64{} // operation → records an operation, of each arm
	var vain []float64
	drains := false
	for _, r := range t.Rows {
		if r.Role != plan.Measured || len(r.Used()) == 0 {
			continue
		}
		vain, drains = append(vain, r.VainShare()), drains || r.drains()
		for name, items := range r.foundInDeleting() {
			found[name] = append(found[name], items)
		}
	}
	if len(vain) > 0 {
		share = slices.Max(vain)
		if !drains {
			share -= slices.Min(vain)
		}
	}
	for _, each := range found {
		if most := slices.Max(each); most > 0 {
			share = max(share, 1-slices.Min(each)/most)
		}
	}
	return share
}

// drains reports whether more of a row's operations delete than put a record.
func (r *Row) drains() bool {
	var deletes, puts uint64
	for _, o := range r.Used() {
		for _, operation := range o.Phase.Calls() {
			switch code, _ := trace.ParseOperation(operation.Name); code {
			case trace.Delete, trace.DeleteQuery:
				deletes += operation.OK + operation.Miss
			case trace.Insert, trace.Update, trace.Upsert, trace.Add, trace.Batch, trace.GetAndSet:
				puts += operation.OK
			}
		}
	}
	return deletes > puts
}

// foundInDeleting is how many records an operation found that looks for several, in trials that delete.
func (r *Row) foundInDeleting() map[string]float64 {
	var items, done = map[string]uint64{}, map[string]uint64{}
	for _, o := range r.Used() {
		for _, operation := range o.Phase.Calls() {
			code, _ := trace.ParseOperation(operation.Name)
			if operation.Vain != nil && (code == trace.Scan || code == trace.Query || code == trace.Count) {
				items[operation.Name], done[operation.Name] = items[operation.Name]+operation.Items,
					done[operation.Name]+operation.OK+operation.Miss
			}
		}
	}
	each := map[string]float64{}
	for name, n := range done {
		if n > 0 {
			each[name] = float64(items[name]) / float64(n)
		}
	}
	return each
}

// RecordsLasted is how long an observation's deletes found records to delete, to the end of a sample; nil:
// they did to the end, or it is not known.
func (o *Observation) RecordsLasted() *float64 {
	var vain, done uint64
	for _, operation := range o.Phase.Calls() {
		if operation.Name == trace.Delete.String() && operation.Vain != nil {
			vain, done = vain+*operation.Vain, done+operation.OK+operation.Miss
		}
	}
	if vain == 0 || o.Course == nil {
		return nil
	}
	var deleted uint64
	for _, s := range o.Course.Samples() {
		if deleted += deletesOf(&s); deleted >= done-vain {
			return &s.At
		}
	}
	return nil
}

func deletesOf(s *record.Sample) uint64 {
	if s.ByName == nil {
		return s.Operations
	}
	return s.ByName[trace.Delete.String()]
}
