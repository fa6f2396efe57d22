package server

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"sync"

	"assay/internal/base/format"
)

const (
	lineBytesMax = 1000
	linesKept    = 5 // servers give a reason, a hint, and then say that they end
)

// output passes what a server writes on, with its name before each line, and keeps the last lines.
// It may be read while it is written to.
type output struct {
	log  io.Writer
	name string
	keep int // lines; 0: linesKept

	mu      sync.Mutex
	partial []byte // of the line that has not ended, at most lineBytesMax
	last    []string
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		o.partial = append(o.partial, line[:min(len(line), lineBytesMax-len(o.partial))]...)
		if rest = after; !ended {
			break
		}
		if err := o.line(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// line takes in what partial holds.
func (o *output) line() error {
	text := strings.TrimSpace(string(o.partial))
	o.partial = o.partial[:0]
	if text == "" {
		return nil
	}
	if o.last = append(o.last, text); len(o.last) > cmp.Or(o.keep, linesKept) {
		o.last = o.last[1:]
	}
	_, err := io.WriteString(o.log, o.name+": "+text+"\n")
	return err
}

// end passes a line without an end on, too.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.line() // a log that can't be written to is its owner's to tell
}

// lastWords returns the last lines as one, "" if nothing was written.
func (o *output) lastWords() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return format.Clean(strings.Join(o.last, " | "))
}

// lastLines returns the last lines, each behind an indent.
func (o *output) lastLines(indent string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := make([]string, len(o.last))
	for i, line := range o.last {
		lines[i] = indent + format.Clean(line)
	}
	return strings.Join(lines, "\n")
}
