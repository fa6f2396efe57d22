package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"assay/internal/base/format"
	"assay/internal/execution/event"
)

// Plain writes a line a second of each phase, and at least one, and one for each trial's end. A
// reader that does not read costs lines, not time.
type Plain struct {
	mu      sync.Mutex
	trial   event.Trial
	phase   string
	ticks   gathered
	lines   chan string
	closed  bool
	dropped int

	done chan struct{}
	err  error // of the writer; read after done
}

const (
	linesWaiting  = 1024
	rateEvery     = time.Second
	rateEarly     = rateEvery / 20 // that a tick may come before its second is full
	closePatience = 2 * time.Second
)

// NewPlain writes to w, from a goroutine of its own, until Close.
func NewPlain(w io.Writer) *Plain {
	p := &Plain{lines: make(chan string, linesWaiting), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for line := range p.lines {
			if _, err := io.WriteString(w, line); err != nil && p.err == nil {
				p.err = fmt.Errorf("show progress: %w", err)
			}
		}
	}()
	return p
}

// print puts a line into the queue. The caller holds mu.
func (p *Plain) print(line string, arguments ...any) {
	if p.closed {
		return
	}
	select {
	case p.lines <- format.Clean(fmt.Sprintf(line, arguments...)) + "\n":
	default:
		p.dropped++
	}
}

func (p *Plain) RunStarted(r event.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var more []string
	if r.Done > 0 {
		more = append(more, fmt.Sprintf("%d done before", r.Done))
	}
	if r.Estimate > 0 {
		more = append(more, "about "+left(r.Estimate))
	}
	p.print("Run: %s  %d trials%s", r.Name, r.Trials, bracketed(more))
	if r.Directory != "" {
		p.print("Run directory: %s", r.Directory)
	}
}

func bracketed(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (p *Plain) TrialStarted(t event.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trial = t
	p.startPhase("")
}

func (p *Plain) PhaseStarted(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endPhase()
	p.startPhase(name)
}

func (p *Plain) startPhase(name string) { p.phase, p.ticks = name, gathered{due: rateEvery} }

// endPhase shows a phase that was too short for a line until now.
func (p *Plain) endPhase() {
	if p.ticks.shown == 0 && p.ticks.count > 0 {
		p.printRate()
	}
}

func (p *Plain) Tick(t event.Tick) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ticks.add(t) {
		p.printRate()
	}
}

func (p *Plain) printRate() {
	t := p.ticks.take()
	p.print("Rate: %.0f op/s  p99 %s  errors %d%s  %s %s %s %s  trial %d/%d", t.Rate, p99Text(t.P99NS), t.Bad, besideErrors(t),
		p.trial.Arm, p.trial.Cell, p.phase, span(t.Elapsed, t.Planned), p.trial.Number, p.trial.Of)
}

func (p *Plain) TrialEnded(e event.TrialEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endPhase()
	line := fmt.Sprintf("Trial: %d/%d %s %s  %s", p.trial.Number, p.trial.Of, p.trial.Arm, p.trial.Cell, e.State)
	if e.Rate != nil {
		line += fmt.Sprintf("  %.0f op/s", *e.Rate)
	}
	if e.Text != "" {
		line += "  " + e.Text
	}
	p.print("%s", line)
}

func (p *Plain) Message(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print("%s", text)
}

func (p *Plain) RunEnded(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print("Run: %s", text)
}

func (p *Plain) Close() error {
	p.mu.Lock()
	if !p.closed {
		if p.dropped > 0 {
			p.print("(%d lines of progress were left out: they were not read in time)", p.dropped)
		}
		p.closed = true
		close(p.lines)
	}
	p.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-time.After(closePatience):
		return fmt.Errorf("show progress: the last lines were not read within %v", closePatience)
	}
}
