package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assay/internal/spec"
	"assay/internal/stat"
	"assay/internal/verdict"
)

func analyzeCommand() *cobra.Command {
	format := "text"
	c := &cobra.Command{
		Use:   "analyze FILE.csv",
		Short: "Say what a rate does over time: steady, cliff, decline, stalls, oscillation",
		Long: `Reads anybody's time series and says in sentences whether the rate is steady,
fell off a cliff (when, at how many records, from what to what, with intervals),
declines as data grows, stalls, or goes to and fro between two levels; and
which resources changed with it. "-" reads standard input.

The first line names the columns:
  time_s     seconds, increasing, at the end of each sample     (required);
             beginnings, if the first is 0 and something was done by then
  rate       operations a second over the sample                (required)
  records    records stored at that time
  bytes      bytes stored at that time
  engine.X   a counter of the store itself: told of first
  any other  a resource: faults, iowait, dirty pages, ...
An empty cell was not measured, nor one with -, NaN, null or NA. A resource that
holds anything but numbers is left out, with a note on standard error.

How often it is wrong: docs/statistics.md, 11. What each word means:
docs/analyze.md. Exit status: 0 analysed (whatever was found), 1 the answer could
not be written, 2 bad input.`,
		Example: `  assay analyze rates.csv
  assay analyze --format json rates.csv | jq .cliffs
  printf 'time_s,rate\n1,104000\n2,120000\n3,118000\n' | assay analyze -

  time_s,rate,records,major_faults
  1,118200,118200,0
  2,121400,239600,0
  3,,239600,
  4,6901,246501,4210`,
		Args: takes(1, 1, "one CSV file, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usage(fmt.Errorf("--format %s: expected text or json%s", format, didYouMean(format, "text", "json")))
			}
			series, notes, err := readSeries(args[0], c.InOrStdin())
			if err != nil {
				return usage(err)
			}
			for _, note := range notes {
				fmt.Fprintln(os.Stderr, "assay: note:", note)
			}
			analysis := verdict.Analyze(series)
			if format == "text" {
				return wroteAnalysis(analysis.WriteText(c.OutOrStdout(), series))
			}
			text, err := json.MarshalIndent(analysis, "", "  ")
			if err != nil {
				return &exitError{exitFailed, fmt.Errorf("write the analysis as JSON: %w", err)}
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
			return wroteAnalysis(err)
		},
	}
	c.Flags().StringVar(&format, "format", format, "`text` or json")
	return c
}

func readSeries(name string, standardInput io.Reader) (stat.Series, []string, error) {
	if name == "-" {
		series, notes, err := verdict.ReadSeries(standardInput)
		if err != nil {
			err = fmt.Errorf("standard input: %w", err)
		}
		return series, notes, err
	}
	file, err := os.Open(name)
	if err != nil {
		return stat.Series{}, nil, err
	}
	series, notes, err := verdict.ReadSeries(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return series, notes, errors.Join(err, file.Close())
}

func wroteAnalysis(err error) error {
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("write the analysis: %w", err)}
	}
	return nil
}

func didYouMean(word string, words ...string) string {
	if near := spec.Nearest(strings.ToLower(word), words); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
