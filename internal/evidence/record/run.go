package record

import (
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Run is a whole run directory, read back.
type Run struct {
	Directory   string                // as opened
	Header      Header                // run.json
	Experiment  experiment.Experiment // experiment.json: every default written out
	Source      []byte                // the experiment file as it was given
	Environment Environment
	Plan        []plan.Trial
	Trials      map[string]*Trial // ended ones, by ID
	// InMemory are the samples of a run that was made in memory, by trial ID. Those of a directory stay
	// there until they are asked for: see [Run.Samples].
	InMemory map[string][]Sample
	Events   []Event
	Faults   []Fault  // what is not as it was written; trials that it concerns are marked
	Missing  []string // the same as sentences, and how many trials have no result

	stretches map[string][]stretch // of series.jsonl, by trial ID
	whole     *Run                 // of which this is the run by group; nil: it is none
}

// Header is run.json, written first: it says that Assay made the directory.
type Header struct {
	Format  int       `json:"assay_run_format"` // FormatVersion
	ID      string    `json:"id"`               // random, in every file name that leaves the directory
	Created time.Time `json:"created"`
	Name    string    `json:"experiment"`
	Hash    string    `json:"experiment_sha256"` // of experiment.json
	Plans   []string  `json:"plan_sha256"`       // of plan.json, and of what it was before it was extended

	Environment string `json:"environment_sha256,omitempty"` // of environment.json; "": of a version before it was sealed

	Interruptions []Interruption `json:"interruptions,omitempty"`

	// Seal is the SHA-256 of this file with "" in its place; "": as above.
	Seal    string `json:"sha256"`
	changed bool   // the file is not what Seal says
}

// Interruption is that the run was stopped before its trials had ended.
type Interruption struct {
	At     time.Time `json:"at"`
	Signal string    `json:"signal"` // SIGINT, SIGTERM, SIGHUP; SignalKilled: it did not stop by itself
}

// SignalKilled stands for SIGKILL, a crash and a power cut: what stopped the run left no word.
const SignalKilled = "killed"

// FormatVersion is the version of the run directory.
const FormatVersion = 1

// Event is one line of events.jsonl: what happened to the run as a whole.
type Event struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"` // one of the Event… constants
	Trial string    `json:"trial,omitempty"`
	Text  string    `json:"text,omitempty"`
}

// The kinds of events.
const (
	EventStarted      = "started"
	EventTrialStarted = "trial-started"
	EventTrialEnded   = "trial-ended" // Text: the trial's state
	EventInterrupted  = "interrupted" // the run was stopped before all trials had ended
	EventResumed      = "resumed"
	EventEnded        = "ended"
	EventNote         = "note" // Text: something that a reader should know
)

// The files of a run directory. docs/run-directory.md describes them.
const (
	headerFile      = "run.json"
	SourceFile      = "experiment.yaml"
	experimentFile  = "experiment.json"
	environmentFile = "environment.json"
	planFile        = "plan.json"
	eventsFile      = "events.jsonl"
	lockFile        = ".lock"
	reserveFile     = ".reserve"
	trialsDirectory = "trials"
	dataDirectory   = "data"
	trialFile       = "trial.json"
	seriesFile      = "series.jsonl"
	logFile         = "worker.log"
)

// WrittenBy begins a [SourceFile] that Assay wrote for a command: every change of that command is in it.
const WrittenBy = "# Written for: "

// Blocks is how many blocks the plan has by now: a run may add some while it goes on.
func (r *Run) Blocks() (blocks int) {
	for _, t := range r.Plan {
		blocks = max(blocks, t.Block)
	}
	return blocks
}
