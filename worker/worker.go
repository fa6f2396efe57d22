// Package worker hosts Go drivers: it is the Go side of docs/worker-contract.md. A program becomes a worker by calling
// [Main] with its drivers.
//
//	main.go     the process: requests in, replies out
//	session.go  the store that is open and the phases that were prepared
//	thread.go   the measured loop
//	operate.go  one operation of each kind
//	check.go    is a value that was read one that was written there?
//	handles.go  one handle for all, one each, a pool, a new one each time
package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"assay/internal/control"
	"assay/store"
)

// Main serves requests from standard input until it ends, and returns the exit status of the process: 0, or 1 if the
// control channel broke. Standard output belongs to the control channel: whatever else writes to os.Stdout is sent to
// standard error.
func Main(drivers ...store.Driver) int {
	out := os.Stdout
	os.Stdout = os.Stderr
	if err := Serve(os.Stdin, out, drivers...); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

// Serve answers requests from in on out until in ends, then closes what is open.
func Serve(in io.Reader, out io.Writer, drivers ...store.Driver) error {
	s := &session{drivers: described(drivers)}
	defer s.abandon()
	lines := control.NewLines(in)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if err := control.Write(out, s.answer(line)); err != nil {
			return fmt.Errorf("writing a reply: %w", err)
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

// Describe returns a driver's description, with the library's version from build info where the driver leaves it open.
func Describe(d store.Driver) store.Description {
	description := d.Describe()
	if description.Version == "" && description.Library != "" {
		description.Version = moduleVersion(description.Library)
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
