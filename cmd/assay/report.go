package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay/internal/live"
	"assay/internal/record"
	"assay/internal/report"
)

func reportCommand() *cobra.Command {
	var html, format string
	c := &cobra.Command{
		Use:   "report DIR…",
		Short: "Show the results of run directories",
		Long: `Prints the tables and findings of one or more run directories, or writes them in
another form. Nothing but the directories is needed: no store, no network. The page
of --html links to raw data in them, from where it stands: move both together.

With --format csv there is a line for each store of each table, whose operation is
"all"; in a phase with several kinds of operation, a line for each kind follows it,
with counts and latencies alone.

With --format benchfmt, benchstat compares runs of the same experiment: in a table
for each set of conditions, and in it a row for each phase, store and durability
class, with a value a trial. Trials with faults are left out, and counted on
standard error. Of several directories, each is a column of benchstat -col run.

With --format hlog, HdrHistogram's own tools read the latencies of one directory: a
log with a histogram in ns for each measured phase of each trial and each kind of
operation in it, tagged TRIAL/PHASE/OPERATION.`,
		Example: `  assay report results/put-get
  assay report results/put-get --html put-get.html
  assay report results/put-get --format json | jq .findings
  assay report results/put-get --format benchfmt > new.txt && benchstat old.txt new.txt
  assay report before after --format benchfmt | benchstat -col run -
  assay report results/put-get --format hlog > put-get.hlog`,
		Args:              atLeastOneDirectory,
		ValidArgsFunction: completeDirectories,
		RunE: func(c *cobra.Command, args []string) error {
			runs, err := runsOf(args)
			if err != nil {
				return usage(err)
			}
			out := c.OutOrStdout()
			if format == hlog && html == "" {
				return printHLog(out, runs)
			}
			view, err := report.Build(runs...)
			if err != nil {
				return usage(err)
			}
			if html != "" {
				return writePage(out, html, view)
			}
			return printAs(out, view, format)
		},
	}
	c.Flags().StringVar(&html, "html", "", "write the HTML report to this `file`; - is standard output")
	c.Flags().StringVar(&format, "format", "text", "text, json, csv, benchfmt or hlog")
	must(c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "csv", "benchfmt", hlog}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// hlog is the one format that is made from a run rather than from what is said of it.
const hlog = "hlog"

func completeDirectories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func atLeastOneDirectory(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("expected at least one run directory, as assay run --out makes them"))
	}
	return nil
}

func runsOf(directories []string) (runs []*record.Run, err error) {
	for _, directory := range directories {
		r, err := record.Open(directory)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// printHLog takes one run: the log has one beginning in time, which the times of all its histograms count from.
func printHLog(w io.Writer, runs []*record.Run) error {
	if len(runs) > 1 {
		return usage(fmt.Errorf("--format %s: expected one run directory, got %d: write a log of each", hlog, len(runs)))
	}
	return failed(report.HLog(w, runs[0]))
}

// writePage writes the page with links from where it stands; on standard output, from the working directory.
func writePage(out io.Writer, path string, view report.View) error {
	printed := isStandardOutput(path)
	stands := path
	if printed {
		stands = "report.html"
	}
	if err := view.Locate(stands); err != nil {
		return failed(err)
	}
	if err := writeTarget(path, out, func(w io.Writer) error { return report.HTML(w, view) }); err != nil {
		return failed(err)
	}
	if printed {
		return nil
	}
	_, err := fmt.Fprintln(out, "Report:", path)
	return failed(err)
}

func printAs(w io.Writer, view report.View, format string) error {
	switch format {
	case "text":
		return failed(printText(w, view))
	case "json":
		return failed(report.JSON(w, view))
	case "csv":
		return failed(report.CSV(w, view))
	case "benchfmt":
		if left := report.BenchfmtLeftOut(view); left != "" {
			fmt.Fprintln(os.Stderr, "assay: note:", left)
		}
		return failed(report.Benchfmt(w, view))
	}
	return usage(fmt.Errorf("--format %s: expected text, json, csv, benchfmt or hlog", format))
}

// widthElsewhere is how wide tables are where no terminal says how wide it is.
const widthElsewhere = 140

// printText prints for a person: to the terminal's width, and in colour if it understands that; plain and wide elsewhere.
func printText(w io.Writer, view report.View) error {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width = widthElsewhere
	}
	return report.Text(w, view, live.TakesEscapes(os.Stdout) && os.Getenv("NO_COLOR") == "", width)
}

func must(err error) {
	if err != nil {
		panic(err) // a flag's name that this file itself misspells
	}
}
