// Package control is the JSON lines between conductor and worker: section 4 of
// docs/worker-contract.md.
//
// # Decisions
//
//   - prepare and run are two messages: mapping files, opening handles and making pools is in no
//     phase's time.
package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"assay/internal/base/format"
	"assay/internal/base/secret"
	"assay/internal/experiment/keyval"
	"assay/store"
)

// Contract is the version of the worker contract.
const Contract = 4

// LineBytesMax bounds a message.
const LineBytesMax = 16 << 20

// The commands.
const (
	CommandDescribe = "describe"
	CommandOpen     = "open"
	CommandDefine   = "define"
	CommandPrepare  = "prepare"
	CommandRun      = "run"
	CommandInspect  = "inspect"
	CommandExplain  = "explain"
	CommandSync     = "sync"
	CommandRemove   = "remove"
	CommandClose    = "close"
)

// Request is what the conductor says. Exactly the part that belongs to the command is set.
type Request struct {
	ID      int64    `json:"id"`
	Command string   `json:"command"`
	Open    *Open    `json:"open,omitempty"`
	Define  *Define  `json:"define,omitempty"`
	Prepare *Prepare `json:"prepare,omitempty"`
	Explain *Explain `json:"explain,omitempty"`
	Run     *Run     `json:"run,omitempty"`
	Remove  *Remove  `json:"remove,omitempty"`
}

// RemovePrefixMin is the least length in bytes of the begin of keys that are deleted by it: a mistake of
// fewer would take a stranger's keys.
const RemovePrefixMin = 8

// Remove deletes about AtMost records whose keys begin with Prefix, between phases.
type Remove struct {
	Prefix string `json:"prefix"`
	AtMost int    `json:"at_most"`
}

// Removed is what came of it; 0: there are none any more.
type Removed struct {
	Records int `json:"records"`
}

// Open asks for a store.
type Open struct {
	Driver string `json:"driver"`
	// First is true at the trial's first opening, and only there: what a driver does to a store
	// once a trial (emptying it), it does then.
	First        bool              `json:"first,omitempty"`
	Directory    string            `json:"directory,omitempty"`
	Endpoints    []string          `json:"endpoints,omitempty"`
	Durability   store.Durability  `json:"durability"`
	LossWindowNS int64             `json:"loss_window_ns,omitempty"`
	Options      map[string]string `json:"options,omitempty"`
	Handles      string            `json:"handles"`
	PoolHandles  int               `json:"pool_handles,omitempty"`
	Pipeline     int               `json:"pipeline,omitempty"` // operations on the way at once on each asynchronous handle
	Threads      int               `json:"threads"`
}

// Define gives the records columns, asks for indexes, and names the queries of all phases: sections
// 1.5 and 1.6.
type Define struct {
	Columns []keyval.Column `json:"columns"`
	Indexes []Index         `json:"indexes,omitempty"`
	Queries []keyval.Query  `json:"queries,omitempty"` // an entry names one by its position
}

// Index asks for an index of a column.
type Index struct {
	Column string          `json:"column"`
	Kind   store.IndexKind `json:"kind"`

	Descending bool `json:"descending,omitempty"`
}

// The ways to share handles.
const (
	HandlesShared       = "shared"
	HandlesPerThread    = "per_thread"
	HandlesPool         = "pool"
	HandlesPerOperation = "per_operation"
	HandlesAsync        = "async" // one a thread of the trace; one OS thread drives many
)

// Prepare asks for a phase: files are mapped, handles opened, threads made ready.
type Prepare struct {
	Phase    string `json:"phase"`
	Number   int    `json:"number"`
	Trace    string `json:"trace"`
	Counters string `json:"counters"`
	History  string `json:"history,omitempty"` // where the trace has recorded entries
	// Lives is the path of the lives file; "": no value of the trial has a TTL, and no miss is filled.
	Lives string `json:"lives,omitempty"`

	Keys          keyval.KeyShape   `json:"keys"`
	Values        keyval.ValueShape `json:"values"`
	ZeroVersions  bool              `json:"zero_versions,omitempty"`
	Verify        bool              `json:"verify"`
	LoadedRecords uint64            `json:"loaded_records"`
	MustHitBelow  uint64            `json:"must_hit_below"`
	DeadlineNS    int64             `json:"deadline_ns,omitempty"`
	Clock         string            `json:"clock"`

	// Several processes may do a phase together: this one, whose number Process is, does ThreadCount
	// threads of the trace from FirstThread on. ThreadCount 0: it does all of them.
	Process     int `json:"process,omitempty"`
	FirstThread int `json:"first_thread,omitempty"`
	ThreadCount int `json:"thread_count,omitempty"`
}

