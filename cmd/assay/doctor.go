package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/base/clock"
	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/execution/run"
)

func doctorCommand() *cobra.Command {
	clean := false
	c := &cobra.Command{
		Use:   "doctor [DIRECTORY]",
		Short: "Check what on this machine would disturb a measurement",
		Long: `Checks the machine and the file system of a directory (default: here). Shows what
would disturb a measurement, which features don't work here (memory limits, disk
quotas, cold caches, native stores, servers), what to do about it, and what is unknown.`,
		Example: `  assay doctor
  assay doctor /mnt/disk-to-measure
  assay doctor --clean`,
		Args: takes(0, 1, "at most one directory"),
		RunE: func(c *cobra.Command, args []string) error {
			directory := "."
			if len(args) == 1 {
				directory = args[0]
			}
			if info, err := os.Stat(directory); err != nil || !info.IsDir() {
				return usage(fmt.Errorf("%s is not a directory", directory))
			}
			if clean {
				return failed(cleanLeft(c.OutOrStdout()))
			}
			return failed(diagnose(c.OutOrStdout(), directory))
		},
	}
	c.Flags().BoolVar(&clean, "clean", false, "remove what killed runs have left: mounts, cgroups, processes, data, temporary files")
	return c
}

// cleanLeft removes what killed runs have left, as the next run would.
func cleanLeft(out io.Writer) error {
	cleaned := run.CleanLeft()
	for _, what := range cleaned.Removed {
		fmt.Fprintln(out, "removed", what)
	}
	if len(cleaned.Removed)+len(cleaned.Failed) == 0 {
		fmt.Fprintln(out, "nothing is left of killed runs")
	}
	return errors.Join(cleaned.Failed...)
}

const (
	lookAround   = time.Second // how long other processes are watched
	foreignQuiet = 0.05        // share of the CPU time from which on other processes are told of: reports do so, too
)

// ailment is something that would spoil a measurement.
type ailment struct{ what, remedy string }

// diagnose looks and says. A line that can't be written is not looked at here: out keeps that (see
// output).
func diagnose(out io.Writer, directory string) error {
	e := host.Seal(directory, os.Args)
	table := newColumns("what", "is")
	table.add("processor", fmt.Sprintf("%s, %d CPUs", orDash(e.CPU), e.CPUs))
	table.add("memory", format.Bytes(float64(e.MemoryBytes)))
	table.add("kernel", orDash(e.Kernel))
	table.add("system", orDash(e.OS))
	table.add("governor", cmp.Or(e.Governor, "unknown"))
	table.add("file system", fmt.Sprintf("%s on %s (%s)", orDash(e.Filesystem), orDash(e.Device), orDash(e.Mount)))
	if e.SyncMicros > 0 {
		table.add("fdatasync", fmt.Sprintf("%.0f µs for 4 KiB", e.SyncMicros))
	} else {
		table.add("fdatasync", "not measured")
	}
	c, err := clock.New(clock.Auto)
	if err != nil {
		return err
	}
	table.add("clock", fmt.Sprintf("%s (kernel: %s)", c.Source(), orDash(e.ClockSource)))
	abilities := abilitiesOf(directory)
	for _, a := range abilities {
		table.add(a.name, a.state)
	}
	foreign := host.ForeignShare(lookAround)
	if foreign != nil {
		table.add("other processes", fmt.Sprintf("use %s of the CPU time now", format.Percent(*foreign)))
	} else {
		table.add("other processes", "not measured")
	}
	table.add("Assay", orDash(e.Assay)+", "+e.Go)
	if err := table.print(out); err != nil {
		return err
	}
	if err := printServers(out); err != nil {
		return err
	}
	ailments := ailmentsOf(e, c.Source(), directory, foreign)
	fmt.Fprintln(out)
	for _, a := range ailments {
		fmt.Fprintf(out, "! %s\n  %s\n", a.what, a.remedy)
	}
	if len(ailments) == 0 {
		fmt.Fprintln(out, "Nothing found that would disturb a measurement.")
	}
	printLacks(out, abilities)
	if unknown := append(unknownOf(e), unwatched(directory)...); len(unknown) > 0 {
		fmt.Fprintln(out, "Unknown on this machine:", strings.Join(unknown, ", ")+".")
	}
	if missing := host.NotMeasured(directory); len(missing) > 0 {
		fmt.Fprintln(out, "\nNot measured on this machine:")
		series := newColumns("series", "why")
		for _, name := range slices.Sorted(maps.Keys(missing)) {
			series.add(name, missing[name])
		}
		return series.print(out)
	}
	return nil
}

