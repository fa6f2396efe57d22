package html

import (
	"strings"
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/experiment/capacity"
	"assay/internal/presentation/model"
)

// searched makes stores of a table those of a search for a capacity, in which one is to be chosen.
func searched(r *model.Result) *model.Table {
	t := &r.Tables[0]
	t.Wanted = &capacity.Wanted{Rate: 5000, MemoryBytes: 1 << 30}
	limit := []capacity.Objective{{Metric: capacity.Percentile, Quantile: 0.999, Limit: 5e6},
		{Metric: capacity.Errors, Limit: 0.001}}
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Rate == nil || row.Standing == model.Reference {
			continue
		}
		verdict := facts.Does
		if i == 1 {
			verdict = facts.DoesNot
		}
		row.Capacity = &facts.Capacity{Objectives: limit, Outcome: capacity.Found, Rate: row.Rate.Value,
			Each: []*float64{ptr(row.Rate.Value), ptr(1.2 * row.Rate.Value), nil},
			Choice: &facts.Choice{Verdict: verdict, MemoryBytes: ptr(1e8 * float64(i+1)), DiskBytes: ptr(1e9),
				CPUSeconds: ptr(10 + float64(i))}}
		band := func(from float64) model.Band {
			b := model.Band{FromRate: from, ToRate: from, LowNS: ptr(1e6), HighNS: ptr(9e6)}
			b.Points = []model.Point{{Quantile: 0.5, NS: 1e6}, {Quantile: 0.99, NS: 2e6}, {Quantile: 0.999, NS: 4e6}}
			return b
		}
		row.OverTime = &model.OverTime{ByRate: []model.Band{band(row.Rate.Value / 2), band(row.Rate.Value)}}
	}
	return t
}

func TestPageDrawsAChoice(t *testing.T) {
	r := made(fixtures["put-get"])
	table := searched(r)
	html := pageOf(t, r)
	for _, part := range []string{"Capacity against memory", "Capacity against disk", "Capacity against CPU", ">asked for<", ">limit<",
		"line: p99.9, faint: p50; shaded"} {
		if !strings.Contains(html, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	p, err := newPage(r)
	if err != nil {
		t.Fatal(err)
	}
	drawn := p.ChoicePictures(*table)
	if len(drawn) != 3 {
		t.Fatalf("%d pictures", len(drawn))
	}
	for _, of := range drawn {
		hollow := 0
		for i := range of.Marks {
			m := &of.Marks[i]
			if m.Hollow {
				hollow++
			}
			if m.X < of.Left() || m.X > of.Right() || m.Y < of.Top() || m.Y > of.Bottom() {
				t.Errorf("%s: %s stands at %v, %v, outside of the picture", of.Title, m.Label, m.X, m.Y)
			}
		}
		if hollow != 1 {
			t.Errorf("%s: %d stores are hollow, expected the one that does not", of.Title, hollow)
		}
	}
	if first := drawn[0].Marks; first[0].X >= first[len(first)-1].X {
		t.Error("who takes more memory stands to the right")
	}
	table.Wanted = nil
	if p.ChoicePictures(*table) != nil {
		t.Error("nothing was to be chosen")
	}
}

// Objectives and what breaks them are in the data of the chart by rate.
func TestPageMarksWhereObjectivesCut(t *testing.T) {
	r := made(fixtures["put-get"])
	searched(r)
	p, err := newPage(r)
	if err != nil {
		t.Fatal(err)
	}
	data := string(p.Data)
	for _, part := range []string{`"limits":[{"ns":5000000,"text":"p99.9 \u003c 5 ms"}]`, `"text":"errors \u003c 0.1%"`, `"low":[1e+06,1e+06]`,
		`"p99":[4e+06,4e+06]`} {
		if !strings.Contains(data, part) {
			t.Errorf("the charts' data has no %s", part)
		}
	}
	b := openPage(t, pageOf(t, r))
	b.Settle()
	b.checkDrawn("with objectives")
}

func TestPageDrawsScaling(t *testing.T) {
	r := made(fixtures["put-get"])
	arms := []string{r.Stores[0].Arm, "redis without an option"}
	for _, arm := range arms {
		s := model.Scaling{Run: r.Runs[0].ID}
		s.Class, s.Phase, s.Arm, s.Axis = "D3", "read", arm, "server.count"
		s.Sizes, s.Rates = []float64{1, 2, 4}, []float64{1000, 1800, 2900}
		s.Law, s.Peak, s.PeakRate = stat.Universal, 3.5, 3000
		for _, n := range []float64{1, 2.5, 4} {
			band := stat.Interval{Low: 800 * n, High: 1000 * n}
			s.Curve = append(s.Curve, stat.ScalingPoint{Size: n, Rate: 900 * n, Interval: band})
		}
		r.Scaling = append(r.Scaling, s)
	}
	html := pageOf(t, r)
	for _, part := range []string{`id="scaling"`, `href="#scaling"`, "<b>read (D3)</b> nodes", `class="band"`, "peaks at 3.5 nodes, by its law"} {
		if !strings.Contains(html, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	p, err := newPage(r)
	if err != nil {
		t.Fatal(err)
	}
	pictures := p.ScalingPictures()
	if len(pictures) != 1 || len(pictures[0].Curves) != 2 || len(pictures[0].Marks) != 8 {
		t.Errorf("%d pictures", len(pictures))
	}
}