// Run lets a prepared phase go.
type Run struct {
	// StartNS is the phase's start on CLOCK_MONOTONIC, the same for all of its processes.
	StartNS int64 `json:"start_ns"`
}

// Explain asks how the store answers a query of define.
type Explain struct {
	Query int    `json:"query"`           // position in define
	Count bool   `json:"count,omitempty"` // how it counts rather than finds
	Index uint64 `json:"index"`           // of the record whose values the query has
}

// Reply is what a worker answers.
type Reply struct {
	ID     int64           `json:"id"`
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Error is why a worker did not do what was asked.
type Error struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// The classes of an error.
const (
	ClassBadRequest = "bad_request"
	ClassRefused    = "refused"
	ClassFailed     = "failed"
)

func (e *Error) Error() string { return e.Message }

// Described is the result of describe.
type Described struct {
	Contract int                 `json:"contract"`
	Worker   string              `json:"worker"`
	Language string              `json:"language"`
	Drivers  []store.Description `json:"drivers"`
}

// Prepared is the result of prepare.
type Prepared struct {
	// Stats are the names of the store's own counters that the worker will write into the counters
	// file while the phase runs, in the order of their words there; none: it does not.
	Stats []string `json:"stats,omitempty"`
}

// Opened is the result of open.
type Opened struct {
	Abilities store.Abilities   `json:"abilities"`
	Settings  map[string]string `json:"settings"`
	Version   string            `json:"version"`
	// Held is how many records a server said that it held before it was opened, emptied or not;
	// nil: it did not say.
	Held *uint64 `json:"held,omitempty"`
	// Eventual is as in the driver's description, where its options decide.
	Eventual bool `json:"eventual,omitempty"`
}

// Ran is the result of run: what the worker's language can tell about the phase.
type Ran struct {
	Runtime map[string]float64 `json:"runtime"`
}

// Inspected is the result of inspect.
type Inspected struct {
	Stats    map[string]float64 `json:"stats,omitempty"`
	Busy     bool               `json:"busy"`
	Settings map[string]string  `json:"settings,omitempty"`
	// Durability is what the server says that the class rests on, asked now; nil: it can't be asked.
	Durability *store.DurabilityEvidence `json:"durability,omitempty"`
	// Left is what stays on the server when the work is over: [store.Inspection].
	Left []store.Left `json:"left,omitempty"`
}

// Explained is the result of explain: [store.Plan].
type Explained struct {
	Use   store.IndexUse `json:"use,omitempty"`
	Index string         `json:"index,omitempty"`
	Plan  string         `json:"plan,omitempty"`
}

// A store's texts are bounded when they are received: they go into every report.
const (
	namesMax         = 1000
	settingsBytesMax = 64 << 10
	planBytesMax     = 1000
	leftMax          = 10 // states of a server, and commands that undo one
	leftBytesMax     = 300
)

// Bound cuts the message.
func (e *Error) Bound() { e.Message = format.Clean(secret.Text(e.Message)) }

// Bound cuts the texts. Settings beyond [settingsBytesMax] are left out, and counted in one of
// their own.
func (o *Opened) Bound() {
	o.Version = format.CleanMax(o.Version, 200)
	o.Settings = boundSettings(o.Settings)
}

// Bound cuts the texts, and leaves out what is beyond [namesMax].
func (i *Inspected) Bound() {
	i.Stats, i.Settings = boundNumbers(i.Stats), boundSettings(i.Settings)
	if d := i.Durability; d != nil {
		d.Broken, d.Unknown, d.Counter = format.Clean(d.Broken), format.Clean(d.Unknown), format.CleanMax(d.Counter,
			200)
	}
	i.Left = i.Left[:min(len(i.Left), leftMax)]
	for n := range i.Left {
		left := &i.Left[n]
		left.State, left.Undo = format.CleanMax(left.State, leftBytesMax), left.Undo[:min(len(left.Undo), leftMax)]
		for u := range left.Undo {
			left.Undo[u] = format.CleanMax(left.Undo[u], leftBytesMax)
		}
	}
}

// Bound cuts the texts, and makes of a use that the contract does not have one that is not told.
func (e *Explained) Bound() {
	switch e.Use {
	case store.IndexFinds, store.IndexOrders, store.IndexNone:
	default:
		e.Use = store.IndexUntold
	}
	e.Index, e.Plan = format.CleanMax(e.Index, 200), format.CleanMax(e.Plan, planBytesMax)
}

// Bound leaves out what is beyond [namesMax].
func (r *Ran) Bound() { r.Runtime = boundNumbers(r.Runtime) }

// Bound cuts the names.
func (p *Prepared) Bound() {
	p.Stats = p.Stats[:min(len(p.Stats), namesMax)]
	for i, name := range p.Stats {
		p.Stats[i] = format.CleanMax(name, 200)
	}
}

func boundSettings(all map[string]string) map[string]string {
	if all == nil {
		return nil
	}
	bounded, bytes, left := map[string]string{}, 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		short, value := format.CleanMax(name, 200), format.Clean(all[name])
		if bytes += len(short) + len(value); bytes > settingsBytesMax || len(bounded) >= namesMax {
			left++
			continue
		}
		bounded[short] = value
	}
	if left > 0 {
		bounded["(cut)"] = fmt.Sprintf("%d more settings", left)
	}
	return bounded
}

