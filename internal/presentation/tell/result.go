package tell

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
)

// Result says what runs say, however little of them has ended; tables of different runs stay apart.
// It returns an error where a run has no experiment or no plan: what is missing otherwise is in the
// gaps and findings. Links are those of a report that stands beside the run directories.
func Result(runs ...*record.Run) (*model.Result, error) {
	if len(runs) == 0 {
		return nil, errors.New("a report needs at least one run")
	}
	runs = byGroup(runs)
	b := builder{result: &model.Result{Version: model.Version}, several: len(runs) > 1,
		plots: plotter{beside: map[string]bool{}}}
	for _, run := range runs {
		if err := facts.Check(run); err != nil {
			return nil, fmt.Errorf("run %s: %w", run.Header.ID, err)
		}
		b.plots.all += run.Sampled() * len(run.Experiment.Phases)
	}
	var titles []string
	var all [][]*facts.Table
	for _, run := range runs {
		all = append(all, b.add(run))
		titles = append(titles, run.Header.Name)
	}
	r := b.result
	r.Title = strings.Join(slices.Compact(titles), ", ")
	finding.Sort(r.Findings)
	r.Groups = groupsOf(r.Findings, placesOf(slices.Concat(all...)), ceilingsOf(runs))
	r.Resources = b.plots.offered()
	if thinned := thinningOf(r.Tables); thinned.Code != "" {
		r.Gaps = append(r.Gaps, thinned)
	}
	r.Summary = summaryOf(runs, all, r)
	return r, nil
}

// byGroup shows each group of clients as a phase of its own: all that follows knows phases alone.
func byGroup(runs []*record.Run) (split []*record.Run) {
	for _, run := range runs {
		split = append(split, run.ByGroup())
	}
	return split
}

// builder gathers runs into a result.
type builder struct {
	result  *model.Result
	several bool
	plots   plotter
}

// key names a trial in the result.
func (b *builder) key(run *record.Run, trial string) string {
	if b.several {
		return run.Header.ID + "/" + trial
	}
	return trial
}

func (b *builder) add(run *record.Run) []*facts.Table {
	tables, found := detect.Judge(run)
	base := ""
	if b.several {
		base = filepath.Base(run.Directory) + "/"
	}
	key := func(trial string) string { return b.key(run, trial) }
	r := b.result
	r.Runs = append(r.Runs, runOf(run, base))
	prefix := ""
	if b.several {
		prefix = run.Header.Name + " " + run.Header.ID + ": "
	}
	for _, f := range environmentOf(run) {
		r.Environment = append(r.Environment, model.Fact{Name: prefix + f.Name, Value: f.Value})
	}
	r.PowerCuts = append(r.PowerCuts, powerCutsOf(run)...)
	r.Stores = append(r.Stores, storesOf(run)...)
	seen := observedIn(tables)
	for _, planned := range inOrder(run) {
		r.Trials = append(r.Trials, trialOf(run, planned, key(planned.ID), base, seen))
	}
	ordered := slices.Clone(tables)
	slices.SortStableFunc(ordered, func(x, y *facts.Table) int {
		return cmp.Or(facts.ClassStrength(x.Parameters, y.Parameters), strings.Compare(x.Class, y.Class))
	})
	for _, t := range ordered {
		r.Tables = append(r.Tables, tableModel(t, &b.plots, key))
	}
	for _, e := range facts.EffectsOf(tables) {
		r.Effects = append(r.Effects, model.Effect{Run: run.Header.ID, Effect: e})
	}
	for _, s := range facts.ScalingOf(tables) {
		r.Scaling = append(r.Scaling, model.Scaling{Run: run.Header.ID, Scaling: s})
	}
	for _, f := range found {
		if more := len(f.Evidence) - EvidenceLimit; more > 0 {
			f.Evidence, f.More = f.Evidence[:EvidenceLimit:EvidenceLimit], f.More+more
		}
		f.Where.Run = run.Header.ID
		r.Findings = append(r.Findings, f)
	}
	b.addToMatrix(run, prefix)
	for _, missing := range run.Missing {
		r.Gaps = append(r.Gaps, finding.New(finding.PlainParams{Text: prefix + missing}))
	}
	return ordered
}

