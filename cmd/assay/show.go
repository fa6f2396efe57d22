package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/export"
	"assay/internal/presentation/html"
	"assay/internal/presentation/live"
	"assay/internal/presentation/model"
	"assay/internal/presentation/text"
)

// show is how a result is printed: flags that assay run and assay report have in common.
type show struct {
	full, brief, json bool
	format            string
	file              bool // it is written to a file and not to standard output
}

// formats of --format.
var formats = []string{"text", "md", "html", "json", "csv", "benchfmt", "benchmark-action", "hlog"}

var anyFormat = strings.Join(formats[:len(formats)-1], ", ") + " or " + formats[len(formats)-1]

func (s *show) flags(c *cobra.Command) {
	c.Flags().BoolVar(&s.full, "full", false, "print everything: each table, each finding with its evidence")
	c.Flags().BoolVar(&s.brief, "brief", false, "print only what is clear and what is not")
	c.Flags().BoolVar(&s.json, "json", false, "the same as --format json")
	c.Flags().StringVar(&s.format, "format", "text", anyFormat)
	c.MarkFlagsMutuallyExclusive("full", "brief", "json", "format")
	must(c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)))
}

// check refuses a format that there is not, and one that can't show so many run directories.
func (s *show) check(directories int) error {
	if s.json {
		s.format = "json"
	}
	switch {
	case !slices.Contains(formats, s.format):
		return usage(fmt.Errorf("--format %s: expected %s", s.format, anyFormat))
	case s.format == "benchmark-action" && directories > 1: // figures of two runs would have one name
		return usage(fmt.Errorf("--format benchmark-action takes one run directory, got %d\nwrite a file of each", directories))
	case s.format == "hlog" && directories > 1: // all histograms of a log count from one beginning in time
		return usage(fmt.Errorf("--format hlog takes one run directory, got %d\nwrite a log of each", directories))
	}
	return nil
}

// write prints a result of runs in the chosen format. report is the path of the page, where there
// is one.
func (s *show) write(w io.Writer, r *model.Result, runs []*record.Run, report string) error {
	switch s.format {
	case "md":
		return text.Markdown(w, r)
	case "html":
		return html.Write(w, r)
	case "json":
		return export.JSON(w, r)
	case "csv":
		return export.CSV(w, r)
	case "benchfmt":
		if left := export.BenchfmtLeftOut(r); left != "" {
			fmt.Fprintln(os.Stderr, "assay: note:", left)
		}
		return export.Benchfmt(w, r)
	case "benchmark-action":
		if left := export.BenchmarkActionLeftOut(r); left != "" {
			fmt.Fprintln(os.Stderr, "assay: note:", left)
		}
		return export.BenchmarkAction(w, r)
	case "hlog":
		return export.HLog(w, runs[0])
	}
	o := textOptions(s.file)
	o.Report = report
	switch {
	case s.full:
		return text.Full(w, r, o)
	case s.brief:
		return text.Brief(w, r, o)
	}
	return text.Screen(w, r, o)
}

// widthElsewhere is how wide text is where no terminal says how wide it is.
const widthElsewhere = 80

// terminalWidth is how wide the terminal is that standard output is; 0: it is none.
func terminalWidth() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// textOptions are for standard output, or for a file: plain and as wide as a terminal usually is.
func textOptions(file bool) text.Options {
	if file {
		return text.Options{Width: widthElsewhere}
	}
	width := cmp.Or(terminalWidth(), widthElsewhere)
	return text.Options{Colour: live.TakesEscapes(os.Stdout) && os.Getenv("NO_COLOR") == "", Width: width}
}

// writePage writes the page with links that lead from path to the run directories.
func writePage(path string, stdout io.Writer, r *model.Result) error {
	stands := path
	if isStandardOutput(path) {
		stands = "report.html"
	}
	if err := html.Locate(r, stands); err != nil {
		return err
	}
	return writeTarget(path, stdout, func(w io.Writer) error { return html.Write(w, r) })
}

// graves counts the findings that say that a figure is false or data is lost.
func graves(r *model.Result) (count int) {
	for _, f := range r.Findings {
		if f.Severity == finding.Grave {
			count++
		}
	}
	return count
}
