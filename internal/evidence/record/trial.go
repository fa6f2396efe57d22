// Package record is the run directory: append-only while trials run, and complete enough that
// reports, comparisons and findings need nothing else. docs/run-directory.md describes every file.
//
// Written:
//
//	create.go, resume.go, lock.go  a run directory made, or gone on with, by one process at a time
//	writer.go, trialwriter.go      what is written while the run goes on
//	data.go, quota.go              the stores' files, which are no part of it
//	boundedlog.go, heldlines.go, room.go  logs and series where the disk is full
//	files.go, digest.go            how files are written and sealed
//
// What is in it:
//
//	run.go, trial.go                   the run, a trial
//	phase.go, operation.go, machine.go  a phase: operations, what it used, what disturbed it
//	finalcheck.go                      what was read back
//	sample.go, resource.go, values.go  a sample
//	server.go, serverfault.go, process.go, said.go  servers, their faults, processes, a store's words
//	groups.go, overtime.go, capacity.go, collection.go  groups, rates over time, searches, collectors
//
// Read, by any later version:
//
//	open.go, read.go, series.go  all of it, also damaged; follow.go: while it is written
//	find.go                      run directories below a folder
//	fault.go, check.go           what is not as Assay wrote it
//	marks.go, plausible.go, durable.go, disturbed.go, verified.go  what its counts say against a trial
package record

import (
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/proof"
	"assay/internal/experiment/plan"
	"assay/store"
)

// State is how a trial ended.
type State string

const (
	OK          State = "ok"
	Marked      State = "marked"      // it ended, but something in it forbids ranking: see Marks
	Failed      State = "failed"      // it did not end: the worker died, hung, or the store failed
	Refused     State = "refused"     // the store can't do what the cell asks
	Interrupted State = "interrupted" // stopped by the user, or others filled the disk; --resume does it again
)

// Trial is the result of a trial: trials/ID/trial.json, written once, when the trial has ended.
type Trial struct {
	// The trial's entry of plan.json.
	Plan plan.Trial `json:"plan"`
	// How it ended: ok; marked (it ended, but may not be ranked); failed (the worker died or hung, or the
	// store failed); refused (the store can't do it); interrupted (by the user, or because others filled
	// the disk).
	State State `json:"state"`
	// Why it failed, was refused or interrupted: one of the causes of docs/run-directory/marks.csv.
	Cause finding.Code `json:"cause,omitempty"`
	// What the worker, the store or the system said of the cause.
	Error string `json:"error,omitempty"`
	// What forbids ranking it.
	Marks   []finding.Mark `json:"marks,omitempty"`
	Started time.Time      `json:"started"` // time of day
	// Length of the whole trial, opening and closing the store included.
	Seconds float64 `json:"seconds"`

	// The wait before the trial. Nil: its phases take less than a second, or go by a number of operations.
	Settled *Settled `json:"settled,omitempty"`
	// Of the store's library or server, as it says itself.
	Version string `json:"version,omitempty"`
	// The settings in force, as the store reports them. What a native engine can't tell is as given, and ends
	// in "(asked)".
	Settings map[string]string `json:"settings,omitempty"`
	// The server that Assay started for the trial, or the several that make its store. Nil: none.
	Server *Server `json:"server,omitempty"`
	// A number in the check of every value that the trial wrote: docs/worker-contract.md, section 1.3.
	Tag uint32 `json:"trial_tag,omitempty"`
	// What the trial's keys began with, on a server. "": nothing.
	Namespace string `json:"key_namespace,omitempty"`
	// What power cuts had shown of the class when the trial ran. Nil: none was tried.
	Proof *Proof `json:"proof,omitempty"`
	// What kills of the process had shown of the class. Nil: none was tried.
	Kills *Proof `json:"kill_proof,omitempty"`
	// What the driver can do, probed when it was opened.
	Abilities store.Abilities `json:"abilities"`
	// What memory the trial might use, and what it did with its limit. Nil: not measured.
	Memory *Memory `json:"memory,omitempty"`
	// How long each opening of the store took: before the load, and before what is measured.
	OpenSeconds []float64 `json:"open_seconds,omitempty"`
	// What the trial left changed on a server that outlives it. What the server told of itself before the
	// first phase is not among it. Absent: nothing is known.
	Left []store.Left `json:"left,omitempty"`
	// The most connections to the servers that the worker's processes still held 3 s after they had closed
	// the store, between phases or at the end.
	ConnectionsLeft int `json:"connections_left,omitempty"`
	// How the store said that it answers each query.
	Plans []QueryPlan `json:"plans,omitempty"`
	// A result for each phase, in order.
	Phases []Phase `json:"phases"`
	// What was found when records were read back at the end. Nil: nothing was read back.
	Final *FinalCheck `json:"final_check,omitempty"`

	// The file system of its own that the store had (`disk_quota_by: mount`). Nil: the store's files stood
	// on the file system of environment.json, or it has none.
	QuotaMount *QuotaMount `json:"quota_mount,omitempty"`

	// Lines of series.jsonl for which a full disk had no room. Operations and phases are counted elsewhere:
	// they are whole.
	SamplesMissing uint64 `json:"samples_missing,omitempty"`
	// Bytes of worker.log, below its limit, for which a full disk had no room.
	LogBytesMissing uint64 `json:"log_bytes_missing,omitempty"`

	// Series of docs/run-directory/telemetry.csv that this trial's samples lack, or lack from some moment
	// on → why.
	NotMeasured map[string]string `json:"not_measured,omitempty"`
}

