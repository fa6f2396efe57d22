package tell

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/presentation/model"
)

// How many points a result keeps: enough for a wide screen, and few enough that a run of hundreds
// of trials still opens at once.
const (
	plotPointsMax   = 800
	plotPointsMin   = 80
	resultPointsMax = 240_000

	besideStepsMax   = 240
	besideStepsMin   = 40
	besideNumbersMax = 400_000
	besideEach       = 16 // resources of a trial that are reckoned with
)

// recordsChangeMin is how much the number of records must change for a rate to be drawn against it.
const recordsChangeMin = 0.02

// plotter makes the series of the tables, and remembers which resources they have.
type plotter struct {
	all    int // series that the result will have
	beside map[string]bool
}

func (p *plotter) points() int {
	return min(plotPointsMax, max(plotPointsMin, resultPointsMax/max(p.all, 1)))
}

// seriesOf draws the trials of a table.
func (p *plotter) seriesOf(t *facts.Table, key func(trial string) string) (drawn []model.Series) {
	for _, r := range t.Rows {
		median := medianTrial(r)
		for _, o := range r.Trials {
			if o.Course == nil {
				continue
			}
			s := p.draw(o)
			s.Trial, s.Arm, s.Median = key(o.Planned.ID), r.Arm, o == median
			if s.Median {
				s.Beside = p.besideOf(o.Course.Samples())
				s.Groups = groupsBeside(o, t.Phase)
				s.Tasks = facts.TaskTimesOf(o.Phase)
			}
			drawn = append(drawn, s)
		}
	}
	return drawn
}

// groupsBeside returns when the other groups of a phase worked.
func groupsBeside(o *facts.Observation, phase string) (groups []model.Clients) {
	for i := range o.Trial.Phases {
		p := &o.Trial.Phases[i]
		if !facts.Besides(p.Name, phase) || p.Attempted == 0 {
			continue
		}
		_, name, _ := strings.Cut(p.Name, experiment.GroupSeparator)
		ran := facts.WorkedIn(p)
		groups = append(groups, model.Clients{Name: name, Phase: p.Name, From: milli(ran.From), Until: milli(ran.To)})
	}
	return groups
}

// medianTrial returns the trial whose rate is the lower median of the row's; without rates, any
// that has samples; nil: there is none.
func medianTrial(r *facts.Row) *facts.Observation {
	rated := slices.DeleteFunc(r.Used(), func(o *facts.Observation) bool { return o.Course == nil })
	if len(rated) == 0 {
		at := slices.IndexFunc(r.Trials, func(o *facts.Observation) bool { return o.Course != nil })
		if at < 0 {
			return nil
		}
		return r.Trials[at]
	}
	slices.SortStableFunc(rated, func(a, b *facts.Observation) int { return cmp.Compare(*a.Rate, *b.Rate) })
	return rated[(len(rated)-1)/2]
}

func (p *plotter) draw(o *facts.Observation) model.Series {
	c := o.Course
	s := model.Series{Block: o.Planned.Block, Samples: len(c.Seconds)}
	grows := changes(c.Series.Records)
	for _, i := range thin(c.Series.Rates, p.points()) {
		s.At, s.Rate = append(s.At, milli(c.Series.Ends[i])), append(s.Rate, rounded(c.Series.Rates[i]))
		if grows {
			s.Records = append(s.Records, rounded(c.Series.Records[i]))
		}
	}
	if o.Steady {
		s.Warmup = milli(c.Shape.Warmup)
	}
	for _, e := range c.Shape.Events {
		if o.Phase != nil && len(o.Phase.Intervals) > 0 {
			break // the experiment asks for them
		}
		event := model.Event{At: milli(e.From), Kind: string(e.Kind), What: finding.New(e.Label()), Records: e.Records}
		if e.To > e.From {
			event.Until = milli(e.To)
		}
		s.Events = append(s.Events, event)
	}
	if o.State != record.OK && o.State != record.Marked {
		s.Ended = finding.Text(endOf(o))
	}
	return s
}

// changes reports whether the number of records changes enough to draw against it.
func changes(records []float64) bool {
	known := slices.DeleteFunc(slices.Clone(records), math.IsNaN)
	return len(known) > 2 && slices.Max(known)-slices.Min(known) > recordsChangeMin*slices.Max(known)
}

// thin returns the positions that are kept: of each stretch, the lowest and the highest rate, in
// the order in which they came. A mean would hide the stalls that a reader looks for.
func thin(rates []float64, points int) (kept []int) {
	if len(rates) <= points {
		for i := range rates {
			kept = append(kept, i)
		}
		return kept
	}
	stretches := points / 2
	for i := range stretches {
		from, to := i*len(rates)/stretches, (i+1)*len(rates)/stretches
		lowest, highest := from, from
		for j := from; j < to; j++ {
			if rates[j] < rates[lowest] {
				lowest = j
			}
			if rates[j] > rates[highest] {
				highest = j
			}
		}
		kept = append(kept, min(lowest, highest))
		if lowest != highest {
			kept = append(kept, max(lowest, highest))
		}
	}
	return kept
}

func milli(v float64) float64 { return math.Round(v*1000) / 1000 }

// rounded keeps four digits: more would only make the result larger. Nil for NaN.
func rounded(v float64) *float64 {
	switch {
	case math.IsNaN(v):
		return nil
	case v != 0:
		scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
		v = math.Round(v*scale) / scale
	}
	return &v
}

// gathering is how the values of a step are put together.
type gathering int

const (
	byTime gathering = iota // of rates
	latest                  // of levels
	most                    // of latencies
)

