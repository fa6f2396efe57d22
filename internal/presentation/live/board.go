package live

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"

	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/execution/event"
)

// board is everything that the terminal shows. The run loop writes it, the terminal's goroutine
// renders it ten times a second: so the loop waits for nothing but the mutex, and frames that are
// not drawn cost nothing.
type board struct {
	mu  sync.Mutex
	now func() time.Time

	run       event.Run
	begun     time.Time
	trial     event.Trial
	trialAt   time.Time
	running   bool
	spent     time.Duration // by trials that ended in this run
	ended     int           // of these
	bad       int           // of these not ok
	phase     string
	tick      event.Tick
	ticked    bool
	rates     []float64  // of the phase, newest last
	arms      []armSoFar // in the order of the plan, or in which they came
	messages  []string
	finalText string
}

// armSoFar is what the trials of an arm have come to.
type armSoFar struct {
	name  string
	done  int // trials
	cells []cellSoFar
	state record.State // of the last trial that was not ok; "": none
	text  string       // why
}

// cellSoFar is an arm's mean rate in one cell.
type cellSoFar struct {
	name  string
	sum   float64 // of rates
	rates int
}

// What the board keeps. A long run must not grow it.
const (
	ratesKept    = 60
	armsKept     = 200
	cellsKept    = 32
	messagesKept = 3
	barCells     = 30
)

// What a narrow terminal leaves of a field, in columns. A field with less is left out.
const (
	barLeast  = 6
	nameLeast = 8
	rateLeast = 8
	textLeast = 16
	armMost   = 28
)

var (
	plain   = lipgloss.NewStyle()
	strong  = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true)
	warning = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	alarm   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	good    = lipgloss.NewStyle().Foreground(lipgloss.Green)
	graph   = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

func (b *board) RunStarted(r event.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run, b.begun, b.arms = r, b.now(), nil
	for _, arm := range r.Arms {
		b.arm(arm)
	}
}

func (b *board) TrialStarted(t event.Trial) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial, b.trialAt, b.running = t, b.now(), true
	b.run.Trials = max(b.run.Trials, t.Of) // a run adds trials while it goes on
	b.startPhase("")
}

func (b *board) PhaseStarted(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startPhase(name)
}

func (b *board) startPhase(name string) {
	b.phase, b.tick, b.ticked, b.rates = name, event.Tick{}, false, nil
}

func (b *board) Tick(t event.Tick) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick, b.ticked = t, true
	b.rates = keep(b.rates, t.Rate, ratesKept)
}

func (b *board) TrialEnded(e event.TrialEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += b.now().Sub(b.trialAt)
	b.ended++
	if e.State != record.OK {
		b.bad++
	}
	b.running = false
	arm := b.arm(b.trial.Arm)
	arm.done++
	if e.State != record.OK {
		arm.state, arm.text = e.State, e.Text
	}
	if e.Rate == nil {
		return
	}
	at := slices.IndexFunc(arm.cells, func(c cellSoFar) bool { return c.name == b.trial.Cell })
	if at < 0 && len(arm.cells) < cellsKept {
		at = len(arm.cells)
		arm.cells = append(arm.cells, cellSoFar{name: b.trial.Cell})
	}
	if at >= 0 {
		arm.cells[at].sum += *e.Rate
		arm.cells[at].rates++
	}
}

// arm returns the line of an arm, a new one where there is none. Above armsKept all others share
// the last line.
func (b *board) arm(name string) *armSoFar {
	at := slices.IndexFunc(b.arms, func(a armSoFar) bool { return a.name == name })
	if at < 0 {
		if len(b.arms) == armsKept {
			return &b.arms[armsKept-1]
		}
		at = len(b.arms)
		b.arms = append(b.arms, armSoFar{name: name})
	}
	return &b.arms[at]
}

func (b *board) Message(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.messages = keep(b.messages, text, messagesKept)
}

func (b *board) RunEnded(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finalText, b.running = text, false
}

// keep appends and drops the oldest above n.
func keep[T any](list []T, value T, n int) []T {
	list = append(list, value)
	return slices.Delete(list, 0, max(0, len(list)-n))
}

// timeLeft estimates from the trials that ended in this run, or from the plan as long as there are
// none.
func (b *board) timeLeft() (time.Duration, bool) {
	if b.ended == 0 {
		return b.run.Estimate - b.now().Sub(b.begun), b.run.Estimate > 0
	}
	mean := b.spent / time.Duration(b.ended)
	remaining := mean * time.Duration(b.run.Trials-b.run.Done-b.ended)
	if b.running {
		// The trial under way takes no more than a mean one off, however long it lasts.
		remaining -= min(b.now().Sub(b.trialAt), mean)
	}
	return remaining, true
}

