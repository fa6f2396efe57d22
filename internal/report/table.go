package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
	"assay/internal/verdict"
)

func (b *builder) table(run *record.Run, from *verdict.Table, prefix string) Table {
	t := Table{
		ID:  anchor(len(b.view.Tables)+1, from.Class, from.Phase),
		Run: run.Header.ID, Label: from.Phase, Class: from.Class, Meaning: classMeaning[from.Parameters.Durability],
		Quota: quotaOf(run, from), Phase: from.Phase, Open: from.Open, WholePhase: from.FixedWork,
		Cache: cmp.Or(run.Experiment.Cache, spec.CacheWarm), Threshold: from.Threshold, Sentence: from.Sentence,
	}
	for _, p := range run.Experiment.Phases {
		if p.Name == from.Phase {
			t.Doing = phaseText(p, &run.Experiment.Values)
			t.Cell = prefix + capital(cellText(&run.Experiment, cellOfPhase(from.Parameters, p))) + columnsText(&run.Experiment.Values)
			if p.Batch > 1 {
				t.Batch = p.Batch
			}
		}
	}
	if differs := cellDiffers(run.Experiment.Cells, from.Cell); differs != "" {
		t.Label += ", " + differs
	}
	if from.Ceiling != nil {
		t.Ceiling = &from.Ceiling.Value
	}
	for _, null := range from.Ceilings {
		t.Ceilings = append(t.Ceilings, ceilingOf(from, null))
	}
	if from.AA != nil {
		t.NoiseRatio = &from.AA.Value
	}
	used := make([][]*record.Phase, len(from.Rows))
	for i := range from.Rows {
		row := &from.Rows[i]
		used[i] = usedPhases(run, from, row)
		for _, p := range used[i] {
			t.SampleS = max(t.SampleS, float64(p.SampleNS)/1e9)
		}
		t.Rows = append(t.Rows, b.row(run, from, row, used[i]))
		median := medianTrial(row)
		for j := range row.Trials {
			if s, ok := b.series(run, row, &row.Trials[j], from.Phase); ok {
				if s.Median = row.Trials[j].Trial == median; s.Median {
					s.Beside = b.besideOf(run.Series[row.Trials[j].Trial], from.Phase)
				}
				t.Series = append(t.Series, s)
			}
		}
	}
	t.Writes, t.Servers, t.OverLimit = writesText(t.Rows, used), serversText(t.Rows, used), overLimitText(run, from, t.Rows)
	ranks := map[int]int{}
	for _, row := range t.Rows {
		ranks[row.Rank]++
	}
	for i := range t.Rows {
		t.Rows[i].Tied = t.Rows[i].Rank > 0 && ranks[t.Rows[i].Rank] > 1
	}
	return t
}

func ceilingOf(t *verdict.Table, null verdict.Ceiling) Ceiling {
	c := Ceiling{Arm: null.Arm, Rate: null.Rate.Value}
	for _, r := range t.Rows {
		if r.Role == plan.Ceiling && r.Arm == null.Arm && r.Records != nil {
			c.Records = &r.Records.Value
		}
	}
	return c
}

// usedPhases are those that a row's figures are of.
func usedPhases(run *record.Run, t *verdict.Table, from *verdict.Row) (used []*record.Phase) {
	for _, observed := range from.Trials {
		if phase := phaseOf(run.Trials[observed.Trial], t.Phase); phase != nil && observed.Used {
			used = append(used, phase)
		}
	}
	return used
}

