package storetest

import (
	"fmt"
	"io"
	"strings"
)

// State is what became of a rule.
type State string

const (
	OK      State = "ok"
	Failed  State = "failed"
	Skipped State = "skipped" // the rule does not apply: Detail says why
)

// Result is one rule, checked.
type Result struct {
	Rule   string `json:"rule"`
	Guards string `json:"guards"` // the rule, and why it matters to a measurement
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"` // every fault, one a line; or why the rule was skipped
}

// Report is all rules that were checked, in order.
type Report struct {
	Driver  string   `json:"driver"`
	Results []Result `json:"results"`
}

// Failed returns the names of the rules that failed.
func (r Report) Failed() []string {
	var names []string
	for _, result := range r.Results {
		if result.State == Failed {
			names = append(names, result.Rule)
		}
	}
	return names
}

// Write writes the report as text: a line a rule, with what it guards where it failed.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	counts := map[State]int{}
	width := 0
	for _, result := range r.Results {
		counts[result.State]++
		width = max(width, len(result.Rule))
	}
	fmt.Fprintf(&b, "conformance of %s: %d rules, %d ok, %d failed, %d skipped\n\n",
		r.Driver, len(r.Results), counts[OK], counts[Failed], counts[Skipped])
	for _, result := range r.Results {
		switch result.State {
		case OK:
			fmt.Fprintf(&b, "ok       %s\n", result.Rule)
		case Skipped:
			fmt.Fprintf(&b, "skipped  %-*s  %s\n", width, result.Rule, result.Detail)
		case Failed:
			fmt.Fprintf(&b, "FAILED   %s\n", result.Rule)
			for line := range strings.Lines(result.Detail) {
				fmt.Fprintf(&b, "           %s\n", strings.TrimRight(line, "\n"))
			}
			fmt.Fprintf(&b, "         guards: %s\n", result.Guards)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the conformance report of %s: %w", r.Driver, err)
	}
	return nil
}