// render draws the board for a terminal of so many columns and rows. It never returns more of
// either.
func (b *board) render(columns, rows int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	head := []string{b.headLine(columns)}
	if b.run.Directory != "" {
		head = append(head, faint.Render(cut("in "+format.Clean(b.run.Directory), columns)))
	}
	switch {
	case b.running:
		head = append(head, b.trialLine(columns), b.rateLine(columns))
	case b.ended > 0 && b.finalText == "": // what stands below is not to move up and down
		head = append(head, faint.Render(cut("between trials", columns)), "")
	}
	foot := make([]string, 0, messagesKept+1)
	for _, message := range b.messages {
		foot = append(foot, warning.Render(cut(format.Clean(message), columns)))
	}
	if b.finalText != "" {
		foot = append(foot, strong.Render(cut(format.Clean(b.finalText), columns)))
	}
	room := max(0, rows-len(head)-len(foot)-1) // the cursor's line is left free
	lines := slices.Concat(head, b.armLines(columns, room), foot)
	lines = lines[:min(len(lines), max(rows-1, 1))]
	fit := lipgloss.NewStyle().MaxWidth(max(columns, 1)).Inline(true)
	for i, line := range lines {
		lines[i] = fit.Render(line)
	}
	return strings.Join(lines, "\n")
}

func (b *board) headLine(columns int) string {
	done := b.run.Done + b.ended
	fields := []field{
		name(1, "", strong, format.Clean(b.run.Name)),
		{rank: 4, before: "  ", least: barLeast, most: barCells, draw: func(width int) string { return bar(done, b.run.Trials, width) }},
		whole(0, "  ", plain, fmt.Sprintf("%d of %d trials done", done, b.run.Trials)),
	}
	if b.bad > 0 {
		fields = append(fields, whole(2, ", ", alarm, fmt.Sprintf("%d not ok", b.bad)))
	}
	if remaining, known := b.timeLeft(); known && b.finalText == "" {
		fields = append(fields, whole(3, "  ", faint, "about "+left(remaining)+" left"))
	}
	return fitted(columns, fields)
}

func (b *board) trialLine(columns int) string {
	fields := []field{
		whole(0, "", plain, fmt.Sprintf("trial %d of %d", b.trial.Number, b.trial.Of)),
		name(1, "  ", strong, format.Clean(b.trial.Arm)),
		name(2, " ", plain, format.Clean(b.trial.Cell)),
	}
	phases := b.trial.Phases
	if b.phase != "" && !slices.Contains(phases, b.phase) {
		phases = append(slices.Clone(phases), b.phase)
	}
	for _, phase := range phases {
		if phase == b.phase {
			fields = append(fields, whole(3, "  ", strong, "▸"+format.Clean(phase)))
		} else {
			fields = append(fields, whole(4, "  ", faint, format.Clean(phase)))
		}
	}
	return fitted(columns, fields)
}

func (b *board) rateLine(columns int) string {
	if !b.ticked {
		return faint.Render(cut("no operations yet", columns))
	}
	bad := whole(2, "  ", plain, fmt.Sprintf("errors %d", b.tick.Bad))
	if b.tick.Bad > 0 {
		bad = whole(1, "  ", alarm, fmt.Sprintf("errors %d", b.tick.Bad))
	}
	return fitted(columns, []field{
		whole(0, "", strong, format.Count(uint64(max(b.tick.Rate, 0)))),
		whole(0, " ", plain, "op/s"),
		whole(2, "  ", plain, "p99 "+p99Text(b.tick.P99NS)),
		bad,
		whole(2, "", plain, besideErrors(b.tick)),
		whole(3, "  ", plain, span(b.tick.Elapsed, b.tick.Planned)),
		{rank: 4, before: "  ", least: min(len(b.rates), rateLeast), most: len(b.rates), draw: func(width int) string {
			return graph.Render(spark(b.rates[len(b.rates)-width:]))
		}},
	})
}

// armLines draws a line for each arm with its mean rates so far; where there is no room for all,
// those around the one that runs.
func (b *board) armLines(columns, room int) (lines []string) {
	current, width := 0, nameLeast
	for i, arm := range b.arms {
		width = max(width, min(lipgloss.Width(format.Clean(arm.name)), armMost, 2*columns/5))
		if b.running && arm.name == b.trial.Arm {
			current = i
		}
	}
	from := max(0, min(current-room/2, len(b.arms)-room))
	for _, arm := range b.arms[from:min(len(b.arms), from+room)] {
		mark, style := " ", plain
		if b.running && arm.name == b.trial.Arm {
			mark, style = "▸", strong
		}
		text := cut(format.Clean(arm.name), width)
		fields := []field{
			whole(0, "", style, mark),
			whole(0, " ", style, text+strings.Repeat(" ", width-lipgloss.Width(text))),
			whole(8, "  ", faint, fmt.Sprintf("n=%-2d", arm.done)),
		}
		for i, cell := range arm.cells {
			text := strings.TrimSpace(format.Clean(cell.name) + " " + format.Rate(cell.sum/float64(cell.rates)))
			fields = append(fields, whole(min(i+3, 7), "  ", plain, text))
		}
		if arm.state != "" {
			fields = append(fields, whole(2, "  ", alarm, string(arm.state)))
			why := name(4, "  ", plain, format.Clean(arm.text))
			why.least = min(why.most, textLeast)
			fields = append(fields, why)
		}
		lines = append(lines, fitted(columns, fields))
	}
	return lines
}

func bar(done, of, cells int) string {
	full := 0
	if of > 0 {
		full = min(max(done*cells/of, 0), cells)
	}
	return good.Render(strings.Repeat("█", full)) + faint.Render(strings.Repeat("░", cells-full))
}

// spark draws rates from 0 to their largest, so that a stall is seen as a gap.
func spark(rates []float64) string {
	if len(rates) == 0 {
		return ""
	}
	return format.Spark(rates, 0, slices.Max(rates))
}
