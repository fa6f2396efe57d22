package export

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// benchPoint is an element of what github-action-benchmark's tool customBiggerIsBetter reads.
type benchPoint struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"` // half of the 95 % interval
	Extra string  `json:"extra,omitempty"` // its tooltip
}

// BenchmarkAction writes the rate of each ranked arm of each table in the form of github-action-benchmark's
// tool customBiggerIsBetter. Its names hold no number of a run, so that they are the same from commit to
// commit. What has no rank is left out: [BenchmarkActionLeftOut] counts it.
func BenchmarkAction(w io.Writer, r *model.Result) error {
	r = format.Shown(r)
	points := []benchPoint{} // an empty list is a list
	eachFigure(r, func(t *model.Table, row *model.Row) {
		if row.Standing != facts.Ranked {
			return
		}
		p := benchPoint{Name: benchName(t, row), Unit: "ops/s", Value: row.Rate.Value}
		if row.Rate.Low != nil && row.Rate.High != nil {
			p.Range = format.Within(row.Rate.Value, *row.Rate.Low, *row.Rate.High)
		}
		var extra []string
		for _, point := range row.Points {
			if point.Quantile == 0.99 {
				extra = append(extra, "p99 "+format.Latency(point.NS))
			}
		}
		if row.Letters != "" {
			extra = append(extra, "group "+row.Letters)
		}
		p.Extra = strings.Join(extra, ", ")
		points = append(points, p)
	})
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(points); err != nil {
		return fmt.Errorf("writing the report for github-action-benchmark: %w", err)
	}
	return nil
}

// BenchmarkActionLeftOut says which figures [BenchmarkAction] leaves out; "": none.
func BenchmarkActionLeftOut(r *model.Result) string {
	var left []string
	all := 0
	eachFigure(r, func(t *model.Table, row *model.Row) {
		if all++; row.Standing != facts.Ranked {
			left = append(left, benchName(t, row))
		}
	})
	if len(left) == 0 {
		return ""
	}
	return format.Clean(fmt.Sprintf("benchmark-action has only ranked figures: %d of %d are left out: %s", len(left), all, format.List(left)))
}

// eachFigure visits the rows of stores that have a rate.
func eachFigure(r *model.Result, visit func(*model.Table, *model.Row)) {
	for i := range r.Tables {
		for k := range r.Tables[i].Rows {
			if row := &r.Tables[i].Rows[k]; row.Rate != nil && row.Standing != facts.Reference {
				visit(&r.Tables[i], row)
			}
		}
	}
}

// benchName says of what a figure is.
func benchName(t *model.Table, row *model.Row) string {
	name := fmt.Sprintf("%s, %s, %s", t.Phase, row.Arm, t.Class)
	if t.Label != "" {
		name += ", " + t.Label
	}
	return name
}
