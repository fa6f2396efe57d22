// Package model is the result of one run or of several: everything that a reader may be shown, and
// nothing that is not. Package tell makes it from run directories; text, page, Markdown and
// every export only format it. No judgement is made after it. Its JSON (`assay report --format
// json`) is described by the schema in docs/result.schema.json and by docs/result.md.
//
// A pointer that is nil means "not measured": it is shown as "–", never as zero. Statements are
// messages (package finding): code and parameters, whose sentence the JSON has as text.
package model

import (
	"cmp"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// Version is that of the JSON form. It grows when a field changes its meaning or goes.
const Version = 2

// Result is what runs say.
type Result struct {
	Version int     `json:"version"`
	Title   string  `json:"title"`
	Summary Summary `json:"summary"`
	Runs    []Run   `json:"runs"`

	Tables   []Table           `json:"tables"`            // strongest class first; in it the experiment's cells, then phases
	Effects  []Effect          `json:"effects,omitempty"` // of the axes of a factorial
	Scaling  []Scaling         `json:"scaling,omitempty"` // of stores over an axis of load or size, where a law explains it
	Findings []finding.Finding `json:"findings"`          // gravest first
	Groups   []Group           `json:"groups"`            // the findings folded: one line a cause, gravest first

	PowerCuts []PowerCuts `json:"power_cuts,omitempty"` // that were made of the run's stores, in its classes

	Stores      []Store           `json:"stores"`
	Trials      []Trial           `json:"trials"`
	Environment []Fact            `json:"environment"`
	Resources   []Resource        `json:"resources"` // what Series.Beside may hold
	Matrix      Matrix            `json:"matrix"`
	Gaps        []finding.Message `json:"gaps,omitempty"` // what is missing in the run directory
}

// Effect is what an axis of a run does.
type Effect struct {
	Run string `json:"run"`
	facts.Effect
}

// Scaling is how a store of a run scales.
type Scaling struct {
	Run string `json:"run"`
	facts.Scaling
}

// PowerCuts is what cuts have shown of an arm in a class.
type PowerCuts struct {
	Run   string `json:"run"`
	Arm   string `json:"arm"`
	Class string `json:"class"`
	record.Proof
}

// Change names what changes: "handles per_operation instead of handles pool(4)", or an interaction.
func (e *Effect) Change() string {
	return finding.Text(finding.New(finding.EffectParams{From: e.From, To: e.To}))
}

// Run is a run directory.
type Run struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	About         string         `json:"about,omitempty"`
	Question      string         `json:"question,omitempty"` // of About
	Created       time.Time      `json:"created"`
	Seconds       float64        `json:"seconds"` // that its trials took
	Hash          string         `json:"hash"`    // of the resolved experiment
	Seed          uint64         `json:"seed"`
	Blocks        int            `json:"blocks"`
	Counts        Counts         `json:"trials"`
	Command       string         `json:"command,omitempty"` // that does the run again, quoted for a POSIX shell
	Directory     string         `json:"directory"`         // as it was opened
	Base          string         `json:"base"`              // from the report to it: "" or a relative URL that ends in "/"
	Interruptions []Interruption `json:"interruptions,omitempty"`
}

// Interruption is one time that a run was stopped and taken up again.
type Interruption struct {
	At     time.Time `json:"at"`
	Signal string    `json:"signal,omitempty"`
}

// Counts are planned trials by how they ended.
type Counts struct {
	Planned     int `json:"planned"`
	OK          int `json:"ok"`
	Marked      int `json:"marked"`
	Failed      int `json:"failed"`
	Refused     int `json:"refused"`
	Interrupted int `json:"interrupted"`
	Missing     int `json:"missing"`
	Repeated    int `json:"repeated"` // run again because the machine had spoilt them
}

// Summary is the one screen: the question and its answer.
type Summary struct {
	Question string            `json:"question"` // the experiment's own words, one paragraph; of several runs each has its own
	Ran      finding.Message   `json:"ran"`      // what was run, in a line
	On       []finding.Message `json:"on"`       // machine and versions, each once
	Sections []Section         `json:"sections"` // strongest durability class first
	Answer   []finding.Message `json:"answer"`   // the preset's question in its own terms, where it has some
	Clear    []finding.Message `json:"clear"`
	NotClear []finding.Message `json:"not_clear"`
	Checked  []finding.Message `json:"checked"` // what of data and classes was verified
	Badges   []finding.Message `json:"badges"`  // the same in a few words
	Trust    []finding.Message `json:"trust"`   // what disturbs the figures: one line a cause
	Next     []Next            `json:"next"`    // the command that would help most comes first
}

