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
	Format int `json:"assay_run_format"` // version of the run directory: 1
	// 12 random hexadecimal digits, in every file name that leaves the directory.
	ID      string    `json:"id"`
	Created time.Time `json:"created"`           // time of day
	Name    string    `json:"experiment"`        // the experiment's name
	Hash    string    `json:"experiment_sha256"` // of experiment.json, hexadecimal
	// Of plan.json, and of what it was before it was extended.
	Plans []string `json:"plan_sha256"`

	// Of environment.json. "": of a version before it was sealed.
	Environment string `json:"environment_sha256,omitempty"`

	// Times at which the run was stopped before its trials had ended.
	Interruptions []Interruption `json:"interruptions,omitempty"`

	// The SHA-256 of run.json itself, with "" in the place of this text. "": as of environment_sha256.
	Seal    string `json:"sha256"`
	changed bool   // the file is not what Seal says
}

// Interruption is that the run was stopped before its trials had ended.
type Interruption struct {
	At time.Time `json:"at"` // time of day
	// SIGINT, SIGTERM or SIGHUP; killed: what stopped the run left no word.
	Signal string `json:"signal"`
}

// SignalKilled stands for SIGKILL, a crash and a power cut: what stopped the run left no word.
const SignalKilled = "killed"

// FormatVersion is the version of the run directory.
const FormatVersion = 1

// Event is one line of events.jsonl: what happened to the run as a whole. A run whose last event is neither
// ended nor interrupted is still going on, or was killed.
type Event struct {
	At time.Time `json:"at"` // time of day
	// started, trial-started, trial-ended, interrupted (the run was stopped), resumed, ended, note.
	Kind  string `json:"kind"`
	Trial string `json:"trial,omitempty"` // the trial's ID, where it is about one
	Text  string `json:"text,omitempty"`  // of trial-ended: the trial's state; otherwise a sentence
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

// The files of a run directory. docs/run-directory.md describes them, and docs/run-directory.schema.json their
// fields.
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
