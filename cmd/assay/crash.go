package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/base/format"
	"assay/internal/evidence/proof"
	"assay/internal/execution/crash"
	"assay/internal/execution/powercut"
	"assay/internal/execution/run"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/presentation/live"
	"assay/internal/presentation/loss"
	"assay/presets"
	"assay/store"
)

// crashFlags are the flags of assay crash.
type crashFlags struct {
	kind, format, data   string
	fault, mountOptions  string
	replay               string
	proofs, keepNone     bool
	fileSystems          []string
	ignoresFlushes       bool
	cuts, only, threads  int
	servers              int
	sector               int64
	oneNode              bool
	openMax              time.Duration
	seed                 uint64
	records, operations  uint64
	values, durabilities string
	sets                 []string
	plain, quiet         bool
}

const (
	crashCuts       = 20
	crashThreads    = 4
	crashRecords    = 500
	crashOperations = 5000
	crashTimeout    = 2 * time.Minute
)

// crashFormats are the forms of a report, the usual one first.
var crashFormats = []string{"text", "json", "csv", "html"}

func newCrashFlags() *crashFlags {
	return &crashFlags{kind: string(crash.Kill), fileSystems: []string{powercut.DefaultFileSystem}, format: "text", cuts: crashCuts,
		threads: crashThreads, seed: 1, records: crashRecords, operations: crashOperations,
		sector: powercut.SectorBytesMin}
}

