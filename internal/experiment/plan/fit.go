package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/experiment"
)

const (
	// PhaseMin is the shortest phase of a layout: its twenty samples show whether a rate holds.
	PhaseMin = time.Second
	// QuickPhaseMin is the shortest phase of a layout for which [PhaseMin] is too long: its rate is an
	// order of magnitude.
	QuickPhaseMin = 300 * time.Millisecond
	// QuickRecords is the least number of records that a layout may leave.
	QuickRecords = 1_000
	// fitBlocks is how many blocks a layout has at least.
	fitBlocks = 3
	// phaseStep is what durations of a layout are multiples of.
	phaseStep = 100 * time.Millisecond
)

// Fit lays an experiment out so that it probably ends within e.Time, in the order that
// docs/experiment-file.md states: fewer blocks, shorter phases, no optional phases, fewer cells, and
// then what still shows an order of magnitude: fewer records where the user set no number
// (recordsFree), helpers in the first block alone, phases below [PhaseMin]. It changes e and says in
// e.Layout what it changed. The error says which time the least layout needs. Without a time nothing
// is changed.
func Fit(e *experiment.Experiment, recordsFree bool) error {
	if e.Time == 0 {
		return nil
	}
	f := fitting{e: e, seconds: e.Time.Seconds(), asked: slices.Clone(e.Phases), phaseMin: PhaseMin}
	f.blocks()
	if !f.fits() {
		f.stretch(0)
		f.dropPhases()
		f.dropCells()
		f.hurry(recordsFree)
		if !f.fits() {
			least := math.Ceil(f.needed())
			return fmt.Errorf("time: %s is too short: the least layout (%s) takes about %s\n"+
				"--time %.0fs is enough for it; fewer stores, durability classes or records need less", format.Seconds(f.seconds),
				format.Plural(e.Blocks, "block", ""), format.Seconds(least), least)
		}
	}
	f.lengthen()
	f.tell()
	return nil
}

// fitting is a layout under way.
type fitting struct {
	e       *experiment.Experiment
	seconds float64
	asked   []experiment.Phase // of the phases that are left, as the file has them

	phaseMin              time.Duration
	blocksAsked           int
	quick                 *finding.LayoutQuickParams // what was left out that a comparison needs; nil: nothing
	phasesLeft, cellsLeft []string                   // out
}

// needed is how long the experiment takes as it is laid out now: what [Estimate.Seconds] says of
// its plan.
func (f *fitting) needed() float64 {
	sum := 0.0
	for cell := range f.e.Cells {
		sum += f.cellSeconds(cell)
	}
	return sum
}

func (f *fitting) cellSeconds(cell int) (sum float64) {
	can, _ := armsOf(f.e, cell)
	for _, t := range can {
		_, high, load, _ := trialSeconds(f.e, t)
		blocks := f.e.Blocks
		if f.e.HelpersOnce && t.Role != Measured {
			blocks = 1
		}
		sum += (high + load) * float64(blocks)
	}
	return sum
}

// hurry takes away what a comparison needs and an order of magnitude does not, one thing after the
// other until the time suffices.
func (f *fitting) hurry(recordsFree bool) {
	f.quick = &finding.LayoutQuickParams{}
	for i := range f.e.Cells {
		for c := &f.e.Cells[i]; recordsFree && !f.fits() && c.Records > QuickRecords; f.quick.Records = c.Records {
			f.quick.Of = max(f.quick.Of, c.Records)
			c.Records = max(c.Records/10, QuickRecords)
		}
	}
	if !f.fits() {
		f.e.HelpersOnce, f.quick.Helpers = true, true
	}
	if !f.fits() {
		f.phaseMin, f.quick.Phases = QuickPhaseMin, true
		f.stretch(0)
	}
	if *f.quick == (finding.LayoutQuickParams{}) {
		f.quick = nil
	}
}

// fits leaves room for the rounding of sums.
func (f *fitting) fits() bool { return f.needed() <= f.seconds*(1-1e-9) }

// blocks plans the fewest blocks; the others are added while the run goes on, as far as the time
// suffices.
func (f *fitting) blocks() {
	f.stretch(1)
	if f.e.BlocksMax > 0 || f.e.Blocks <= fitBlocks {
		return
	}
	f.blocksAsked = f.e.Blocks
	f.e.Blocks, f.e.BlocksMax = fitBlocks, f.e.Blocks
}

