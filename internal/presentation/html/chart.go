package html

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/capacity"
	"assay/internal/presentation/model"
)

// look is how an arm is drawn, the same in every chart: one of the style sheet's hues, and a
// pattern of dashes once the hues are used up.
type look struct {
	Hue  string `json:"hue"`
	Dash []int  `json:"dash"`
}

const hues = 8

var dashes = [][]int{{}, {7, 3}, {2, 3}, {9, 3, 2, 3}, {14, 4}, {5, 2, 2, 2, 2, 2}}

// Path is the pattern for an SVG's stroke.
func (l look) Path() string {
	parts := make([]string, len(l.Dash))
	for i, d := range l.Dash {
		parts[i] = strconv.Itoa(d)
	}
	return strings.Join(parts, " ")
}

// looksOf gives each arm its look: stores in the order of the experiment, then what else has rows.
// The baseline's twin (A/A) has the baseline's hue; null drivers are grey.
func looksOf(r *model.Result) map[string]look {
	looks := map[string]look{}
	next := 0
	take := func(arm string) {
		if _, has := looks[arm]; !has {
			looks[arm] = look{"arm-" + strconv.Itoa(next%hues), dashes[next/hues%len(dashes)]}
			next++
		}
	}
	for _, s := range r.Stores {
		if !slices.ContainsFunc(r.Trials, func(t model.Trial) bool { return t.Arm == s.Arm && t.Role == roleCeiling }) {
			take(s.Arm)
		}
	}
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			if row.Standing != model.Reference {
				take(row.Arm)
			}
		}
		for _, row := range t.Rows {
			if _, has := looks[row.Arm]; has || row.Standing != model.Reference {
				continue
			}
			twin := look{"arm-reference", dashes[1]}
			if base, has := looks[t.Baseline]; has && row.Role != roleCeiling {
				twin.Hue = base.Hue
			}
			looks[row.Arm] = twin
		}
	}
	return looks
}

const roleCeiling = "ceiling" // of package plan, which stands above what a report may know

// Look returns an arm's look.
func (p page) Look(arm string) look { return p.Looks[arm] }

// ArmsOf lists the arms that have a chart of their own: all that have a series and are no null
// driver, in the order of the rows.
func (p page) ArmsOf(t model.Table) []string {
	return armsOf(t, func(r model.Row) bool { return r.Role != roleCeiling })
}

// Drawn lists the arms that stand together in a chart: the stores.
func (p page) Drawn(t model.Table) []string {
	return armsOf(t, func(r model.Row) bool { return r.Standing != model.Reference })
}

func armsOf(t model.Table, fit func(model.Row) bool) (arms []string) {
	for _, row := range t.Rows {
		drawn := slices.ContainsFunc(t.Series, func(s model.Series) bool { return s.Arm == row.Arm && len(s.At) > 0 })
		if drawn && fit(row) {
			arms = append(arms, row.Arm)
		}
	}
	return arms
}

// togetherMax is how many arms one chart bears; with more, each has one of its own only. From
// tangleMin on each has one of its own as well.
const togetherMax, tangleMin = 16, 6

// Together reports whether a table's arms stand in one chart.
func (p page) Together(t model.Table) bool { return len(p.Drawn(t)) <= togetherMax }

// Tangled reports whether each of a table's arms has a chart of its own that is seen at once.
func (p page) Tangled(t model.Table) bool { return len(p.Drawn(t)) >= tangleMin }

// Latency reports whether there is a latency to draw, and few enough stores to see theirs.
func (p page) Latency(t model.Table) bool {
	return p.Together(t) && slices.ContainsFunc(t.Rows, func(r model.Row) bool {
		return len(r.Points) > 1 && r.Standing != model.Reference
	})
}

// Spread reports whether distributions of latencies can be drawn.
func (p page) Spread(t model.Table) bool {
	return p.Latency(t) && slices.ContainsFunc(t.Rows, func(r model.Row) bool {
		return len(r.Spread) > 1 && r.Standing != model.Reference
	})
}

// Stored reports whether the number of records grew in a table's phase.
func (p page) Stored(t model.Table) bool {
	return slices.ContainsFunc(t.Series, func(s model.Series) bool { return s.Median && growing(s.Records) })
}

func growing(records []*float64) bool {
	low, high := math.Inf(1), 0.0
	for _, r := range records {
		if r != nil {
			low, high = min(low, *r), max(high, *r)
		}
	}
	return high > 1.05*low
}

// TaskTimes reports whether a table has the times that tasks took for so many operations; 0: it has
// none.
func (p page) TaskTimes(t model.Table) (every int) {
	for _, s := range t.Series {
		if s.Tasks != nil && s.Median {
			every = max(every, int(s.Tasks.Every))
		}
	}
	return every
}

