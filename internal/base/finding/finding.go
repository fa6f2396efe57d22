// Package finding is how Assay states something: as data, a code with parameters, and never as a
// sentence. Whoever detects something fills a struct of
// parameters and passes the [Message] that [New] makes of it; the catalogue in this package, and
// nothing else, knows the words. So a finding can be counted, grouped, filtered and compared by a
// program, and a better sentence is a change of one line.
//
//  1. finding.go    Message, Finding, Where: what is passed on
//  2. params.go     a struct of parameters → a message; families.go: structs that several codes share
//  3. catalogue.go  the form of an entry; catalogue_*.go: entries and their structs, by who detects
//  4. render.go     code + parameters → words, the only place where this happens
//
// stored.go reads codes of older run directories; difference.go has the words for what differs between
// a trial and a proof of its store.
//
// Marks of trials, reasons for having no rank, notes on a row, the lines of the summary and the
// evidence of a finding are all messages.
package finding

import (
	"encoding/json"
	"strings"
)

// Code names what is stated. Where a code has several kinds (ways in which it was seen, or causes),
// the kind stands behind a space: "lost-values readback". In JSON it is the parameter kind. Codes and
// kinds are part of the JSON output: they don't change.
type Code string

// cut returns the code without its kind, and the kind.
func (c Code) cut() (code Code, kind string, has bool) {
	before, kind, has := strings.Cut(string(c), " ")
	return Code(before), kind, has
}

// Is reports whether a code is another one, or a kind of it.
func (c Code) Is(other Code) bool {
	return c == other || strings.HasPrefix(string(c), string(other)+" ")
}

// Params are the parameters of a message by name: numbers (float64, int, uint64), strings, messages,
// lists of these, and booleans. Units stand in the names: seconds, bytes, rate (operations a second),
// share.
type Params map[string]any

// Message is one statement.
type Message struct {
	Code   Code   `json:"code"`
	Params Params `json:"params,omitempty"`
}

// MarshalJSON writes code, params and, for who reads the JSON by eye, the sentence as text.
func (m Message) MarshalJSON() ([]byte, error) {
	type plain Message
	return json.Marshal(struct {
		plain
		Text string `json:"text,omitempty"`
	}{plain(m.split()), Text(m)})
}

// Severity is how much a finding matters.
type Severity string

// The severities, gravest first.
const (
	Grave   Severity = "grave"   // data was lost or wrong, or a figure is false: takes the rank, exit status 3
	Warning Severity = "warning" // a figure must not be read as it stands
	Notice  Severity = "notice"  // worth knowing
)

// Severities in the order in which they are shown.
var Severities = []Severity{Grave, Warning, Notice}

// Where is the place that a finding is about. What is unset is not narrowed.
type Where struct {
	Run   string `json:"run,omitempty"`   // ID, where a report has several runs
	Cell  *int   `json:"cell,omitempty"`  // position in the experiment's cells
	Class string `json:"class,omitempty"` // durability class: "D1", "D2(100ms)"
	Phase string `json:"phase,omitempty"`
	Arm   string `json:"arm,omitempty"`
	Trial string `json:"trial,omitempty"` // its ID
	Table string `json:"table,omitempty"` // its ID in the result
}

// Finding is a statement that the data supports, with evidence.
type Finding struct {
	Message
	Severity Severity   `json:"severity"`
	Where    Where      `json:"where"`
	Cause    Code       `json:"cause,omitempty"` // of another finding that explains this one
	Evidence []Evidence `json:"evidence,omitempty"`
	More     int        `json:"evidence_more,omitempty"` // how many like them are left out of Evidence
}

// MarshalJSON keeps the embedded message from writing the finding as a message.
func (f Finding) MarshalJSON() ([]byte, error) {
	m := f.split()
	return json.Marshal(struct {
		Code     Code       `json:"code"`
		Severity Severity   `json:"severity"`
		Text     string     `json:"text"`
		Remedy   string     `json:"remedy,omitempty"`
		Params   Params     `json:"params,omitempty"`
		Where    Where      `json:"where"`
		Cause    Code       `json:"cause,omitempty"`
		Evidence []Evidence `json:"evidence,omitempty"`
		More     int        `json:"evidence_more,omitempty"`
	}{m.Code, f.Severity, Text(f.Message), Remedy(f.Message), m.Params, f.Where, f.Cause, f.Evidence, f.More})
}

// Evidence is one observation behind a finding.
type Evidence struct {
	Trial string `json:"trial,omitempty"` // its ID
	Message
}

// MarshalJSON keeps the embedded message from writing the evidence as a message.
func (e Evidence) MarshalJSON() ([]byte, error) {
	m := e.split()
	return json.Marshal(struct {
		Trial  string `json:"trial,omitempty"`
		Code   Code   `json:"code"`
		Text   string `json:"text"`
		Params Params `json:"params,omitempty"`
	}{e.Trial, m.Code, Text(e.Message), m.Params})
}

// Mark is something in a trial that forbids ranking it.
type Mark struct {
	Message
	Phase string `json:"phase,omitempty"` // "": the whole trial
}

// MarshalJSON keeps the embedded message from writing the mark as a message.
func (m Mark) MarshalJSON() ([]byte, error) {
	of := m.split()
	return json.Marshal(struct {
		Code   Code   `json:"code"`
		Phase  string `json:"phase,omitempty"`
		Text   string `json:"text"`
		Params Params `json:"params,omitempty"`
	}{of.Code, m.Phase, Text(m.Message), of.Params})
}
