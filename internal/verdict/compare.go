package verdict

import (
	"errors"
	"fmt"
	"strings"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// Outcome is what a comparison comes to.
type Outcome string

const (
	Regression   Outcome = "regression"   // exit status 4
	None         Outcome = "none"         // no regression: exit status 0
	Inconclusive Outcome = "inconclusive" // exit status 5
)

// ExitStatus is what `assay compare` ends with.
func (o Outcome) ExitStatus() int {
	switch o {
	case Regression:
		return 4
	case None:
		return 0
	}
	return 5
}

// Comparison is the new side against the old one: two runs, or two arms of one run.
type Comparison struct {
	Old      string     `json:"old"` // run ID, or name of an arm
	New      string     `json:"new"`
	Outcome  Outcome    `json:"outcome"` // regression if any row is one; else inconclusive if any row is, or anything is unmatched; else none
	Sentence string     `json:"sentence"`
	Rows     []Compared `json:"rows"`
	// Unmatched says what only one side has, and what was therefore not compared.
	Unmatched []string       `json:"unmatched,omitempty"`
	Warnings  []stat.Warning `json:"warnings,omitempty"`
}

// Compared is one arm in one cell and phase.
type Compared struct {
	Cell      string      `json:"cell"`
	Phase     string      `json:"phase"`
	Arm       string      `json:"arm"`
	Old       *Row        `json:"-"`
	New       *Row        `json:"-"`
	Ratio     *stat.Ratio `json:"ratio,omitempty"` // new rate ÷ old rate; nil: not comparable, see Why
	Threshold float64     `json:"threshold"`       // the larger of 3 % and what either side's baseline differed from itself
	Outcome   Outcome     `json:"outcome"`
	Improved  bool        `json:"improved"` // the new side is shown to be faster
	Why       string      `json:"why"`
	part      string      // which side did a part of the work, and what of the rates; "": neither, or both
}

// CompareRuns compares two runs, table by table and arm by arm, where cell, phase and arm are the same. Their blocks did not
// run side by side, so that ratios are unpaired (Welch) and carry a warning. It returns an error if nothing can be matched.
func CompareRuns(old, new *record.Run) (*Comparison, error) {
	before, err := Summarise(old)
	if err != nil {
		return nil, fmt.Errorf("the old run %s: %w", old.Directory, err)
	}
	after, err := Summarise(new)
	if err != nil {
		return nil, fmt.Errorf("the new run %s: %w", new.Directory, err)
	}
	if old.Header.ID == new.Header.ID && old.Directory == new.Directory && old.Directory != "" {
		return nil, fmt.Errorf("%s is both sides: expected two runs", old.Directory)
	}
	c := &Comparison{Old: old.Header.ID, New: new.Header.ID}
	if old.Header.Hash != new.Header.Hash {
		c.Warnings = append(c.Warnings, stat.Warning{Code: "experiments-differ",
			Evidence: "the two runs are of different experiments; cells with the same parameters, phases and arms are compared",
			Remedy:   "compare runs of one experiment"})
	}
	if a, b := old.Environment, new.Environment; a.CPU != b.CPU || a.CPUs != b.CPUs || a.MemoryBytes != b.MemoryBytes || a.Kernel != b.Kernel || a.Device != b.Device || a.Filesystem != b.Filesystem || a.Mount != b.Mount {
		c.Warnings = append(c.Warnings, stat.Warning{Code: "machines-differ",
			Evidence: "processor, memory, kernel, device, filesystem or mount options of the two runs are not the same",
			Remedy:   "run both on one machine"})
	}
	c.Warnings = append(c.Warnings, otherArms(old, new)...)
	for i := range before.Tables {
		t := &before.Tables[i]
		other := after.like(t)
		if other == nil {
			c.Unmatched = append(c.Unmatched, in(old, t)+" is in the old run only")
			continue
		}
		for j := range t.Rows {
			r := &t.Rows[j]
			if r.Role != plan.Measured {
				continue
			}
			match := other.rowOf(plan.Measured, r.Arm)
			if match == nil {
				c.Unmatched = append(c.Unmatched, fmt.Sprintf("%s in %s is in the old run only", r.Arm, in(old, t)))
				continue
			}
			row := Compared{Cell: cellName(old, t.Cell), Phase: t.Phase, Arm: r.Arm, Old: r, New: match, Threshold: max(t.Threshold, other.Threshold)}
			row.decline(t, phaseNamed(old, t.Phase))
			if differ := otherWork(side{old, t}, side{new, other}); differ != "" && row.Why == "" {
				row.Why = "the two runs do other work: " + differ
			}
			if row.Why == "" {
				ratio := stat.UnpairedRatio(goodRates(*match), goodRates(*r))
				row.Ratio = &ratio
			}
			c.Rows = append(c.Rows, row)
		}
		for _, r := range other.Rows {
			if r.Role == plan.Measured && t.rowOf(plan.Measured, r.Arm) == nil {
				c.Unmatched = append(c.Unmatched, fmt.Sprintf("%s in %s is in the new run only", r.Arm, in(new, other)))
			}
		}
	}
	for i := range after.Tables {
		if t := &after.Tables[i]; before.like(t) == nil {
			c.Unmatched = append(c.Unmatched, in(new, t)+" is in the new run only")
		}
	}
	if len(c.Rows) == 0 {
		return nil, errors.New("the two runs have no cell, phase and arm in common: there is nothing to compare")
	}
	c.Warnings = append(c.Warnings, stat.Warning{Code: stat.WarnUnpaired,
		Evidence: "the two runs did not run side by side: what changed on the machine in between counts as a difference",
		Remedy:   "run both versions as arms of one experiment"})
	c.judge()
	return c, nil
}

// CompareArms compares two arms of one run, table by table, over the blocks that both ran in. It returns an error if the
// run does not have both arms.
func CompareArms(run *record.Run, old, new string) (*Comparison, error) {
	s, err := Summarise(run)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Old: old, New: new}
	for i := range s.Tables {
		t := &s.Tables[i]
		a, b := t.rowOf(plan.Measured, old), t.rowOf(plan.Measured, new)
		if a == nil || b == nil {
			c.Unmatched = append(c.Unmatched, in(run, t)+" does not have both arms")
			continue
		}
		row := Compared{Cell: cellName(run, t.Cell), Phase: t.Phase, Arm: new, Old: a, New: b, Threshold: t.Threshold}
		row.decline(t, phaseNamed(run, t.Phase))
		if row.Why == "" {
			if ratio, ok := paired(*b, *a); ok {
				row.Ratio = &ratio
			} else {
				row.Why = "they have no block in common"
			}
		}
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("the run does not have both arms %q and %q in any cell: it has %s", old, new, list(armsOf(run)))
	}
	c.judge()
	return c, nil
}

