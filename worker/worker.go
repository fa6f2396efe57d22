// Package worker hosts Go drivers: it is the Go side of docs/worker-contract.md. A program becomes
// a worker by calling [Main] with its drivers.
//
//	worker.go   the process: requests in, replies out
//	session.go  the store that is open and the phases that were prepared
//	thread.go   the measured loop
//	lanes.go    the same for asynchronous handles: one OS thread drives many connections
//	wait.go     the wait until an operation is due
//	operate.go  one operation of each kind
//	fill.go     a read that puts a value where it finds none
//	multiread.go  several records in one call
//	cache.go    touches, appends and exchanges; lastwrites.go: what a thread appended last
//	modify.go   updates of columns; request.go: requests of several operations
//	history.go  recorded operations; find.go: what recorded scans and queries gave
//	lives.go    values with a time to live
//	sampled.go  the loop where one operation in so many is timed
//	check.go    is a value that was read one that was written there?
//	handles.go  one handle for all, one each, a pool, a new one each time
//	define.go   records with columns, and query.go: finding and counting them by one;
//	            explain.go: how the store answers
//	stats.go    the store's own counters, told while a phase runs
//	panics.go   clients of servers that panic
//
// # Decisions
//
//   - The Go worker does not lock goroutines to threads: engines hand work between goroutines, and
//     a Go program that uses them does not lock either.
//   - Open load sleeps until operations are due, by a timer of the kernel, and hardly spins: what a client
//     spins away, a server or an engine on the same processors lacks.
package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"assay/internal/base/clock"
	"assay/internal/base/linux"
	"assay/internal/execution/control"
	"assay/store"
)

// Main serves requests from standard input until it ends, and returns the exit status of the
// process: 0, or 1 if the control channel broke. Standard output belongs to the control channel:
// whatever else is written there goes to standard error.
func Main(drivers ...store.Driver) int {
	out, err := takeStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker: keeping standard output for the control channel:", err)
		return 1
	}
	if err := Serve(os.Stdin, out, drivers...); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

// MainLinked is [Main] for a program that links many stores. It makes up for what such a program has
// on its heap, and that of a store's user would not have. The garbage collector begins when as much is allocated
// as is alive, at 4 MiB at the earliest, and looks at all that is alive: with 1.6 MB of other stores'
// tables and types, collecting what bbolt's reads leave costs about 10 % of their time more than in a
// program that links bbolt alone. These bytes are never touched, so that they take no memory, and
// without pointers, so that they are not looked at; with so many a collection comes so much more
// seldom that it costs a small store the same in both. To a store with much on its heap they make no
// difference. docs/harness-cost.md has the figures.
func MainLinked(drivers ...store.Driver) int {
	defer runtime.KeepAlive(make([]byte, 4<<20))
	return Main(drivers...)
}

// takeStdout returns standard output under another descriptor and points descriptor 1 at standard
// error: a library may have kept os.Stdout in a variable, or write to the descriptor itself.
// os.Stdout stays what it is: were it dropped, the garbage collector would close descriptor 1, and
// the store's next file would get that number.
func takeStdout() (*os.File, error) {
	duplicate, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := linux.Dup3(2, 1, 0); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(duplicate), "control channel"), nil
}

// Serve answers requests from in on out until in ends, then closes what is open.
func Serve(in io.Reader, out io.Writer, drivers ...store.Driver) error {
	clock.Begin()
	requests, gone := make(chan request), make(chan struct{})
	s := &session{drivers: described(drivers), gone: gone}
	defer s.abandon()
	finished := make(chan struct{})
	defer close(finished)
	go read(in, requests, gone, finished)
	for r := range requests {
		if r.err != nil {
			return fmt.Errorf("reading a request: %w", r.err)
		}
		if err := control.Write(out, s.answer(r.line)); err != nil {
			return fmt.Errorf("writing a reply: %w", err)
		}
	}
	return nil
}

// request is a line that came in, or why no more can.
type request struct {
	line []byte
	err  error
}

// read passes requests on. It reads one ahead, so that the end of input is seen while a phase runs.
func read(in io.Reader, requests chan<- request, gone chan<- struct{}, finished <-chan struct{}) {
	defer close(requests)
	defer close(gone)
	lines := control.NewLines(in)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		select {
		case requests <- request{bytes.Clone(line), err}:
		case <-finished:
			return
		}
		if err != nil {
			return
		}
	}
}

// hosted is a driver with what it says of itself.
type hosted struct {
	driver      store.Driver
	description store.Description
}

func described(drivers []store.Driver) []hosted {
	all := make([]hosted, len(drivers))
	for i, d := range drivers {
		all[i] = hosted{d, Describe(d)}
	}
	return all
}

// Describe returns a driver's description, with the library's version from build info where the
// driver leaves it open, and what the worker can do with any driver of its kind.
func Describe(d store.Driver) store.Description {
	description := d.Describe()
	if description.Version == "" && description.Library != "" {
		description.Version = moduleVersion(description.Library)
	}
	// What is in no process of a worker's may be used by many of them.
	description.Processes = description.Processes || description.Kind == store.Server || description.Kind == store.None
	description.Hosted = store.Hosted{
		HandleTimes: true, LatencySampled: true, FindsRecorded: true, Pauses: true, Fills: true, KeyLengths: true,
	}
	return description
}

func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == path {
			if module.Replace != nil {
				return module.Replace.Version + " (replaced)"
			}
			return module.Version
		}
	}
	return ""
}

// refusal is an error with a class of the contract.
type refusal struct {
	class string
	err   error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func badRequest(format string, args ...any) error {
	return &refusal{control.ClassBadRequest, fmt.Errorf(format, args...)}
}

func refused(format string, args ...any) error {
	return &refusal{control.ClassRefused, fmt.Errorf(format, args...)}
}

// classOf returns the class in which an error is reported.
func classOf(err error) string {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r.class
	case errors.Is(err, store.ErrRefused):
		return control.ClassRefused
	}
	return control.ClassFailed
}
