package verdict

import (
	"maps"
	"math"
	"slices"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// Observation is one phase of one trial.
type Observation struct {
	Trial string       `json:"trial"` // its ID
	Block int          `json:"block"`
	State record.State `json:"state"` // "" if there is no result
	Why   string       `json:"why,omitempty"`

	Used    bool     `json:"used"`              // its figures are in the row
	Rate    *float64 `json:"rate,omitempty"`    // see Basis; nil: the phase did not end
	Records *float64 `json:"records,omitempty"` // items a second: Rate times the items of an operation
	Basis   Basis    `json:"basis,omitempty"`

	Steadiness *stat.Steadiness `json:"steadiness,omitempty"` // nil: no samples
	Course     *Analysis        `json:"course,omitempty"`     // what its rate did over time, with marks to draw; nil: no samples
	Stalls     []stat.Stall     `json:"-"`                    // those of Course; positions are samples
	Median     float64          `json:"median,omitempty"`     // of the samples' rates
	Cliff      *stat.Cliff      `json:"-"`                    // the first one of Course
	samples    []record.Sample  // of the phase, those that the series is made of
	times      []float64        // seconds since the phase began, at each sample's end
	width      float64          // planned seconds between samples
	sampled    stat.Series      // what Course was made of

	whole  float64 // operations a second over the whole phase
	each   float64 // items of an operation, over the whole phase; 0: they have none
	faults []finding.Mark
	phase  *record.Phase
	trial  *record.Trial
}

// Basis says which part of a phase a rate is of.
type Basis string

const (
	AfterWarmup Basis = "after-warm-up" // from the warm-up cut to the end
	// WholePhase: of a fixed amount of work, where there are no samples, and where the rate never settled: a series that falls all the way has no
	// warm-up, and where one is cut off all the same hangs on chance.
	WholePhase Basis = "whole-phase"
)

// restless says whether the rate is known not to have settled.
func (o Observation) restless() bool {
	return o.Steadiness != nil && (o.Steadiness.Kind == stat.Stepped || o.Steadiness.Kind == stat.Drifting)
}

// at returns when sample i began, in seconds since the phase began.
func (o Observation) at(i int) float64 {
	if i <= 0 || i > len(o.times) {
		return 0
	}
	return o.times[i-1]
}

// observe looks at one phase of one planned trial.
func observe(run *record.Run, planned plan.Trial, phase spec.Phase) Observation {
	o := Observation{Trial: planned.ID, Block: planned.Block}
	o.trial = run.Trials[planned.ID]
	if o.trial == nil {
		o.Why = "there is no result"
		return o
	}
	o.State, o.Why, o.faults = o.trial.State, o.trial.Error, o.trial.CountedMarks()
	if o.State == record.OK && len(o.faults) > 0 {
		o.State = record.Marked
	}
	if o.State == record.Marked && o.Why == "" && len(o.faults) > 0 {
		o.Why = finding.Text(o.faults[0].Message)
	}
	for i := range o.trial.Phases {
		if o.trial.Phases[i].Name == phase.Name {
			o.phase = &o.trial.Phases[i]
		}
	}
	rates, good, seconds := o.series(run.Series[planned.ID], phase)
	if len(rates) > 0 {
		steadiness := stat.Decide(rates, o.width)
		o.Steadiness = &steadiness
		o.Median = stat.Median(rates)
		o.sampled = o.besides(rates)
		course := Analyze(o.sampled)
		o.Course, o.Stalls = &course, course.Stalls
		if len(course.Cliffs) > 0 {
			o.Cliff = &course.Cliffs[0]
		}
	}
	if o.phase == nil || o.phase.ElapsedNS <= 0 {
		return o
	}
	var outcomes Outcomes
	outcomes.add(o.phase)
	elapsed := float64(o.phase.ElapsedNS) / 1e9
	o.whole = float64(outcomes.Good()) / elapsed
	if items := itemsOf(o.phase); items > 0 && outcomes.Good() > 0 {
		o.each = float64(items) / float64(outcomes.Good())
	}
	o.setRate(WholePhase, o.whole)
	if o.Steadiness != nil && phase.Operations == 0 && o.State != record.Failed { // of one that died, what it did until then
		o.setRate(AfterWarmup, sum(good[o.Steadiness.From:])/sum(seconds[o.Steadiness.From:]))
	}
	return o
}

// setRate sets the rates of operations and of their records, which are of one stretch.
func (o *Observation) setRate(basis Basis, rate float64) {
	o.Basis, o.Rate = basis, &rate
	if o.each > 0 {
		o.Records = pointer(rate * o.each)
	}
}

// stallOperationsMin is how many operations a median sample must hold for an empty one to be a stall and not chance.
const stallOperationsMin = 20

// series returns the rates, good operations and lengths of the phase's samples. A last sample of less than half the
// planned length is left out: its rate is mostly noise. So are those that end later than half a sample after the phase's time was over: no operation begins then, and a rate
// that is of waiting for the last ones is none.
func (o *Observation) series(samples []record.Sample, phase spec.Phase) (rates, good, seconds []float64) {
	var kept []record.Sample
	var lengths []float64
	for _, s := range samples {
		if s.Phase == phase.Name && s.Seconds > 0 {
			kept, lengths = append(kept, s), append(lengths, s.Seconds)
		}
	}
	if len(lengths) == 0 {
		return nil, nil, nil
	}
	o.width = stat.Median(lengths)
	for _, s := range kept {
		if s.Seconds < o.width/2 || phase.Duration > 0 && s.At > phase.Duration.Seconds()+o.width/2 {
			continue
		}
		ended := float64(s.Operations - min(s.Bad, s.Operations))
		o.samples = append(o.samples, s)
		rates = append(rates, ended/s.Seconds)
		good = append(good, ended)
		seconds = append(seconds, s.Seconds)
		o.times = append(o.times, s.At)
	}
	return rates, good, seconds
}

// besides puts beside the rates of a phase what was sampled with them, for Analyze.
func (o *Observation) besides(rates []float64) stat.Series {
	kept := o.samples
	series := stat.Series{Begin: max(kept[0].At-kept[0].Seconds, 0), Ends: o.times, Rates: rates, Sparse: o.Median*o.width < stallOperationsMin}
	column := func(value func(s *record.Sample) (float64, bool)) []float64 {
		values, measured := make([]float64, len(kept)), false
		for i := range kept {
			v, ok := value(&kept[i])
			if !ok {
				v = math.NaN()
			}
			values[i], measured = v, measured || ok
		}
		if !measured {
			return nil
		}
		return values
	}
	whole := func(v *uint64) (float64, bool) {
		if v == nil {
			return 0, false
		}
		return float64(*v), true
	}
	series.Records = column(func(s *record.Sample) (float64, bool) { return whole(s.Records) })
	series.Bytes = column(func(s *record.Sample) (float64, bool) { return whole(s.DiskBytes) })
	engine := map[string]bool{}
	for _, s := range kept {
		for name := range s.Stats {
			engine[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(engine)) {
		series.Resources = append(series.Resources, stat.Resource{Name: name, Engine: true, Values: column(func(s *record.Sample) (float64, bool) { v, ok := s.Stats[name]; return v, ok })})
	}
	for _, resource := range record.ResourcesOf(kept) {
		series.Resources = append(series.Resources, stat.Resource{Name: resource.Name, Values: column(func(s *record.Sample) (float64, bool) { return s.Resource(resource.Name) })})
	}
	return series
}

func itemsOf(p *record.Phase) (items uint64) {
	for _, op := range p.Operations {
		items += op.Items
	}
	return items
}

// hasFault says whether there is a mark of a fault in a phase.
func hasFault(marks []finding.Mark, fault finding.Code, phase string) bool {
	return slices.ContainsFunc(marks, func(m finding.Mark) bool { return m.Fault() == fault && m.Phase == phase })
}

func pointer[T any](v T) *T { return &v }

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}
