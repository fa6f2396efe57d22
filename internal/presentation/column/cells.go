package column

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

func figure(v *float64, write func(float64) string) Cell {
	if v == nil {
		return Cell{}
	}
	return Cell{Text: write(*v), Value: v}
}

func of(value func(*Line) *float64, write func(float64) string) func(*Line) Cell {
	return func(l *Line) Cell { return figure(value(l), write) }
}

func estimate(e *model.Estimate) Cell {
	if e == nil {
		return Cell{}
	}
	c := Cell{Text: format.Number(e.Value), Value: &e.Value, Low: e.Low, High: e.High}
	if e.Low != nil && e.High != nil {
		c.Within = format.Within(e.Value, *e.Low, *e.High)
	}
	return c
}

func ratio(r *model.Ratio) Cell {
	if r == nil {
		return Cell{}
	}
	c := Cell{Text: format.Factor(r.Value), Value: &r.Value, Low: r.Low, High: r.High, Tie: !r.Significant}
	if c.Tie {
		c.Text += " n.s."
	}
	if r.Low != nil && r.High != nil {
		c.Within = format.Interval(*r.Low, *r.High)
	}
	return c
}

// toBaseline is left out where the ratio to the best says as much.
func toBaseline(l *Line) Cell {
	stores := 0
	for i := range l.Table.Rows {
		if r := &l.Table.Rows[i]; r.Rate != nil && r.Standing != model.Reference {
			stores++
		}
	}
	if best := l.Table.Best; stores < 3 || len(best) == 1 && best[0] == l.Table.Baseline {
		return Cell{}
	}
	return ratio(l.ToBaseline)
}

// records a second are shown of batches and scans; programs have them always.
func records(l *Line) Cell {
	c := estimate(l.Records)
	if l.Table.BatchItems == 0 && l.Records != nil && l.Rate != nil && l.Records.Value == l.Rate.Value {
		c.Text, c.Within = "", ""
	}
	return c
}

func significant(l *Line) Cell {
	if l.ToBest == nil {
		return Cell{}
	}
	return Cell{Raw: strconv.FormatBool(l.ToBest.Significant)}
}

func rank(l *Line) Cell {
	if l.Rank == 0 {
		return Cell{}
	}
	v := float64(l.Rank)
	return Cell{Text: strings.TrimSpace(strconv.Itoa(l.Rank) + " " + l.Letters), Value: &v}
}

func items(l *Line) Cell {
	if l.Kind == nil {
		return Cell{}
	}
	return figure(l.Kind.Items, format.Number)
}

// absent counts the keys of multi-reads that were not there.
func absent(l *Line) Cell {
	if l.Kind == nil || l.Kind.Absent == nil {
		return Cell{}
	}
	return whole(*l.Kind.Absent)
}

// calls is how many calls a multi-read took: of keys that one server has, one.
func calls(l *Line) Cell {
	if l.Kind == nil {
		return Cell{}
	}
	return figure(l.Kind.Calls, format.Number)
}

func done(l *Line) Cell {
	if l.Kind == nil {
		return Cell{}
	}
	return whole(l.Kind.Done)
}

// right counts the answers to a question that were checked and are right.
func right(l *Line) Cell {
	if l.Kind == nil || l.Kind.Right == nil {
		return Cell{}
	}
	return whole(*l.Kind.Right)
}

// plans says how the store answers a question, each way once: a store may change its mind from one
// block to another.
func plans(l *Line) Cell {
	if l.Kind == nil {
		return Cell{}
	}
	var texts []string
	for _, p := range l.Plans {
		if text := model.PlanText(p); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	text := strings.Join(texts, "; ")
	return Cell{Text: text, Raw: text}
}

// latency is that at a quantile. Where it must not be shown, it is what is known of it: at most so much, the
// harness's delay included; or "refused".
func latency(l model.Latencies, q float64) Cell {
	switch atMost := l.AtMostAt(q); {
	case atMost != nil:
		return Cell{Text: format.AtMost(format.Latency(*atMost))}
	case slices.Contains(l.Refused, q):
		return Cell{Text: "refused"}
	}
	return figure(l.At(q), format.Latency)
}

// whole is a count, which is worth a look only where it is not zero.
func whole(n uint64) Cell {
	c := Cell{Raw: strconv.FormatUint(n, 10)}
	if n > 0 {
		v := float64(n)
		c.Text, c.Value = format.Count(n), &v
	}
	return c
}

func counted(n func(model.Outcomes) uint64) func(*Line) Cell {
	return func(l *Line) Cell { return whole(n(l.Outcomes)) }
}

func raw(name string, of func(*Line) []float64) Column {
	return Column{Name: name, Of: func(l *Line) Cell {
		var names []string
		for _, q := range of(l) {
			names = append(names, format.Quantile(q))
		}
		return Cell{Raw: strings.Join(names, " ")}
	}}
}

func space(l *Line) *float64 {
	if l.DiskBytes == nil || l.LogicalBytes == nil || *l.LogicalBytes == 0 {
		return nil
	}
	v := *l.DiskBytes / *l.LogicalBytes
	return &v
}

// cpu under open load is mostly the worker's waiting.
func cpu(l *Line) *float64 {
	if l.Table.Open {
		return nil
	}
	return l.CPUNS
}

func drained(l *Line) Cell {
	if l.Drained != nil && !*l.Drained {
		return Cell{Text: "no", Bad: true}
	}
	return figure(l.DrainSeconds, format.Seconds)
}

func perOperation(unit string) func(float64) string {
	return func(v float64) string { return format.PerOperation(v, unit) }
}

func milestone(which func(*model.Milestones) float64) func(*Line) Cell {
	return of(func(l *Line) *float64 {
		if l.Milestones == nil {
			return nil
		}
		seconds := which(l.Milestones)
		return &seconds
	}, format.Seconds)
}

func lossFound(l *Line) *float64 {
	if l.Checked == nil {
		return nil
	}
	return &l.Checked.FoundOneIn
}

// connections are the most that were seen, of as many as were allowed: "5 of 20".
func connections(l *Line) Cell {
	if l.Connections == nil {
		return Cell{}
	}
	text := format.Count(uint64(*l.Connections)) + " of " + format.Count(uint64(l.ConnectionsMax))
	return Cell{Text: text, Value: l.Connections, Bad: *l.Connections > float64(l.ConnectionsMax)}
}
