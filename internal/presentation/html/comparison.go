package html

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"sync"

	"assay/internal/analysis/compare"
	"assay/internal/base/format"
	"assay/internal/presentation/column"
)

//go:embed comparison.html
var comparisonText string

var comparisonPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("comparison").Funcs(functions).Parse(comparisonText))
})

// comparison is a comparison as the template takes it. Places are shares of the axis, which is
// logarithmic.
type comparison struct {
	*column.Comparison
	Style    template.CSS
	Old, New string
	Axis     string
	One      float64 // where the ratio is 1
	Bars     []comparedRow
}

type comparedRow struct {
	column.ComparisonRow
	Class            string
	Drawn            bool
	Low, Wide, Point float64
}

// axisMost bounds the axis of ratios: an interval that goes on to a hundred would leave nothing of
// the others.
const axisMost = 4

// comparedClass is how a row looks.
var comparedClass = map[compare.Outcome]string{compare.Regression: "worse", compare.Improvement: "better", compare.Inconclusive: "open"}

// Comparison writes a comparison as a page without a script.
func Comparison(w io.Writer, c *column.Comparison) error {
	low, high := 0.95, 1/0.95
	for _, row := range c.Rows {
		if r := row.Ratio; r != nil && r.Low != nil {
			low, high = min(low, *r.Low), max(high, *r.High)
		}
	}
	low, high = max(low, 1.0/axisMost), min(high, axisMost)
	at := func(ratio float64) float64 {
		return math.Log(min(max(ratio, low), high)/low) / math.Log(high/low)
	}
	p := comparison{Comparison: c, Style: template.CSS(Style()), Old: c.Heads[column.ComparisonOld],
		New:  cmp.Or(c.Run, c.Heads[column.ComparisonNew]),
		Axis: format.Interval(low, high), One: at(1)}
	for _, row := range c.Rows {
		bar := comparedRow{ComparisonRow: row, Class: comparedClass[row.Outcome]}
		if r := row.Ratio; r != nil && r.Low != nil {
			bar.Drawn, bar.Low, bar.Point = true, at(*r.Low), at(r.Value)
			bar.Wide = at(*r.High) - bar.Low
		}
		p.Bars = append(p.Bars, bar)
	}
	if err := comparisonPage().Execute(w, p); err != nil {
		return fmt.Errorf("write the comparison's page: %w", err)
	}
	return nil
}