func (b *builder) row(run *record.Run, t *verdict.Table, from *verdict.Row, used []*record.Phase) Row {
	o := from.Outcomes
	row := Row{
		Arm: from.Arm, Role: string(from.Role), Standing: standingOf(from), Reasons: from.Reasons, Rank: from.Rank,
		How: howOf(run, from.Store, t.Parameters), WorstSecond: from.WorstSample, NoneShown: from.ToBest != nil && !from.ShownToBest,
		Attempted: o.Attempted, Bad: o.Lost + o.Wrong + o.Errors + o.Timeout + o.Unfinished, Misses: o.Miss,
		LogicalBytes: from.LogicalBytes, DiskBytes: from.DiskBytes, HostWriteBytes: from.HostWriteBytes, MemoryBytes: from.RSSMaxBytes,
		CPUNS: from.CPUNS, AllocBytes: from.AllocBytes, Allocs: from.Allocs,
		WriteAmplification: from.WriteAmplification, HarnessShare: from.HarnessShare, Ceiling: from.Ceiling, Undecided: undecided(t, from),
	}
	if from.Role == plan.Ceiling {
		row.HarnessShare, row.Ceiling, row.WriteAmplification = nil, "", nil // it is the harness, and stores nothing
	}
	if why := skipped(run, from, t.Phase); why != "" {
		row.Standing, row.Reasons = LeftOut, []string{why}
	}
	if len(row.Reasons) == 0 && from.Why != "" {
		row.Reasons = []string{from.Why}
	}
	if from.Rate != nil {
		row.Rate = estimateOf(from.Rate.Value, from.Rate.Interval)
	}
	if from.Records != nil {
		row.Records = estimateOf(from.Records.Value, from.Records.Interval)
	}
	if from.ToBest != nil {
		row.Ratio = estimateOf(from.ToBest.Value, from.ToBest.Interval)
	}
	for _, w := range from.Warnings {
		text := w.Evidence
		if w.Remedy != "" {
			text += " (" + w.Remedy + ")"
		}
		if !slices.Contains(row.Doubts, text) {
			row.Doubts = append(row.Doubts, text)
		}
	}
	for _, observed := range from.Trials {
		row.Trials = append(row.Trials, b.key(run, observed.Trial))
		row.Faulty = row.Faulty || observed.Used && observed.State != record.OK
	}
	row.drain(used)
	for _, p := range used {
		row.HostWriteSource = cmp.Or(row.HostWriteSource, p.Process.HostWriteSource)
	}
	if from.Role == plan.Ceiling {
		row.Drained, row.DrainSeconds = nil, nil
	}
	row.DataToMemory = dataToMemory(used)
	row.WaitNS = handleWait(used, t.Parameters)
	if row.CPUNS != nil && slices.ContainsFunc(used, shortOfCPU) {
		row.CPUNS, row.CPUTooShort = nil, true
	}
	row.Kinds, row.Latencies = kindsOf(used), latenciesOf(verdict.Refuse(used...), used...)
	row.doubtRefused()
	if l := from.Latency; l != nil && len(row.Latency) > 0 {
		// The verdict's own figures, where it has them: two sums of the same histograms must not tell two stories.
		own := map[float64]float64{0.5: l.P50, 0.9: l.P90, 0.99: l.P99, 0.999: l.P999, 1: l.Max}
		for i, p := range row.Latency {
			if ns, ok := own[p.Quantile]; ok {
				row.Latency[i].NS = ns
			}
		}
	}
	return row
}

// doubtRefused says which percentiles are refused, and which of a kind of operation beyond those of the row.
func (r *Row) doubtRefused() {
	if len(r.Refused) > 0 {
		r.Doubts = append(r.Doubts, r.refusedDoubt(""))
	}
	for _, k := range r.Kinds {
		if slices.ContainsFunc(k.Refused, func(q float64) bool { return !r.Refuses(q) }) {
			r.Doubts = append(r.Doubts, k.refusedDoubt(" of "+operationText(k.Operation)+" alone")+"; not counted by kind: each is taken to have the same share")
		}
	}
}

// drain says how the sizes of all its phases were taken.
func (r *Row) drain(used []*record.Phase) {
	for _, p := range used {
		drained, seconds := p.Sizes.Drained, p.Sizes.DrainSeconds
		if r.Drained != nil {
			drained, seconds = drained && *r.Drained, max(seconds, *r.DrainSeconds)
		}
		r.Drained, r.DrainSeconds = &drained, &seconds
	}
}

// handleWait is the mean over all operations; nil where handles are not pooled, so that nothing can wait for one.
func handleWait(used []*record.Phase, cell spec.Cell) *float64 {
	var waited, done uint64
	for _, p := range used {
		waited += p.HandleWaitNS
		for _, op := range p.Operations {
			done += op.Done()
		}
	}
	if cell.PoolHandles == 0 || done == 0 {
		return nil
	}
	each := float64(waited) / float64(done)
	return &each
}

// CPU time is counted in ticks of 10 ms: of fewer than cpuTicksMin, an operation's share is chance.
const (
	cpuTickSeconds = 0.01
	cpuTicksMin    = 10
)

func shortOfCPU(p *record.Phase) bool {
	seconds := p.Process.CPU()
	return seconds != nil && *seconds < cpuTicksMin*cpuTickSeconds
}