func armsOf(run *record.Run) (names []string) {
	for _, s := range run.Experiment.Stores {
		names = append(names, s.Name)
	}
	return names
}

// like returns the table of the same parameters and phase; nil if there is none.
func (s *Summary) like(t *Table) *Table {
	for i := range s.Tables {
		if o := &s.Tables[i]; o.Parameters == t.Parameters && o.Phase == t.Phase && o.Open == t.Open {
			return o
		}
	}
	return nil
}

func goodRates(r Row) (rates []float64) {
	for _, o := range r.Trials {
		if o.Used && o.State == record.OK {
			rates = append(rates, *o.Rate)
		}
	}
	return rates
}

// decline says why two rows can't be compared, if so, or that one of them is of a part of the work. Where a phase has a number of operations, rates are of
// the whole phase: they are compared though one side's time was over first, and though it never settled.
func (c *Compared) decline(t *Table, phase spec.Phase) {
	for _, side := range []struct {
		name       string
		row, other *Row
	}{{"old", c.Old, c.New}, {"new", c.New, c.Old}} {
		onlyUnsettled := len(side.row.Reasons) == 1 && side.row.unsettled() && !side.row.FixedWork
		if !side.row.Ranked && len(side.row.Reasons) > 0 && !(phase.Operations > 0 && onlyUnsettled) && c.Why == "" {
			c.Why = fmt.Sprintf("the %s side has no figure to compare: %s", side.name, side.row.Reasons[0])
		}
		if side.other.FixedWork && !side.row.FixedWork {
			c.part = fmt.Sprintf("the %s side's time was over, or its disk quota reached, before its operations were done; both rates are of the whole phase", side.name)
		}
	}
	if t.Open {
		c.Why = "open load: the experiment set the rate"
	}
}