// ClosePatience is how long connections may take to end after the store was closed.
const ClosePatience = 3 * time.Second

// Settled is how long a trial waited for the machine to be at rest, as it was before the first trial of the
// run, or of its part since `--resume`. What a trial left, such as dirty pages, slows the next one. At rest
// at most 16 MiB more pages are dirty, a quarter of a request more is at the device, and 10 % more of the
// CPU time is used. The wait is at most a tenth of what the trial's phases take, and 10 s. It is in no
// figure of the trial, seconds included.
type Settled struct {
	Seconds      float64 `json:"seconds"`       // waited; 0: the first trial
	LimitSeconds float64 `json:"limit_seconds"` // the longest wait that was allowed
	// What was left when the trial began.
	Left host.Left `json:"left"`
	// What was still above rest: dirty, queue, cpu.
	NotBack []string `json:"not_back,omitempty"`
}

// Proof is what cuts (docs/durability.md) had shown of the store in the class of the trial when the trial
// ran: of power in the classes D2 and D3, of the process in D1.
type Proof struct {
	Kept bool `json:"kept"` // the promise of the class; false: it is refuted
	Cuts int  `json:"cuts"` // how many were made
	// Records that were read back after the cuts, over all of them.
	Records uint64 `json:"records_read_back,omitempty"`
	// Of the cuts, with its mount options.
	FileSystem string    `json:"file_system"`
	Why        string    `json:"why,omitempty"` // it is refuted
	Made       time.Time `json:"made"`          // time of day
	// What in the trial is not as in the cuts, which then prove and refute nothing of it: program, version,
	// options, settings, servers, file-system, mount-options. Nil: they are of what ran.
	Differs []string `json:"differs,omitempty"`
	// D1 says nothing of power, so that nothing is kept or refuted.
	NoPromise bool `json:"no_promise,omitempty"`
	proof.Measure
}

// Proves reports whether cuts of what ran have kept the promise of its class.
func (p *Proof) Proves() bool { return p != nil && p.Kept && !p.NoPromise && len(p.Differs) == 0 }

// Refutes reports whether a cut of what ran has broken it.
func (p *Proof) Refutes() bool { return p != nil && !p.Kept && len(p.Differs) == 0 }

// ProofOf is what the cuts have shown that can prove the trial's class: kills of the process for D1, and
// power cuts for D2 and D3; nil: none was tried.
func (t *Trial) ProofOf(class store.Durability) *Proof {
	if class == store.D1 {
		return t.Kills
	}
	return t.Proof
}

// QueryPlan is how the store said that it answers a query or a count. It is asked once for each of a trial,
// after the first phase that asks it, with the values that it had first.
type QueryPlan struct {
	Phase     string `json:"phase"`     // after which the store was asked
	Operation string `json:"operation"` // query or count
	Position  int    `json:"position"`  // which of the experiment's queries
	// What the indexes do: finds (an index finds the records by a condition), orders (it gives all in the
	// query's order, up to its limit), none (every record is looked at). Absent: not told.
	Use store.IndexUse `json:"use,omitempty"`
	// The indexes that are used, by the store's names. "": none.
	Index string `json:"index,omitempty"`
	Plan  string `json:"plan,omitempty"`     // in the store's words
	Why   string `json:"not_told,omitempty"` // why the store did not say; "": it did
}

// Memory is what memory the trial might use, page cache included, and what it did with its limit. All but
// bytes are absent without a limit, too.
type Memory struct {
	// What the trial might use: its limit or, without one, the machine's memory (or that of the container
	// that all of Assay is in).
	Bytes      *uint64 `json:"bytes"`
	LimitBytes *uint64 `json:"limit_bytes,omitempty"` // the limit that was set
	PeakBytes  *uint64 `json:"peak_bytes,omitempty"`  // the most that counted against it
	// Times that the limit was reached and room had to be made within it.
	LimitHits *uint64 `json:"limit_hits,omitempty"`
	// Processes of the trial that the kernel killed because no room could be made: the trial has failed.
	Kills *uint64 `json:"kills,omitempty"`
}

// QuotaMount is the file system of its own that a trial's store had, of the size of the cell's disk
// quota.
type QuotaMount struct {
	FileSystem string `json:"filesystem"` // ext4 or tmpfs
	// How it was made: loop (in an image file, over a loop device) or tmpfs (in memory).
	By    string `json:"by"`
	Bytes uint64 `json:"bytes"` // the disk quota: size of the image or of the tmpfs
	// Of these, what was free for the store's files when the trial began: the file system keeps the rest
	// for itself.
	UsableBytes uint64 `json:"usable_bytes"`
	// Of a tmpfs: that its pages count as memory, and why there was no loop device.
	Caution string `json:"caution,omitempty"`
}

// Environment is the machine and the programs, sealed when the run begins: environment.json. "" or
// 0: not known.
type Environment = host.Environment
