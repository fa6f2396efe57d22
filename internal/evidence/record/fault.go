package record

import (
	"fmt"

	"assay/internal/base/finding"
)

// Fault is something in a run directory that is not as Assay wrote it, or that Assay could not
// write.
type Fault struct {
	Code  string // one of the Fault… constants
	File  string // relative to the run directory; "": of several
	Trial string // its ID; "": of the run as a whole
	What  string // what is wrong with it, as a sentence without its subject's name
}

// The codes of faults.
const (
	FaultMissing    = "file-missing"    // a file of the run is not there
	FaultUnreadable = "file-unreadable" // it, or a line of it, is no JSON of the kind; or it is no regular file, or too large
	FaultCut        = "line-cut"        // the last line was written by half: a kill or a full disk
	FaultChanged    = "file-changed"    // its digest is not the one that was sealed
	FaultImpossible = "file-impossible" // it says what can't be
	FaultNoRoom     = "no-room"         // a full disk kept samples or lines of the log from being written
)

// Spoils says whether a fault of a trial keeps it from being ranked.
func (f Fault) Spoils() bool {
	return f.Trial != "" && (f.Code == FaultChanged || f.Code == FaultImpossible || f.Code == FaultUnreadable)
}

func (r *Run) fault(code, file, trial, what string) {
	r.Faults = append(r.Faults, Fault{code, file, trial, what})
	r.Missing = append(r.Missing, fmt.Sprintf("%s: %s", file, what))
}

// markFaults marks the trials whose files are not what was recorded: they are shown, and not
// ranked.
func (r *Run) markFaults() {
	for _, f := range r.Faults {
		trial := r.Trials[f.Trial]
		if trial == nil || !f.Spoils() {
			continue
		}
		if trial.State == OK {
			trial.State = Marked
		}
		trial.Marks = append(trial.Marks, finding.Mark{Message: finding.New(finding.MarkDamagedParams{File: f.File,
			Text: f.What})})
	}
}