func boundNumbers(all map[string]float64) map[string]float64 {
	if all == nil {
		return nil
	}
	bounded := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(bounded) < namesMax {
			bounded[format.CleanMax(name, 200)] = all[name]
		}
	}
	return bounded
}

// ErrLineTooLong is returned for a message of more than LineBytesMax bytes.
var ErrLineTooLong = errors.New("control message is longer than 16 MiB")

// Lines reads messages, one a line.
type Lines struct{ scanner *bufio.Scanner }

// NewLines reads from r.
func NewLines(r io.Reader) *Lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), LineBytesMax)
	return &Lines{scanner: s}
}

// Next returns the next line that is not blank, or io.EOF.
func (l *Lines) Next() ([]byte, error) {
	for l.scanner.Scan() {
		if line := bytes.TrimSpace(l.scanner.Bytes()); len(line) > 0 {
			return line, nil
		}
	}
	if err := l.scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, ErrLineTooLong
	} else if err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// ParseRequest reads a request strictly: an unknown field is an error, so that a newer conductor is
// never half understood.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	if err := strict(line, &r); err != nil {
		return r, fmt.Errorf("control request: %w", err)
	}
	switch r.Command {
	case CommandDescribe, CommandRun, CommandInspect, CommandSync, CommandClose:
	case CommandOpen:
		if r.Open == nil {
			return r, fmt.Errorf("control request: open without its fields")
		}
	case CommandDefine:
		if r.Define == nil {
			return r, fmt.Errorf("control request: define without its fields")
		}
	case CommandPrepare:
		if r.Prepare == nil {
			return r, fmt.Errorf("control request: prepare without its fields")
		}
	case CommandRemove:
		if r.Remove == nil {
			return r, fmt.Errorf("control request: remove without its fields")
		}
	case CommandExplain:
		if r.Explain == nil {
			return r, fmt.Errorf("control request: explain without its fields")
		}
	default:
		return r, fmt.Errorf("control request: unknown command %q", r.Command)
	}
	for _, part := range []struct {
		command string
		there   bool
	}{{CommandOpen, r.Open != nil}, {CommandPrepare, r.Prepare != nil}, {CommandDefine, r.Define != nil},
		{CommandExplain, r.Explain != nil}, {CommandRun, r.Run != nil}} {
		if part.there && part.command != r.Command {
			return r, fmt.Errorf("control request: %s with the fields of %s", r.Command, part.command)
		}
	}
	return r, nil
}

// ParseReply reads a reply. Unknown fields are passed over: a worker may say more than it is asked.
func ParseReply(line []byte) (Reply, error) {
	var r Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("control reply %.200q: %w", line, err)
	}
	switch {
	case !r.OK && r.Error == nil:
		return r, fmt.Errorf("control reply %.200q: not ok, but without an error", line)
	case r.OK && r.Error != nil:
		return r, fmt.Errorf("control reply %.200q: ok, but with an error", line)
	}
	if r.Error != nil {
		r.Error.Bound()
	}
	return r, nil
}

func strict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF { // d.More would pass over a stray bracket
		return errors.New("more than one JSON value on the line")
	}
	return nil
}

// Write writes one message as a line.
func Write(w io.Writer, message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
