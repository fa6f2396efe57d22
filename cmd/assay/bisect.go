package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/analysis/compare"
	"assay/internal/base/format"
	"assay/internal/base/owned"
	"assay/internal/execution/child"
	"assay/internal/execution/server"
	"assay/internal/presentation/archive"
)

// bisection is a search for the commit that made a change of a series.
type bisection struct {
	group    *archive.Group
	series   *archive.Series
	change   archive.Change
	command  string // of a shell
	git      func(args ...string) (string, error)
	out      io.Writer // what is found
	progress io.Writer
	scratch  string

	repository string
}

func historyBisect(open opener) *cobra.Command {
	var experiment, arm, phase, metric, repository string
	c := &cobra.Command{
		Use:   "bisect CMD",
		Short: "Find the commit that made a change, by measuring those between",
		Long: `Finds the commit that made the newest change for the worse that assay history show
tells, by bisection: CMD, a line of a shell, builds and measures each commit that is
asked for. It runs in a checkout of its own, and writes the run directory that
ASSAY_OUT names; ASSAY_COMMIT is the commit. A commit whose CMD fails, or that has no ranked figure, is skipped.
A figure that is near the middle of both levels is measured a second time.

Ctrl-C ends CMD with all that it has started, and removes the checkout. The exit
status is 5 where several commits may have made the change.`,
		Example: `  assay history bisect 'make && bin/assay run gate.yaml --out "$ASSAY_OUT" --quiet'
  assay history bisect --experiment gate --arm pebble --metric p99 ./measure.sh`,
		Args: takes(1, 1, "one CMD, in quotes"),
		RunE: func(c *cobra.Command, args []string) error {
			return groups(open, experiment, func(_ *archive.Archive, groups []archive.Group) error {
				b := &bisection{command: args[0], out: c.OutOrStdout(), progress: os.Stderr}
				b.newest(groups, arm, phase, metric)
				if b.series == nil {
					return usage(errors.New("no change for the worse to look for\nhint: assay history show lists all changes, from ten commits on"))
				}
				ctx, stop := interruptible("its checkouts are removed", func(text string) { fmt.Fprintln(b.progress, "assay:", text) })
				defer stop()
				b.repository, b.git = repository, gitIn(c.Context(), repository) // Git tidies up once ctx is over
				return b.run(ctx)
			})
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "", "`name` of the experiment (default: any)")
	c.Flags().StringVar(&arm, "arm", "", "`store` whose figure changed (default: any)")
	c.Flags().StringVar(&phase, "phase", "", "`phase` in which it changed (default: any)")
	c.Flags().StringVar(&metric, "metric", "", "rate, p50, p99, p99.9, memory or disk (default: any)")
	c.Flags().StringVar(&repository, "repository", ".", "git `directory` of what was measured")
	must(c.MarkFlagDirname("repository"))
	return c
}

// newest chooses the change whose first commit is the newest, of these the first: rates come first.
func (b *bisection) newest(groups []archive.Group, arm, phase, metric string) {
	asked := func(value, flag string) bool { return flag == "" || value == flag }
	for i := range groups {
		g := &groups[i]
		at := func(c archive.Change) time.Time { return g.Runs[g.Points[c.At].Runs[0]].CodeAt }
		for j := range g.Series {
			s := &g.Series[j]
			if !asked(s.Arm, arm) || !asked(s.Phase, phase) || !asked(s.Metric, metric) {
				continue
			}
			for _, c := range s.Changes {
				if s.Better(c) || c.Assay != nil { // which commits of the store did not make
					continue
				}
				if b.series == nil || at(c).After(b.group.Runs[b.group.Points[b.change.At].Runs[0]].CodeAt) {
					b.group, b.series, b.change = g, s, c
				}
			}
		}
	}
}

// run measures commits until one is left.
func (b *bisection) run(ctx context.Context) (err error) {
	good, bad := b.group.Points[b.change.Last].Code, b.group.Points[b.change.At].Code
	for _, code := range []string{good, bad} {
		if _, err := b.git("rev-parse", "--verify", "--quiet", code+"^{commit}"); err != nil {
			return usage(fmt.Errorf("%q is no commit of the repository\nhint: assay history add notes the commit that is checked out; --repository names another directory", format.Clean(code)))
		}
	}
	list, err := b.git("rev-list", "--reverse", "--first-parent", good+".."+bad)
	if err != nil {
		return failed(err)
	}
	commits := strings.Fields(list)
	if len(commits) == 0 {
		return usage(fmt.Errorf("%s does not come before %s in the repository", short(good), short(bad)))
	}
	place, err := owned.NewDirectory(os.TempDir(), "bisect")
	if err != nil {
		return failed(err)
	}
	b.scratch = place.Path
	defer func() { err = cmp.Or(err, failed(place.Remove())) }()
	s := b.series
	fmt.Fprintf(b.progress, "assay: %s of %s in %s (%s) was %s at %s and %s at %s: %s between\n", s.Metric, s.Arm, s.Phase, s.Class,
		b.text(b.change.Before), short(good), b.text(b.change.After), short(bad), format.Plural(len(commits)-1, "commit", ""))
	before, after, skipped := -1, len(commits)-1, map[int]bool{}
	for {
		next, any := middle(before, after, skipped)
		if !any {
			break
		}
		value, err := b.measure(ctx, commits[next])
		switch {
		case ctx.Err() != nil:
			return &exitError{exitTrials, errors.New("stopped; the checkouts are removed")}
		case err != nil:
			fmt.Fprintf(b.progress, "assay: %s is skipped: %v\n", short(commits[next]), err)
			skipped[next] = true
			continue
		}
		is := "before"
		if b.share(value) < 0.5 {
			before = next
		} else {
			after, is = next, "after"
		}
		fmt.Fprintf(b.progress, "assay: %s has %s: %s the change\n", short(commits[next]), b.text(value), is)
	}
	suspects := commits[before+1 : after+1]
	if err := b.tell(suspects); err != nil || len(suspects) == 1 {
		return failed(err)
	}
	return &exitError{status: compareStatus[compare.Inconclusive]}
}

// middle chooses the commit nearest to the middle of those between two that is not skipped.
func middle(before, after int, skipped map[int]bool) (next int, any bool) {
	at := (before + after) / 2
	for away := 0; away <= after-before; away++ {
		for _, i := range []int{at - away, at + away} {
			if i > before && i < after && !skipped[i] {
				return i, true
			}
		}
	}
	return 0, false
}

// share is where a value lies between the level before the change, 0, and that after it, 1, on a
// logarithmic scale, as changes are looked for.
func (b *bisection) share(value float64) float64 {
	return math.Log(value/b.change.Before) / math.Log(b.change.After/b.change.Before)
}

// measure runs the command on a commit, and returns the series' figure.
func (b *bisection) measure(ctx context.Context, commit string) (value float64, err error) {
	value, err = b.measureOnce(ctx, commit, 1)
	if share := b.share(value); err == nil && share > 1./3 && share < 2./3 {
		var second float64
		second, err = b.measureOnce(ctx, commit, 2)
		value = math.Sqrt(value * second)
	}
	return value, err
}

func (b *bisection) measureOnce(ctx context.Context, commit string, number int) (value float64, err error) {
	tree := filepath.Join(b.scratch, "tree")
	note, err := owned.NewWorktree(b.repository, tree)
	if err != nil {
		return 0, err
	}
	defer func() {
		removeErr := owned.RemoveWorktree(context.WithoutCancel(ctx), note.Thing)
		if err = errors.Join(err, removeErr); removeErr == nil {
			note.Done()
		} else {
			note.Keep()
		}
	}()
	if _, err := b.git("worktree", "add", "--detach", "--force", tree, commit); err != nil {
		return 0, err
	}
	run := filepath.Join(b.scratch, fmt.Sprint(commit, "-", number))
	command := exec.Command("sh", "-c", b.command)
	command.Dir, command.Env = tree, append(os.Environ(), "ASSAY_OUT="+run, server.CommitVariable+"="+commit)
	command.Stdout, command.Stderr = b.progress, b.progress
	command.WaitDelay = time.Second
	if err := runWhole(ctx, command); err != nil {
		return 0, fmt.Errorf("CMD: %w", err)
	}
	e, err := entryOf(run, code{name: commit})
	if err != nil {
		return 0, err
	}
	if e.Experiment != b.group.Experiment || e.Machine != b.group.Machine {
		return 0, errors.New("CMD measured another experiment, or on another machine, than the history has")
	}
	for _, f := range e.Figures {
		if s := b.series; f.Class == s.Class && f.Cell == s.Cell && f.Phase == s.Phase && f.Arm == s.Arm &&
			f.Metric == s.Metric {
			return f.Value, nil
		}
	}
	return 0, errors.New("its run has no such figure with a rank")
}

// commandPatience is how long a command may take to end in order once it was asked to.
const commandPatience = 10 * time.Second

// runWhole runs a command, and ends it with all that it has started when it is over, or ctx is.
func runWhole(ctx context.Context, command *exec.Cmd) error {
	c, err := child.Start(command, child.Options{})
	if err != nil {
		return err
	}
	over := make(chan struct{})
	asked := context.AfterFunc(ctx, func() {
		c.Ask(syscall.SIGTERM)
		select {
		case <-over:
		case <-time.After(commandPatience):
			c.Kill()
		}
	})
	defer asked()
	_, err = c.Wait()
	close(over)
	return err
}

// tell says which commits may have made the change: one, or those that were skipped beside it.
func (b *bisection) tell(suspects []string) error {
	s := b.series
	what := fmt.Sprintf("%s of %s in %s (%s): %s to %s", s.Metric, s.Arm, s.Phase, s.Class, b.text(b.change.Before), b.text(b.change.After))
	if len(suspects) > 1 {
		if _, err := fmt.Fprintf(b.out, "One of %d commits changed %s; those between could not be measured:\n", len(suspects), what); err != nil {
			return err
		}
	}
	for _, commit := range suspects {
		subject, err := b.git("log", "-1", "--format=%an, %ad: %s", "--date=short", commit)
		if err != nil {
			return err
		}
		if len(suspects) == 1 {
			_, err = fmt.Fprintf(b.out, "Commit %s changed %s.\n  %s\n", short(commit), what, format.Clean(subject))
		} else {
			_, err = fmt.Fprintf(b.out, "  %s  %s\n", short(commit), format.Clean(subject))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bisection) text(value float64) string {
	switch b.series.Metric {
	case "rate":
		return format.Count(uint64(value)) + "/s"
	case "memory", "disk":
		return format.Bytes(value)
	}
	return time.Duration(value).String()
}

func short(commit string) string {
	if len(commit) == 40 {
		return commit[:10]
	}
	return format.Clean(commit)
}
