package read

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"assay/internal/base/format"
	"assay/internal/base/secret"
)

// Error is a user's mistake in an experiment: where it is, what was expected, and what was probably
// meant. Load and ImportYCSB return every mistake as an *Error.
type Error struct {
	Source  string // the file as it was named, or "--set PATH=VALUE"
	Line    int    // from 1; 0 only where the whole file is at fault (it is empty, or not text)
	Column  int    // from 1, in characters
	Path    string // the field: "phases.read.mix"; "" where the file could not be read that far
	Message string // what is wrong
	Hint    string // what was expected; "" if the message says it
	Nearest string // the valid name that was probably meant; "" if none is near

	text  string // the line
	width int    // characters to point at
	isSet bool   // from --set: it has no line to count
}

// Error returns the mistake as it is shown: position and message, the line with a caret, what was
// expected.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Source == "":
		b.WriteString(e.Message)
	case e.isSet:
		fmt.Fprintf(&b, "%s: %s", e.Source, e.Message)
	case e.Line == 0:
		fmt.Fprintf(&b, "%s: %s", e.Source, e.Message)
	default:
		fmt.Fprintf(&b, "%s:%d:%d: %s", e.Source, e.Line, e.Column, e.Message)
	}
	if e.text != "" {
		number := fmt.Sprint(e.Line)
		if e.isSet {
			number = ""
		}
		margin := strings.Repeat(" ", len(number))
		fmt.Fprintf(&b, "\n  %s | %s\n  %s | %s%s", number, e.text, margin,
			strings.Repeat(" ", e.Column-1), strings.Repeat("^", e.width))
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "\ndid you mean %q?", e.Nearest)
	}
	if e.Hint != "" {
		b.WriteString("\n" + e.Hint)
	}
	return b.String()
}

// source is a text that positions refer to.
type source struct {
	name  string
	lines []string
	isSet bool
}

// newSource cuts a text into lines as YAML does: at \n, \r\n and \r.
func newSource(name, text string, isSet bool) *source {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	return &source{name: name, lines: lines, isSet: isSet}
}

// place is a position in a source.
type place struct {
	in           *source
	line, column int // from 1, in characters
	width        int // characters
}

// shifted returns the place moved to the right by so many characters, and of another width.
func (p place) shifted(columns, width int) place {
	p.column += columns
	p.width = width
	return p
}

// fail makes the error of a mistake at a place.
func (p place) fail(path, format string, args ...any) *Error {
	e := &Error{Path: path, Message: secret.Masked(fmt.Sprintf(format, args...))}
	if p.in == nil {
		return e
	}
	e.Source, e.isSet = secret.Masked(p.in.name), p.in.isSet
	if p.line < 1 || p.in.name == "" { // no source: the user has not seen the text
		return e
	}
	if p.line > len(p.in.lines) { // the YAML parser counts some lines twice: the end of the file is near enough
		p = place{in: p.in, line: len(p.in.lines), column: 1, width: 1}
	}
	// Control characters (tabs among them) become spaces, so that the caret stands under what it
	// means.
	e.text = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r == 0x7f {
			return ' '
		}
		return r
	}, secret.Masked(p.in.lines[p.line-1]))
	e.Line, e.Column = p.line, max(p.column, 1)
	length := utf8.RuneCountInString(e.text)
	e.Column = min(e.Column, length+1)
	e.width = max(1, min(p.width, length-e.Column+1))
	const shown = 160 // characters of a long line
	if e.Column <= shown && length > shown {
		e.text = string([]rune(e.text)[:shown]) + "…"
		e.width = max(1, min(e.width, shown-e.Column+1))
	}
	if e.Column > shown {
		e.text = ""
	}
	return e
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// listedMost is how many names are listed after a mistake; of more, those that are most like it.
const listedMost = 12

// oneOf says which names are expected in place of a word: all, or the most like it and where all are.
func (e *Error) oneOf(word string, names []string, where string) *Error {
	if len(names) <= listedMost {
		return e.hint("expected one of %s", strings.Join(names, ", "))
	}
	alike := format.Alike(word, names)
	if e.Nearest != "" || len(alike) == 0 {
		return e.hint("all %d names: %s", len(names), where)
	}
	return e.hint("like it: %s; all %d names: %s", strings.Join(alike, ", "), len(names), where)
}

// also adds to the hint.
func (e *Error) also(hint string) *Error {
	e.Hint += "; " + hint
	return e
}

func (e *Error) near(word string, names []string) *Error {
	e.Nearest = format.Nearest(word, names)
	return e
}