// judge decides each row, and then the whole. A regression needs its whole interval below the threshold's line, and its p-value to hold among all
// rows (Holm); "none" needs the whole interval above it, and noise of at most stat.NoiseMax; and of the whole, that nothing is on one side only.
func (c *Comparison) judge() {
	p := make([]float64, len(c.Rows))
	for i, row := range c.Rows {
		p[i] = 1
		if row.Ratio != nil && row.Ratio.P != nil {
			p[i] = *row.Ratio.P
		}
	}
	adjusted := stat.Holm(p)
	var slower, unmade, undecided int
	for i := range c.Rows {
		row := &c.Rows[i]
		row.judge(adjusted[i])
		switch {
		case row.Outcome == Regression:
			slower++
		case row.Outcome == Inconclusive && row.Ratio == nil:
			unmade++
		case row.Outcome == Inconclusive:
			undecided++
		}
	}
	all := plural(len(c.Rows), "comparison", "comparisons")
	var open []string
	if undecided > 0 {
		open = append(open, fmt.Sprintf("%d of %s can't be decided: more blocks are needed, or a quieter machine.", undecided, all))
	}
	if unmade > 0 {
		open = append(open, fmt.Sprintf("%d of %s can't be made: each says why.", unmade, all))
	}
	if n := len(c.Unmatched); n > 0 {
		open = append(open, plural(n, "table or arm is", "tables or arms are")+" on one side only.")
	}
	switch {
	case slower > 0:
		c.Outcome = Regression
		c.Sentence = fmt.Sprintf("%s is slower than %s in %d of %s.", c.New, c.Old, slower, all)
	case len(open) > 0:
		c.Outcome = Inconclusive
		c.Sentence = strings.Join(open, " ")
	default:
		c.Outcome = None
		c.Sentence = fmt.Sprintf("No regression in %s.", all)
	}
}

func (c *Compared) judge(adjustedP float64) {
	c.Outcome = Inconclusive
	line := stat.SlowerThan(c.Threshold)
	switch {
	case c.Ratio == nil:
	case c.Ratio.Interval == nil:
		c.Why = "one block gives no interval"
	case c.Ratio.Interval.High < line && adjustedP < stat.Significance:
		c.Outcome = Regression
		c.Why = fmt.Sprintf("slower: %s times the old rate, the whole interval is below %.3f", significant(c.Ratio.Value), line)
	case c.Ratio.Value > 1 && stat.Shown(*c.Ratio, adjustedP, c.Threshold):
		c.Outcome, c.Improved = None, true
		c.Why = fmt.Sprintf("faster: %s times the old rate", significant(c.Ratio.Value))
	case c.Threshold > stat.NoiseMax:
		c.Why = fmt.Sprintf("too noisy to say: the baseline differs from itself by %s", percent(c.Threshold))
	case c.Ratio.Interval.Low > line:
		c.Outcome = None
		c.Why = fmt.Sprintf("not slower by %s or more", percent(c.Threshold))
	case boundless(*c.Ratio.Interval):
		c.Why = "not told apart: the interval goes beyond 1,000 times"
	default:
		c.Why = fmt.Sprintf("the interval, %.3f to %.3f, holds both a regression and none (the line is at %.3f)", c.Ratio.Interval.Low, c.Ratio.Interval.High, line)
	}
	if c.Ratio != nil && c.part != "" {
		c.Why += "; " + c.part
	}
}
