package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/experiment/capacity"
)

func capacityCommand() *cobra.Command {
	f := runFlags{capacity: true}
	c := &cobra.Command{
		Use:   "capacity DRIVER… --objective 'p99 < 5ms'",
		Short: "Find the highest rate at which stores keep objectives",
		Long: `Finds how many operations a second each store takes while objectives hold, with an
interval, and ends with the answer, a curve of latency by rate and an HTML report.

Objectives bound a percentile (p50 to p99.99), the mean, the share of errors, or that of
misses. Latency counts from the moment at which an operation was due, whether the store
keeps up or not. Several objectives must hold together.

Each trial brackets the rate in short steps, tries 16 rates around the edge in random
order, tests whether the store recovers from overload, and confirms its capacity by a
longer step. Steps in which others took a part of the machine are done again. Three
blocks give an interval; stores run interleaved. A trial takes about a minute with the
default step, and longer where operations are few. --time lays the search out to fit;
--dry-run tells how long it takes.

For a store without a capacity the report says why: at least so much, where the client is
too small; a cliff; no recovery; unstable. The threads are the clients: with too few, they
wait for each other, and the capacity is theirs.`,
		Example: `  assay capacity redis@start memcached@start --objective 'p99 < 5ms' --threads 16
  assay capacity pebble bbolt --objective 'p99 < 5ms' --mix read=95,update=5 --time 10m
  assay capacity redis@start --objective 'p99.9 < 10ms' --objective 'errors < 0.1%' --hold 60s
  assay capacity goleveldb --objective 'p99 < 1ms' --dry-run
  assay capacity pebble --objective 'mean < 200us' --save-as capacity.yaml --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("assay capacity takes drivers, such as redis@start or pebble\nassay list shows them"))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return measurable(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.objectiveFlag(c)
	f.flags(c)
	return c
}

// objectiveFlag adds --objective.
func (f *runFlags) objectiveFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.objectives, "objective", nil, "what must `hold`: "+capacity.ObjectiveForms+" (may be repeated)")
	must(c.RegisterFlagCompletionFunc("objective", cobra.FixedCompletions([]string{"p99 < 5ms", "p99.9 < 10ms", "mean < 1ms", "errors < 0.1%", "misses < 1%"},
		cobra.ShellCompDirectiveNoFileComp)))
}

// checkObjectives refuses what is no objective, before anything else is looked at.
func checkObjectives(texts []string) error {
	if len(texts) == 0 {
		return fmt.Errorf("what is to hold is missing\n--objective %s", "'p99 < 5ms'")
	}
	for _, text := range texts {
		if _, err := capacity.Parse(text); err != nil {
			return err
		}
	}
	return nil
}
