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

var (
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
	head := []string{b.headLine()}
	if b.run.Directory != "" {
		head = append(head, faint.Render("in "+oneLine(b.run.Directory)))
	}
	if b.running {
		head = append(head, b.trialLine(), b.rateLine())
	}
	foot := make([]string, 0, messagesKept+1)
	for _, message := range b.messages {
		foot = append(foot, warning.Render(oneLine(message)))
	}
	if b.finalText != "" {
		foot = append(foot, strong.Render(oneLine(b.finalText)))
	}
	past := b.pastLines()
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

func (b *board) headLine() string {
	done := b.run.Done + b.ended
	line := fmt.Sprintf("%s  %s  %d of %d trials done", strong.Render(oneLine(b.run.Name)), bar(done, b.run.Trials), done, b.run.Trials)
	if b.bad > 0 {
		line += ", " + alarm.Render(fmt.Sprintf("%d not ok", b.bad))
	}
	if remaining, known := b.timeLeft(); known && b.finalText == "" {
		line += faint.Render("  about " + left(remaining) + " left")
	}
	return line
}

func (b *board) trialLine() string {
	line := fmt.Sprintf("trial %d of %d  %s %s", b.trial.Number, b.trial.Of, strong.Render(oneLine(b.trial.Arm)), oneLine(b.trial.Cell))
	for _, phase := range b.trial.Phases {
		if phase == b.phase {
			line += "  " + strong.Render("▸"+oneLine(phase))
		} else {
			line += "  " + faint.Render(oneLine(phase))
		}
	}
	if b.phase != "" && !slices.Contains(b.trial.Phases, b.phase) {
		line += "  " + strong.Render("▸"+oneLine(b.phase))
	}
	return line
}

func (b *board) rateLine() string {
	if !b.ticked {
		return faint.Render("no operations yet")
	}
	bad := fmt.Sprintf("errors %d", b.tick.Bad)
	if b.tick.Bad > 0 {
		bad = alarm.Render(bad)
	}
	return fmt.Sprintf("%s op/s  p99 %s  %s  %s  %s", strong.Render(grouped(b.tick.Rate)), duration(b.tick.P99NS), bad,
		span(b.tick.Elapsed, b.tick.Planned), graph.Render(sparkline(b.rates)))
}

func (b *board) pastLines() []string {
	var lines []string
	for _, p := range b.past {
		state := good
		if p.end.State != record.OK {
			state = alarm
		}
		rate := "–"
		if p.end.Rate != nil {
			rate = grouped(*p.end.Rate)
		}
		line := fmt.Sprintf("%5d  %-24s %12s op/s  %s", p.trial.Number, oneLine(p.trial.Arm+" "+p.trial.Cell), rate, state.Render(string(p.end.State)))
		if p.end.Text != "" {
			line += "  " + oneLine(p.end.Text)
		}
		lines = append(lines, line)
	}
	return lines
}

func bar(done, of int) string {
	full := 0
	if of > 0 {
		full = min(max(done*barCells/of, 0), barCells)
	}
	return good.Render(strings.Repeat("█", full)) + faint.Render(strings.Repeat("░", barCells-full))
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
