// Package control is the JSON lines between conductor and worker: section 4 of
// docs/worker-contract.md. docs/worker-contract.schema.json is made from the types and their comments.
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
	"strings"
	"unicode"

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
	ID int64 `json:"id"` // the reply has the same
	// describe, open, define, prepare, run, inspect, explain, sync, remove, close.
	Command string   `json:"command"`
	Open    *Open    `json:"open,omitempty"`    // of open
	Define  *Define  `json:"define,omitempty"`  // of define
	Prepare *Prepare `json:"prepare,omitempty"` // of prepare
	Explain *Explain `json:"explain,omitempty"` // of explain
	Run     *Run     `json:"run,omitempty"`     // of run, where several processes do the phase
	Remove  *Remove  `json:"remove,omitempty"`  // of remove
}

// RemovePrefixMin is the least length in bytes of the begin of keys that are deleted by it: a mistake of
// fewer would take a stranger's keys.
const RemovePrefixMin = 8

// Remove asks to delete records by the begin of their keys, between phases.
type Remove struct {
	Prefix string `json:"prefix"`  // what the keys begin with; at least 8 bytes
	AtMost int    `json:"at_most"` // about how many records
}

// Removed is the result of remove.
type Removed struct {
	Records int `json:"records"` // how many records were deleted; 0: there are none any more
}

// Open asks for a store.
type Open struct {
	Driver string `json:"driver"` // its name in describe
	// True at the trial's first opening, and only there: what a driver does to a store once a trial, such as
	// emptying a server where an option asks for it, it does then.
	First bool `json:"first,omitempty"`
	// Of embedded drivers alone, which write nowhere else. It is there, and empty at the trial's first open.
	Directory string `json:"directory,omitempty"`
	// Of servers: host:port of each or, with unix_sockets, the absolute path of its Unix socket.
	Endpoints []string `json:"endpoints,omitempty"`
	// D0, D1, D2, D3 or D4.
	Durability   store.Durability  `json:"durability"`
	LossWindowNS int64             `json:"loss_window_ns,omitempty"` // of D2
	Options      map[string]string `json:"options,omitempty"`        // those that are set; the rest has its default
	// How threads share handles: shared, per_thread, pool, per_operation, async.
	Handles     string `json:"handles"`
	PoolHandles int    `json:"pool_handles,omitempty"` // of pool: how many, at least 1
	// Of async: operations on the way at once on each handle, at least 1.
	Pipeline int `json:"pipeline,omitempty"`
	Threads  int `json:"threads"` // the most that any phase will have in this process
}

// Define gives the records columns, asks for indexes, and names the queries of all phases: sections
// 1.5 and 1.6.
type Define struct {
	Columns []keyval.Column `json:"columns"`           // 1 to 64
	Indexes []Index         `json:"indexes,omitempty"` // that the store is to make
	// At most 64, the same for all phases. An entry of the trace names one by its position.
	Queries []keyval.Query `json:"queries,omitempty"`
}

// Index asks for an index of a column.
type Index struct {
	Column string `json:"column"` // its name
	// ordered, for types text and integer; or token, for text: each word between spaces or commas is found
	// by itself.
	Kind store.IndexKind `json:"kind"`

	// An ordered one has its largest entries first. A store whose indexes have no direction makes the one
	// that it has.
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
	Phase string `json:"phase"` // its name, for messages
	// 0 to 255; different for each phase since open, otherwise a bad_request.
	Number   int    `json:"number"`
	Trace    string `json:"trace"`    // path of the trace file
	Counters string `json:"counters"` // path of the counters file
	// Path of the history file. It is there if and only if the trace's flags have bit 2, otherwise a
	// bad_request.
	History string `json:"history,omitempty"`
	// Path of the lives file. It is there if and only if the trace's flags have bit 6, otherwise a
	// bad_request.
	Lives string `json:"lives,omitempty"`

	Keys         keyval.KeyShape   `json:"keys"`                    // section 1.2
	Values       keyval.ValueShape `json:"values"`                  // section 1.3
	ZeroVersions bool              `json:"zero_versions,omitempty"` // section 1.3
	Verify       bool              `json:"verify"`                  // check values that are read
	// A word: records of indexes below it were written with version 0.
	LoadedRecords uint64 `json:"loaded_records"`
	// A word: a miss of an index below it is lost. Below it each record is certainly there all through the
	// phase: loaded, or inserted or upserted and acknowledged in an earlier phase, without a delete since or
	// in this trace. It can be above loaded_records.
	MustHitBelow uint64 `json:"must_hit_below"`
	// Threads end at the first operation that ends at or after it, counted from start. 0: none.
	DeadlineNS int64  `json:"deadline_ns,omitempty"`
	Clock      string `json:"clock"` // auto, tsc or monotonic

	// Of several processes: the number of this one in the phase, from 0 on. It is its page of the counters'
	// header.
	Process int `json:"process,omitempty"`
	// Of several processes: the first thread of the trace that this one does. It writes the blocks, the
	// observed versions and the history of its threads alone.
	FirstThread int `json:"first_thread,omitempty"`
	// Of several processes: how many threads of the trace this one does. 0: all.
	ThreadCount int `json:"thread_count,omitempty"`
}

