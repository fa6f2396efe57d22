// Package crash cuts stores off in the middle of their work, and holds what they give back against
// what they had acknowledged:
//
//	crash.go    the way of a proof
//	workload.go what a store is given to do, drawn by the seed
//	session.go  a worker that does it; its counters outlive it, so that what it acknowledged is known
//	server.go   the server that it speaks to, which is what is cut off then
//	kill.go     a cut: kill −9 at moments drawn by the seed, also while the store recovers
//	power.go    another: the disk of a recording as a power cut would have left it (package powercut)
//	node.go     one server of several that loses its power, while the others go on
//	fault.go    errors that the store meets before such a cut
//	check.go    the store opened again and read back: what is lost, stale, torn, back, a ghost?
//	columns.go  and asked by an indexed column, in every second life of a store that finds so
//	replay.go   a cut that broke a promise, kept to be looked at again
//	judge.go    what the store's class promises of that, and what a loss is called
//	window.go   the time before a cut from which writes are missing
//	rate.go     how fast the store wrote meanwhile
//
// A control without a cut comes first: a store that does not keep its records when it is closed in
// order says nothing when it is cut.
package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/evidence/proof"
	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/store"
)

// Kind is how a store is cut off.
type Kind string

const (
	Kill  Kind = "kill"  // its process ends by SIGKILL
	Power Kind = "power" // its device keeps what it had flushed, and some of what it had not
)

// Target is a store in one class, and what it is given to do.
type Target struct {
	Store experiment.Store
	Cell  experiment.Cell

	Keys             keyval.KeyShape
	PoolBytes        int
	PoolSeed         uint64
	RepeatedPermille int

	Records    uint64 // that the load stores
	Operations uint64 // single writes after it, over all threads
}

// Options say how stores are cut.
type Options struct {
	Kind      Kind
	Cuts      int
	Seed      uint64
	Only      int           // the one cut that is made, from 1 on; 0: all
	FirstOnly bool          // the first cut that breaks a promise is the last
	Worker    []string      // the command of Assay's own worker
	DataRoot  string        // an existing directory in which stores get theirs
	Timeout   time.Duration // of a step
	OpenMax   time.Duration // that opening may take after a cut; 0: as long as a step
	Log       io.Writer     // what workers write to standard error, and servers
	// Program returns the server that a driver speaks to, if Assay can start it; nil: it starts none.
	Program func(driver string) (server.Program, bool)

	// Of power cuts:
	Rig            []string // the command that serves the disks
	FileSystem     string   // on them
	MountOptions   string   // of that, as mount(8) takes them; "": the kernel's
	IgnoresFlushes bool     // the disk does, which must refute every store: a check of the rig
	SectorBytes    int64    // what the disk writes whole or not at all; 0: powercut.SectorBytesMin
	// OneNode: of a store of several servers, the power of one is cut, and the others go on.
	OneNode bool
	// Fault is an error that a call of the store meets before it is cut off; "": none.
	Fault powercut.FaultKind
	// CaseOf returns the directory in which the smallest failing case of a result is kept; nil: none is.
	CaseOf func(*Result) (string, error)

	// Progress is called before each cut, 0 is the control; nil: not called.
	Progress func(name string, cut, of int)
}

// Cut is one moment at which a store was cut off, and what became of it.
type Cut struct {
	Number int    `json:"number"`         // from 1 on: with the seed, it says which
	Moment string `json:"moment"`         // "writes", "close", "recovery" …
	Node   int    `json:"node,omitempty"` // of several servers: the one that was cut off, from 1 on
	Entry  uint64 `json:"entry"`          // of the phase under way: so many were acknowledged
	NS     int64  `json:"ns"`             // since the load began
	// Of power cuts: what was kept of the writes after the last flush, and the digest of the disk.
	Keep   powercut.Keep `json:"keep,omitempty"`
	Digest string        `json:"digest,omitempty"`
	Return *Return       `json:"return,omitempty"` // of the one server that was cut off; nil: all were, or it was not tried
	Check
}

// Result is what the cuts of one store in one class have shown.
type Result struct {
	Store    string            `json:"store"`
	Driver   string            `json:"driver"`
	Version  string            `json:"version,omitempty"`
	Class    store.Durability  `json:"class"`
	WindowNS int64             `json:"window_ns,omitempty"` // of D2
	Settings map[string]string `json:"settings,omitempty"`
	// FileSystem is that whose disk was cut off; "": none was.
	FileSystem string `json:"file_system,omitempty"`
	// MountOptions it was mounted with; "": the kernel's.
	MountOptions string `json:"mount_options,omitempty"`
	// Asked is what the cuts answer.
	Asked proof.Question `json:"question"`

	// Servers is how many the store has, if they are several; OneNode: one of them was cut off.
	Servers int  `json:"servers,omitempty"`
	OneNode bool `json:"one_node,omitempty"`

	OpenMaxNS int64 `json:"open_max_ns,omitempty"` // that opening might take after a cut

	State   State  `json:"state"`
	Why     string `json:"why,omitempty"`
	Control *Check `json:"control,omitempty"` // without a cut; nil: it was not made
	Broken  int    `json:"broken"`            // of Cuts: those that broke the class's promise
	Cuts    []Cut  `json:"cuts"`
	// Case is the directory of the smallest failing case; "": none was kept.
	Case string `json:"case,omitempty"`
	// Faults are the lives in which a call failed: faultCuts cuts come of each.
	Faults []Faulted `json:"faults,omitempty"`
	// Rate is that of the control; nil: none was made.
	Rate *Rate `json:"rate,omitempty"`
	// Loss is what the cuts took; nil: the store opened after none.
	Loss *LossWindow `json:"loss_window,omitempty"`
}

