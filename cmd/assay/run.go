package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/format"
	"assay/internal/host"
	"assay/internal/live"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/run"
	"assay/internal/spec"
	"assay/internal/verdict"
	"assay/presets"
)

// runFlags are the flags of assay run.
type runFlags struct {
	sets           []string
	out, data      string
	resume, dryRun bool
	plain, noHTML  bool
	quiet          bool
	show           show
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE|PRESET|-",
		Short: "Run an experiment: a file, or a preset by name",
		Long: `Runs every trial of an experiment and ends with a table and an HTML report.

The run directory (--out) holds everything: the experiment with all defaults
written out, each trial's result and its time series, the machine, the report.
Ctrl-C ends the trial under way, keeps what was measured (exit status 3), and
assay run --resume DIR does the trials that are left. A second Ctrl-C ends it at
once (130).`,
		Example: `  assay run put-get
  assay run put-get --set scale=full --out results/put-get
  assay run my.yaml --set records=1000000 --set phases.read.for=30s
  assay run my.yaml --dry-run
  assay presets put-get | assay run - --dry-run
  assay run --resume results/put-get`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1:
				return nil
			case f.resume:
				return usage(errors.New("--resume takes the run directory: assay run --resume DIR"))
			}
			return usage(fmt.Errorf("assay run takes one experiment file or preset; the presets are %s", strings.Join(presetNames(), ", ")))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) > 0:
				return nil, cobra.ShellCompDirectiveNoFileComp
			case f.resume:
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return presetNames(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.OutOrStdout(), args[0]) },
	}
	c.Flags().StringArrayVar(&f.sets, "set", nil, "change a field of the experiment: `path=value` (may be repeated)")
	c.Flags().StringVar(&f.out, "out", "", "run `directory` to make (default: assay-NAME-TIME here, -2, -3 … where that is taken)")
	c.Flags().StringVar(&f.data, "data", "", "existing `directory` in which stores get their directories (default: in the run directory)")
	c.Flags().BoolVar(&f.resume, "resume", false, "do the trials that are left in a run directory, which is then the argument")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the trials, their number, and the time and disk they take; run nothing")
	c.Flags().BoolVar(&f.plain, "plain", false, "progress as lines, even on a terminal")
	c.Flags().BoolVar(&f.noHTML, "no-html", false, "do not write report.html into the run directory")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no result on standard output: the exit status tells, and the run directory")
	f.show.flags(c)
	must(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	must(c.MarkFlagDirname("out"))
	must(c.MarkFlagDirname("data"))
	return c
}

func (f *runFlags) run(out io.Writer, argument string) error {
	if err := f.show.check(); err != nil {
		return err
	}
	if f.resume {
		if len(f.sets) > 0 || f.out != "" || f.dryRun {
			return usage(errors.New("--resume goes on with the experiment as it was begun: it takes no --set, --out or --dry-run"))
		}
		begun, err := record.Open(argument)
		if err != nil {
			return usage(fmt.Errorf("--resume: %w", err))
		}
		if err := f.checkDataRoot(); err != nil {
			return err
		}
		f.warnOfNeed(&begun.Experiment, argument)
		return f.execute(argument, run.Resume)
	}
	source, name, err := experimentSource(argument)
	if err != nil {
		return usage(err)
	}
	e, err := spec.Load(source, name, f.sets, driverCatalogue())
	if err != nil {
		return usage(err)
	}
	if f.dryRun {
		return failed(printPlan(out, e, f.dataPlace(f.out)))
	}
	if err := f.checkDataRoot(); err != nil {
		return err
	}
	if f.out != "" {
		if err := vacant(f.out); err != nil {
			return usage(err)
		}
	}
	f.warnOfNeed(e, f.out)
	place, err := makeRunDirectory(f.out, e.Name, time.Now())
	if err != nil {
		return failed(err)
	}
	defer place.removeIfEmpty()
	return f.execute(place.path, func(ctx context.Context, o run.Options) (run.Result, error) { return run.New(ctx, e, source, o) })
}

// vacant refuses a directory that holds a run, before anything is measured there: another process may be at work in it.
// record.Create looks again, and more closely, under its lock.
func vacant(directory string) error {
	recorded, err := record.Open(directory)
	if err != nil {
		return nil // not a run: record.Create judges what else it is
	}
	return fmt.Errorf("%s already holds a run of %q, begun %s: give another --out, look at it with assay report %s, or go on with it: assay run --resume %s",
		directory, recorded.Header.Name, recorded.Header.Created.Format(time.DateTime+" MST"), directory, directory)
}