// EvidenceLimit keeps a finding readable where a hundred trials say the same.
const EvidenceLimit = 4

func runOf(run *record.Run, base string) model.Run {
	m := model.Run{ID: run.Header.ID, Name: run.Header.Name, About: run.Experiment.About, Question: questionOf(run),
		Created: run.Header.Created, Hash: run.Header.Hash,
		Seed: run.Experiment.Seed, Blocks: run.Blocks(), Command: againCommand(run), Directory: run.Directory,
		Base: base}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		m.Counts.Planned++
		if planned.Again > 0 {
			m.Counts.Repeated++
		}
		if t != nil {
			m.Seconds += t.Seconds
		}
		switch {
		case t == nil:
			m.Counts.Missing++
		case t.State == record.OK && len(t.CountedMarks()) == 0:
			m.Counts.OK++
		case t.State == record.OK || t.State == record.Marked:
			m.Counts.Marked++
		case t.State == record.Failed:
			m.Counts.Failed++
		case t.State == record.Refused:
			m.Counts.Refused++
		default:
			m.Counts.Interrupted++
		}
	}
	for _, e := range run.Events {
		if e.Kind == record.EventInterrupted {
			m.Interruptions = append(m.Interruptions, model.Interruption{At: e.At, Signal: format.Clean(e.Text)})
		}
	}
	return m
}

// inOrder returns the plan by role, store and block, rather than in the shuffled order in which it
// ran.
func inOrder(run *record.Run) []plan.Trial {
	roles := []plan.Role{plan.Measured, plan.AA, plan.Ceiling}
	trials := slices.Clone(run.Plan)
	slices.SortStableFunc(trials, func(a, b plan.Trial) int {
		if a.Role != b.Role {
			return slices.Index(roles, a.Role) - slices.Index(roles, b.Role)
		}
		if a.Store != b.Store {
			return a.Store - b.Store
		}
		return a.Block - b.Block
	})
	return trials
}

// observed finds what tables saw of a measured phase by the trial's ID and the phase's name: finding
// the shape of a rate over time takes longest of all that a result needs.
type observed map[[2]string]*facts.Observation

func observedIn(tables []*facts.Table) observed {
	seen := observed{}
	for _, t := range tables {
		for _, r := range t.Rows {
			for _, o := range r.Trials {
				seen[[2]string{o.Planned.ID, t.Phase}] = o
			}
		}
	}
	return seen
}

// trialOf shows one planned trial. base is the path from the report to the run directory.
func trialOf(run *record.Run, planned plan.Trial, key, base string, seen observed) model.Trial {
	e := &run.Experiment
	m := model.Trial{Key: key, ID: planned.ID, Run: run.Header.ID, Arm: planned.Arm,
		Role: string(planned.Role), Cell: e.Cells[planned.Cell].Label(e),
		Class: planned.CellOf(e).ClassText(), Block: planned.Block, Again: planned.Again, State: "planned"}
	t := run.Trials[planned.ID]
	if t != nil || run.HasSamples(planned.ID) {
		m.Link = base + "trials/" + planned.ID + "/"
	}
	if t == nil {
		return m
	}
	m.State = string(t.State)
	m.Reasons = t.Reasons()
	if f := t.Final; f != nil {
		m.Final = &model.Final{Records: f.Records, NotRead: f.NotRead, Of: f.Of, Right: f.Right, Lost: f.Lost,
			Stale: f.Stale, Wrong: f.Wrong, Errors: f.Errors, Unknown: f.Unknown}
	}
	for i := range t.Phases {
		if t.Phases[i].IsSum() {
			continue
		}
		m.Phases = append(m.Phases, phaseOfTrial(run, t, &t.Phases[i], seen[[2]string{planned.ID, t.Phases[i].Name}]))
	}
	return m
}