// sampled are the resources that a sample has besides those of host.Catalogue.
var sampled = []struct {
	model.Resource
	gather gathering
	value  func(s *record.Sample) *float64
}{
	{model.Resource{Name: "latency.p99", Unit: "s", Meaning: "99th percentile of the service times in a sample"}, most,
		func(s *record.Sample) *float64 { return inSeconds(s.P99NS) }},
	{model.Resource{Name: "latency.max", Unit: "s", Meaning: "longest service time in a sample"}, most,
		func(s *record.Sample) *float64 { return inSeconds(s.MaxNS) }},
	{model.Resource{Name: "data.records", Meaning: "live records, by the trace's arithmetic"}, latest,
		func(s *record.Sample) *float64 { return facts.Float(s.Records) }},
}

func inSeconds(ns *float64) *float64 { return facts.Divided(ns, 1e9) }

// offeredFirst are the names that are offered first, measured or not; the first shownMax of them
// are drawn without being asked for.
var offeredFirst = []string{"worker.cpu", "worker.rss", "worker.write", "worker.read", "latency.p99", "latency.max",
	"data.bytes", "data.records", "machine.steal", "machine.foreign"}

const shownMax = 3

// shownOfServer reports whether a resource is drawn without being asked for where servers are measured:
// their work is beside the rate, of several servers the CPU of each.
func shownOfServer(name string) bool {
	number, in := host.ServerNumber(name)
	return in == "server.cpu" || number == 0 && (name == "server.rss" || name == "server.write")
}

// ownPrefix stands before the names of a store's own counters.
const ownPrefix = "store."

// column is one resource of some samples.
type column struct {
	name   string
	gather gathering
	value  func(s *record.Sample) (float64, bool)
}

func columnsOf(samples []record.Sample) (columns []column) {
	own := map[string]bool{}
	for i := range samples {
		for name := range samples[i].Stats.All() {
			own[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		columns = append(columns, column{ownPrefix + name, latest, func(s *record.Sample) (float64, bool) {
			return s.Stats.Get(name)
		}})
	}
	for _, series := range record.ResourcesOf(samples) {
		gather := latest
		if series.Kind == host.Rate {
			gather = byTime
		}
		columns = append(columns, column{series.Name, gather, func(s *record.Sample) (float64, bool) {
			return s.Resource(series.Name)
		}})
	}
	for _, r := range sampled {
		columns = append(columns, column{r.Name, r.gather, func(s *record.Sample) (float64, bool) {
			if v := r.value(s); v != nil {
				return *v, true
			}
			return 0, false
		}})
	}
	return columns
}

// besideOf takes what was measured beside a rate, in steps; nil if there is nothing.
func (p *plotter) besideOf(samples []record.Sample) *model.Beside {
	steps := min(len(samples), max(besideStepsMin, min(besideStepsMax, besideNumbersMax/max(p.all*besideEach, 1))))
	kept := model.Beside{Values: map[string][]*float64{}}
	for _, c := range columnsOf(samples) {
		values, measured := make([]*float64, steps), false
		for step := range steps {
			values[step] = c.of(samples[step*len(samples)/steps : (step+1)*len(samples)/steps])
			measured = measured || values[step] != nil
		}
		if measured {
			kept.Values[c.name], p.beside[c.name] = values, true
		}
	}
	if len(kept.Values) == 0 {
		return nil
	}
	for step := range steps {
		kept.At = append(kept.At, milli(samples[(step+1)*len(samples)/steps-1].At))
	}
	return &kept
}

// of puts the values of some samples together; nil: none was measured.
func (c column) of(samples []record.Sample) *float64 {
	var value, seconds float64
	known := false
	for i := range samples {
		v, ok := c.value(&samples[i])
		if !ok {
			continue
		}
		switch {
		case c.gather == byTime:
			value, seconds = value+v*samples[i].Seconds, seconds+samples[i].Seconds
		case c.gather == most && known:
			value = max(value, v)
		default:
			value = v
		}
		known = true
	}
	switch {
	case !known:
		return nil
	case c.gather == byTime:
		value /= seconds
	}
	return rounded(value)
}

// offered lists what was measured in any table, and those of the first that were not.
func (p *plotter) offered() (offered []model.Resource) {
	names := slices.Clone(offeredFirst)
	for _, series := range host.Catalogue {
		names = append(names, series.Name)
	}
	names = append(names, slices.Sorted(maps.Keys(p.beside))...)
	for i, name := range names {
		if slices.Contains(names[:i], name) || i >= len(offeredFirst) && !p.beside[name] {
			continue
		}
		r := model.Resource{Name: name}
		if series, ok := host.SeriesOf(name); ok {
			r.Unit, r.Meaning = series.Unit, series.Meaning
		}
		for _, s := range sampled {
			if s.Name == name {
				r = s.Resource
			}
		}
		if strings.HasPrefix(name, ownPrefix) {
			r.Meaning = "the store's own counter, as it stands"
		}
		r.Title, r.Shown, r.Missing = format.ResourceTitle(name), i < shownMax || shownOfServer(name), !p.beside[name]
		r.Group, r.Short = "Main", r.Title
		if i >= len(offeredFirst) {
			whose, what, _ := strings.Cut(name, ".")
			r.Group, r.Short = cmp.Or(resourceGroups[whose], format.ResourceTitle(whose)), format.ResourceTitle(what)
		}
		offered = append(offered, r)
	}
	return offered
}

var resourceGroups = map[string]string{"store": "Store's own", "data": "Data directory", "limit": "Memory limit"}

// endOf says why a trial has no whole result.
func endOf(o *facts.Observation) finding.Message {
	if o.Trial == nil {
		return finding.New(finding.TrialMissingParams{Trial: o.Planned.ID})
	}
	return o.Why()
}
