package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/plan"
	"assay/internal/record"
)

// Finding is a statement that the data supports.
type Finding struct {
	Code     string   `json:"code"` // one of the Find… constants, or of record's Mark… constants
	Severity Severity `json:"severity"`
	Sentence string   `json:"sentence"`
	Evidence []string `json:"evidence,omitempty"`      // sentences with trial IDs and figures; at most evidenceMax
	More     int      `json:"evidence_more,omitempty"` // how many like them are left out of Evidence
	Remedy   string   `json:"remedy,omitempty"`
	Where    Where    `json:"where"`
}

// Where is the place that a finding speaks of. What is unset is not narrowed.
type Where struct {
	Cell  *int   `json:"cell,omitempty"` // position in Experiment.Cells
	Class string `json:"class,omitempty"`
	Phase string `json:"phase,omitempty"`
	Arm   string `json:"arm,omitempty"`
}

// Severity is how much a finding matters.
type Severity string

// The severities, gravest first.
const (
	Grave   Severity = "grave"   // data was lost or wrong, or an arm has no figure
	Warning Severity = "warning" // a figure must not be read as it stands
	Notice  Severity = "notice"  // what a reader should know
)

var severities = []Severity{Grave, Warning, Notice}

// The codes of findings; a mark's code is that of its finding.
const (
	FindFailed        = "trial-failed"
	FindRefused       = "refused"
	FindMissing       = "trials-missing"
	FindIncomplete    = "run-incomplete"
	FindHarnessBound  = "harness-bound"
	FindHarnessShare  = "harness-share"
	FindOtherHarness  = "other-harness"
	FindKeptData      = "server-not-emptied"
	FindUnsteady      = "no-steady-state"
	FindUndecided     = "steadiness-unknown"
	FindStall         = "stall"
	FindDips          = "dips"
	FindCliff         = "cliff"
	FindDecline       = "decline"
	FindKept          = "rate-kept"     // stores whose rate did not fall as their data grew
	FindNotOutgrown   = "not-outgrown"  // their data stayed smaller than the memory
	FindLimitNotMet   = "limit-not-met" // a memory limit that a store never came near
	FindSank          = "sank"          // its last level is far below its first, and no place of a break can be told
	FindTuning        = "tuning"        // what settings did to a fall at the defaults
	FindOscillation   = "oscillation"
	FindClasses       = "durability-classes"
	FindDurabilityPut = "durability-ranks-writes"
	FindCostUntold    = "durability-untold" // what a stronger class costs can't be told
	FindInMemory      = "data-fits-memory"
	FindVolatile      = "nothing-is-synced"
	FindShortRun      = "short-run"
	FindQuotaEnded    = "quota-reached" // a phase ended before its time because the files had reached the disk quota
	FindNoisy         = "machine-noisy"
	FindNoTwin        = "no-noise-measure"
	FindFewTwins      = "noise-of-few-blocks"
	FindNoCeiling     = "no-ceiling"
	FindBusyMachine   = "busy-machine"
	FindThrottling    = "throttling-seen"    // a quota or heat held a worker back, too little to mark the trial
	FindMachineUntold = "machine-not-judged" // what others, quotas or heat took is not known, or not closely enough
	FindShortValues   = "values-too-short"
	FindUntold        = "records-not-judged"
	FindUnverified    = "values-not-checked"
	FindNotReadBack   = "nothing-read-back"
	FindOneBlock      = "one-block"
	FindMemoryLimit   = "memory-limit"
	FindDispatchLate  = "dispatch-late"
	FindPartWork      = "part-of-the-work"   // a phase's time was over before its operations were done
	FindBacklog       = "fell-behind"        // open load that was due and not done
	FindLessWork      = "did-less-work"      // fewer records an operation, or more misses, than the trace or the others
	FindUnweighed     = "work-not-compared"  // likewise, but the data changes with the arm's speed
	FindConflicts     = "operations-refused" // conflicts of operations that asked no condition
	FindNotOnDisk     = "not-on-disk"        // the files are too small for what was acknowledged in a class that survives the process
	FindNotCold       = "not-cold"           // pages stayed in the page cache though they were to be dropped
	FindSettings      = "settings-too-small" // an option, most often at its default, is known to be wrong for this much data
)

// evidenceMax keeps a finding readable where a hundred trials say the same.
const evidenceMax = 4

// findingsOf runs every detector. Each looks for one cause and stays silent without it.
func findingsOf(run *record.Run, s *Summary) []Finding {
	var found []Finding
	for _, detect := range []func(*record.Run, *Summary) []Finding{
		findFaults, findNotOnDisk, findLessWork, findFailed, findRefused, findMissing, findIncomplete,
		findHarness, findOtherHarness, findKeptData, findUnsteady, findUndecided, findCliffs, findDeclines, findSunken, findKept, findLimitNotMet, findTuning, findSettings, findOscillations, findStalls, findDips, findShortRuns, findQuotaEnded, findPartWork, findDispatchLate, findBacklog, findConflicts,
		findNoise, findFewTwins, findOneBlock, findNoCeiling, findBusyMachine, findThrottling, findMachineUntold,
		findClasses, findWriteCosts, findVolatile,
		findInMemory, findNotCold, findMemoryLimit, findShortValues, findUnverified, findNotReadBack,
	} {
		found = append(found, detect(run, s)...)
	}
	for i := range found {
		if more := len(found[i].Evidence) - evidenceMax; more > 0 {
			found[i].Evidence, found[i].More = found[i].Evidence[:evidenceMax:evidenceMax], more
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	return found
}

// eachRow calls visit for each measured arm of each table.
func eachRow(s *Summary, visit func(t *Table, r *Row)) {
	for i := range s.Tables {
		for j := range s.Tables[i].Rows {
			if s.Tables[i].Rows[j].Role == plan.Measured {
				visit(&s.Tables[i], &s.Tables[i].Rows[j])
			}
		}
	}
}

func at(t *Table, arm string) Where {
	return Where{Cell: pointer(t.Cell), Class: t.Class, Phase: t.Phase, Arm: arm}
}

// in names a table in a sentence, its case or size only where the experiment has several.
func in(run *record.Run, t *Table) string { return t.Phase + " at " + cellName(run, t.Cell) }

// cellName names a cell by its class and whatever else tells it from the other cells.
func cellName(run *record.Run, cell int) string {
	return strings.ReplaceAll(run.Experiment.Cells[cell].Label(&run.Experiment), " · ", ", ")
}

// blocksOf says in how many blocks of a row something was seen: "in 2 of 3 blocks"; "" where there is only one.
func blocksOf(seen int, r *Row) string {
	if len(r.Trials) < 2 {
		return ""
	}
	return fmt.Sprintf(" in %d of %d blocks", seen, len(r.Trials))
}
