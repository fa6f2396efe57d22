package finding

import (
	"fmt"
	"slices"
)

// Entry says how a code is put into words. The texts are templates of text/template whose data is
// the message's parameters and whose functions are those of render.go: "{{rate .rate}}".
type Entry struct {
	// Example has the parameters: its type is that of the code's messages. It is for the golden file,
	// and for readers of the catalogue.
	Example Parameters
	// Also are examples of what else its sentence may say.
	Also     []Parameters
	Severity Severity // of a finding with this code, unless its detector sets another

	// Says is the sentence for one place: what happened, where, how much; present tense for what
	// is, past for what the run did; at most 25 words and two sentences.
	Says string
	// Many is the sentence for several findings of the code together. Its data are Count, Arms,
	// Places (lists of strings), Trials, of each number parameter NAME the values min_NAME and
	// max_NAME, and of each text parameter NAME the list all_NAME. "": of such findings each is
	// shown alone.
	Many string
	// Remedy is what to do: a command or a setting. "": nothing.
	Remedy string

	// Unit is what the figures of a column count or are of: it stands beneath the heading.
	Unit string
	// Short is a heading where there is one line for it. "": Says, in small letters.
	Short string

	// Machine says that the fault is the machine's and not the store's: it costs the block, and the
	// trial is run again.
	Machine bool
	// Fault is, of a mark, the code of the finding that it makes, where that is not its own code without
	// the kind.
	Fault Code
	// Answer says that a finding belongs to the question rather than to the trust in its figures.
	Answer bool
	// InAnswer says that the one screen shows such a finding as a part of the answer.
	InAnswer bool
}

var entries = map[Code]Entry{}

// register adds entries; each catalogue_*.go calls it once, from a package variable. A code that is
// there already is a mistake of this package.
func register(list ...Entry) bool {
	for _, e := range list {
		code := e.Example.code()
		if _, twice := entries[code]; twice {
			panic(fmt.Sprintf("finding: two entries for code %q", code))
		}
		entries[code] = e
	}
	return true
}

// Lookup returns the entry of a code.
func Lookup(code Code) (Entry, bool) {
	e, known := entries[code]
	return e, known
}

func known(code Code) bool {
	_, is := entries[code]
	return is
}

// Codes returns every code with each of its kinds, sorted.
func Codes() (codes []Code) {
	for code := range entries {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

// Make makes a finding with the severity of its code.
func Make(where Where, m Message, evidence ...Evidence) Finding {
	return Finding{Message: m, Severity: entries[m.Code].Severity, Where: where, Evidence: evidence}
}