// Test cuts a store off, as often as the options say. The error is Assay's own; what the store did is
// in the result. A test that ctx ends has the cuts so far.
func Test(ctx context.Context, t *Target, o Options) (r Result, err error) {
	r = Result{Store: t.Store.Name, Driver: t.Store.Driver, Class: t.Cell.Durability,
		WindowNS: int64(t.Cell.LossWindow), OpenMaxNS: int64(o.OpenMax), Cuts: []Cut{}}
	defer func() {
		if ctx.Err() != nil {
			err = nil
		}
		r.conclude(o.Kind)
	}()
	if o.Kind == Power || o.Fault != "" {
		r.FileSystem, r.MountOptions = o.FileSystem, o.MountOptions
	}
	if n := t.Store.Servers(); n > 1 {
		r.Servers, r.OneNode = n, o.OneNode
	}
	if r.Why = refuse(t); r.Why == "" && o.OneNode && r.Servers == 0 {
		r.Why = "has one server: of several, one can be cut off"
	}
	if r.Why != "" {
		return r, nil
	}
	place, err := owned.NewDirectory(o.DataRoot, "crash")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, place.Remove()) }()
	if err := t.letIn(place.Path); err != nil {
		return r, err
	}
	tester := &tester{ctx: ctx, target: t, options: o, root: place.Path, result: &r}
	if o.Kind == Power || o.Fault != "" {
		return r, tester.onRig()
	}
	return r, tester.kills()
}

// see tells what the cuts of a store that is open answer: which program it is, with which options and
// settings, on which file system.
func (t *tester) see(s *session) error {
	r := t.result
	r.Version, r.Settings = s.abilities.Version, s.abilities.Settings
	r.Asked = proof.Question{Store: r.Driver, Version: proof.VersionOf(r.Version, r.Settings),
		Options: t.target.Store.OptionsInForce(), Settings: r.Settings,
		Class: r.Class, WindowNS: r.WindowNS, Servers: r.Servers}
	running := proof.Running{PIDs: []int{s.worker.PID()}, Command: t.target.Store.Worker, Directory: s.directory}
	if s.server != nil {
		running.PIDs = append(running.PIDs, s.server.PIDs()...)
	}
	if s.node != nil {
		running.Directory = s.node.place
	}
	return r.Asked.See(running, &digests)
}

// digests are those of stores' programs: most tests of a process are of the same ones.
var digests host.Digests

// refuse says why a store is not cut off; "": it can be.
func refuse(t *Target) string {
	d := t.Store.Description
	switch {
	case t.Store.Missing != "":
		return t.Store.Missing
	case d.Kind == store.Memory, d.Kind == store.None:
		return "keeps nothing after it is closed"
	case d.Kind == store.Server && refuseServer(t) != "":
		return refuseServer(t)
	case t.Cell.Handles == "":
		return "has no handles"
	}
	if _, claims := d.Claim(t.Cell.Durability); !claims {
		return fmt.Sprintf("does not claim %s", t.Cell.Durability)
	}
	return ""
}

// tester cuts one store.
type tester struct {
	ctx     context.Context
	target  *Target
	options Options
	root    string
	lives   int
	result  *Result
	kept    *Cut // the smallest cut that broke a promise, which is kept as a case; nil: none was
}

// newSession begins a life of the store, by its number, in a directory of its own.
func (t *tester) newSession(life int) (*session, error) {
	t.lives++
	directory := filepath.Join(t.root, fmt.Sprintf("life-%d", t.lives))
	if err := errors.Join(os.Mkdir(directory, 0o700), t.target.letIn(directory)); err != nil {
		return nil, err
	}
	return t.sessionIn(directory, tagOf(t.options.Seed, life), t.target.hasColumns(life)), nil
}

func (t *tester) sessionIn(directory string, tag uint32, columns bool) *session {
	command := t.target.Store.Worker
	if len(command) == 0 {
		command = t.options.Worker
	}
	return &session{ctx: t.ctx, target: t.target, directory: directory, tag: tag, log: t.options.Log,
		command: command, timeout: t.options.Timeout,
		program: t.options.program, columns: columns}
}

func (t *tester) progress(cut int) {
	if t.options.Progress != nil {
		t.options.Progress(t.target.Name(), cut, t.options.Cuts)
	}
}

// Name is the store and its class.
func (t *Target) Name() string {
	return t.Store.Name + " " + t.Cell.ClassText()
}

// Report is what the cuts of some stores have shown.
type Report struct {
	Kind    Kind               `json:"kind"`
	Rig     *RigInfo           `json:"rig,omitempty"`   // of power cuts and faults
	Fault   powercut.FaultKind `json:"fault,omitempty"` // that a call met before each cut
	Cuts    int                `json:"cuts"`            // of each store and class
	Seed    uint64             `json:"seed"`
	Stopped bool               `json:"stopped,omitempty"` // by the user, before all cuts were made
	Results []Result           `json:"results"`
}

// RigInfo is what power cuts were made with.
type RigInfo struct {
	Version        int    `json:"version"` // powercut.Version
	SectorBytes    int64  `json:"sector_bytes"`
	MountOptions   string `json:"mount_options,omitempty"`
	IgnoresFlushes bool   `json:"ignores_flushes,omitempty"`
}

// ClassText is the class as it stands in files and reports: "D1", "D2(100ms)".
func (r *Result) ClassText() string {
	return experiment.Cell{Durability: r.Class, LossWindow: time.Duration(r.WindowNS)}.ClassText()
}