func crashCommand() *cobra.Command {
	f := newCrashFlags()
	c := &cobra.Command{
		Use:   "crash FILE|PRESET|STORE…",
		Short: "Cut stores off by a kill or a power cut, and check what they had acknowledged",
		Long: `Loads a store, cuts it off at a moment drawn by the seed, opens it again, and reads
every record back. The worker's counters outlive it, so that Assay knows which writes
were acknowledged.

--kind kill ends the store's process (kill -9): during the load, during single writes,
batches, a close, and during the recovery from another kill. It tests what D1 and
stronger classes promise: every acknowledged write is there. D2(T) may lose the last T.

--kind power cuts the power of the disk below a real file system. The store works once,
on a loop device that logs each write and flush. A cut leaves what was flushed, and none,
all, a random half, or torn sectors of what came after it; then the file system and the
store recover. Every fourth cut is followed by another in that recovery. It tests D3 and
D2(T); of D0 and D1, which promise nothing, it measures what is lost. It needs root,
/dev/fuse and loop devices; --fs posix needs no root where /dev/fuse is open and
fusermount3 installed: assay doctor tells.

--fault lets a call of the store fail before it is cut off: a sync (sync-error: what
it was to write may be lost, though later syncs succeed), calls that need room (no-space),
or a write that is done by half (short-write). What is acknowledged before it, after it or
in spite of it must be there; what the store called failed may be there or not.

After each cut Assay looks for lost and stale records, deleted records that are back,
values that nobody wrote (torn ones, ghosts), atomic batches that are there in part,
and scans, indexes and counts that find other records than reads. It also times the
opening. A control without a cut comes first.

A server that Assay starts (redis@start) is cut off in place of its client: it is killed,
or the disk of its directory is cut, and started again on what is left. Of several servers
that make one store (--servers), all are cut off at once. With --one-node, one of them loses
its power while the others go on. In D4 these must have every record; elsewhere it comes back
first, and where the servers need a majority, another is then killed. A server that does not
start again is reported separately where the others have its records.

Each class that a store claims, and that such a cut tests, is tested. For a FILE or a
PRESET: its stores in its classes, cut off as its field crash says.

What the cuts show is kept by store, version, settings and class (--proofs lists it), and
of a broken promise the smallest power cut: --replay makes the same disk and looks again.

Ctrl-C ends the cut under way and shows the cuts so far.

Exit status: 0 every promise was kept · 1 Assay failed · 2 bad arguments ·
3 a promise was broken, a control failed, nothing was tested, or Ctrl-C.`,
		Example: `  assay crash bbolt pebble
  assay crash bbolt --durability D3 --cuts 100 --threads 8
  assay crash bbolt pebble --kind power --cuts 50
  assay crash goleveldb --kind power --durability D1 --fs xfs
  assay crash redis@start --kind power --durability 'D2(3s)'
  assay crash etcd@start --kind power --servers 3 --one-node
  assay crash bbolt sqlite --kind power --fault sync-error --durability D3
  assay crash put-get --cuts 5 --format json
  assay crash pebble --seed 7 --cut 12     only cut 12 of that seed
  assay crash --proofs`,
		Args: func(_ *cobra.Command, args []string) error {
			switch alone := f.replay != "" || f.proofs; {
			case alone && len(args) > 0:
				return usage(errors.New("--replay and --proofs take no stores"))
			case !alone && len(args) == 0:
				return usage(errors.New("assay crash takes an experiment file, a preset or stores\nassay list shows the presets and drivers"))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Concat(presets.Names(), measurable()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	c.Flags().StringVar(&f.kind, "kind", f.kind, "`kind` of cut: kill or power")
	c.Flags().StringSliceVar(&f.fileSystems, "fs", f.fileSystems, "`file systems` whose disk is cut off, one after the other: ext4, xfs, btrfs, posix")
	c.Flags().StringVar(&f.mountOptions, "mount-options", "", "`options` that the file systems are mounted with, such as data=journal,commit=1 (default: the kernel's own)")
	c.Flags().StringVar(&f.fault, "fault", "", "`error` that a call of the store meets before each cut: sync-error, no-space, short-write (--fs is then posix by default)")
	c.Flags().BoolVar(&f.ignoresFlushes, "ignore-flushes", false, "the disk ignores flushes: every store must be refuted, which shows that the rig works")
	c.Flags().Int64Var(&f.sector, "sector", f.sector, "`bytes` that the disk writes whole or not at all: 512 to 4096")
	c.Flags().IntVar(&f.servers, "servers", 0, "`number` of servers that Assay starts as one store (default: one, or that of the file)")
	c.Flags().BoolVar(&f.oneNode, "one-node", false, "of several servers, cut the power of one; the others go on")
	c.Flags().DurationVar(&f.openMax, "open-max", 0, "`time` that opening may take after a cut; a store that takes longer is refuted, and nothing is kept as a proof (default: 2m, the step's limit)")
	c.Flags().IntVar(&f.cuts, "cuts", f.cuts, "`number` of cuts for each store and class")
	c.Flags().IntVar(&f.only, "cut", 0, "make only the cut with this `number` (default: all)")
	c.Flags().Uint64Var(&f.seed, "seed", f.seed, "`number` that all moments and operations are drawn from")
	c.Flags().StringVar(&f.durabilities, "durability", "", "`classes` to test, such as D1,D3 (default: all that a store claims)")
	c.Flags().IntVar(&f.threads, "threads", f.threads, "`number` of threads that write")
	c.Flags().Uint64Var(&f.records, "records", f.records, "`number` of records that the load stores")
	c.Flags().Uint64Var(&f.operations, "operations", f.operations, "`number` of single writes after the load")
	c.Flags().StringVar(&f.values, "values", "", "`length` of values (default: 100, or that of the file)")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "change any field of the experiment: `path=value` (may be repeated)")
	c.Flags().StringVar(&f.data, "data", "", "existing `directory` in which stores get their directories (default: that of temporary files)")
	c.Flags().StringVar(&f.replay, "replay", "", "look again at a failing power cut that was kept in this `directory`")
	c.Flags().BoolVar(&f.proofs, "proofs", false, "list what cuts so far have shown")
	c.Flags().BoolVar(&f.keepNone, "no-proof", false, "do not keep the result as a proof")
	must(c.MarkFlagDirname("replay"))
	c.Flags().StringVar(&f.format, "format", f.format, "`text`, json, csv, or html: a page that draws the rate against the loss")
	c.Flags().BoolVar(&f.plain, "plain", false, "progress as lines, even on a terminal")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	c.Flags().SortFlags = false
	must(c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{string(crash.Kill), string(crash.Power)}, cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("fault", cobra.FixedCompletions(faultNames(), cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("fs", cobra.FixedCompletions(experiment.CutFileSystems, cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(crashFormats, cobra.ShellCompDirectiveNoFileComp)))
	must(c.MarkFlagDirname("data"))
	return c
}

func (f *crashFlags) check() error {
	switch {
	case f.kind != string(crash.Kill) && f.kind != string(crash.Power):
		return fmt.Errorf("--kind %s: expected kill or power", f.kind)
	case len(f.fileSystems) == 0 || slices.ContainsFunc(f.fileSystems,
		func(name string) bool { return !slices.Contains(experiment.CutFileSystems, name) }):
		return fmt.Errorf("--fs %s: expected %s", strings.Join(f.fileSystems, ","), format.List(experiment.CutFileSystems))
	case f.mountOptions != "" && f.kind != string(crash.Power) && f.fault == "":
		return errors.New("--mount-options is for --kind power and --fault")
	case f.ignoresFlushes && f.kind != string(crash.Power):
		return errors.New("--ignore-flushes is for --kind power")
	case f.fault != "" && !slices.Contains(faultNames(), f.fault):
		return fmt.Errorf("--fault %s: expected %s", f.fault, format.List(faultNames()))
	case f.fault != "" && f.ignoresFlushes:
		return errors.New("--fault and --ignore-flushes: expected one of them")
	case f.sector < powercut.SectorBytesMin || f.sector > powercut.SectorBytesMax || f.sector&(f.sector-1) != 0:
		return fmt.Errorf("--sector %d: expected 512, 1024, 2048 or 4096", f.sector)
	case f.oneNode && (f.kind != string(crash.Power) || f.fault != ""):
		return errors.New("--one-node is for --kind power, without --fault")
	case f.servers < 0 || f.servers > experiment.ServersMax:
		return fmt.Errorf("--servers %d: expected from 1 to %d", f.servers, experiment.ServersMax)
	case f.openMax < 0:
		return fmt.Errorf("--open-max %v: expected a time above 0", f.openMax)
	case !slices.Contains(crashFormats, f.format):
		return fmt.Errorf("--format %s: expected %s", f.format, format.List(crashFormats))
	case f.cuts < 1:
		return fmt.Errorf("--cuts %d: expected 1 or more", f.cuts)
	case f.only < 0 || f.only > f.cuts:
		return fmt.Errorf("--cut %d: expected one of the %d of --cuts", f.only, f.cuts)
	case f.threads < 1 || f.records < uint64(f.threads) || f.operations < uint64(f.threads):
		return fmt.Errorf("--threads %d, --records %d, --operations %d: expected at least one record and one operation for each thread", f.threads, f.records, f.operations)
	case f.data != "":
		if info, err := os.Stat(f.data); err != nil || !info.IsDir() {
			return fmt.Errorf("--data %s: expected a directory that exists", f.data)
		}
	}
	return nil
}

// faultNames are the kinds of errors.
func faultNames() (names []string) {
	for _, kind := range powercut.FaultKinds {
		names = append(names, string(kind))
	}
	return names
}

// checkFault says why a fault can't be met on one of the file systems; nil: it can.
func (f *crashFlags) checkFault() error {
	for _, name := range f.fileSystems {
		if err := powercut.FaultKind(f.fault).On(name); f.fault != "" && err != nil {
			return fmt.Errorf("--fault %w", err)
		}
	}
	return nil
}

func (f *crashFlags) run(c *cobra.Command, args []string) error {
	if c.Flags().Changed("fs") && f.kind == string(crash.Kill) && f.fault == "" {
		if c.Flags().Changed("kind") {
			return usage(errors.New("--fs is for --kind power: a kill cuts no file system off"))
		}
		f.kind = string(crash.Power) // which is what has file systems
	}
	if err := f.check(); err != nil {
		return usage(err)
	}
	switch {
	case f.proofs:
		return printProofs(c.OutOrStdout())
	case f.replay != "":
		return f.replayCase(c.OutOrStdout())
	}
	targets, cuts, err := f.targets(args)
	if err != nil {
		return usage(err)
	}
	f.follow(c, cuts)
	if f.fault != "" && !c.Flags().Changed("fs") {
		f.fileSystems = []string{powercut.Strict}
	}
	if why := experiment.CheckMountOptions(f.mountOptions, f.fileSystems); why != "" {
		return usage(fmt.Errorf("--mount-options: %s", why))
	}
	if err := f.checkFault(); err != nil {
		return usage(err)
	}
	for _, left := range run.CleanLeft(c.Context(), run.LeftKeys{}).Failed {
		fmt.Fprintln(os.Stderr, "assay:", left)
	}
	progress := newCutProgress(os.Stderr, f.plain, f.quiet)
	ctx, stop := interruptible("the cuts so far are shown", progress.message)
	defer stop()
	report, err := f.cutAll(ctx, targets, progress)
	if err != nil {
		return err
	}
	if err := writeCrashes(c.OutOrStdout(), report, f.format); err != nil {
		return failed(err)
	}
	return crashStatus(report)
}

// writeCrashes writes a report in one of the formats.
func writeCrashes(w io.Writer, r *crash.Report, format string) error {
	switch format {
	case "json":
		text, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", text)
		}
		return err
	case "csv":
		return writeCutRows(w, r)
	case "html":
		return loss.Page(w, "Rate against loss", howCut(r)+" "+ratesNote, lossPoints(r))
	}
	return printCrashes(w, r)
}

// follow takes what the experiment says of its cuts, where no flag says it.
func (f *crashFlags) follow(c *cobra.Command, e *experiment.Crash) {
	if e == nil {
		return
	}
	if !c.Flags().Changed("kind") {
		f.kind = e.Kind
	}
	if !c.Flags().Changed("cuts") {
		f.cuts = e.Cuts
	}
	if !c.Flags().Changed("fs") && len(e.FileSystems) > 0 {
		f.fileSystems = e.FileSystems
	}
	if !c.Flags().Changed("mount-options") {
		f.mountOptions = e.MountOptions
	}
}

// toStandardError tells what goes on.
func toStandardError(text string) { fmt.Fprintln(os.Stderr, "assay:", text) }

// cutAll cuts each target off, on each file system, and keeps what that shows.
func (f *crashFlags) cutAll(ctx context.Context, targets []*crash.Target, progress *cutProgress) (*crash.Report,
	error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failed(fmt.Errorf("finding Assay's own program, to start workers with: %w", err))
	}
	for _, target := range targets {
		if err := server.BuildFor(ctx, toStandardError, &target.Store); err != nil {
			return nil, usage(err)
		}
	}
	report := &crash.Report{Kind: crash.Kind(f.kind), Fault: powercut.FaultKind(f.fault), Cuts: f.cuts,
		Seed: f.seed, Results: []crash.Result{}}
	rig, on := []string{self, rigCommandName}, []string{""}
	if report.Kind == crash.Power || f.fault != "" {
		report.Rig, on = &crash.RigInfo{Version: powercut.Version, MountOptions: f.mountOptions,
			SectorBytes: f.sector, IgnoresFlushes: f.ignoresFlushes}, f.fileSystems
		for _, name := range on {
			if err := powercut.Check(cmp.Or(f.data, os.TempDir()), name, f.mountOptions, rig); err != nil {
				works := "--kind kill works"
				if name != powercut.Strict && powercut.Check(cmp.Or(f.data, os.TempDir()), powercut.Strict, "", rig) == nil {
					works = "--fs posix and --kind kill work"
				}
				return nil, usage(fmt.Errorf("no power cut can be made here: %w\n%s without it", err, works))
			}
		}
	}
	for _, fileSystem := range on {
		for _, target := range targets {
			if ctx.Err() != nil {
				break
			}
			result, err := crash.Test(ctx, target, crash.Options{
				Kind: report.Kind, Cuts: f.cuts, Seed: f.seed, Only: f.only, Worker: []string{self, "worker"},
				DataRoot: cmp.Or(f.data, os.TempDir()), Timeout: crashTimeout, OpenMax: f.openMax, Log: io.Discard,
				Progress: progress.cut,
				Rig:      rig, FileSystem: fileSystem, MountOptions: f.mountOptions, IgnoresFlushes: f.ignoresFlushes,
				OneNode: f.oneNode, SectorBytes: f.sector, Fault: report.Fault, Program: programOf,
				CaseOf: f.caseOf(report),
			})
			if keepErr := f.keep(report, &result, target, ctx.Err() != nil); err == nil {
				err = keepErr
			}
			report.Results = append(report.Results, result)
			progress.done(&result)
			if err != nil {
				return nil, failed(err)
			}
		}
	}
	report.Stopped = ctx.Err() != nil
	return report, nil
}

// proveFirst cuts the stores of an experiment off before they are measured, so that the run can cite what
// that shows. It fails for nothing but its own faults: where no cut can be made, classes stay claims.
func proveFirst(e *experiment.Experiment, data string, plain, quiet bool) error {
	f := newCrashFlags()
	f.kind, f.cuts, f.data, f.seed, f.mountOptions = e.Crash.Kind, e.Crash.Cuts, data, e.Seed, e.Crash.MountOptions
	if len(e.Crash.FileSystems) > 0 {
		f.fileSystems = e.Crash.FileSystems
	}
	progress := newCutProgress(os.Stderr, plain, quiet)
	ctx, stop := interruptible("nothing was measured", progress.message)
	defer stop()
	report, err := f.cutAll(ctx, f.targetsOf(e, false), progress)
	var told *exitError
	if errors.As(err, &told) && told.status == exitUsage {
		fmt.Fprintf(os.Stderr, "assay: note: %v\n", told.err)
		return nil
	}
	if err != nil {
		return err
	}
	if !quiet {
		if err := printCrashes(os.Stderr, report); err != nil {
			return failed(err)
		}
		fmt.Fprintln(os.Stderr)
	}
	if report.Stopped {
		return &exitError{exitTrials, errors.New("stopped before anything was measured")}
	}
	return nil
}

// proofOf is what a result shows.
func proofOf(r *crash.Report, result *crash.Result) proof.Proof {
	p := proof.Proof{Question: result.Asked, Kind: string(r.Kind), Fault: string(r.Fault),
		Kept: result.State == crash.Kept,
		Cuts: result.Looked(), Records: result.ReadBack(), Broken: result.Broken, Why: result.Why, Seed: r.Seed,
		Made: time.Now().UTC(), Case: result.Case, OneNode: result.OneNode}
	if result.State == crash.NoPromise {
		p.Kept, p.NoPromise = true, true
	}
	if back := result.Back(); back != nil {
		p.NotBack = back.NotBack
	}
	if result.Rate != nil {
		p.Rate = result.Rate.DiskPerSecond
	}
	if w := result.Loss; w != nil {
		p.Loss = &proof.Loss{Cuts: w.Cuts, MedianNS: int64(w.Median), LowNS: int64(w.Low), HighNS: int64(w.High),
			WorstNS: int64(w.Worst),
			Records: w.Records, RecordsMax: w.RecordsMax, LostAll: w.LostAll, Refused: result.Looked() - w.Cuts}
	}
	if r.Rig != nil {
		p.Rig, p.Strict = r.Rig.Version, result.FileSystem == powercut.Strict
		if p.Strict {
			p.FileSystem, p.MountOptions = result.FileSystem, ""
		}
		if r.Rig.SectorBytes != powercut.SectorBytesMin {
			p.Sector = r.Rig.SectorBytes
		}
	}
	return p
}

// keepsNothing reports whether results are not kept as proofs: the user asked for that, or they do not
// show a class alone.
func (f *crashFlags) keepsNothing() bool { return f.keepNone || f.ignoresFlushes || f.openMax > 0 }

// caseOf says where the smallest failing case of a result is kept; nil: nowhere.
func (f *crashFlags) caseOf(r *crash.Report) func(*crash.Result) (string, error) {
	if f.keepsNothing() {
		return nil
	}
	return func(result *crash.Result) (string, error) {
		p := proofOf(r, result)
		return p.CaseDirectory()
	}
}

// keep keeps a result as a proof: a refutation, a promise that all cuts have kept, or what power cuts took
// where none was made.
func (f *crashFlags) keep(r *crash.Report, result *crash.Result, t *crash.Target, stopped bool) error {
	measured := result.State == crash.NoPromise && f.kind == string(crash.Power)
	whole := (result.State == crash.Kept || measured) && len(result.Cuts) == f.cuts && !stopped
	if f.keepsNothing() || !whole && result.State != crash.Refuted {
		return nil
	}
	p := proofOf(r, result)
	p.Threads = t.Cell.Threads
	_, err := proof.Save(p)
	return err
}

// printProofs lists what is kept.
func printProofs(w io.Writer) error {
	all, err := proof.All()
	if err != nil {
		fmt.Fprintln(os.Stderr, "assay:", err)
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "No proofs are kept. assay crash STORE makes one.")
		return nil
	}
	table := newColumns("store", "version", "class", "cut off by", "result", "made")
	for _, p := range all {
		class := experiment.Cell{Durability: p.Class, LossWindow: time.Duration(p.WindowNS)}.ClassText()
		table.add(p.Store, orDash(p.Version), class, p.Kind, p.Text(), p.Made.Format(time.DateOnly))
	}
	if err := table.print(w); err != nil {
		return failed(err)
	}
	for _, p := range all {
		if p.Case != "" {
			fmt.Fprintf(w, "assay crash --replay %s\n", p.Case)
		}
	}
	return nil
}

// replayCase looks again at a failing cut.
func (f *crashFlags) replayCase(w io.Writer) error {
	kept, err := crash.ReadCase(f.replay)
	if err != nil {
		return usage(fmt.Errorf("--replay: %w", err))
	}
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	ctx, stop := interruptible("nothing is kept of it", toStandardError)
	defer stop()
	if err := server.BuildFor(ctx, toStandardError, &kept.Target.Store); err != nil {
		return usage(err)
	}
	again, same, err := crash.Replay(ctx, &kept, f.replay, crash.Options{Kind: crash.Power, Worker: []string{self, "worker"},
		DataRoot: cmp.Or(f.data, os.TempDir()), Timeout: crashTimeout, Log: io.Discard, Rig: []string{self,
			rigCommandName}, Program: programOf})
	if err != nil {
		return failed(err)
	}
	result := crash.Result{Class: kept.Target.Cell.Durability, WindowNS: int64(kept.Target.Cell.LossWindow)}
	was, is := result.HowBroken(&kept.Cut.Check, crash.Power), result.HowBroken(&again.Check, crash.Power)
	disk := "The disk is the same, to the byte"
	if !same {
		disk = "THE DISK IS ANOTHER ONE"
	}
	fmt.Fprintf(w, "%s: cut %d of seed %d (%s), on %s. %s (%s).\nthen: %s\nnow:  %s\n", kept.Target.Name(), again.Number, kept.Seed, again.Moment,
		kept.FileSystem, disk, again.Digest, was, cmp.Or(is, "nothing is wrong"))
	if is != "" {
		return &exitError{exitTrials, errors.New("the promise is broken again")}
	}
	return nil
}

// crashStatus is the exit status that a report deserves.
func crashStatus(r *crash.Report) error {
	var refuted, failing []string
	tested := 0
	for i := range r.Results {
		result := &r.Results[i]
		name := fmt.Sprintf("%s (%s)", result.Store, result.ClassText())
		switch result.State {
		case crash.Refuted:
			refuted = append(refuted, name)
		case crash.NotPassing:
			failing = append(failing, name)
		}
		if result.State != crash.NotTested && result.State != crash.Stopped {
			tested++
		}
	}
	switch {
	case len(refuted) > 0:
		return &exitError{exitTrials, fmt.Errorf("refuted: %s", strings.Join(refuted, ", "))}
	case len(failing) > 0:
		return &exitError{exitTrials, fmt.Errorf("the control failed: %s", strings.Join(failing, ", "))}
	case r.Stopped:
		return &exitError{exitTrials, errors.New("stopped")}
	case tested == 0:
		return &exitError{exitTrials, errors.New("nothing was tested")}
	}
	return nil
}

// targets are the stores that the arguments name, each in the classes that are tested.
func (f *crashFlags) targets(args []string) ([]*crash.Target, *experiment.Crash, error) {
	changes := []read.Change{}
	for _, set := range f.sets {
		changes = append(changes, read.Change{Flag: "--set", Value: set})
	}
	if f.values != "" {
		changes = append(changes, read.Change{Flag: "--values", Path: "values.bytes", Value: f.values})
	}
	if f.durabilities != "" {
		changes = append(changes, read.Change{Flag: "--durability", Path: "durability", Value: f.durabilities})
	}
	source, err := (&runFlags{}).source(args, changes)
	if err != nil {
		return nil, nil, err
	}
	loaded, err := source.Load(driverCatalogue())
	if err != nil {
		return nil, nil, err
	}
	e := loaded.Experiment
	if remote := e.Remote(); len(remote) > 0 {
		return nil, nil, checkRemote(remote, false)
	}
	return f.targetsOf(e, source.FromStores && f.durabilities == ""), e.Crash, nil
}

// targetsOf are an experiment's stores in their classes.
func (f *crashFlags) targetsOf(e *experiment.Experiment, claimed bool) (targets []*crash.Target) {
	for _, s := range e.Stores {
		if f.servers > 0 && s.Server != nil {
			s.Server.Count = f.servers
		}
		for _, cell := range f.cells(e, s, claimed) {
			targets = append(targets, &crash.Target{Store: s, Cell: cell, Keys: e.Keys,
				PoolBytes: e.Values.PoolBytes, PoolSeed: e.Seed,
				RepeatedPermille: e.Values.RepeatedPermille, Records: f.records, Operations: f.operations})
		}
	}
	return targets
}

// cells are the classes in which a store is tested: those of the experiment or, where stores are
// named without a class, all that the store claims and a cut tests.
func (f *crashFlags) cells(e *experiment.Experiment, s experiment.Store, claimed bool) (cells []experiment.Cell) {
	add := func(class store.Durability, window time.Duration) {
		cell := e.Cells[0]
		cell.Durability, cell.LossWindow, cell.Threads, cell.Processes = class, window, f.threads, 0
		if !slices.ContainsFunc(cells, func(c experiment.Cell) bool { return c.ClassText() == cell.ClassText() }) {
			cells = append(cells, cell)
		}
	}
	if claimed {
		for _, claim := range s.Description.Durability {
			if _, promises := crash.Promise(claim.Class, 0, crash.Kind(f.kind)); (promises ||
				claim.Class == store.D1) && claim.Class != store.D2 {
				add(claim.Class, 0)
			}
		}
	}
	for _, c := range e.Cells {
		if _, claims := s.Description.Claim(c.Durability); claims && !claimed {
			add(c.Durability, c.LossWindow)
		}
	}
	if len(cells) == 0 { // it claims none of them: the result says so
		add(e.Cells[0].Durability, e.Cells[0].LossWindow)
	}
	return cells
}

// cutProgress tells on standard error how far the cuts are: in one line that is written over, on a
// terminal, and otherwise a line for each store and class.
type cutProgress struct {
	w        io.Writer
	terminal bool
}

func newCutProgress(file *os.File, plain, quiet bool) *cutProgress {
	if quiet {
		return &cutProgress{w: io.Discard}
	}
	return &cutProgress{w: file, terminal: !plain && live.TakesEscapes(file)}
}

const clearLine = "\r\033[K"

func (p *cutProgress) cut(name string, cut, of int) {
	switch {
	case !p.terminal:
	case cut == 0:
		fmt.Fprintf(p.w, "%s%s: control, without a cut", clearLine, name)
	default:
		fmt.Fprintf(p.w, "%s%s: cut %d of %d", clearLine, name, cut, of)
	}
}

func (p *cutProgress) done(r *crash.Result) {
	if p.terminal {
		fmt.Fprint(p.w, clearLine)
	}
	fmt.Fprintf(p.w, "%s %s: %s after %s\n", r.Store, r.ClassText(), r.State, format.Plural(len(r.Cuts), "cut", ""))
}

func (p *cutProgress) message(text string) {
	if p.terminal {
		fmt.Fprintln(p.w)
	}
	fmt.Fprintln(p.w, "assay:", text)
}

const rigCommandName = "power-cut-rig"

// rigCommand is the process that serves a power-cut rig's disks. It must be one of its own: whatever
// waits for a disk would otherwise wait for itself.
func rigCommand() *cobra.Command {
	return &cobra.Command{
		Use:    rigCommandName,
		Short:  "The process that serves the disks of assay crash --kind power",
		Hidden: true,
		Args:   takes(0, 0, "no arguments"),
		RunE:   func(*cobra.Command, []string) error { return failed(powercut.Serve(os.Stdin, os.Stdout)) },
	}
}