// phaseOfTrial shows one phase of a trial. o is what its table saw of it; nil: it is in none.
func phaseOfTrial(run *record.Run, t *record.Trial, p *record.Phase, o *facts.Observation) model.Phase {
	m := model.Phase{Name: p.Name, Measured: p.Measured, Seconds: float64(p.ElapsedNS) / 1e9, Attempted: p.Attempted,
		Latency: facts.LatenciesOf(facts.Refuse(p),
			p).Points, LatencyOneIn: p.TimedEvery, LogicalBytes: facts.Float(p.Sizes.LogicalBytes),
		DiskBytes:      facts.Float(p.Sizes.DiskBytes),
		HostWriteBytes: facts.Float(p.Process.WrittenBytes()), MemoryBytes: facts.Float(p.Process.MemoryBytes()),
		HostWriteSource: p.Process.HostWriteSource}
	var outcomes facts.Outcomes
	facts.AddOutcomes(&outcomes, p)
	m.Bad = outcomes.Bad()
	if m.Seconds > 0 {
		var c *facts.TrialCourse
		phases := run.Experiment.Phases
		at := slices.IndexFunc(phases, func(of experiment.Phase) bool { return of.Name == p.Name })
		if p.Measured && o != nil {
			c = o.Course
		}
		m.Rate, m.Steady = facts.RateOf(p, c, t.State, phases[at])
	}
	each := func(name string) *float64 {
		if total, ok := p.Runtime[name]; ok {
			return facts.Divided(&total, float64(p.Attempted))
		}
		return nil
	}
	m.AllocBytes, m.Allocs = each("alloc_bytes"), each("allocs")
	return m
}

// tableModel shows a table.
func tableModel(t *facts.Table, plots *plotter, key func(trial string) string) model.Table {
	e := &t.Run.Experiment
	m := model.Table{ID: t.ID, Run: t.Run.Header.ID, Cell: t.Cell, Label: t.Label, Class: t.Class,
		Title: titleOf(t), Phase: t.Phase,
		Doing: doing(t.Work, &e.Values), Conditions: messagesOf(conditions(e, t.Parameters, t.Work)), Notes: notesOf(t),
		Requests: t.Requests, Open: t.Open, Offered: t.Offered, FixedWork: t.FixedWork, BatchItems: t.BatchItems,
		SampleS:  t.SampleS,
		Baseline: t.Baseline, Best: t.Best, Verdict: verdictOf(t), Threshold: t.Threshold, AA: t.AA,
		Ceilings: t.Ceilings,
		Series:   plots.seriesOf(t, key)}
	if t.Work.Capacity != nil {
		m.Wanted = t.Work.Capacity.Wanted
	}
	for _, r := range t.Rows {
		if r.Rate == nil {
			addAbsent(&m, r)
			continue
		}
		m.Rows = append(m.Rows, rowModel(r, key))
	}
	return m
}

func rowModel(r *facts.Row, key func(trial string) string) model.Row {
	m := model.Row{Arm: r.Arm, Role: string(r.Role), Ranking: r.Ranking,
		Reasons: detect.ReasonMessages(r), How: r.How, Marked: r.Marked,
		Figures: r.Figures, Latencies: latencyModels(r.Latencies),
		Kinds: kindModels(r.Kinds), Steps: kindModels(r.Steps)}
	for _, o := range r.Trials {
		m.Trials = append(m.Trials, key(o.Planned.ID))
	}
	return m
}

func kindModels(kinds []facts.Kind) (told []model.Kind) {
	for _, k := range kinds {
		told = append(told, model.Kind{Operation: k.Operation, Done: k.Done, Latencies: latencyModels(k.Latencies),
			Outcomes: k.Outcomes, Items: k.Items, Absent: k.Absent, Calls: k.Calls, Right: k.Right})
	}
	return told
}

func latencyModels(l facts.Latencies) model.Latencies {
	told := model.Latencies{Latencies: l}
	switch l.Why {
	case facts.RefusedLate:
		told.Why = finding.New(finding.LatencyDispatchLate)
	case facts.RefusedBacklog:
		told.Why = finding.New(finding.LatencyNotBegun)
	case facts.RefusedBoth:
		told.Why = finding.New(finding.LatencyLateOrNotBegun)
	}
	return told
}

// addAbsent folds the arms without figures by their reasons.
func addAbsent(m *model.Table, r *facts.Row) {
	why := finding.New(finding.NoRankParams{Code: finding.NoTrialEnded})
	if len(r.Reasons) > 0 {
		why = detect.ReasonMessage(r.Reasons[0])
	}
	at := slices.IndexFunc(m.Absence, func(a model.Absent) bool {
		return a.Standing == r.Standing && finding.Text(a.Why) == finding.Text(why)
	})
	if at < 0 {
		at = len(m.Absence)
		m.Absence = append(m.Absence, model.Absent{Standing: r.Standing, Why: why})
	}
	m.Absence[at].Arms = append(m.Absence[at].Arms, r.Arm)
}

