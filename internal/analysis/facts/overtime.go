package facts

import (
	"cmp"
	"math"
	"slices"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// OverTime is what a row's store did while the rate that it was asked for changed, over its blocks.
type OverTime struct {
	Stretches []Stretch `json:"stretches"` // what the experiment asks for, one after the other
	ByRate    []Band    `json:"by_rate"`   // the same by the rate that was asked for, lowest first
	Moments   []Moment  `json:"moments"`   // and by time
	Rises     *Rise     `json:"rises,omitempty"`

	// BehindS is by how much it was behind at the end, NotBegun how many operations were then due and not
	// begun: of the block with most. 0: all that was due was done.
	BehindS  float64 `json:"behind_s,omitempty"`
	NotBegun uint64  `json:"not_begun,omitempty"`
}

// Stretch is a segment of a rate over time, or all of its bursts, or all times between them.
type Stretch struct {
	Segment   int     `json:"segment"` // position among the segments
	Burst     bool    `json:"burst,omitempty"`
	Threads   int     `json:"threads,omitempty"` // of closed load whose threads change over time, how many work; 0: it is of a rate
	FromRate  float64 `json:"from_rate"`         // operations a second that were asked for, the lowest of a sine or file
	ToRate    float64 `json:"to_rate"`           // and the highest; of a step the same
	FromS     float64 `json:"from_s"`            // where the first of them begins
	Times     int     `json:"times"`             // how many there are, of bursts
	Seconds   float64 `json:"seconds"`           // of all of them
	Asked     float64 `json:"asked_per_s"`       // due in it
	Begun     float64 `json:"begun_per_s"`       // in it
	Ended     float64 `json:"ended_per_s"`       // in it
	Backlog   float64 `json:"backlog"`           // operations that were due and not begun at its end, the most of its times; median of blocks
	BehindS   float64 `json:"behind_s"`          // since when the first of them was due
	LateNS    float64 `json:"late_p99_ns"`       // of the operations that were due in it: lateness of the harness itself
	Latencies         // of the operations that were due in it, whenever they ended
	// RecoveryS is how long after its end the store was as it had been before, if it asks for more than
	// what comes after it: see Recovery. Median of its times and blocks; nil: not in most of them, or it is
	// not told.
	RecoveryS *float64 `json:"recovery_s,omitempty"`
	Recovers  bool     `json:"recovers,omitempty"` // RecoveryS is reported
}

// Band is what became of some rates that were asked for.
type Band struct {
	FromRate float64 `json:"from_rate"` // operations a second
	ToRate   float64 `json:"to_rate"`
	Seconds  float64 `json:"seconds"` // over all blocks
	Ended    float64 `json:"ended_per_s"`
	Backlog  float64 `json:"backlog"` // at the ends of its intervals, the most
	// LowNS and HighNS are what the steps of a search for a capacity saw, at least and at most, of the
	// percentile that its first objective bounds, or of p99; nil: it is no search.
	LowNS  *float64 `json:"low_ns,omitempty"`
	HighNS *float64 `json:"high_ns,omitempty"`
	Latencies
}

// Moment is what became of a rate in one of its intervals, over the blocks.
type Moment struct {
	AtS     float64  `json:"at_s"` // its middle
	Asked   float64  `json:"asked_per_s"`
	Ended   float64  `json:"ended_per_s"`
	Backlog float64  `json:"backlog"`
	P50NS   *float64 `json:"p50_ns,omitempty"` // nil: refused, or too few operations
	P99NS   *float64 `json:"p99_ns,omitempty"`
}

// Rise is a rate above which a store answers much later than below.
type Rise struct {
	Rate     float64 `json:"rate"` // operations a second that were asked for, median of blocks
	BelowNS  float64 `json:"p99_below_ns"`
	AboveNS  float64 `json:"p99_above_ns"`
	Blocks   int     `json:"blocks"`
	OfBlocks int     `json:"of_blocks"`
}

// What is a rise of the response time with the rate, and a recovery.
const (
	// riseMin is by how much the 99th percentile must be larger at every rate above than at any below,
	// and riseLeastNS what it must be above.
	riseMin     = 3
	riseLeastNS = 1e6
	// recoveredMax is by how much of what it was before a stretch the 99th percentile may differ after it;
	// below recoveredNS it is not looked at.
	recoveredMax = 3
	recoveredNS  = 1e6
	// carriedNS is how far behind a store must be for what follows to be of the rate before.
	carriedNS = 10e6
	bandsMax  = 12
	// fallMin is by how much a rate must fall for a recovery to be looked for.
	fallMin = 0.8
)

// overTime sums up a row whose rate changes over time; nil: it does not.
func (r *Row) overTime(work experiment.Phase) *OverTime {
	if len(work.Stretches()) == 0 {
		return nil
	}
	var trials []trialOverTime
	for _, o := range r.Used() {
		if t, ok := trialOf(o.Phase, work); ok {
			trials = append(trials, t)
		}
	}
	if len(trials) == 0 {
		return nil
	}
	all := &OverTime{Stretches: stretchesOf(trials, work.Segments), Moments: momentsOf(trials)}
	if len(work.Staircase) > 0 {
		return all // closed load: no rate was asked for
	}
	all.ByRate, all.Rises = bandsOf(trials), riseOf(trials)
	for _, t := range trials {
		if FellBehind(t.phase) {
			all.BehindS = max(all.BehindS, float64(t.phase.BehindNS)/1e9)
			all.NotBegun = max(all.NotBegun, t.phase.NotBegun)
		}
	}
	return all
}

// trialOverTime is a phase of one trial whose rate changes over time.
type trialOverTime struct {
	phase     *record.Phase
	stretches []experiment.Stretch
	rates     []float64 // that were asked for, of each interval
	carried   []bool    // the interval began behind, by a higher rate before it
}

func trialOf(p *record.Phase, work experiment.Phase) (t trialOverTime, ok bool) {
	if len(p.Intervals) == 0 {
		return t, false
	}
	t = trialOverTime{phase: p, stretches: work.Stretches()}
	asked := func(time.Duration) float64 { return 0 } // of closed load: nothing
	if len(work.Segments) > 0 {
		load, err := trace.NewLoad(work.Segments)
		if err != nil {
			return t, false // of an experiment.json that somebody changed
		}
		asked = load.Until
	}
	begin := p.Intervals[0].FromNS
	peak, behind := 0.0, uint64(0)
	for i := range p.Intervals {
		interval := &p.Intervals[i]
		if interval.Stretch < 0 || interval.Stretch >= len(t.stretches) || interval.ToNS <= interval.FromNS ||
			interval.Response == nil {
			return t, false
		}
		from, to := time.Duration(interval.FromNS-begin), time.Duration(interval.ToNS-begin)
		rate := (asked(to) - asked(from)) / interval.Seconds()
		if behind < carriedNS {
			peak = 0
		}
		t.rates, t.carried = append(t.rates, rate), append(t.carried, rate < peak)
		peak, behind = max(peak, rate), interval.BehindNS
	}
	return t, true
}

// CarriedOver reports of each interval of a phase whether it began behind, because of a higher rate
// before it: its response times are not of the rate that was asked for in it.
func CarriedOver(p *record.Phase, work experiment.Phase) []bool {
	t, _ := trialOf(p, work)
	return t.carried
}

// asPhase puts intervals together as a phase of open load that asked for what was due in them, so that
// what is refused in one is refused here.
func asPhase(intervals []record.Interval) *record.Phase {
	p := &record.Phase{Open: true}
	response := histogram.New()
	for i := range intervals {
		interval := &intervals[i]
		p.ElapsedNS += interval.ToNS - interval.FromNS
		ended := interval.Response.Count()
		p.Attempted += ended
		p.NotBegun += interval.Never
		response.Add(interval.Response)
		if len(interval.Late) == counters.LatenessWords {
			if p.Late == nil {
				p.Late = make([]uint64, counters.LatenessWords)
			}
			for word, n := range interval.Late {
				p.Late[word] += n
			}
		}
	}
	if p.Late == nil {
		p.Late = make([]uint64, counters.LatenessWords)
	}
	for word, n := range p.Late {
		if n > 0 {
			p.LatenessMaxNS = counters.LatenessFromNS(word + 1)
		}
	}
	p.Operations = []record.Operation{{OK: p.Attempted, Response: response}}
	return p
}

// latenciesIn merges what was due in some intervals of each trial: means over the trials, and what any of
// them refuses is refused.
func latenciesIn(trials []trialOverTime, in func(t *trialOverTime, i int) bool) (l Latencies) {
	var phases []*record.Phase
	for k := range trials {
		var chosen []record.Interval
		for i, interval := range trials[k].phase.Intervals {
			if in(&trials[k], i) {
				chosen = append(chosen, interval)
			}
		}
		if len(chosen) > 0 {
			phases = append(phases, asPhase(chosen))
		}
	}
	l = meanLatencies(phases)
	l.FromDue = l.FromDue && trials[0].stretches[0].Threads == 0
	return l
}

// meanLatencies are means over phases of one operation each, without what any of them refuses.
func meanLatencies(phases []*record.Phase) Latencies {
	l := LatenciesOf(Refuse(phases...), phases...)
	for k := range l.Points {
		point := &l.Points[k]
		if point.Quantile == 1 {
			continue
		}
		sum := 0.0
		for _, p := range phases {
			sum += p.Operations[0].Response.Quantile(point.Quantile)
		}
		point.NS = sum / float64(len(phases))
	}
	return l
}

// stretchesOf sums up each segment, and of one with bursts these and the times between.
func stretchesOf(trials []trialOverTime, segments []trace.Segment) (all []Stretch) {
	planned := trials[0].stretches
	for _, s := range planned {
		if slices.ContainsFunc(all, func(o Stretch) bool { return o.Segment == s.Segment && o.Burst == s.Burst }) {
			continue
		}
		of := Stretch{Segment: s.Segment, Burst: s.Burst, FromS: s.From.Seconds()}
		if of.Threads = s.Threads; s.Threads == 0 {
			of.FromRate, of.ToRate = ratesOf(&segments[s.Segment], s.Burst)
		}
		for _, other := range planned {
			if other.Segment == s.Segment && other.Burst == s.Burst {
				of.Times++
				of.Seconds += (other.To - other.From).Seconds()
			}
		}
		of.sum(trials)
		all = append(all, of)
	}
	return all
}

// ratesOf are the rates that a stretch of a segment asks for: from and to, or lowest and highest.
func ratesOf(s *trace.Segment, burst bool) (from, to float64) {
	switch {
	case s.Form == trace.FormBurst && burst, s.Form == trace.FormStep:
		return s.To, s.To
	case s.Form == trace.FormBurst:
		return s.From, s.From
	case s.Form == trace.FormFile:
		from, to = s.Points[0].Rate, s.Points[0].Rate
		for _, p := range s.Points {
			from, to = min(from, p.Rate), max(to, p.Rate)
		}
		return from, to
	}
	return s.From, s.To
}

func (s *Stretch) is(of experiment.Stretch) bool {
	return of.Segment == s.Segment && of.Burst == s.Burst
}

// sum fills in what became of a stretch.
func (s *Stretch) sum(trials []trialOverTime) {
	in := func(t *trialOverTime, i int) bool { return s.is(t.stretches[t.phase.Intervals[i].Stretch]) }
	var asked, begun, ended, seconds float64
	var backlogs, behind, recoveries []float64
	falls := 0
	for k := range trials {
		t := &trials[k]
		backlog, late := uint64(0), uint64(0)
		seen := false
		for i := range t.phase.Intervals {
			interval := &t.phase.Intervals[i]
			if !in(t, i) {
				continue
			}
			seen = true
			asked, begun, ended =
				asked+float64(interval.Asked), begun+float64(interval.Begun), ended+float64(interval.Ended)
			seconds += interval.Seconds()
			if last := i == len(t.phase.Intervals)-1 || t.phase.Intervals[i+1].Stretch != interval.Stretch; last {
				backlog, late = max(backlog, interval.Backlog), max(late, interval.BehindNS)
			}
		}
		if seen {
			backlogs, behind = append(backlogs, float64(backlog)), append(behind, float64(late)/1e9)
		}
		for n, of := range t.stretches {
			if !s.is(of) {
				continue
			}
			if after, told := t.recovery(n); told {
				falls++
				if after != nil {
					recoveries = append(recoveries, *after)
				}
			}
		}
	}
	if seconds > 0 {
		s.Asked, s.Begun, s.Ended = asked/seconds, begun/seconds, ended/seconds
	}
	if len(backlogs) > 0 {
		s.Backlog, s.BehindS = *MedianOf(backlogs), *MedianOf(behind)
	}
	s.Latencies = latenciesIn(trials, in)
	s.LateNS = latenessIn(trials, in)
	if s.Recovers = falls > 0; 2*len(recoveries) > falls {
		s.RecoveryS = MedianOf(recoveries)
	}
}

func latenessIn(trials []trialOverTime, in func(t *trialOverTime, i int) bool) float64 {
	var phases []*record.Phase
	for k := range trials {
		var chosen []record.Interval
		for i, interval := range trials[k].phase.Intervals {
			if in(&trials[k], i) {
				chosen = append(chosen, interval)
			}
		}
		phases = append(phases, asPhase(chosen))
	}
	l, _ := LatenessOf(phases...)
	return l.At(0.99)
}

// recovery is how long after a stretch the store answered as it had before it: from which interval on,
// by when its operations were due, two one after the other had a 99th percentile of at most three times
// what it was before the stretch, or below a millisecond. nil: not before the stretch after it was over.
// told is false where the rate does not fall after the stretch, or nothing was before it.
func (t *trialOverTime) recovery(n int) (after *float64, told bool) {
	before, during := t.rateIn(n-1), t.rateIn(n)
	if n+1 >= len(t.stretches) || n == 0 || during == 0 || t.rateIn(n+1) > fallMin*during || before > fallMin*during {
		return nil, false
	}
	limit := recoveredMax * max(t.p99In(n-1), recoveredNS/recoveredMax)
	good := 0
	var since int64
	seen := false
	for i := range t.phase.Intervals {
		interval := &t.phase.Intervals[i]
		if interval.Stretch != n+1 {
			continue
		}
		seen = true
		if interval.Never > 0 || interval.Response.Count() > 0 && interval.Response.Quantile(0.99) > limit {
			good = 0
			continue
		}
		if good == 0 {
			since = interval.FromNS
		}
		last := i == len(t.phase.Intervals)-1 || t.phase.Intervals[i+1].Stretch != n+1
		if good++; good == 2 || last {
			seconds := float64(since-t.phase.Intervals[0].FromNS)/1e9 - t.stretches[n].To.Seconds()
			seconds = max(seconds, 0)
			return &seconds, true
		}
	}
	return nil, seen
}

// rateIn is the mean rate that a stretch asks for.
func (t *trialOverTime) rateIn(stretch int) float64 {
	var operations, seconds float64
	for i := range t.phase.Intervals {
		if interval := &t.phase.Intervals[i]; interval.Stretch == stretch {
			operations, seconds = operations+t.rates[i]*interval.Seconds(), seconds+interval.Seconds()
		}
	}
	if seconds == 0 {
		return 0
	}
	return operations / seconds
}

// p99In is the 99th percentile of what was due in a stretch, without what came behind from one before.
func (t *trialOverTime) p99In(stretch int) float64 {
	response := histogram.New()
	for i := range t.phase.Intervals {
		if interval := &t.phase.Intervals[i]; interval.Stretch == stretch && !t.carried[i] {
			response.Add(interval.Response)
		}
	}
	return response.Quantile(0.99)
}

// bandsOf sums up by the rate that was asked for. Intervals that began behind because of a higher rate
// are in none.
func bandsOf(trials []trialOverTime) (bands []Band) {
	for _, edges := range edgesOf(trials) {
		b := Band{FromRate: edges[0], ToRate: edges[1]}
		in := func(t *trialOverTime, i int) bool {
			return !t.carried[i] && t.rates[i] >= edges[0]*(1-1e-6) && t.rates[i] <= edges[1]*(1+1e-6) &&
				(t.rates[i] < edges[2] || edges[0] == edges[1])
		}
		ended := 0.0
		for k := range trials {
			for i := range trials[k].phase.Intervals {
				if interval := &trials[k].phase.Intervals[i]; in(&trials[k], i) {
					b.Seconds += interval.Seconds()
					ended += float64(interval.Ended)
					b.Backlog = max(b.Backlog, float64(interval.Backlog))
				}
			}
		}
		if b.Seconds > 0 {
			b.Ended = ended / b.Seconds
			b.Latencies = latenciesIn(trials, in)
			bands = append(bands, b)
		}
	}
	return bands
}

// edgesOf parts the rates that were asked for: each by itself where they are few, as those of steps and
// bursts are, otherwise evenly. The third of each is where the next one begins.
func edgesOf(trials []trialOverTime) (edges [][3]float64) {
	var rates []float64
	for _, t := range trials {
		for i, rate := range t.rates {
			if !t.carried[i] {
				rates = append(rates, rate)
			}
		}
	}
	slices.Sort(rates)
	distinct := slices.CompactFunc(slices.Clone(rates),
		func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(a, b) })
	if len(distinct) <= bandsMax {
		for _, rate := range distinct {
			edges = append(edges, [3]float64{rate, rate, math.Inf(1)})
		}
		return edges
	}
	low, high := rates[0], rates[len(rates)-1]
	for k := range bandsMax {
		from := low + (high-low)*float64(k)/bandsMax
		to := low + (high-low)*float64(k+1)/bandsMax
		next := to
		if k == bandsMax-1 {
			next = math.Inf(1)
		}
		edges = append(edges, [3]float64{from, to, next})
	}
	return edges
}

