package live

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"

	"assay/internal/record"
)

// board is everything that the terminal shows. The run loop writes it, the terminal's goroutine renders it ten times a
// second: so the loop waits for nothing but the mutex, and frames that are not drawn cost nothing.
type board struct {
	mu  sync.Mutex
	now func() time.Time

	run       Run
	begun     time.Time
	trial     Trial
	trialAt   time.Time
	running   bool
	spent     time.Duration // by trials that ended in this run
	ended     int           // of these
	bad       int           // of these not ok
	phase     string
	tick      Tick
	ticked    bool
	rates     []float64 // of the phase, newest last
	past      []pastTrial
	messages  []string
	finalText string
}

type pastTrial struct {
	trial Trial
	end   TrialEnd
}

// What the board keeps. A long run must not grow it.
const (
	ratesKept    = 60
	pastKept     = 8
	messagesKept = 3
	barCells     = 30
)

// What a narrow terminal leaves of a field, in columns. A field with less is left out.
const (
	barLeast        = 6
	nameLeast       = 8
	rateLeast       = 8
	textLeast       = 16
	pastNameAndRate = 36
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

func (b *board) RunStarted(r Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run, b.begun = r, b.now()
}

func (b *board) TrialStarted(t Trial) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial, b.trialAt, b.running = t, b.now(), true
	b.startPhase("")
}

func (b *board) PhaseStarted(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startPhase(name)
}

func (b *board) startPhase(name string) {
	b.phase, b.tick, b.ticked, b.rates = name, Tick{}, false, nil
}

func (b *board) Tick(t Tick) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick, b.ticked = t, true
	b.rates = keep(b.rates, t.Rate, ratesKept)
}

func (b *board) TrialEnded(e TrialEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += b.now().Sub(b.trialAt)
	b.ended++
	if e.State != record.OK {
		b.bad++
	}
	b.running = false
	b.past = keep(b.past, pastTrial{b.trial, e}, pastKept)
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

// timeLeft estimates from the trials that ended in this run, or from the plan as long as there are none.
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

// render draws the board for a terminal of so many columns and rows. It never returns more of either.
func (b *board) render(columns, rows int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	head := []string{b.headLine(columns)}
	if b.run.Directory != "" {
		head = append(head, faint.Render(cut("in "+oneLine(b.run.Directory), columns)))
	}
	if b.running {
		head = append(head, b.trialLine(columns), b.rateLine(columns))
	}
	foot := make([]string, 0, messagesKept+1)
	for _, message := range b.messages {
		foot = append(foot, warning.Render(cut(oneLine(message), columns)))
	}
	if b.finalText != "" {
		foot = append(foot, strong.Render(cut(oneLine(b.finalText), columns)))
	}
	past := b.pastLines(columns)
	room := max(0, rows-len(head)-len(foot)-1) // the cursor's line is left free
	past = past[max(0, len(past)-room):]
	lines := slices.Concat(head, past, foot)
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
		name(1, "", strong, oneLine(b.run.Name)),
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
		name(1, "  ", strong, oneLine(b.trial.Arm)),
		name(2, " ", plain, oneLine(b.trial.Cell)),
	}
	phases := b.trial.Phases
	if b.phase != "" && !slices.Contains(phases, b.phase) {
		phases = append(slices.Clone(phases), b.phase)
	}
	for _, phase := range phases {
		if phase == b.phase {
			fields = append(fields, whole(3, "  ", strong, "▸"+oneLine(phase)))
		} else {
			fields = append(fields, whole(4, "  ", faint, oneLine(phase)))
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
		whole(0, "", strong, grouped(b.tick.Rate)),
		whole(0, " ", plain, "op/s"),
		whole(2, "  ", plain, "p99 "+duration(b.tick.P99NS)),
		bad,
		whole(3, "  ", plain, span(b.tick.Elapsed, b.tick.Planned)),
		{rank: 4, before: "  ", least: min(len(b.rates), rateLeast), most: len(b.rates), draw: func(width int) string {
			return graph.Render(sparkline(b.rates[len(b.rates)-width:]))
		}},
	})
}

// pastLines keeps its columns: each line has the same fields, as wide as the widest of all lines.
func (b *board) pastLines(columns int) []string {
	rates := make([]string, len(b.past))
	rateWidth, stateWidth := 0, 0
	for i, p := range b.past {
		rates[i] = "–"
		if p.end.Rate != nil {
			rates[i] = grouped(*p.end.Rate)
		}
		rateWidth = max(rateWidth, lipgloss.Width(rates[i]))
		stateWidth = max(stateWidth, len(p.end.State))
	}
	const number, between = 5, 2
	unit := " op/s"
	names := min(pastNameAndRate-rateWidth, columns-number-between-1-rateWidth-len(unit)-between-stateWidth)
	var lines []string
	for i, p := range b.past {
		state := good
		if p.end.State != record.OK {
			state = alarm
		}
		fields := []field{
			whole(3, "", plain, fmt.Sprintf("%*d", number, p.trial.Number)),
			whole(0, " ", plain, fmt.Sprintf("%*s", rateWidth, rates[i])+unit),
			whole(2, "  ", state, fmt.Sprintf("%-*s", stateWidth, p.end.State)),
		}
		if text := cut(oneLine(p.trial.Arm+" "+p.trial.Cell), max(names, nameLeast)); text != "" {
			padding := strings.Repeat(" ", max(0, max(names, nameLeast)-lipgloss.Width(text)))
			fields = slices.Insert(fields, 1, whole(1, "  ", plain, text+padding))
		}
		if p.end.Text != "" {
			text := name(4, "  ", plain, oneLine(p.end.Text))
			text.least = min(text.most, textLeast)
			fields = append(fields, text)
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

// sparkline draws rates from 0 to their largest, so that a stall is seen as a gap.
func sparkline(rates []float64) string {
	const steps = "▁▂▃▄▅▆▇█"
	levels := []rune(steps)
	if len(rates) == 0 {
		return ""
	}
	largest := slices.Max(rates)
	var b strings.Builder
	for _, rate := range rates {
		switch {
		case !(rate > 0) || !(largest > 0):
			b.WriteRune(' ')
		default:
			b.WriteRune(levels[min(int(rate/largest*float64(len(levels))), len(levels)-1)])
		}
	}
	return b.String()
}
