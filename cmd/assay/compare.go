package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"assay/internal/record"
	"assay/internal/verdict"
)

func compareCommand() *cobra.Command {
	var of string
	var asJSON bool
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two run directories, or two arms of one: regression, none, or inconclusive",
		Long: `Compares run directory A (before) with B (after), or, with --run DIR, the arm A
with the arm B of one run. The exit status is for scripts: 0 no regression,
4 a regression, 5 inconclusive (the noise is larger than what could be shown,
the two did other work, or one has a phase, cell or arm that the other has not).`,
		Example: `  assay compare results/main results/branch
  assay compare --run results/put-get bbolt pebble`,
		Args: takes(2, 2, "two run directories, or --run DIR and two arms"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			if of == "" {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return armNames(of), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			comparison, err := compare(of, args[0], args[1])
			if err != nil {
				return usage(err)
			}
			print := jsonComparison
			switch {
			case asJSON:
			case of != "":
				print = printComparison(args[1] + " ÷ " + args[0])
			default:
				print = printComparison("new ÷ old")
			}
			if err := print(c.OutOrStdout(), comparison); err != nil {
				return err
			}
			if status := comparison.Outcome.ExitStatus(); status != 0 {
				return &exitError{status: status}
			}
			return nil
		},
	}
	c.Flags().StringVar(&of, "run", "", "compare two arms of this run `directory`")
	c.Flags().BoolVar(&asJSON, "json", false, "print the comparison as JSON")
	must(c.MarkFlagDirname("run"))
	return c
}

// armNames names the arms of a run for completion; none if it can't be read.
func armNames(directory string) (names []string) {
	run, err := record.Open(directory)
	if err != nil {
		return nil
	}
	for _, s := range run.Experiment.Stores {
		names = append(names, s.Name)
	}
	return names
}

func compare(of, a, b string) (*verdict.Comparison, error) {
	if of != "" {
		run, err := record.Open(of)
		if err != nil {
			return nil, err
		}
		return verdict.CompareArms(run, a, b)
	}
	before, errBefore := record.Open(a)
	after, errAfter := record.Open(b)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return nil, fmt.Errorf("%w\nTo compare two arms of one run: assay compare --run DIR ARM ARM", err)
	}
	return verdict.CompareRuns(before, after)
}

func jsonComparison(w io.Writer, c *verdict.Comparison) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}

// printComparison returns how to print a comparison whose ratios are of what it is told.
func printComparison(ratios string) func(io.Writer, *verdict.Comparison) error {
	return func(w io.Writer, c *verdict.Comparison) error {
		fmt.Fprintln(w, c.Sentence)
		fmt.Fprintln(w)
		table := newColumns("cell", "phase", "arm", ratios, "interval", "outcome", "")
		for _, row := range c.Rows {
			ratio, interval := "–", "–"
			if row.Ratio != nil {
				ratio = fmt.Sprintf("%.3f", row.Ratio.Value)
				if i := row.Ratio.Interval; i != nil {
					interval = fmt.Sprintf("%.3f to %.3f", i.Low, i.High)
				}
			}
			table.add(row.Cell, row.Phase, row.Arm, ratio, interval, string(row.Outcome), row.Why)
		}
		err := table.print(w)
		for _, text := range c.Unmatched {
			fmt.Fprintln(w, "not compared:", text)
		}
		for _, warning := range c.Warnings {
			fmt.Fprintf(w, "! %s\n  %s\n", warning.Evidence, warning.Remedy)
		}
		return err
	}
}