// List is a titled list of the summary.
type List struct {
	Heading  finding.Bare
	Messages []finding.Message
}

// Title is the list's heading.
func (l List) Title() string { return finding.Text(finding.New(l.Heading)) }

// Lists returns what stands beneath the tables, in the order of the screen.
func (s Summary) Lists() []List {
	return []List{{finding.HeadingAnswer, s.Answer}, {finding.HeadingClear, s.Clear}, {finding.HeadingNotClear,
		s.NotClear},
		{finding.HeadingChecked, s.Checked}, {finding.HeadingTrust, s.Trust}}
}

// Next is something to do.
type Next struct {
	Command string          `json:"command"` // quoted for a POSIX shell
	Why     finding.Message `json:"why"`
}

// Section is one durability class on the one screen.
type Section struct {
	Run     string            `json:"run"`
	Class   string            `json:"class"`           // "D2(1s)"
	Title   string            `json:"title"`           // "survives a power cut (D3)"
	Cell    string            `json:"cell"`            // label of the cell that the grid shows; "" where there is one cell, or each is a column
	Phase   string            `json:"phase,omitempty"` // of all columns, where each is a cell
	Unit    string            `json:"unit"`            // of columns whose titles say none; "": stores did not hold their rate, and the columns are early, late, broke at
	Columns []SectionColumn   `json:"columns"`         // phases where rates were held, or cells of one; otherwise early, late, broke at, with
	Rows    []SectionRow      `json:"rows"`            // by the column that is sorted, highest first; latencies by the first, shortest first
	Changes []finding.Message `json:"changes"`         // what is different in the other cells of the class
	Missing []finding.Message `json:"missing"`         // stores without a row, one line a reason
}

// Of is what stands behind the section's title: the cell, or the phase, that all figures are of.
func (s Section) Of() string { return cmp.Or(s.Cell, s.Phase) }

// SectionColumn is one column of a section's grid.
type SectionColumn struct {
	Kind  string `json:"kind"`            // rate, latency (p99), early, late, broke, with, ratio
	Phase string `json:"phase,omitempty"` // of a rate
	Title string `json:"title"`
	Table string `json:"table,omitempty"` // the Table that it is of

	Sorted bool `json:"sorted,omitempty"` // rows are sorted by it
}

// SectionRow is one store in a section's grid.
type SectionRow struct {
	Arm   string        `json:"arm"`
	Cells []SectionCell `json:"cells"` // one for each column
}

// SectionCell is one figure of a section's grid.
type SectionCell struct {
	Value    *float64 `json:"value"`             // of a rate: operations a second; of a latency: ns; of broke: records; nil: none
	Low      *float64 `json:"low,omitempty"`     // ends of the interval
	High     *float64 `json:"high,omitempty"`    //
	Letters  string   `json:"letters,omitempty"` // cells of a column that share a letter are not significantly different
	Best     bool     `json:"best,omitempty"`    // no other of the column is significantly faster
	Ranked   bool     `json:"ranked"`
	Unsteady bool     `json:"unsteady,omitempty"` // its rate fell or did not settle: it is that of the whole phase
	Text     string   `json:"text,omitempty"`     // in place of a figure: "no batches", "failed", a resource's name
}

// Group is the findings of one code and severity, and what they explain.
type Group struct {
	Key      string           `json:"key"` // unique in the result
	Code     finding.Code     `json:"code"`
	Severity finding.Severity `json:"severity"` // the gravest, of what they explain as well
	Text     string           `json:"text"`
	Remedy   string           `json:"remedy,omitempty"`
	Answer   bool             `json:"answer,omitempty"`  // of the question, rather than of the trust in its figures
	Of       []int            `json:"of"`                // positions in Result.Findings
	Effects  []int            `json:"effects,omitempty"` // likewise, of those whose Finding.Cause is this code
}

