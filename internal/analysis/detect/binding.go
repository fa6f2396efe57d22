package detect

import (
	"math"
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// engineOf has, for drivers that call an engine from Go or from Java, the driver that calls it from C,
// and how far theirs is the same program.
var engineOf = map[string]struct {
	driver string
	build  string
}{
	"tokyocabinet-hash-java":  {"tokyocabinet-hash", finding.BuildOfJar},
	"tokyocabinet-btree-java": {"tokyocabinet-btree", finding.BuildOfJar},
	"tokyocabinet-fixed-java": {"tokyocabinet-fixed", finding.BuildOfJar},
	"tokyocabinet-table-java": {"tokyocabinet-table", finding.BuildOfJar},
	"rocksdb-java":            {"rocksdb", finding.BuildOfJar},
	"lmdb-java":               {"lmdb", finding.BuildOfJar},
	"sqlite":                  {"sqlite-c", finding.BuildTranslated},
}

// buildOf says how far a store's engine is the program that is called from C; "": it is its library.
func buildOf(s experiment.Store) string {
	if s.Options["native_library"] != "" {
		return ""
	}
	return engineOf[s.Driver].build
}

// detectBindingCost says what calling an engine from another language than C adds to an operation.
func detectBindingCost(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, bound *facts.Row) {
		driver := run.Experiment.Stores[bound.Store].Driver
		at := slices.IndexFunc(t.Rows, func(r *facts.Row) bool {
			return r.Role == plan.Measured && r.Rate != nil &&
				run.Experiment.Stores[r.Store].Driver == engineOf[driver].driver
		})
		if at < 0 || bound.Rate == nil || t.Open {
			return
		}
		if p := bindingCost(t, t.Rows[at], bound, t.Work.ThreadsIn(t.Parameters)); p != nil {
			p.Language, p.Build = "Go", buildOf(run.Experiment.Stores[bound.Store])
			if strings.HasSuffix(driver, "-java") {
				p.Language = "Java"
			}
			found = append(found, placed(t, bound.Arm, *p))
		}
	})
	return found
}

// bindingCost is the difference of two arms' times of an operation; nil: none is significant. The
// time is that of a thread, so that it is the operation's and not the machine's.
func bindingCost(t *facts.Table, engine, bound *facts.Row, threads int) *finding.BindingCostParams {
	c := stat.Compare(t.Values([]*facts.Row{engine, bound}, facts.RateOfTrial), stat.Options{Twins: t.Twins})
	ratio := c.Pair(0, 1)
	if !ratio.Significant || ratio.Interval == nil {
		return nil
	}
	engineNS := timeOf(engine.Rate.Value, threads)
	ends := []float64{engineNS * math.Abs(ratio.Interval.Low-1), engineNS * math.Abs(ratio.Interval.High-1)}
	p := &finding.BindingCostParams{At: atOf(t, bound.Arm), Engine: engine.Arm, Less: ratio.Value < 1,
		NS: engineNS * math.Abs(ratio.Value-1), Share: math.Abs(ratio.Value - 1), LowNS: slices.Min(ends),
		HighNS: slices.Max(ends)}
	own, isKnown := ceilingOf(t, bound)
	its, isItsKnown := ceilingOf(t, engine)
	if isKnown && isItsKnown {
		p.WorkerNS = max(timeOf(own, threads)-timeOf(its, threads), 0)
	}
	return p
}

// timeOf is what an operation takes of a thread, in ns.
func timeOf(rate float64, threads int) float64 { return 1e9 * float64(threads) / rate }

func ceilingOf(t *facts.Table, r *facts.Row) (rate float64, known bool) {
	for _, c := range t.Ceilings {
		if c.Arm == r.Ceiling {
			return c.Rate.Value, true
		}
	}
	return 0, false
}
