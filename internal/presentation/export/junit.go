package export

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"assay/internal/analysis/compare"
	"assay/internal/presentation/column"
)

// The elements of a JUnit report that CI systems read: see its schema at
// https://github.com/testmoapp/junitxml.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
		Output   string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Time    float64     `xml:"time,attr"` // 0: a comparison has no time of its own
		Failure *junitState `xml:"failure"`
		Skipped *junitState `xml:"skipped"`
	}
	junitState struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a comparison for a CI system: each figure is a test. One that is significantly worse
// fails, or, with criteria, those fail and no figure does; what is undecided is skipped.
func JUnit(w io.Writer, c *column.Comparison) error {
	figures := junitSuite{Name: c.Heads[column.ComparisonOld] + " and " + c.Heads[column.ComparisonNew], Output: c.Verdict}
	for _, row := range c.Rows {
		words := row.Cells[:column.ComparisonWords]
		test := junitCase{Class: "assay." + words[1], Name: words[2] + " of " + words[1] + " in " + words[0]}
		said := fmt.Sprintf("%s to %s: %s (95 %% interval %s)", row.Cells[column.ComparisonOld], row.Cells[column.ComparisonNew],
			row.Cells[column.ComparisonWhy], row.Cells[column.ComparisonRange])
		switch {
		case row.Outcome == compare.Regression && len(c.Criteria) == 0:
			test.Failure = &junitState{Message: said}
		case row.Outcome == compare.Inconclusive || row.Outcome == "":
			test.Skipped = &junitState{Message: said}
		}
		figures.add(test)
	}
	for _, line := range c.Skipped {
		figures.add(junitCase{Class: "assay", Name: line, Skipped: &junitState{Message: "not compared"}})
	}
	all := junitSuites{Name: "assay compare", Suites: []junitSuite{figures}}
	if len(c.Criteria) > 0 {
		limits := junitSuite{Name: "thresholds"}
		for _, line := range c.Criteria {
			test := junitCase{Class: "assay", Name: line.Text}
			switch {
			case line.Failed > 0:
				test.Failure = &junitState{Message: line.String(), Text: c.Verdict}
			case line.Open > 0:
				test.Skipped = &junitState{Message: line.String()}
			}
			limits.add(test)
		}
		all.Suites = append(all.Suites, limits)
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
	}
	var text strings.Builder
	text.WriteString(xml.Header)
	encoder := xml.NewEncoder(&text)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write the comparison for JUnit: %w", err)
	}
	_, err := io.WriteString(w, text.String()+"\n")
	return err
}

func (s *junitSuite) add(test junitCase) {
	s.Cases = append(s.Cases, test)
	s.Tests++
	if test.Failure != nil {
		s.Failures++
	}
	if test.Skipped != nil {
		s.Skipped++
	}
}
