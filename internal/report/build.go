package report

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/verdict"
)

// Build makes the view of one run or of several; tables of different runs stay apart. It returns an error where a run has
// no experiment or no plan. Run.Base is "" for a single run, as for a report that stands in the run directory: see Locate.
func Build(runs ...*record.Run) (View, error) {
	if len(runs) == 0 {
		return View{}, errors.New("a report needs at least one run")
	}
	b := builder{several: len(runs) > 1, beside: map[string]bool{}}
	for _, run := range runs {
		b.samples += len(run.Series) * len(run.Experiment.Phases)
	}
	for _, run := range runs {
		if err := b.add(run); err != nil {
			return View{}, fmt.Errorf("reporting run %s: %w", run.Header.ID, err)
		}
	}
	v := b.view
	var titles []string
	for _, run := range v.Runs {
		titles = append(titles, run.Name)
	}
	v.Title = strings.Join(slices.Compact(titles), ", ")
	if !b.several {
		v.About = runs[0].Experiment.About
	}
	slices.SortStableFunc(v.Findings, func(x, y Finding) int {
		return slices.Index(severities, x.Severity) - slices.Index(severities, y.Severity)
	})
	v.Groups = groupFindings(v.Findings, v.Tables)
	v.Headlines = headlinesOf(v.Tables)
	v.Resources = b.offered()
	v.Matrix = matrixOf(runs, b.key)
	if note := thinningNote(v.Tables); note != "" {
		v.Gaps = append(v.Gaps, note)
	}
	return v, nil
}

// Locate sets the links to raw data for a report in the file htmlFile. They are relative URLs: what would mean something else in one, as
// the # in a folder's name, is escaped.
func (v *View) Locate(htmlFile string) error {
	folder, err := filepath.Abs(filepath.Dir(htmlFile))
	if err != nil {
		return fmt.Errorf("finding the folder of %s: %w", htmlFile, err)
	}
	before := map[string]string{}
	for i := range v.Runs {
		run := &v.Runs[i]
		directory, err := filepath.Abs(run.Directory)
		if err != nil {
			return fmt.Errorf("finding the run directory %s: %w", run.Directory, err)
		}
		base, err := filepath.Rel(folder, directory)
		if err != nil {
			return fmt.Errorf("linking %s to %s: %w", htmlFile, run.Directory, err)
		}
		before[run.ID] = run.Base
		run.Base = (&url.URL{Path: filepath.ToSlash(base) + "/"}).String()
		if base == "." {
			run.Base = ""
		}
	}
	for i := range v.Trials {
		t := &v.Trials[i]
		if t.Link == "" {
			continue
		}
		for _, run := range v.Runs {
			if run.ID == t.Run {
				t.Link = run.Base + strings.TrimPrefix(t.Link, before[run.ID])
			}
		}
	}
	return nil
}

// builder gathers runs into a view.
type builder struct {
	view    View
	several bool
	samples int             // series that the view will have at most
	beside  map[string]bool // the names of all that was measured beside a rate
}

// key names a trial in the view.
func (b *builder) key(run *record.Run, trial string) string {
	if b.several {
		return run.Header.ID + "/" + trial
	}
	return trial
}

func (b *builder) add(run *record.Run) error {
	summary, err := verdict.Summarise(run)
	if err != nil {
		return err
	}
	base := ""
	if b.several {
		base = filepath.Base(run.Directory) + "/"
	}
	v := &b.view
	v.Runs = append(v.Runs, Run{ID: run.Header.ID, Name: run.Header.Name, Created: run.Header.Created, Hash: run.Header.Hash, Seed: run.Experiment.Seed,
		Blocks: run.Experiment.Blocks, Command: againCommand(run), Directory: run.Directory, Base: base})
	prefix := ""
	if b.several {
		prefix = run.Header.Name + " " + run.Header.ID + ": "
	}
	facts := environmentFacts(run.Environment)
	if own, mounted := quotaFact(run); mounted {
		facts = append(facts, own)
	}
	for _, f := range facts {
		v.Environment = append(v.Environment, Fact{prefix + f.Name, f.Value})
	}
	v.Environment = append(v.Environment, Fact{prefix + "Cost of looking on", telemetryCost(run)})
	for _, s := range storesOf(run) {
		s.Arm = prefix + s.Arm
		v.Stores = append(v.Stores, s)
	}
	for _, planned := range inOrder(run) {
		v.Trials = append(v.Trials, trialView(run, planned, b.key(run, planned.ID), base))
	}
	tablesBefore := len(v.Tables)
	for i := range summary.Tables {
		t := b.table(run, &summary.Tables[i], prefix)
		v.Tables = append(v.Tables, t)
		v.Answers = append(v.Answers, Answer{t.ID, t.Class + " " + t.Label, prefix + t.Sentence})
	}
	b.findings(run, summary, tablesBefore)
	for _, missing := range run.Missing {
		v.Gaps = append(v.Gaps, prefix+missing)
	}
	return nil
}