func dataToMemory(used []*record.Phase) *float64 {
	var ratios []float64
	for _, p := range used {
		if p.Sizes.DataToMemory != nil {
			ratios = append(ratios, *p.Sizes.DataToMemory)
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	mean := stat.Mean(ratios)
	return &mean
}

// skipped says why a phase is left out of all trials of a row; "" if it is not.
func skipped(run *record.Run, r *verdict.Row, phase string) string {
	why := ""
	for _, o := range r.Trials {
		planned := slices.IndexFunc(run.Plan, func(t plan.Trial) bool { return t.ID == o.Trial })
		if planned < 0 || run.Plan[planned].Skip[phase] == "" || run.Plan[planned].Refuse != "" {
			return ""
		}
		why = run.Plan[planned].Skip[phase]
	}
	return why
}

// undecided says whether a row is one of those that verdict.FindUndecided counts.
func undecided(t *verdict.Table, r *verdict.Row) bool {
	used, unknown := 0, 0
	for _, o := range r.Trials {
		if !o.Used {
			continue
		}
		used++
		if o.Steadiness != nil && o.Steadiness.Kind == stat.TooShort {
			unknown++
		}
	}
	return used > 0 && !t.FixedWork && 2*unknown >= used
}

func phaseOf(t *record.Trial, name string) *record.Phase {
	if t == nil {
		return nil
	}
	for i := range t.Phases {
		if t.Phases[i].Name == name {
			return &t.Phases[i]
		}
	}
	return nil
}

func standingOf(r *verdict.Row) Standing {
	switch {
	case r.Ranked:
		return Ranked
	case r.Role != plan.Measured:
		return Reference
	case r.State == record.Refused:
		return Refused
	case r.State == record.Failed && r.Rate == nil:
		return Failed
	}
	return NotRanked
}

// howOf says how a store reaches the cell's class, in the library's words; "" if it does not say.
func howOf(run *record.Run, index int, cell spec.Cell) string {
	if index < 0 || index >= len(run.Experiment.Stores) {
		return ""
	}
	claim, _ := run.Experiment.Stores[index].Description.Claim(cell.Durability)
	return claim.How
}

func estimateOf(value float64, interval *stat.Interval) *Estimate {
	e := &Estimate{Value: value}
	// A t interval of two blocks may have an infinite end, which JSON can't hold and a reader can't use.
	if interval != nil && !math.IsInf(interval.High, 0) && !math.IsNaN(interval.Low) {
		e.Low, e.High = &interval.Low, &interval.High
	}
	return e
}

// medianTrial returns the trial whose rate is the (lower) median of the row's; "" if there is none.
func medianTrial(r *verdict.Row) string {
	var rated []verdict.Observation
	for _, o := range r.Trials {
		if o.Rate != nil && o.Used {
			rated = append(rated, o)
		}
	}
	if len(rated) == 0 {
		for _, o := range r.Trials {
			if o.Steadiness != nil {
				return o.Trial
			}
		}
		return ""
	}
	slices.SortStableFunc(rated, func(a, b verdict.Observation) int {
		if *a.Rate < *b.Rate {
			return -1
		}
		if *a.Rate > *b.Rate {
			return 1
		}
		return 0
	})
	return rated[(len(rated)-1)/2].Trial
}

// series draws one trial's rate, with what was found in it.
func (b *builder) series(run *record.Run, row *verdict.Row, o *verdict.Observation, phase string) (Series, bool) {
	judged := verdict.Sampled(run, o.Trial, phase)
	s := seriesOf(judged, pointsFor(b.samples))
	if s.Samples == 0 {
		return Series{}, false
	}
	s.Trial, s.Arm, s.Block = b.key(run, o.Trial), row.Arm, o.Block
	begins := append([]float64{judged.Begin}, judged.Ends...)
	when := func(i int) float64 { return milli(begins[max(0, min(i, len(begins)-1))]) }
	if o.Steadiness != nil && o.Basis == verdict.AfterWarmup {
		s.Warmup = when(o.Steadiness.From)
	}
	if o.Course != nil {
		for _, m := range o.Course.Marks {
			s.Marks = append(s.Marks, Happened{At: milli(m.At), Until: milli(m.Until), Kind: m.Kind, Text: strings.TrimSuffix(m.Text, "."), Records: m.Records})
		}
		if sunken := o.Course.Sunken(); sunken != nil {
			s.Marks = append(s.Marks, sankMark(sunken))
		}
	}
	if o.State != record.OK && o.State != record.Marked {
		s.Ended = o.Why
	}
	return s, true
}

// sankMark spans the whole of a series: where in it the rate broke is not known.
func sankMark(s *verdict.Sunken) Happened {
	level := func(l verdict.Level) Level {
		return Level{From: milli(l.From), Until: milli(l.To), Rate: round4(l.Rate)}
	}
	return Happened{At: milli(s.First.From), Until: milli(s.Last.To), Kind: "sank", Levels: []Level{level(s.First), level(s.Last)},
		Text: "It sank, and wandered: " + s.Text + "; no place of a break can be given"}
}
