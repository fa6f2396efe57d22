package html

import (
	"fmt"

	"assay/internal/analysis/facts"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// ChoicePictures draws the capacities of a table's stores against what they use, where a store is to be
// chosen: those above the rate that is asked for and left of the limit do what is asked for.
func (p page) ChoicePictures(t model.Table) (all []*picture) {
	asked := t.Wanted
	if asked == nil {
		return nil
	}
	for _, against := range []struct {
		title, name string
		used        func(*facts.Choice) *float64
		text        func(float64) string
		most        int64
	}{
		{"Capacity against memory", "most memory that the store took",
			func(c *facts.Choice) *float64 { return c.MemoryBytes }, format.Bytes, asked.MemoryBytes},
		{"Capacity against disk", "disk after the search",
			func(c *facts.Choice) *float64 { return c.DiskBytes }, format.Bytes, asked.DiskBytes},
		{"Capacity against CPU", "CPU time of a million operations",
			func(c *facts.Choice) *float64 { return c.CPUSeconds },
			func(v float64) string { return format.SI(v, "s") }, 0},
	} {
		if drawn := p.choicePicture(t, against.used, against.text, against.most); drawn != nil {
			drawn.Title, drawn.X.Title, drawn.Label = against.title, against.name, against.title
			all = append(all, drawn)
		}
	}
	return all
}

// choicePicture draws the stores of which it is known what they use; nil: of none.
func (p page) choicePicture(t model.Table, used func(*facts.Choice) *float64, text func(float64) string,
	most int64) *picture {
	var rows []*model.Row
	xs, ys := []float64{}, []float64{t.Wanted.Rate}
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Standing == model.Reference || r.Capacity == nil || r.Capacity.Choice == nil || capacityOf(r) <= 0 {
			continue
		}
		if v := used(r.Capacity.Choice); v != nil && *v > 0 {
			rows = append(rows, r)
			xs, ys = append(xs, *v), append(ys, capacityOf(r))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if most > 0 {
		xs = append(xs, float64(most))
	}
	drawn := &picture{X: logAxis("", xs), Y: logAxis("capacity", ys)}
	drawn.ticks(text, rateText)
	drawn.across(t.Wanted.Rate, "asked for")
	if most > 0 {
		drawn.down(float64(most), "limit")
	}
	for _, r := range rows {
		c := r.Capacity.Choice
		low, high := r.Rate.Low, r.Rate.High
		if c.AtLeast {
			low, high = nil, nil
		}
		told := fmt.Sprintf("%s: %s, %s", r.Arm, rateText(capacityOf(r)), text(*used(c)))
		drawn.mark(*used(c), capacityOf(r), low, high, p.Look(r.Arm).Hue, r.Arm, told)
		drawn.Marks[len(drawn.Marks)-1].Hollow = c.Verdict != facts.Does
	}
	drawn.label()
	return drawn
}

// capacityOf is where a row stands: its capacity, or the rate that its outcome is about.
func capacityOf(r *model.Row) float64 {
	if r.Capacity.Choice.AtLeast || r.Rate == nil {
		return r.Capacity.Rate
	}
	return r.Rate.Value
}