// experimentSource returns the text of an experiment file or preset; "-" is standard input. A file wins where both exist.
func experimentSource(argument string) (source []byte, name string, err error) {
	if argument == "-" {
		if source, err = io.ReadAll(os.Stdin); err != nil {
			return nil, "", fmt.Errorf("reading the experiment from standard input: %w", err)
		}
		return source, "standard input", nil
	}
	source, err = os.ReadFile(argument)
	if err == nil {
		return source, argument, nil
	}
	instead := "there is no file " + argument + " here"
	if info, statErr := os.Stat(argument); statErr == nil && info.IsDir() && !strings.ContainsAny(argument, "./\\") {
		instead, err = argument+" is a directory", os.ErrNotExist // perhaps a preset is meant
	}
	if strings.ContainsAny(argument, "./\\") || !errors.Is(err, os.ErrNotExist) {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w; assay init %s writes one to begin with", err, argument)
		}
		return nil, "", fmt.Errorf("reading the experiment: %w", err)
	}
	source, presetErr := presets.Source(argument)
	if presetErr != nil {
		return nil, "", fmt.Errorf("%s, and %w", instead, presetErr)
	}
	return source, "preset " + argument, nil
}

// execute runs trials with a view on standard error, then prints the table and writes the report.
func (f *runFlags) execute(directory string, do func(context.Context, run.Options) (run.Result, error)) error {
	self, err := os.Executable()
	if err != nil {
		return failed(fmt.Errorf("finding Assay's own program, to start workers with: %w", err))
	}
	view := f.view()
	defer view.Close()
	ctx, stop := interruptible("what was measured is kept", view.Message)
	result, err := do(ctx, run.Options{
		Directory: directory, DataRoot: f.data, Command: os.Args, Worker: []string{self, "worker"},
		Ceiling: ceiling(), View: placed{view, directory},
	})
	stop() // a table that is being made need not be kept
	if closeErr := view.Close(); closeErr != nil {
		fmt.Fprintln(os.Stderr, "assay:", closeErr) // what was measured is none the worse
	}
	if errors.Is(err, host.ErrNoMemoryLimit) || errors.Is(err, host.ErrNoQuotaMount) {
		return usage(err)
	}
	if err != nil {
		if _, openErr := record.Open(directory); openErr == nil && result.Planned > 0 { // it had begun
			err = fmt.Errorf("%w\nWhat was recorded is in %s; assay report %s shows it, assay run --resume %s goes on", err, directory, directory, directory)
		}
		return failed(err)
	}
	grave, err := f.present(directory)
	if err != nil {
		return failed(fmt.Errorf("%w\nWhat was measured is kept: assay report %s shows it", err, directory))
	}
	return f.status(result, grave, directory)
}

func (f *runFlags) view() live.View {
	switch {
	case f.quiet:
		return live.NewPlain(io.Discard)
	case f.plain:
		return live.NewPlain(os.Stderr)
	}
	return live.New(os.Stderr)
}

// present prints the result and writes the page. It returns how many findings are grave.
func (f *runFlags) present(directory string) (grave int, err error) {
	recorded, err := record.Open(directory)
	if err != nil {
		return 0, err
	}
	r, err := verdict.Result(recorded)
	if err != nil {
		return 0, err
	}
	path, pageErr := "", error(nil)
	if !f.noHTML {
		// Neither failure keeps the other from being done: a full disk has a table, a reader that went away a page.
		path = filepath.Join(directory, "report.html")
		if pageErr = writePage(path, os.Stdout, r); pageErr != nil {
			path = ""
		}
	}
	var printErr error
	if !f.quiet {
		printErr = f.show.write(os.Stdout, r, []*record.Run{recorded}, path) // not the commands' output, which forgives nothing: who reads a table may go away
	}
	if errors.Is(printErr, syscall.EPIPE) {
		fmt.Fprintf(os.Stderr, "assay: the output was closed; assay report %s prints it again\n", directory)
		printErr = nil
	}
	return graves(r), errors.Join(printErr, pageErr)
}

func (f *runFlags) status(r run.Result, grave int, directory string) error {
	switch {
	case r.Interrupted:
		return &exitError{exitTrials, fmt.Errorf("stopped; assay run --resume %s does the trials that are left", directory)}
	case r.Failed+r.Marked > 0:
		return &exitError{exitTrials, fmt.Errorf("%d of %d trials failed, %d were marked and are not ranked", r.Failed, r.Planned, r.Marked)}
	case grave > 0:
		return &exitError{exitTrials, fmt.Errorf("%s: assay report %s --full shows the evidence", format.Plural(grave, "grave finding", ""), directory)}
	case r.Refused > 0 && r.Measured == 0:
		return &exitError{exitTrials, fmt.Errorf("no store was measured: all %d trials of them were refused, for the reasons above", r.Refused)}
	}
	return nil
}

// printPlan is --dry-run; stores would get their directories on the file system of place.
func printPlan(w io.Writer, e *spec.Experiment, place string) error {
	trials := plan.Plan(e)
	table := newColumns("trial", "arm", "role", "parameters", "")
	for _, t := range trials {
		note := ""
		if t.Refuse != "" {
			note = "can't run: " + t.Refuse
		}
		table.add(t.ID, t.Arm, string(t.Role), e.Cells[t.Cell].Label(e), note)
	}
	if err := table.print(w); err != nil {
		return err
	}
	estimate := plan.EstimateOf(e, trials)
	_, err := fmt.Fprintf(w, "\n%s\n", estimate)
	for _, warning := range shortOf(e, estimate, place) {
		if err == nil {
			_, err = fmt.Fprintf(w, "\nWarning: %s\n", warning)
		}
	}
	return err
}
