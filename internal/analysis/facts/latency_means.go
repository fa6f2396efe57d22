package facts

import (
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/record"
)

// averageLatencies sets the percentiles of rows to their means over blocks, the figures that a
// comparison has and that their intervals are of. A percentile of all trials' operations together
// would be another number for the same trials, and that of the worst block alone where one is slow.
// The maximum stays that of all operations.
func (t *Table) averageLatencies(rows []*Row) {
	t.average(rows, func(r *Row) *Latencies { return &r.Latencies }, (*Observation).Latency)
	t.averageKinds(rows, func(r *Row) []Kind { return r.Kinds },
		func(o *Observation) []Kind { return kindsOf(t.questionsOf([]*record.Phase{o.Phase})) })
	t.averageKinds(rows, func(r *Row) []Kind { return r.Steps },
		func(o *Observation) []Kind { return kindsOf(stepsOf([]*record.Phase{o.Phase})) })
}

// averageKinds is averageLatencies for each kind of operation.
func (t *Table) averageKinds(rows []*Row, ofRow func(*Row) []Kind, ofTrial func(*Observation) []Kind) {
	trials := map[*Observation][]Kind{}
	var names []string
	for _, r := range rows {
		for _, o := range r.Used() {
			trials[o] = ofTrial(o)
		}
		for _, k := range ofRow(r) {
			if !slices.Contains(names, k.Operation) {
				names = append(names, k.Operation)
			}
		}
	}
	for _, name := range names {
		t.average(rows,
			func(r *Row) *Latencies { return kindNamed(ofRow(r), name) },
			func(o *Observation, q float64) float64 { return at(kindNamed(trials[o], name), q) })
	}
}

// kindNamed returns the latencies of a kind; nil: there is no such kind.
func kindNamed(kinds []Kind, name string) *Latencies {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Operation == name })
	if i < 0 {
		return nil
	}
	return &kinds[i].Latencies
}

// average sets the percentiles of one kind of latencies. A percentile that no trial has enough
// operations for stays that of all trials together, and below no smaller one.
func (t *Table) average(rows []*Row, of func(*Row) *Latencies, trial func(*Observation, float64) float64) {
	options := stat.Options{LowerIsBetter: true, Resolution: BucketWidth, References: References(rows)}
	for _, q := range shownQuantiles {
		if q == 1 {
			continue
		}
		values := t.Values(rows, func(o *Observation) float64 { return trial(o, q) })
		for i, e := range stat.Estimates(values, options) {
			l := of(rows[i])
			if l == nil {
				continue
			}
			k := slices.IndexFunc(l.Points, func(p Point) bool { return p.Quantile == q })
			switch {
			case k < 0:
			case e.Value > 0:
				p := &l.Points[k]
				p.NS = e.Value
				if e.Interval != nil {
					p.Low, p.High = &e.Interval.Low, &e.Interval.High
				}
			case k > 0:
				l.Points[k].NS = max(l.Points[k].NS, l.Points[k-1].NS)
			}
		}
	}
}
