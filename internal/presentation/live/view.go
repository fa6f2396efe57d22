// Package live is what a person sees while a run goes on: lines, or a small board on a terminal. The
// run loop calls it with what happens and never waits for it: what can't be shown in time is not
// shown.
package live

import (
	"assay/internal/execution/event"
	"os"

	"golang.org/x/term"
)

// New returns the view that fits a file: a board if it is a terminal that can move its cursor,
// otherwise lines.
func New(file *os.File) event.View {
	if TakesEscapes(file) {
		return NewTerminal(file)
	}
	return NewPlain(file)
}

// TakesEscapes says if a file is a terminal that understands escape codes: one without a TERM, or
// with TERM=dumb, does not.
func TakesEscapes(file *os.File) bool {
	kind := os.Getenv("TERM")
	return kind != "" && kind != "dumb" && term.IsTerminal(int(file.Fd()))
}