// OverTime reports whether the rate of a table changes over time, for few enough stores to see theirs.
func (p page) OverTime(t model.Table) bool {
	return p.Together(t) && slices.ContainsFunc(t.Rows, func(r model.Row) bool {
		return r.OverTime != nil && r.Standing != model.Reference
	})
}

// FromDue reports whether latencies of a table are from the due time: of open load, and of searches for a
// capacity, whose steps are that.
func (p page) FromDue(t model.Table) bool {
	return t.Open || slices.ContainsFunc(t.Rows, func(r model.Row) bool { return r.Capacity != nil })
}

// Moments reports whether it is known what became of a rate over time.
func (p page) Moments(t model.Table) bool {
	return slices.ContainsFunc(t.Rows, func(r model.Row) bool {
		return r.OverTime != nil && len(r.OverTime.Moments) > 0
	})
}

// Queued reports whether operations were due and not begun at some time.
func (p page) Queued(t model.Table) bool {
	return slices.ContainsFunc(t.Rows, func(r model.Row) bool {
		return r.OverTime != nil && slices.ContainsFunc(r.OverTime.Moments,
			func(m model.Moment) bool { return m.Backlog > 0 })
	})
}

// ByRate reports whether its stores were asked for several rates.
func (p page) ByRate(t model.Table) bool {
	return slices.ContainsFunc(t.Rows, func(r model.Row) bool {
		return r.OverTime != nil && r.Standing != model.Reference && len(r.OverTime.ByRate) > 1
	})
}

// WithOthers lists the arms whose group of clients had another one beside it for a part of the time: each
// has a chart with both.
func (p page) WithOthers(t model.Table) (arms []string) {
	for _, arm := range p.Drawn(t) {
		if slices.ContainsFunc(t.Series, func(s model.Series) bool {
			return s.Arm == arm && s.Median && cameOrWent(s)
		}) {
			arms = append(arms, arm)
		}
	}
	return arms
}

// OthersOf names the groups of clients that a table's had beside it.
func (p page) OthersOf(t model.Table) (names []string) {
	for _, s := range t.Series {
		for _, g := range s.Groups {
			if !slices.Contains(names, g.Name) {
				names = append(names, g.Name)
			}
		}
	}
	return names
}

// cameOrWent reports whether another group ran for a part of a series alone.
func cameOrWent(s model.Series) bool {
	const atOnce = 0.05 // of the series
	if len(s.At) < 2 {
		return false
	}
	from, until := s.At[0], s.At[len(s.At)-1]
	slack := atOnce * (until - from)
	return slices.ContainsFunc(s.Groups, func(g model.Clients) bool {
		return g.From > from+slack || g.Until < until-slack
	})
}

