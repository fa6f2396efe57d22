package verdict

import (
	"slices"

	"assay/internal/analysis/model"
	"assay/internal/analysis/stat"
	"assay/internal/evidence/record"
)

// averageLatencies sets the percentiles of rows to their means over blocks, the figures that a
// comparison has and that their intervals are of. A percentile of all trials' operations together
// would be another number for the same trials, and that of the worst block alone where one is slow.
// The maximum stays that of all operations.
func (t *table) averageLatencies(rows []*row) {
	t.average(rows, func(r *row) *model.Latencies { return &r.Latencies }, (*observation).latency)
	t.averageKinds(rows, func(r *row) []model.Kind { return r.Kinds },
		func(o *observation) []model.Kind { return kindsOf([]*record.Phase{o.phase}) })
	t.averageKinds(rows, func(r *row) []model.Kind { return r.Steps },
		func(o *observation) []model.Kind { return kindsOf(stepsOf([]*record.Phase{o.phase})) })
}

// averageKinds is averageLatencies for each kind of operation.
func (t *table) averageKinds(rows []*row, ofRow func(*row) []model.Kind, ofTrial func(*observation) []model.Kind) {
	trials := map[*observation][]model.Kind{}
	var names []string
	for _, r := range rows {
		for _, o := range r.used() {
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
			func(r *row) *model.Latencies { return kindNamed(ofRow(r), name) },
			func(o *observation, q float64) float64 { return at(kindNamed(trials[o], name), q) })
	}
}

// kindNamed returns the latencies of a kind; nil: there is no such kind.
func kindNamed(kinds []model.Kind, name string) *model.Latencies {
	i := slices.IndexFunc(kinds, func(k model.Kind) bool { return k.Operation == name })
	if i < 0 {
		return nil
	}
	return &kinds[i].Latencies
}

// average sets the percentiles of one kind of latencies. A percentile that no trial has enough
// operations for stays that of all trials together, and below no smaller one.
func (t *table) average(rows []*row, of func(*row) *model.Latencies, trial func(*observation, float64) float64) {
	for _, q := range shownQuantiles {
		if q == 1 {
			continue
		}
		values := t.values(rows, func(o *observation) float64 { return trial(o, q) })
		for i, e := range stat.Estimates(values, t.optionsFor(latencyAt("", q), rows)) {
			l := of(rows[i])
			if l == nil {
				continue
			}
			k := slices.IndexFunc(l.Points, func(p model.Point) bool { return p.Quantile == q })
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