// printLacks says what experiments can't ask of this machine, and what to do about it.
func printLacks(w io.Writer, abilities []ability) {
	head := "\nNot supported on this machine:\n"
	for _, a := range abilities {
		if a.lacks != "" {
			fmt.Fprintf(w, "%s- %s\n  %s\n", head, a.lacks, a.remedy)
			head = ""
		}
	}
	if head == "" {
		fmt.Fprintln(w)
	}
}

// unknownOf names what this machine does not tell. What is not known is not fine.
func unknownOf(e host.Environment) []string {
	var unknown []string
	for _, fact := range []struct {
		missing bool
		name    string
	}{
		{e.Governor == "", "the CPU governor"},
		{e.MemoryBytes == 0, "the size of the memory"},
		{e.Filesystem == "", "the file system"},
		{e.SyncMicros == 0, "fdatasync latency"},
		{e.ClockSource == "", "the kernel's clock source"},
	} {
		if fact.missing {
			unknown = append(unknown, fact.name)
		}
	}
	return unknown
}

// unwatched names what may slow a worker down without a trace here.
func unwatched(directory string) []string {
	now := host.NewSampler(directory, os.Getpid()).Throttling()
	held := now.Since(now)
	var unknown []string
	if held.QuotaWhy != "" {
		unknown = append(unknown, "CPU quota ("+held.QuotaWhy+")")
	}
	if held.HeatWhy != "" {
		unknown = append(unknown, "thermal throttling ("+held.HeatWhy+")")
	}
	return unknown
}

func ailmentsOf(e host.Environment, source clock.Source, directory string, foreign *float64) []ailment {
	var found []ailment
	add := func(when bool, what, remedy string) {
		if when {
			found = append(found, ailment{what, remedy})
		}
	}
	add(e.CPUs < 2, "One CPU: the store shares it with Assay.", "Use a machine with at least two CPUs.")
	add(e.Governor != "" && e.Governor != "performance", "The CPU governor is "+e.Governor+": the CPU frequency changes with the load.",
		"cpupower frequency-set -g performance")
	add(source != clock.TSC, "The time-stamp counter is not reliable here: reading the clock takes 29 ns instead of 11.", "Results stay correct; very fast stores come closer to the ceiling.")
	add(e.Filesystem == "tmpfs", "This directory is in memory (tmpfs): classes above D0 have no meaning there.", "Name a directory on a disk with --data.")
	add(e.Filesystem == "overlay", "This directory is on an overlay file system: the first write to a file copies it.", "Name a directory on a volume with --data.")
	add(e.SyncMicros > 0 && e.SyncMicros < 20 && e.Filesystem != "tmpfs", fmt.Sprintf("fdatasync takes %.0f µs: faster than any disk, so a layer below does not sync.", e.SyncMicros),
		"Don't compare D3 results with those of other machines.")
	if foreign != nil {
		add(*foreign >= foreignQuiet, fmt.Sprintf("Other processes use %s of the CPU time.", format.Percent(*foreign)),
			"Stop them: a trial is not ranked if they use more than 25 %.")
	}
	free, err := host.FreeBytes(directory)
	add(err == nil && free < 10<<30, fmt.Sprintf("Only %s free in %s.", format.Bytes(float64(free)), directory), "assay run --dry-run shows what an experiment needs.")
	add(errors.Is(err, os.ErrPermission), "The free space can't be read.", "Check the permissions of "+directory+".")
	return found
}