// addToMatrix shows every planned trial of a run.
func (b *builder) addToMatrix(run *record.Run, prefix string) {
	m := &b.result.Matrix
	first := len(m.Cells)
	for cell := range run.Experiment.Cells {
		m.Cells = append(m.Cells, prefix+run.Experiment.Cells[cell].Label(&run.Experiment))
	}
	for _, planned := range inOrder(run) {
		at := slices.IndexFunc(m.Rows, func(row model.MatrixRow) bool { return row.Arm == planned.Arm })
		if at < 0 {
			at = len(m.Rows)
			m.Rows = append(m.Rows, model.MatrixRow{Arm: planned.Arm})
		}
		row := &m.Rows[at]
		for len(row.Squares) <= first+planned.Cell {
			row.Squares = append(row.Squares, nil)
		}
		row.Squares[first+planned.Cell] = append(row.Squares[first+planned.Cell], b.key(run, planned.ID))
	}
	for i := range m.Rows {
		for len(m.Rows[i].Squares) < len(m.Cells) {
			m.Rows[i].Squares = append(m.Rows[i].Squares, nil)
		}
	}
}

// ceilingsOf are the names of the null drivers of runs.
func ceilingsOf(runs []*record.Run) map[string]bool {
	ceilings := map[string]bool{}
	for _, run := range runs {
		for _, t := range run.Plan {
			if t.Role == plan.Ceiling {
				ceilings[t.Arm] = true
			}
		}
	}
	return ceilings
}

// groupsOf folds findings of one code and severity, gravest first, and what they explain with them. Of one
// severity, those of null drivers alone come last: no store's figure is worse for them.
func groupsOf(findings []finding.Finding, all []string, ceilings map[string]bool) (groups []model.Group) {
	for i, f := range findings {
		if f.Cause != "" {
			continue
		}
		key := string(f.Code) + "-" + string(f.Severity)
		at := slices.IndexFunc(groups, func(g model.Group) bool { return g.Key == key })
		if at < 0 {
			at = len(groups)
			entry, _ := finding.Lookup(f.Code)
			groups = append(groups, model.Group{Key: key, Code: f.Code, Severity: f.Severity,
				Remedy: finding.Remedy(f.Message), Answer: entry.Answer})
		}
		groups[at].Of = append(groups[at].Of, i)
	}
	for i := range groups {
		var members []finding.Finding
		for _, at := range groups[i].Of {
			members = append(members, findings[at])
			if finding.Remedy(findings[at].Message) != groups[i].Remedy {
				groups[i].Remedy = "" // each says its own
			}
		}
		groups[i].Text = finding.Group(members, all)
	}
	for i, f := range findings {
		at := slices.IndexFunc(groups, func(g model.Group) bool { return g.Code == f.Cause })
		if f.Cause == "" || at < 0 {
			continue
		}
		g := &groups[at]
		g.Effects = append(g.Effects, i)
		g.Severity = finding.Gravest(g.Severity, f.Severity)
	}
	ofStores := func(g model.Group) bool {
		return slices.ContainsFunc(g.Of, func(at int) bool { return !ceilings[findings[at].Where.Arm] })
	}
	slices.SortStableFunc(groups, func(a, b model.Group) int {
		switch {
		case a.Severity != b.Severity:
			return finding.Compare(a.Severity, b.Severity)
		case ofStores(a) == ofStores(b):
			return 0
		case ofStores(a):
			return -1
		}
		return 1
	})
	return groups
}

// thinningOf says what was left out of the plots; the zero message if nothing was.
func thinningOf(tables []model.Table) finding.Message {
	thinned, longest, kept := 0, 0, 0
	for _, t := range tables {
		for _, s := range t.Series {
			if s.Samples > len(s.At) {
				thinned++
				if s.Samples > longest {
					longest, kept = s.Samples, len(s.At)
				}
			}
		}
	}
	if thinned == 0 {
		return finding.Message{}
	}
	return finding.New(finding.PlotsThinnedParams{Series: thinned, Kept: kept, Samples: longest})
}