// momentsOf sums up by time: intervals are the same in each trial that came so far.
func momentsOf(trials []trialOverTime) (moments []Moment) {
	most := slices.MaxFunc(trials, func(a, b trialOverTime) int {
		return cmp.Compare(len(a.phase.Intervals), len(b.phase.Intervals))
	})
	for i := range most.phase.Intervals {
		var asked, ended, backlog []float64
		for _, t := range trials {
			if i < len(t.phase.Intervals) {
				interval := &t.phase.Intervals[i]
				asked = append(asked, float64(interval.Asked)/interval.Seconds())
				ended = append(ended, float64(interval.Ended)/interval.Seconds())
				backlog = append(backlog, float64(interval.Backlog))
			}
		}
		middle := &most.phase.Intervals[i]
		m := Moment{AtS: float64(middle.FromNS+middle.ToNS) / 2e9, Asked: *MedianOf(asked), Ended: *MedianOf(ended),
			Backlog: *MedianOf(backlog)}
		l := latenciesIn(trials, func(_ *trialOverTime, k int) bool { return k == i })
		m.P50NS, m.P99NS = l.At(0.5), l.At(0.99)
		moments = append(moments, m)
	}
	return moments
}

// riseOf finds the rate above which a store answers much later, if it is so in most blocks.
func riseOf(trials []trialOverTime) *Rise {
	var rates, below, above []float64
	for k := range trials {
		if rise := trials[k].rise(); rise != nil {
			rates, below, above = append(rates, rise.Rate), append(below, rise.BelowNS), append(above, rise.AboveNS)
		}
	}
	if 2*len(rates) <= len(trials) {
		return nil
	}
	return &Rise{Rate: *MedianOf(rates), BelowNS: *MedianOf(below), AboveNS: *MedianOf(above), Blocks: len(rates),
		OfBlocks: len(trials)}
}

