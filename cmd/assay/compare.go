package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/internal/analysis/compare"
	"assay/internal/evidence/record"
	"assay/internal/presentation/archive"
	"assay/internal/presentation/column"
	"assay/internal/presentation/export"
	"assay/internal/presentation/html"
	"assay/internal/presentation/text"
)

// compareStatus is what assay compare ends with.
var compareStatus = map[compare.Outcome]int{compare.Regression: 4, compare.Inconclusive: 5}

func compareCommand() *cobra.Command {
	var of, output, archiveFrom string
	var failIf []string
	var asJSON, full, across bool
	form := "text"
	c := &cobra.Command{
		Use:   "compare A [B…]",
		Short: "Compare run directories, or two arms of one: regression, none, or inconclusive",
		Long: `Compares run directory A (before) with B (after) or, with --run DIR, the arm A
with the arm B of one run: rate, latency (p50, p99, p99.9), memory and disk.
More than two directories are a series in the order of time; changes in it are
found from ten runs on.

Exit status: 0 no regression, 4 a regression, 5 inconclusive. A regression is a
figure that is significantly worse; of two arms of one run, B is then slower than A.

Without --fail-if, the comparison is inconclusive where a rate is undecided, or one
side lacks what the other has. With --fail-if, only the thresholds decide: one fails
where the whole 95 % interval of a figure's ratio, new to old, is beyond it. A limit
(p99 > 10ms, rate < 20k, memory > 1GiB) is of the new figure itself: one run
directory is then enough. Runs of two machines are inconclusive, unless
--across-machines compares them as they are.`,
		Example: `  assay compare results/main results/branch
  assay compare results/main results/branch --fail-if 'rate < 0.95x' --fail-if 'p99 > 1.10x'
  assay compare results/main results/branch --format md -o comparison.md
  assay compare results/branch --fail-if 'p99 > 10ms'
  assay compare --run results/put-get bbolt pebble
  assay compare results/nightly-*`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && len(failIf) > 0 && of == "" {
				return nil
			}
			return takes(2, math.MaxInt, "two or more run directories, or --run DIR and two arms")(c, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			if of == "" {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return armNames(of), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON {
				form = "json"
			}
			if !slices.Contains(comparisonForms, form) {
				return usage(fmt.Errorf("--format %s%s", form, didYouMeanOne(form, comparisonForms)))
			}
			comparison, err := compareSides(of, args, failIf, across, archiveFrom)
			if err != nil {
				return usage(err)
			}
			if err := writeTarget(cmp.Or(output, "-"), c.OutOrStdout(), func(w io.Writer) error {
				return writeComparison(w, comparison, form, full, output != "" && !isStandardOutput(output))
			}); err != nil {
				return failed(err)
			}
			if status := compareStatus[comparison.Outcome]; status != 0 {
				return &exitError{status: status}
			}
			return nil
		},
	}
	c.Flags().StringVar(&of, "run", "", "compare two arms of this run `directory`")
	c.Flags().StringArrayVar(&failIf, "fail-if", nil, "fail where a ratio or a figure is beyond this `threshold`: 'rate < 0.95x', 'p99 > 1.10x', 'p99 > 10ms'; repeatable")
	c.Flags().StringVar(&form, "format", form, "`form`: text, md (for a pull request), html, json or junit (for CI)")
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	c.Flags().StringVarP(&output, "output", "o", "", "write to this `file` instead of standard output")
	c.MarkFlagsMutuallyExclusive("json", "format")
	must(c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(comparisonForms, cobra.ShellCompDirectiveNoFileComp)))
	c.Flags().BoolVar(&across, "across-machines", false, "compare runs of two machines, whose ratios are those of the machines as well")
	c.Flags().StringVar(&archiveFrom, "archive", "", "`file` of assay history, whose earlier runs say how far two runs of this machine differ (default: the one of assay history, where there is one)")
	c.Flags().BoolVar(&full, "full", false, "show every figure")
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

func compareSides(of string, args, failIf []string, across bool, archiveFrom string) (*compare.Comparison, error) {
	criteria, err := criteriaOf(failIf)
	if err != nil {
		return nil, err
	}
	if of != "" {
		if len(args) != 2 {
			return nil, fmt.Errorf("--run takes two arms, got %d", len(args))
		}
		run, err := record.Open(of)
		if err != nil {
			return nil, err
		}
		return compare.Arms(run, args[0], args[1], criteria...)
	}
	if args, err = orNewest(args); err != nil {
		return nil, err
	}
	var runs []*record.Run
	var failures []error
	for _, directory := range args {
		run, err := record.Open(directory)
		runs, failures = append(runs, run), append(failures, err)
	}
	if err := errors.Join(failures...); err != nil && !slices.ContainsFunc(args,
		func(a string) bool { return !isDriverName(a) }) {
		return nil, fmt.Errorf("assay compare takes run directories, and %s are drivers\n"+
			"assay run %s measures them; assay compare --run DIR %s compares them in a run", strings.Join(args, " and "), strings.Join(args, " "), strings.Join(args, " "))
	} else if err != nil {
		return nil, fmt.Errorf("%w\nhint: to compare two arms of one run: assay compare --run DIR ARM ARM", err)
	}
	if len(runs) == 1 {
		return compare.Limits(runs[0], criteria...)
	}
	earlier, err := earlierPairs(archiveFrom, runs)
	if err != nil {
		return nil, err
	}
	return compare.Runs(runs, compare.Options{AcrossMachines: across, Earlier: earlier}, criteria...)
}

// earlierPairs reads from an archive how far pairs of earlier runs of the runs' machine moved. file "" is the
// user's own archive, where there is one.
func earlierPairs(file string, runs []*record.Run) (squares []float64, err error) {
	machine := archive.Machine(runs[0].Environment)
	var ids []string
	for _, run := range runs {
		if archive.Machine(run.Environment) != machine {
			return nil, nil
		}
		ids = append(ids, run.Header.ID)
	}
	own := file == ""
	if own {
		if file, err = archiveFile(); err != nil {
			return nil, nil // no home, no archive
		}
	}
	if _, err := os.Stat(file); err != nil {
		if own {
			return nil, nil
		}
		return nil, fmt.Errorf("--archive: %w", err)
	}
	a, err := archive.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	groups, err := a.Groups()
	if err != nil {
		return nil, err
	}
	return archive.Earlier(groups, machine, ids...), nil
}

func criteriaOf(failIf []string) (criteria []compare.Criterion, err error) {
	for _, text := range failIf {
		criterion, err := compare.ParseCriterion(text)
		if err != nil {
			return nil, fmt.Errorf("--fail-if: %w", err)
		}
		criteria = append(criteria, criterion)
	}
	return criteria, nil
}

// comparisonForms are what --format takes.
var comparisonForms = []string{"text", "md", "html", "json", "junit"}

func writeComparison(w io.Writer, c *compare.Comparison, form string, full, file bool) error {
	if form == "json" {
		return writeForm(w, c)
	}
	told := column.Compared(c, full || form == "junit")
	switch form {
	case "md":
		return text.ComparisonMarkdown(w, &told)
	case "html":
		return html.Comparison(w, &told)
	case "junit":
		return export.JUnit(w, &told)
	}
	return text.Comparison(w, &told, textOptions(file))
}