// stretch gives the phases a share of the lengths that were asked for, and measured ones at least
// phaseMin.
func (f *fitting) stretch(share float64) {
	for i, asked := range f.asked {
		if asked.Duration == 0 || asked.Load {
			continue
		}
		length := time.Duration(share * float64(asked.Duration)).Truncate(phaseStep)
		if asked.Unmeasured {
			length = max(length, min(asked.Duration, phaseStep))
		} else {
			length = max(length, asked.ShortestMeasured(f.phaseMin))
		}
		if share == 1 {
			length = max(length, asked.Duration)
		}
		f.e.Phases[i] = asked.Lasting(length)
	}
}

// lengthen finds the longest phases that fit.
func (f *fitting) lengthen() {
	if f.stretch(1); f.fits() {
		return
	}
	low, high := 0.0, 1.0 // low fits, high does not
	for range 30 {
		middle := (low + high) / 2
		if f.stretch(middle); f.fits() {
			low = middle
		} else {
			high = middle
		}
	}
	f.stretch(low)
}

// dropPhases leaves optional phases out, the last one first, as long as one measured phase stays.
func (f *fitting) dropPhases() {
	for i := len(f.asked) - 1; i >= 0 && !f.fits(); i-- {
		measured := func(p experiment.Phase) bool { return !p.Load && !p.Unmeasured }
		others := slices.Concat(f.asked[:i], f.asked[i+1:])
		if !f.asked[i].Optional || !slices.ContainsFunc(others, measured) {
			continue
		}
		f.phasesLeft = append(f.phasesLeft, f.asked[i].Name)
		f.asked = others
		f.e.Phases = slices.Concat(f.e.Phases[:i], f.e.Phases[i+1:])
	}
}

// dropCells leaves cells out: those with the least data first, of these the weakest class, then the
// fewest threads. One stays.
func (f *fitting) dropCells() {
	e := f.e
	bytes := func(c experiment.Cell) float64 {
		return float64(c.Records) * float64(e.Keys.BytesMax()+c.ValueBytes)
	}
	order := make([]int, len(e.Cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := e.Cells[i], e.Cells[j]
		return cmp.Or(cmp.Compare(bytes(a), bytes(b)), cmp.Compare(a.Durability, b.Durability),
			cmp.Compare(b.LossWindow, a.LossWindow), cmp.Compare(a.Threads, b.Threads))
	})
	needed, out := f.needed(), map[int]bool{}
	for _, cell := range order[:len(order)-1] {
		if needed <= f.seconds*(1-1e-6) {
			break
		}
		needed -= f.cellSeconds(cell)
		out[cell] = true
		f.cellsLeft = append(f.cellsLeft, e.Cells[cell].Label(e))
	}
	var left []experiment.Cell
	for i, c := range e.Cells {
		if !out[i] {
			left = append(left, c)
		}
	}
	e.Cells = left
}

// tell says what was changed.
func (f *fitting) tell() {
	e := f.e
	add := func(p finding.Parameters) { e.Layout = append(e.Layout, finding.New(p)) }
	if enough := int(f.seconds / (f.needed() / float64(e.Blocks))); f.blocksAsked > enough {
		add(finding.LayoutBlocksParams{Blocks: enough, Of: f.blocksAsked})
	}
	if f.quick != nil {
		add(*f.quick)
	}
	var shorter, longer []string
	for i, p := range e.Phases {
		length := fmt.Sprintf("%s %s", p.Name, format.Seconds(p.Duration.Seconds()))
		switch {
		case p.Duration < f.asked[i].Duration:
			shorter = append(shorter, length)
		case p.Duration > f.asked[i].Duration:
			longer = append(longer, length)
		}
	}
	if len(shorter) > 0 {
		add(finding.LayoutShorterParams{Phases: shorter})
	}
	if len(longer) > 0 {
		add(finding.LayoutLongerParams{Phases: longer})
	}
	if len(f.phasesLeft) > 0 {
		add(finding.LayoutPhasesParams{Phases: f.phasesLeft})
	}
	if len(f.cellsLeft) > 0 {
		add(finding.LayoutCellsParams{Cells: f.cellsLeft, Count: len(f.cellsLeft), Of: len(f.cellsLeft) + len(e.Cells)})
	}
}
