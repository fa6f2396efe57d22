package main

import (
	"cmp"
	"context"
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
	clean, asJSON, allowRemote, forget := false, false, false, false
	c := &cobra.Command{
		Use:   "doctor [DIRECTORY]",
		Short: "Check what on this machine would disturb a measurement",
		Long: `Checks the machine and the file system of a directory (default: here). Shows what
would disturb a measurement, which features don't work here (memory limits, disk
quotas, cold caches, native stores, servers), what to do about it, and what is unknown.`,
		Example: `  assay doctor
  assay doctor /mnt/disk-to-measure
  assay doctor --json | jq '.problems[].what'
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
			if forget && !clean {
				return usage(errors.New("--forget goes with --clean, which tries to remove the keys first"))
			}
			if clean {
				return failed(cleanLeft(c.Context(), c.OutOrStdout(),
					run.LeftKeys{All: true, AllowRemote: allowRemote, Forget: forget}))
			}
			d, err := lookAround(directory)
			if err != nil {
				return failed(err)
			}
			if asJSON {
				return failed(writeForm(c.OutOrStdout(), d))
			}
			return failed(d.print(c.OutOrStdout()))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON (docs/result.md)")
	c.Flags().BoolVar(&clean, "clean", false, "remove what killed runs have left: mounts, cgroups, processes, data, temporary files, keys on servers")
	c.Flags().BoolVar(&allowRemote, "allow-remote", false, "with --clean: also keys on servers that are not on this machine's loopback")
	c.Flags().BoolVar(&forget, "forget", false, "with --clean: forget keys that can't be removed, as their server is gone")
	return c
}

// cleanLeft removes what killed runs have left, as the next run would, and the keys that they have
// left on servers.
func cleanLeft(ctx context.Context, out io.Writer, keys run.LeftKeys) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding Assay's own program, to start workers with: %w", err)
	}
	keys.Worker = []string{self, "worker"}
	cleaned := run.CleanLeft(ctx, keys)
	for _, what := range cleaned.Removed {
		fmt.Fprintln(out, "removed", what)
	}
	for _, what := range cleaned.Forgotten {
		fmt.Fprintln(out, "forgotten:", what)
	}
	if len(cleaned.Removed)+len(cleaned.Forgotten)+len(cleaned.Failed) == 0 {
		fmt.Fprintln(out, "nothing is left of killed runs")
	}
	return errors.Join(cleaned.Failed...)
}

const (
	watchOthers  = time.Second // how long other processes are watched
	foreignQuiet = 0.05        // share of the CPU time from which other processes are reported, as in reports
)

// ailment is something that would spoil a measurement.
type ailment struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// lookAround examines the machine and a directory.
func lookAround(directory string) (d diagnosed, err error) {
	c, err := clock.New(clock.Auto)
	if err != nil {
		return d, err
	}
	d = diagnosed{Version: formsVersion, Environment: host.Seal(directory, os.Args), Clock: string(c.Source()),
		OthersShare: host.ForeignShare(watchOthers), Servers: serversHere(), NotMeasured: host.NotMeasured(directory)}
	for _, a := range abilitiesOf(directory) {
		d.Abilities = append(d.Abilities, a.told())
	}
	d.Problems = ailmentsOf(d.Environment, c.Source(), directory, d.OthersShare)
	d.Unknown = append(unknownOf(d.Environment), unwatched(directory)...)
	return d, nil
}

// print says it in words. A line that can't be written is not looked at here: out keeps that (see
// output).
func (d *diagnosed) print(out io.Writer) error {
	e := d.Environment
	table := newColumns("what", "is")
	table.add("processor", fmt.Sprintf("%s, %d CPUs", orDash(e.CPU), e.CPUs))
	table.add("memory", format.Bytes(float64(e.MemoryBytes)))
	table.add("kernel", orDash(e.Kernel))
	table.add("system", orDash(e.OS))
	table.add("governor", cmp.Or(e.Governor, "unknown"))
	for _, what := range slices.Sorted(maps.Keys(e.Machine)) {
		table.add(what, e.Machine[what])
	}
	table.add("file system", fmt.Sprintf("%s on %s (%s)", orDash(e.Filesystem), orDash(e.Device), orDash(e.Mount)))
	if e.SyncMicros > 0 {
		table.add("fdatasync", fmt.Sprintf("%.0f µs for 4 KiB", e.SyncMicros))
	} else {
		table.add("fdatasync", "not measured")
	}
	table.add("wake-up", wakeUpText(e.WakeUp))
	table.add("clock", fmt.Sprintf("%s (kernel: %s)", d.Clock, orDash(e.ClockSource)))
	for _, a := range d.Abilities {
		table.add(a.Name, a.State)
	}
	if d.OthersShare != nil {
		table.add("other processes", fmt.Sprintf("use %s of the CPU time now", format.Percent(*d.OthersShare)))
	} else {
		table.add("other processes", "not measured")
	}
	table.add("Assay", orDash(e.Assay)+", "+e.Go)
	if err := table.print(out); err != nil {
		return err
	}
	if err := printServers(out, d.Servers); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, a := range d.Problems {
		printWrapped(out, "! ", a.What)
		printWrapped(out, "  ", a.Remedy)
	}
	if len(d.Problems) == 0 {
		fmt.Fprintln(out, "Nothing found that would disturb a measurement.")
	}
	d.printLacks(out)
	if len(d.Unknown) > 0 {
		printWrapped(out, "", "Unknown on this machine: "+strings.Join(d.Unknown, ", ")+".")
	}
	if len(d.NotMeasured) > 0 {
		fmt.Fprintln(out, "\nNot measured on this machine:")
		series := newColumns("series", "why")
		for _, name := range slices.Sorted(maps.Keys(d.NotMeasured)) {
			series.add(name, d.NotMeasured[name])
		}
		return series.print(out)
	}
	return nil
}

// wakeUpText says what waking a thread costs, which is in each request to a server twice.
func wakeUpText(w *host.WakeUp) string {
	switch {
	case w == nil:
		return "not measured"
	case w.OtherCPU == 0:
		return format.Latency(w.SameCPU) + " on one CPU"
	}
	return fmt.Sprintf("%s on one CPU, %s across two; a request to a server takes one or two", format.Latency(w.SameCPU), format.Latency(w.OtherCPU))
}

// printLacks says what experiments can't ask of this machine, and what to do about it.
func (d *diagnosed) printLacks(w io.Writer) {
	head := "\nNot supported on this machine:\n"
	for _, a := range d.Abilities {
		if a.Lacks != "" {
			fmt.Fprint(w, head)
			printWrapped(w, "- ", a.Lacks)
			printWrapped(w, "  ", a.Remedy)
			head = ""
		}
	}
	if head == "" {
		fmt.Fprintln(w)
	}
}

// unknownOf names what this machine does not report. What is not known is not fine.
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
		{e.WakeUp == nil, "wake-up latency"},
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