// Run lets a prepared phase go.
type Run struct {
	// The phase's start on CLOCK_MONOTONIC, some milliseconds ahead and the same for all of its processes.
	StartNS int64 `json:"start_ns"`
}

// Explain asks how the store answers a query of define.
type Explain struct {
	Query int    `json:"query"`           // its position in define
	Count bool   `json:"count,omitempty"` // how it is counted rather than found
	Index uint64 `json:"index"`           // of the record whose values the query has
}

// Reply is what a worker answers.
type Reply struct {
	ID     int64           `json:"id"`               // of the request, or 0 where that could not be read
	OK     bool            `json:"ok"`               // it was done
	Result json.RawMessage `json:"result,omitempty"` // the command's result, where it was done
	Error  *Error          `json:"error,omitempty"`  // why it was not done
}

// Error is why a worker did not do what was asked.
type Error struct {
	// bad_request (the request is malformed or out of order), refused (the store can't do this), failed (the
	// store tried and failed).
	Class   string `json:"class"`
	Message string `json:"message"` // for people
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
	Contract int                 `json:"contract"` // version of the worker contract: 4
	Worker   string              `json:"worker"`   // its name and version
	Language string              `json:"language"` // that it is written in
	Drivers  []store.Description `json:"drivers"`  // that it hosts
}

// Prepared is the result of prepare.
type Prepared struct {
	// Names of the store's own counters that the worker will write into the counters file while the phase
	// runs, in the order of their words there (section 3.1); at most 128. None: it does not.
	Stats []string `json:"stats,omitempty"`
}

// Opened is the result of open.
type Opened struct {
	Abilities store.Abilities   `json:"abilities"` // what the open store can do
	Settings  map[string]string `json:"settings"`  // that are in force, as the store reports them
	Version   string            `json:"version"`   // of the library or the server
	// Records that a server said it held before it was opened, emptied or not. Nil: it did not say.
	Held *uint64 `json:"held,omitempty"`
	// As in describe, where the options decide.
	Eventual bool `json:"eventual,omitempty"`
}

// Ran is the result of run: what the worker's language can tell about the phase.
type Ran struct {
	// For Go alloc_bytes, allocs, gc_cycles, gc_pause_ns.
	Runtime map[string]float64 `json:"runtime"`
}

// Inspected is the result of inspect.
type Inspected struct {
	// The store's own counters by name; none: it has none. A server with a quota tells as room_bytes what it
	// still takes before it refuses writes. A cache tells as records_evicted how many records it has removed
	// by itself, evicted or expired: without it, a record that is missing is lost. records_expired are those
	// of them whose time was over.
	Stats map[string]float64 `json:"stats,omitempty"`
	// The store itself knows of work in the background.
	Busy     bool              `json:"busy"`
	Settings map[string]string `json:"settings,omitempty"` // that are in force
	// What the server says that the class rests on, asked now. Nil: it can't be asked.
	Durability *store.DurabilityEvidence `json:"durability,omitempty"`
	// What keeps the server from serving others as before when the work is over.
	Left []store.Left `json:"left,omitempty"`
}

// Explained is the result of explain: how the store says that it answers a query.
type Explained struct {
	// finds (an index finds the records by a condition), orders (an index gives all records in the query's
	// order, up to its limit), none (every record is looked at, or a part of them without an index). Absent:
	// not told.
	Use   store.IndexUse `json:"use,omitempty"`
	Index string         `json:"index,omitempty"` // names of the indexes that are used
	Plan  string         `json:"plan,omitempty"`  // a line in the store's words
}

// A store's texts are bounded when they are received: they go into every report.
const (
	namesMax         = 1000
	settingsBytesMax = 64 << 10
	planBytesMax     = 1000
	leftMax          = 10 // states of a server, and commands that undo one
	leftBytesMax     = 300
	// messageBytesMax bounds what secrets are looked for in: a message of 16 MiB takes seconds.
	messageBytesMax = 64 << 10
)

// Bound cuts the message. What is too long to be looked through for secrets is cut before a word: of a
// login, half a password would not be known as one.
func (e *Error) Bound() {
	text := e.Message
	if len(text) > messageBytesMax {
		text = text[:strings.LastIndexFunc(text[:messageBytesMax], unicode.IsSpace)+1] + "… (cut)"
	}
	e.Message = format.Clean(secret.Text(text))
}

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