// trialView shows one planned trial. base is the path from the report to the run directory.
func trialView(run *record.Run, planned plan.Trial, key, base string) Trial {
	cell := planned.CellOf(&run.Experiment)
	view := Trial{Key: key, ID: planned.ID, Run: run.Header.ID, Arm: planned.Arm, Role: string(planned.Role), Cell: cellText(&run.Experiment, cell),
		Class: cell.ClassText(), Block: planned.Block, State: "planned"}
	trial := run.Trials[planned.ID]
	if trial != nil || run.Series[planned.ID] != nil {
		view.Link = base + "trials/" + planned.ID + "/"
	}
	if trial == nil {
		return view
	}
	view.State, view.QuotaMount = string(trial.State), trial.QuotaMount
	if trial.Error != "" {
		view.Reasons = append(view.Reasons, trial.Error)
	}
	for _, mark := range trial.Marks {
		view.Reasons = append(view.Reasons, finding.Text(mark.Message))
	}
	if f := trial.Final; f != nil {
		view.Final = &Final{Records: f.Records, Of: f.Of, Right: f.Right, Lost: f.Lost, Stale: f.Stale, Wrong: f.Wrong, Errors: f.Errors, Unknown: f.Unknown}
	}
	for _, p := range trial.Phases {
		view.Phases = append(view.Phases, phaseView(p))
	}
	return view
}

func phaseView(p record.Phase) Phase {
	view := Phase{Name: p.Name, Measured: p.Measured, Seconds: float64(p.ElapsedNS) / 1e9, Attempted: p.Attempted, Bad: p.Unfinished,
		Latency:      latenciesOf(verdict.Refuse(&p), &p).Latency,
		LogicalBytes: asFloat(p.Sizes.LogicalBytes), DiskBytes: asFloat(p.Sizes.DiskBytes),
		HostWriteBytes: asFloat(p.Process.WrittenBytes()), MemoryBytes: asFloat(p.Process.MemoryBytes())}
	view.HostWriteSource, view.HostWriteWhy = p.Process.HostWriteSource, p.Process.HostWriteWhy
	var good uint64
	for _, op := range p.Operations {
		good += op.Good()
		view.Bad += op.Lost + op.Wrong + op.Errors + op.Timeout
	}
	if view.Seconds > 0 {
		view.Rate = float64(good) / view.Seconds
	}
	if p.Attempted > 0 {
		view.AllocBytes = perOperation(p.Runtime, "alloc_bytes", p.Attempted)
		view.Allocs = perOperation(p.Runtime, "allocs", p.Attempted)
	}
	return view
}

func perOperation(runtime map[string]float64, name string, operations uint64) *float64 {
	total, ok := runtime[name]
	if !ok {
		return nil
	}
	each := total / float64(operations)
	return &each
}

func asFloat(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// matrixOf shows every planned trial of all runs.
func matrixOf(runs []*record.Run, key func(run *record.Run, id string) string) Matrix {
	var m Matrix
	rows := map[string]int{}
	for _, run := range runs {
		first := len(m.Cells)
		for _, cell := range run.Experiment.Cells {
			name := cell.ClassText() + ", " + cellText(&run.Experiment, cell)
			if len(runs) > 1 {
				name = run.Header.Name + " " + run.Header.ID + ": " + name
			}
			m.Cells = append(m.Cells, name)
		}
		for _, planned := range inOrder(run) {
			at, ok := rows[planned.Arm]
			if !ok {
				at = len(m.Rows)
				rows[planned.Arm] = at
				m.Rows = append(m.Rows, MatrixRow{Arm: planned.Arm})
			}
			row := &m.Rows[at]
			for len(row.Squares) <= first+planned.Cell {
				row.Squares = append(row.Squares, nil)
			}
			row.Squares[first+planned.Cell] = append(row.Squares[first+planned.Cell], key(run, planned.ID))
		}
	}
	for i := range m.Rows {
		for len(m.Rows[i].Squares) < len(m.Cells) {
			m.Rows[i].Squares = append(m.Rows[i].Squares, nil)
		}
	}
	return m
}

// inOrder returns the plan by role, store and block, rather than in the shuffled order in which it runs.
func inOrder(run *record.Run) []plan.Trial {
	roles := map[plan.Role]int{plan.Measured: 0, plan.AA: 1, plan.Ceiling: 2}
	trials := slices.Clone(run.Plan)
	slices.SortStableFunc(trials, func(a, b plan.Trial) int {
		if a.Role != b.Role {
			return roles[a.Role] - roles[b.Role]
		}
		if a.Store != b.Store {
			return a.Store - b.Store
		}
		return a.Block - b.Block
	})
	return trials
}

// anchor makes an ID of words: letters, digits and hyphens.
func anchor(number int, words ...string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.Join(words, "-")))
	return fmt.Sprintf("t%d-%s", number, strings.Trim(id, "-"))
}