// rise finds the rate in one trial: of the bands of rates, at each of those above the 99th percentile is
// at least riseMin times that at each below; and in them the place that parts the intervals best. One
// that the harness's own lateness makes is none.
func (t *trialOverTime) rise() *Rise {
	bands := bandsOf([]trialOverTime{*t})
	p99 := make([]float64, len(bands))
	for i, b := range bands {
		switch at := b.At(0.99); {
		case at != nil:
			p99[i] = *at
		case b.Why == RefusedBacklog:
			p99[i] = math.Inf(1)
		default:
			return nil
		}
	}
	for k := 1; k < len(bands); k++ {
		below, above := slices.Max(p99[:k]), slices.Min(p99[k:])
		if above < riseMin*below || above < riseLeastNS {
			continue
		}
		if math.IsInf(above, 1) { // what never ended took longer than what did
			above = max(riseMin*below, longestIn(t, bands[k].FromRate))
		}
		rate := t.parts(math.Sqrt(below*above), bands[k-1].FromRate, bands[k].ToRate, bands[k].FromRate)
		return &Rise{Rate: rate, BelowNS: below, AboveNS: above}
	}
	return nil
}

func longestIn(t *trialOverTime, rate float64) (longest float64) {
	for i := range t.phase.Intervals {
		if t.rates[i] >= rate {
			longest = max(longest, t.phase.Intervals[i].Response.Quantile(0.99))
		}
	}
	return longest
}

// parts returns the rate, between two, that parts best the intervals whose 99th percentile is above a
// limit from those below it; otherwise where there are none.
func (t *trialOverTime) parts(limitNS, from, to, otherwise float64) float64 {
	type point struct {
		rate float64
		slow bool
	}
	var points []point
	for i := range t.phase.Intervals {
		interval := &t.phase.Intervals[i]
		if t.carried[i] || t.rates[i] < from || t.rates[i] > to || interval.Response.Count() == 0 {
			continue
		}
		points = append(points, point{t.rates[i], interval.Response.Quantile(0.99) > limitNS})
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.rate, b.rate) })
	wrong := 0 // if all were above
	for _, p := range points {
		if !p.slow {
			wrong++
		}
	}
	best, rate := wrong, otherwise
	for i, p := range points {
		if p.slow {
			wrong++
		} else {
			wrong--
		}
		if wrong < best && i+1 < len(points) {
			best, rate = wrong, (p.rate+points[i+1].rate)/2
		}
	}
	return rate
}
