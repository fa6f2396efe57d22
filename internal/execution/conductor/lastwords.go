package conductor

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"

	"assay/internal/base/format"
)

// lastWords passes the output of a process on and keeps the line that says why the process ended:
// the first one of a Go panic, a fatal error or a JVM's crash, for stacks follow it; else the last one. It may be
// read while it is written to.
type lastWords struct {
	log io.Writer

	mu      sync.Mutex
	partial []byte // of the line that has not ended, at most lineBytesMax
	last    string
	fatal   bool // last is of a panic, and stays
}

const lineBytesMax = 400

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		l.partial = append(l.partial, line[:min(len(line), lineBytesMax-len(l.partial))]...)
		if rest = after; ended {
			l.last, l.fatal = l.with(l.partial)
			l.partial = l.partial[:0]
		}
	}
	l.mu.Unlock()
	return l.log.Write(p)
}

// with returns what is kept once the line is taken in.
func (l *lastWords) with(line []byte) (last string, fatal bool) {
	text := strings.TrimSpace(string(line))
	if l.fatal || isNoise(text) {
		return l.last, l.fatal
	}
	return text, strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") || strings.HasPrefix(text, ofCrash)
}

// ofJVM are beginnings of lines that a JVM writes around the one that tells why it ends, and the Java
// worker's log of collections.
var ofJVM = []string{"at ", "... ", "gc: ", "Error: Could not create the Java Virtual Machine", "Error: A fatal exception has occurred",
	"Error occurred during initialization of VM"}

// ofCrash begins the line of a JVM's report that names the signal or the fault which ended it.
const ofCrash = "#  "

func isNoise(text string) bool {
	return text == "" || slices.ContainsFunc(ofJVM, func(start string) bool { return strings.HasPrefix(text, start) })
}

// String returns the line, "" if nothing was written.
func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, _ := l.with(l.partial) // which may go on
	return format.Clean(last)
}
