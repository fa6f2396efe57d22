// Package event is what a run reports while it goes on, for views of it.
package event

import (
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// View shows what happens in a run. Its methods return at once and may be called from several
// goroutines.
type View interface {
	RunStarted(Run)
	TrialStarted(Trial)
	PhaseStarted(name string)
	Tick(Tick)
	TrialEnded(TrialEnd)
	Message(text string)
	RunEnded(text string)
	// Close shows what is still to be shown, gives the terminal back and returns the first error
	// that showing met. Defer it: it may be called more than once.
	Close() error
}

// Meter takes the figures of a run as they are measured, for programs that watch it. Its method
// returns at once, and copies what it keeps.
type Meter interface {
	Measured(*Measured)
}

// Measured is what a phase has measured so far.
type Measured struct {
	Trial  plan.Trial
	Cell   string // its label; "": the experiment has one alone
	Phase  string
	Totals []counters.Total // of all its operations, exact once it is over; histograms are nil where they were not read
	Sample *record.Sample   // the line of the series that was just written; nil: none was
	Over   bool             // the phase has ended
}

// Run is what is known when a run starts.
type Run struct {
	Name      string
	Directory string        // of the run; "": not said
	Trials    int           // in all
	Done      int           // of these, before a resumed run began
	Arms      []string      // in the order in which they are shown
	Estimate  time.Duration // for the trials that are left; 0: not known
}

// Trial is what is known when a trial starts.
type Trial struct {
	Number, Of int // the first is 1
	Arm, Cell  string
	Phases     []string
}

// Tick is a sample of the phase under way.
type Tick struct {
	Rate    float64  // operations a second, since the tick before
	P99NS   *float64 // of the service time, since the tick before; nil: not measured
	Bad     uint64   // operations of the phase that were lost, wrong, errors or timeouts
	Missing uint64   // of a store that evicts: reads of the phase that found nothing, which are not in Bad
	// Conflicts are operations and requests of the phase that were refused because others wrote, which are
	// not in Bad. Those of an operation with a condition are its answers, and not counted.
	Conflicts uint64
	Elapsed   time.Duration // of the phase
	Planned   time.Duration // of the phase; 0: it does not end by time
}

// TrialEnd is how a trial ended.
type TrialEnd struct {
	State record.State
	Text  string   // why, if it is not ok
	Rate  *float64 // operations a second of the measured phase that stands for the trial; nil: not measured
}