// groupsOf returns what the chart of an arm's groups draws: its own rate first.
func (p page) groupsOf(t model.Table, s model.Series) chartGroups {
	c := chartGroups{Arm: s.Arm, Lines: []chartGroup{{Name: t.Phase, T: s.At, Rate: figuresOf(s.Rate)}}}
	for _, g := range s.Groups {
		line := chartGroup{Name: g.Name, From: g.From, Until: g.Until}
		for _, other := range p.Tables {
			if other.Run != t.Run || other.Cell != t.Cell || other.Phase != g.Phase {
				continue
			}
			if at := slices.IndexFunc(other.Series, func(o model.Series) bool { return o.Trial == s.Trial }); at >= 0 {
				line.T, line.Rate = other.Series[at].At, figuresOf(other.Series[at].Rate)
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

// lead is the first chart: bars of rates and of p99, a row a phase with its classes side by side, or
// the course of rates that fell.
type lead struct {
	Title  string
	Panels []panel
	Across int // panels in a row
	Table  *model.Table
	Kind   string // of the chart: "rate" or "stored"
	Ranged bool   // some bar has an interval
	Tail   bool   // some bar has a p99
}

// panel is the rates of one phase in one class.
type panel struct {
	Phase, Title, Table string
	Tail                bool
	Bars                []bar
}

type bar struct {
	Arm, Text, Tail string
	Off             bool
	Track, TailBar  *track
}

func (p page) leadOf() (l lead) {
	var phases []string
	of := map[string][]panel{}
	for _, s := range p.Summary.Sections {
		for i, c := range s.Columns {
			if s.Unit == "" {
				p.leadCourse(&l, s, c)
				continue
			}
			if one := p.panelOf(s, i); c.Kind == "rate" && len(one.Bars) > 1 {
				if of[c.Phase] == nil {
					phases = append(phases, c.Phase)
				}
				of[c.Phase] = append(of[c.Phase], one)
				l.Tail = l.Tail || one.Tail
				l.Ranged = l.Ranged || slices.ContainsFunc(one.Bars, func(b bar) bool {
					return b.Track != nil && b.Track.Ranged
				})
			}
		}
	}
	for _, phase := range phases {
		l.Across = max(l.Across, len(of[phase]))
		l.Panels = append(l.Panels, of[phase]...)
	}
	if len(phases) == 1 || l.Across == 1 {
		l.Across = min(len(l.Panels), acrossMax)
	}
	if len(l.Panels) > 0 {
		l.Table = nil
	}
	return l
}

// acrossMax is how many panels stand side by side at most.
const acrossMax = 3

// leadCourse takes the first table whose rates fell.
func (p page) leadCourse(l *lead, s model.Section, c model.SectionColumn) {
	at := slices.IndexFunc(p.Tables, func(t model.Table) bool { return t.ID == c.Table })
	if at < 0 || l.Table != nil || len(p.Tables[at].Series) == 0 {
		return
	}
	l.Title, l.Table, l.Kind = s.Title, &p.Tables[at], "rate"
	if p.Stored(*l.Table) {
		l.Kind = "stored"
	}
}

func (p page) panelOf(s model.Section, column int) panel {
	c := s.Columns[column]
	one := panel{Phase: c.Title, Title: s.Title, Table: c.Table}
	if of := s.Of(); of != "" {
		one.Title += ", " + of
	}
	table := slices.IndexFunc(p.Tables, func(t model.Table) bool { return t.ID == c.Table })
	if table >= 0 && s.Phase != "" {
		one.Phase = p.Tables[table].Label
	}
	for _, row := range s.Rows {
		v := row.Cells[column]
		if v.Value == nil || v.Text != "" {
			continue
		}
		drawn := bar{Arm: row.Arm, Text: format.Number(*v.Value), Off: !v.Ranked, Track: &track{Bar: *v.Value}}
		if v.Low != nil && v.High != nil {
			drawn.Track.Ranged, drawn.Track.Low, drawn.Track.High = true, *v.Low, *v.High
		}
		if table >= 0 {
			rows := p.Tables[table].Rows
			if at := slices.IndexFunc(rows, func(r model.Row) bool {
				return r.Arm == row.Arm && r.Standing != model.Reference
			}); at >= 0 {
				if p99 := rows[at].At(0.99); p99 != nil {
					drawn.Tail, drawn.TailBar, one.Tail = format.Latency(*p99), &track{Bar: *p99}, true
				}
				drawn.Track.Dots = p.blocksOf(&p.Tables[table], &rows[at])
			}
		}
		one.Bars = append(one.Bars, drawn)
	}
	slices.SortStableFunc(one.Bars, func(a, b bar) int { return cmp.Compare(b.Track.Bar, a.Track.Bar) })
	one.scale()
	return one
}

// blocksOf are the rates of the trials that a row's is the mean of; nil: of one trial, or of a part of a phase.
func (p page) blocksOf(t *model.Table, r *model.Row) (rates []float64) {
	for _, key := range r.Trials {
		trial := p.trials[key]
		if trial.State != string(record.OK) && !(r.Marked && trial.State == string(record.Marked)) {
			continue
		}
		for i := range trial.Phases {
			if phase := &trial.Phases[i]; phase.Measured && phase.Name == t.Phase && phase.Rate > 0 {
				rates = append(rates, phase.Rate)
			}
		}
	}
	if len(rates) < 2 {
		return nil
	}
	return rates
}

// scale makes shares of the longest bar of what stands in the tracks: a scale for each panel, since
// classes are not ranked against each other.
func (one *panel) scale() {
	var rates []model.Estimate
	slowest := 0.0
	for _, b := range one.Bars {
		e := model.Estimate{Value: b.Track.Bar}
		if b.Track.Ranged {
			e.High = &b.Track.High
		}
		rates = append(rates, e)
		if b.TailBar != nil {
			slowest = max(slowest, b.TailBar.Bar)
		}
	}
	longest := longestOf(rates)
	for i := range one.Bars {
		b := &one.Bars[i]
		var low, high *float64
		if b.Track.Ranged {
			low, high = &b.Track.Low, &b.Track.High
		}
		dots := b.Track.Dots
		b.Track = trackOf(b.Track.Bar, low, high, longest)
		for _, rate := range dots {
			if b.Track != nil {
				b.Track.Dots = append(b.Track.Dots, min(1, rate/longest))
			}
		}
		if b.TailBar != nil {
			b.TailBar = trackOf(b.TailBar.Bar, nil, nil, slowest)
		}
	}
}

// chartData is what the script draws, as JSON.
func (p page) chartData() ([]byte, error) {
	data := charts{Looks: p.Looks, Tables: map[string]chartTable{}, Units: map[string]string{}}
	for _, r := range p.Resources {
		data.Units[r.Name] = r.Unit
	}
	for _, t := range p.Tables {
		var table chartTable
		for _, row := range t.Rows {
			if row.Standing != model.Reference && len(row.Points) > 0 {
				table.Latency = append(table.Latency, chartLatency{row.Arm, row.Standing == model.Ranked,
					row.Points, binsOf(row.Spread)})
			}
			if row.Standing != model.Reference && row.OverTime != nil {
				table.Load = append(table.Load, loadOf(row, p.LoadQuantile(t)))
			}
		}
		arms, together := p.ArmsOf(t), p.WithOthers(t)
		for _, s := range t.Series {
			if slices.Contains(arms, s.Arm) {
				aside := slices.ContainsFunc(t.Rows, func(r model.Row) bool {
					return r.Arm == s.Arm && r.Standing == model.Reference
				})
				table.Series = append(table.Series, seriesOf(s, aside))
			}
			if s.Median && slices.Contains(together, s.Arm) {
				table.Groups = append(table.Groups, p.groupsOf(t, s))
			}
		}
		table.Limits = limitsOf(t, p.LoadQuantile(t))
		data.Tables[t.ID] = table
	}
	return json.Marshal(data)
}

type charts struct {
	Looks  map[string]look       `json:"looks"`
	Units  map[string]string     `json:"units"` // of resources
	Tables map[string]chartTable `json:"tables"`
}

type chartTable struct {
	Latency []chartLatency `json:"latency"`
	Series  []chartSeries  `json:"series"`
	Groups  []chartGroups  `json:"groups,omitempty"`
	Load    []chartLoad    `json:"load,omitempty"`   // of a rate that changes over time
	Limits  []chartLimit   `json:"limits,omitempty"` // of latency, of objectives
}

// chartLimit is what an objective bounds a latency by.
type chartLimit struct {
	NS   float64 `json:"ns"`
	Text string  `json:"text"`
}

// chartCut is where an objective breaks.
type chartCut struct {
	Rate float64 `json:"rate"`
	NS   float64 `json:"ns,omitempty"` // its limit, of a latency that the chart shows
	Text string  `json:"text"`
}

// chartLoad is what an arm did by the rate that was asked for, and by time.
type chartLoad struct {
	Arm     string  `json:"arm"`
	Rate    figures `json:"rate"`
	P50     figures `json:"p50"`
	P99     figures `json:"p99"` // or what an objective bounds: see LoadQuantile
	Backlog figures `json:"backlog"`
	// Of a search for a capacity: the least and most that a step of a band saw, and where objectives break.
	Low  figures    `json:"low,omitempty"`
	High figures    `json:"high,omitempty"`
	Cuts []chartCut `json:"cuts,omitempty"`

	T      figures `json:"t"`
	Then50 figures `json:"then50"`
	Then99 figures `json:"then99"`
	Queued figures `json:"queued"`
}

// LoadQuantile is the percentile of the charts by rate: the first that an objective bounds, or p99.
func (p page) LoadQuantile(t model.Table) float64 {
	for _, row := range t.Rows {
		if row.Capacity != nil {
			return row.Capacity.Quantile()
		}
	}
	return 0.99
}

// Searched reports whether a table's rates are capacities.
func (p page) Searched(t model.Table) bool {
	return slices.ContainsFunc(t.Rows, func(r model.Row) bool { return r.Capacity != nil })
}

// limitsOf are the limits of latency that a chart by rate shows.
func limitsOf(t model.Table, q float64) (limits []chartLimit) {
	for _, row := range t.Rows {
		if row.Capacity == nil {
			continue
		}
		for _, o := range row.Capacity.Objectives {
			if o.Metric == capacity.Percentile && o.Quantile == q {
				limits = append(limits, chartLimit{o.Limit, o.String()})
			}
		}
		return limits
	}
	return nil
}

func cutsOf(c *facts.Capacity, q float64) (cuts []chartCut) {
	for i, rate := range c.Each {
		if rate == nil {
			continue
		}
		cut := chartCut{Rate: *rate, Text: "falls behind"}
		if i < len(c.Objectives) {
			o := c.Objectives[i]
			if cut.Text = o.String(); o.Metric == capacity.Percentile && o.Quantile == q {
				cut.NS = o.Limit
			}
		}
		cuts = append(cuts, cut)
	}
	return cuts
}

func loadOf(row model.Row, q float64) chartLoad {
	o := row.OverTime
	c := chartLoad{Arm: row.Arm}
	if row.Capacity != nil {
		c.Cuts = cutsOf(row.Capacity, q)
	}
	orNot := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	for _, b := range o.ByRate {
		c.Rate, c.Backlog = append(c.Rate, (b.FromRate+b.ToRate)/2), append(c.Backlog, b.Backlog)
		c.P50, c.P99 = append(c.P50, orNot(b.At(0.5))), append(c.P99, orNot(b.At(q)))
		if b.LowNS != nil {
			c.Low, c.High = append(c.Low, *b.LowNS), append(c.High, orNot(b.HighNS))
		}
	}
	if len(c.Low) != len(c.Rate) {
		c.Low, c.High = nil, nil // not of all rates
	}
	for _, m := range o.Moments {
		c.T, c.Queued = append(c.T, m.AtS), append(c.Queued, m.Backlog)
		c.Then50, c.Then99 = append(c.Then50, orNot(m.P50NS)), append(c.Then99, orNot(m.P99NS))
	}
	return c
}

// chartGroups are the groups of clients of an arm's median trial, on one time axis.
type chartGroups struct {
	Arm   string       `json:"arm"`
	Lines []chartGroup `json:"lines"`
}

type chartGroup struct {
	Name  string  `json:"name"`
	T     figures `json:"t"`
	Rate  figures `json:"rate"`
	From  float64 `json:"from,omitempty"`
	Until float64 `json:"until,omitempty"` // 0: the table's own group
}

type chartLatency struct {
	Arm    string        `json:"arm"`
	Ranked bool          `json:"ranked"`
	Points []model.Point `json:"points"`
	Bins   []figures     `json:"bins,omitempty"` // upper end in ns, share of the operations
}

func binsOf(spread []facts.Bin) (bins []figures) {
	for _, b := range spread {
		bins = append(bins, figures{b.NS, b.Share})
	}
	return bins
}

type chartSeries struct {
	Arm     string             `json:"arm"`
	Block   int                `json:"block"`
	Median  bool               `json:"median"`
	Aside   bool               `json:"aside"` // the baseline's twin: only in a chart of its own
	T       figures            `json:"t"`
	Rate    figures            `json:"rate"`
	Records figures            `json:"records,omitempty"`
	Warmup  float64            `json:"warmup"`
	Events  []chartEvent       `json:"events,omitempty"`
	At      figures            `json:"at,omitempty"` // times of what was measured beside
	Beside  map[string]figures `json:"beside,omitempty"`
	Every   uint64             `json:"every,omitempty"` // operations between two times of a task
	Tasks   []figures          `json:"tasks,omitempty"` // seconds that each task took for them
}

type chartEvent struct {
	At    float64 `json:"t"`
	Until float64 `json:"until,omitempty"`
	Kind  string  `json:"kind"`
	Text  string  `json:"text"`
}

// figures are numbers of a series: six digits are more than a chart shows. NaN: not measured.
type figures []float64

// MarshalJSON writes null for what was not measured.
func (f figures) MarshalJSON() ([]byte, error) {
	text := make([]byte, 0, 8*len(f)+2)
	text = append(text, '[')
	for i, v := range f {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			text = append(text, "null"...)
			continue
		}
		text = strconv.AppendFloat(text, v, 'g', 6, 64)
	}
	return append(text, ']'), nil
}

func figuresOf(values []*float64) figures {
	list := make(figures, len(values))
	for i, v := range values {
		list[i] = math.NaN()
		if v != nil {
			list[i] = *v
		}
	}
	return list
}

func seriesOf(s model.Series, aside bool) chartSeries {
	c := chartSeries{Arm: s.Arm, Block: s.Block, Median: s.Median, Aside: aside, Warmup: s.Warmup,
		T: s.At, Rate: figuresOf(s.Rate)}
	if s.Median && growing(s.Records) {
		c.Records = figuresOf(s.Records)
	}
	if s.Tasks != nil && s.Median {
		c.Every = s.Tasks.Every
		for _, took := range s.Tasks.Tasks {
			c.Tasks = append(c.Tasks, took)
		}
	}
	for _, e := range s.Events {
		c.Events = append(c.Events, chartEvent{e.At, e.Until, e.Kind, finding.Text(e.What)})
	}
	if s.Beside != nil {
		c.Beside = map[string]figures{}
		c.At = s.Beside.At
		for name, values := range s.Beside.Values {
			c.Beside[name] = figuresOf(values)
		}
	}
	return c
}
