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

	"assay/internal/clock"
	"assay/internal/host"
	"assay/internal/run"
)

func doctorCommand() *cobra.Command {
	clean := false
	c := &cobra.Command{
		Use:   "doctor [DIRECTORY]",
		Short: "Say what this machine is and what on it would spoil a measurement",
		Long: `Looks at the machine, and at the file system of a directory (default: here), and
says what would spoil a measurement, what experiments can't ask for here (memory
limits, disk quotas, cold caches, native stores), what to do about it, and what
is not known.`,
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

// diagnose looks and says. A line that can't be written is not looked at here: out keeps that (see output).
func diagnose(out io.Writer, directory string) error {
	e := host.Seal(directory, os.Args)
	table := newColumns("what", "is")
	table.add("processor", fmt.Sprintf("%s, %d CPUs", orDash(e.CPU), e.CPUs))
	table.add("memory", fmt.Sprintf("%.1f GiB", float64(e.MemoryBytes)/(1<<30)))
	table.add("kernel", orDash(e.Kernel))
	table.add("system", orDash(e.OS))
	table.add("governor", cmp.Or(e.Governor, "not known"))
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
		table.add("others", fmt.Sprintf("use %.0f %% of the CPU time now", *foreign*100))
	} else {
		table.add("others", "not measured")
	}
	table.add("Assay", orDash(e.Assay)+", "+e.Go)
	if err := table.print(out); err != nil {
		return err
	}
	ailments := ailmentsOf(e, c.Source(), directory, foreign)
	fmt.Fprintln(out)
	for _, a := range ailments {
		fmt.Fprintf(out, "! %s\n  %s\n", a.what, a.remedy)
	}
	if len(ailments) == 0 {
		fmt.Fprintln(out, "Nothing found that would spoil a measurement.")
	}
	printLacks(out, abilities)
	if unknown := append(unknownOf(e), unwatched(directory)...); len(unknown) > 0 {
		fmt.Fprintln(out, "Not known here, and so not judged:", strings.Join(unknown, ", ")+".")
	}
	if missing := host.NotMeasured(directory); len(missing) > 0 {
		fmt.Fprintln(out, "\nCan't be recorded beside the rate:")
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
	head := "\nCan't be done here:\n"
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
		{e.SyncMicros == 0, "how long fdatasync takes"},
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
	now := host.NewSampler(os.Getpid(), directory).Throttling()
	held := now.Since(now)
	var unknown []string
	if held.QuotaWhy != "" {
		unknown = append(unknown, "whether a CPU quota holds workers back ("+held.QuotaWhy+")")
	}
	if held.HeatWhy != "" {
		unknown = append(unknown, "whether heat slows CPUs down ("+held.HeatWhy+")")
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
	add(e.CPUs < 2, "One CPU: the conductor and the store take turns on it.", "Use a machine with two CPUs or more.")
	add(e.Governor != "" && e.Governor != "performance", "The CPU governor is "+e.Governor+": the clock speed changes with the load.",
		"cpupower frequency-set -g performance")
	add(source != clock.TSC, "The time-stamp counter can't be trusted here: a look at the clock costs 29 ns instead of 11.", "Figures stay right; those of very fast stores are nearer to the ceiling.")
	add(e.Filesystem == "tmpfs", "Files here are in memory: durability classes above D0 mean nothing, and nothing is synced.", "Name a directory on a disk with --data.")
	add(e.Filesystem == "overlay", "Files here are on an overlay file system: the first write to a file copies it.", "Name a directory on a volume with --data.")
	add(e.SyncMicros > 0 && e.SyncMicros < 20 && e.Filesystem != "tmpfs", fmt.Sprintf("fdatasync takes %.0f µs: no disk is that fast; something below answers before the data is safe.", e.SyncMicros),
		"D3 figures from here hold for this machine only.")
	if foreign != nil {
		add(*foreign >= foreignQuiet, fmt.Sprintf("Other processes use %.0f %% of the CPU time just now.", *foreign*100),
			"Stop them: a trial beside which they use more than a quarter is not ranked.")
	}
	free, err := host.FreeBytes(directory)
	add(err == nil && free < 10<<30, fmt.Sprintf("Only %.1f GiB are free in %s.", float64(free)/(1<<30), directory), "assay run --dry-run says what an experiment needs.")
	add(errors.Is(err, os.ErrPermission), "The free space can't be read.", "Check the rights on "+directory+".")
	return found
}