// Fact is a name and what is known of it.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Store is an arm as it was configured.
type Store struct {
	Run       string   `json:"run"`
	Arm       string   `json:"arm"`
	Driver    string   `json:"driver"`
	Summary   string   `json:"summary,omitempty"`
	Library   string   `json:"library,omitempty"`
	Version   string   `json:"version,omitempty"`
	Licence   string   `json:"licence,omitempty"`
	Note      string   `json:"note,omitempty"`
	Options   []Fact   `json:"options,omitempty"`  // that the experiment sets
	Changed   string   `json:"changed,omitempty"`  // "options changed from default: …", or "all defaults"
	Claims    []Fact   `json:"claims,omitempty"`   // durability class → how it is reached, in the library's words
	Settings  []Fact   `json:"settings,omitempty"` // in force, as the store reported them
	Abilities []string `json:"abilities,omitempty"`
	Program   *Program `json:"program,omitempty"` // absent: Assay started no server of it
}

// Program is that of the server which Assay started for the arm's trials.
type Program struct {
	Path    string `json:"path"`
	Product string `json:"product,omitempty"` // that it tells to be; absent, with SHA256: of a run that is older
	Version string `json:"version"`
	SHA256  string `json:"sha256,omitempty"`
	Commit  string `json:"commit,omitempty"` // of which Assay built it
}

// Matrix is every planned trial: rows are arms, columns are cells, a square has a trial each block.
type Matrix struct {
	Cells []string    `json:"cells"`
	Rows  []MatrixRow `json:"rows"`
}

// MatrixRow is one arm.
type MatrixRow struct {
	Arm     string     `json:"arm"`
	Squares [][]string `json:"squares"` // a cell each: keys into Result.Trials, by block
}

// Trial is one planned trial, whatever became of it.
type Trial struct {
	Key     string            `json:"key"` // unique in the result
	ID      string            `json:"id"`
	Run     string            `json:"run"`
	Arm     string            `json:"arm"`
	Role    string            `json:"role"`
	Cell    string            `json:"cell"` // label
	Class   string            `json:"class"`
	Block   int               `json:"block"`
	Again   int               `json:"again,omitempty"` // which repeat of a spoilt trial this is; 0: the first try
	State   string            `json:"state"`           // of record.State, or "planned" if it never began
	Reasons []finding.Message `json:"reasons,omitempty"`
	Link    string            `json:"link,omitempty"` // from the report to its folder, "/" at the end
	Phases  []Phase           `json:"phases,omitempty"`
	Final   *Final            `json:"final_check,omitempty"`
}

// Final is what a trial's last phase found when it read records back.
type Final struct {
	Records uint64 `json:"records"`            // read back
	NotRead uint64 `json:"not_read,omitempty"` // the check was given up: the store did not answer
	Of      uint64 `json:"of"`                 // that there should be
	Right   uint64 `json:"right"`
	Lost    uint64 `json:"lost"`
	Stale   uint64 `json:"stale"`
	Wrong   uint64 `json:"wrong"`
	Errors  uint64 `json:"errors"`
	Unknown uint64 `json:"unknown"` // values too short to prove their version
}

// Phase is one phase of a trial.
type Phase struct {
	Name            string   `json:"name"`
	Measured        bool     `json:"measured"`
	Seconds         float64  `json:"seconds"`
	Rate            float64  `json:"rate"`   // operations that ended well, a second: after the warm-up, or over the whole phase
	Steady          bool     `json:"steady"` // rate is that after the warm-up
	Attempted       uint64   `json:"attempted"`
	Bad             uint64   `json:"bad"`
	Latency         []Point  `json:"latency"`
	LatencyOneIn    uint64   `json:"latency_one_in,omitempty"` // of so many operations one was timed; 0: all were
	LogicalBytes    *float64 `json:"logical_bytes"`
	DiskBytes       *float64 `json:"disk_bytes"`
	HostWriteBytes  *float64 `json:"host_write_bytes"`
	MemoryBytes     *float64 `json:"memory_bytes"`
	AllocBytes      *float64 `json:"alloc_bytes_per_op"`
	Allocs          *float64 `json:"allocs_per_op"`
	HostWriteSource string   `json:"host_write_source,omitempty"`
}
