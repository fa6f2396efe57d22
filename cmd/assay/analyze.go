package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/internal/analysis/csvseries"
	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// analyzed is a series with what was found in it.
type analyzed struct {
	Where    finding.Where     `json:"where"`
	Shape    series.Shape      `json:"shape"`
	Findings []finding.Finding `json:"findings"`
	Notes    []string          `json:"notes,omitempty"`

	series series.Series
}

func analysisOf(s series.Series, where finding.Where, notes []string) analyzed {
	a := analyzed{Where: where, Shape: series.Analyze(s), Notes: notes, series: s}
	a.Findings = a.Shape.Findings(where)
	return a
}

func analyzeCommand() *cobra.Command {
	how, asJSON := "text", false
	var trial, phase string
	var as csvseries.Columns
	c := &cobra.Command{
		Use:   "analyze FILE|DIR",
		Short: "Find steps, declines, drops and oscillation in a rate over time",
		Long: `Reads a time series and states whether the rate is steady, changes its level at
once (a cliff is a fall by 40 % or more), declines, drops for moments (stalls and
dips) or oscillates; when, how far, how long; and which resources changed with it.

The series is a CSV file ("-" is standard input), a run directory, or the
series.jsonl of a trial. The first line of a CSV file names the columns:
  time_s     seconds, increasing, at the end of each sample     (required)
  rate       operations a second over the sample                (required)
  records    records stored at that time
  bytes      bytes stored at that time
  engine.X   a counter of the store itself
  any other  a resource: faults, iowait, dirty pages, ...
An empty cell was not measured, nor one with -, NaN, null or NA. Other names of
columns: --time-column and --rate-column. JSON is read as well: objects in a list
or one a line, and what Prometheus answers.

docs/analyze.md defines each word, docs/error-rates.md says how often each is wrong.
Exit status: 0 analysed, whatever was found; 1 the answer could not be written;
2 bad input.`,
		Example: `  assay analyze rates.csv
  assay analyze results/put-get
  assay analyze results/put-get --trial b1-001-bbolt-D1 --phase put --json
  (echo time_s,rate; for i in $(seq 60); do
     echo $i,$((i > 30 ? 41000 + i % 7 * 500 : 118000 + i % 5 * 900)); done) |
    assay analyze -`,
		Args: takes(1, 1, "one CSV file, run directory, or - for standard input"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON {
				how = "json"
			}
			if how != "text" && how != "json" {
				return usage(fmt.Errorf("--format %s: expected text or json", how))
			}
			all, err := analyzeAll(args[0], c.InOrStdin(), trial, phase, as)
			if err != nil {
				return usage(err)
			}
			for _, a := range all {
				for _, note := range a.Notes {
					fmt.Fprintln(os.Stderr, "assay: note:", note)
				}
			}
			if how == "json" {
				return wroteAnalysis(writeForm(c.OutOrStdout(), all))
			}
			return wroteAnalysis(writeAnalyses(c.OutOrStdout(), all))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	c.Flags().StringVar(&how, "format", how, "`text` or json")
	c.MarkFlagsMutuallyExclusive("json", "format")
	c.Flags().StringVar(&as.Time, "time-column", "", "of a file: the `column` of times, if it is not time_s")
	c.Flags().StringVar(&as.Rate, "rate-column", "", "of a file: the `column` of the rate, if it is not rate")
	c.Flags().StringVar(&as.Differences, "differences", "", "that column counts since the start: take differences of a `count` or a mean")
	c.Flags().Float64Var(&as.Every, "interval", 0, "lines are samples of so many `seconds`; no column of times is read")
	c.Flags().StringVar(&trial, "trial", "", "of a run directory: this `trial` alone")
	c.Flags().StringVar(&phase, "phase", "", "of a run directory: this `phase` alone")
	return c
}

// analyzeAll analyses a file, or the measured phases of a run's trials.
func analyzeAll(name string, standardInput io.Reader, trial, phase string, as csvseries.Columns) ([]analyzed, error) {
	if name == "-" {
		return analyzeCSV(standardInput, "standard input", trial+phase, as)
	}
	directory := filepath.Base(name) == "series.jsonl"
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		directory = true
	}
	if directory && as != (csvseries.Columns{}) {
		return nil, fmt.Errorf("%s: --time-column, --rate-column, --differences and --interval are for files of other programs", name)
	}
	if filepath.Base(name) == "series.jsonl" {
		directory := filepath.Dir(name)
		return analyzeRun(filepath.Dir(filepath.Dir(directory)), filepath.Base(directory), phase)
	}
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if info.IsDir() {
		return analyzeRun(name, trial, phase)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	all, err := analyzeCSV(file, name, trial+phase, as)
	return all, errors.Join(err, file.Close())
}

func analyzeCSV(r io.Reader, name, narrowed string, as csvseries.Columns) ([]analyzed, error) {
	if narrowed != "" {
		return nil, fmt.Errorf("%s: --trial and --phase are for run directories", name)
	}
	read, notes, err := csvseries.Read(r, as)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []analyzed{analysisOf(read, finding.Where{}, notes)}, nil
}

func analyzeRun(directory, trial, phase string) (all []analyzed, err error) {
	run, err := record.Open(directory)
	if err != nil {
		return nil, err
	}
	run = run.ByGroup()
	var trials, phases []string
	known := false
	for _, p := range run.Experiment.Phases {
		phases = append(phases, p.Name)
		known = known || p.Name == phase
	}
	if phase != "" && !known {
		return nil, fmt.Errorf("%s: no phase %q%s", directory, phase, didYouMeanOne(phase, phases))
	}
	found := trial == ""
	for _, planned := range run.Plan {
		trials = append(trials, planned.ID)
		if trial != "" && planned.ID != trial || trial == "" && planned.Role == plan.Ceiling {
			continue
		}
		found = true
		for _, p := range run.Experiment.Phases {
			if phase == "" && (p.Load || p.Unmeasured) || phase != "" && p.Name != phase {
				continue
			}
			series, _ := facts.Rates(run.Samples(planned.ID, p.Name), p.Name, p.End())
			if len(series.Rates) > 0 {
				all = append(all, analysisOf(series, finding.Where{Arm: planned.Arm, Trial: planned.ID,
					Phase: p.Name}, nil))
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: no trial %q%s", directory, trial, didYouMeanOne(trial, trials))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no samples to analyse; loads and unmeasured phases need --phase NAME: %s", directory, format.ListMax(phases, 8))
	}
	return all, nil
}

func didYouMeanOne(name string, names []string) string {
	if near := format.Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; expected one of " + format.ListMax(names, 8)
}

func wroteAnalysis(err error) error {
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("write the analysis: %w", err)}
	}
	return nil
}
