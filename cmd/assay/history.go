package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/base/bounded"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/presentation/archive"
	"assay/internal/presentation/html"
	"assay/internal/presentation/site"
	"assay/internal/presentation/tell"
	"assay/internal/presentation/text"
)

func historyCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "history",
		Short: "Keep the figures of many runs, and find where they changed",
		Long: `Keeps the figures and the report of each run that is added, in one SQLite file, and
finds the commits at which a rate, a latency, memory or disk changed.

Runs are put together where the experiment is the same, byte for byte, and the
machine too (processor, CPUs, memory, file system). A commit is one point,
and so is a release, or a run of which neither is known. Only figures that have a
rank count. Changes are looked for from ten points on.`,
		Example: `  assay run gate.yaml --out results/$(git rev-parse --short HEAD)
  assay history add results/$(git rev-parse --short HEAD)
  assay history show
  assay history site --output public`,
	}
	c.PersistentFlags().StringVar(&file, "archive", "", "the archive's `file` (default: ~/.local/share/assay/history.sqlite)")
	open := func(make bool) (*archive.Archive, error) {
		path := file
		if path == "" {
			var err error
			if path, err = archiveFile(); err != nil {
				return nil, failed(err)
			}
		}
		if _, err := os.Stat(path); err != nil && !make {
			return nil, usage(fmt.Errorf("there is no archive at %s yet\nassay history add DIR makes it", path))
		}
		a, err := archive.Open(path)
		if err != nil {
			return nil, usage(err)
		}
		return a, nil
	}
	c.AddCommand(historyAdd(open), historyShow(open), historyBisect(open), historySite(open), historyRemove(open))
	return c
}

// opener opens the archive; where there is none it is made, or that is an error.
type opener func(make bool) (*archive.Archive, error)

// archiveFile is where the archive is that no flag names: data of the user's, by the XDG's
// convention.
func archiveFile() (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "assay", "history.sqlite"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home directory for the archive (or name it: --archive FILE): %w", err)
	}
	return filepath.Join(home, ".local", "share", "assay", "history.sqlite"), nil
}

func historyAdd(open opener) *cobra.Command {
	var code, at, repository string
	c := &cobra.Command{
		Use:   "add DIR…",
		Short: "Add run directories",
		Long: `Adds run directories. What was measured is the commit that is checked out in
--repository, or what --code names: a release, say. Where there is neither, it is
the time of the run. A run that is there already is replaced.`,
		Example: `  assay history add results/put-get
  assay history add results/put-get --code v1.4.0 --at 2026-11-01`,
		Args:              atLeastOneDirectory,
		ValidArgsFunction: completeDirectories,
		RunE: func(c *cobra.Command, args []string) (err error) {
			measured, err := codeOf(c.Context(), code, at, repository)
			if err != nil {
				return usage(err)
			}
			var entries []archive.Entry
			for _, directory := range args {
				e, err := entryOf(directory, measured)
				if err != nil {
					return usage(err)
				}
				entries = append(entries, e)
			}
			a, err := open(true)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			for _, e := range entries {
				replaced, err := a.Add(e)
				if err != nil {
					return failed(err)
				}
				verb := "Added"
				if replaced {
					verb = "Replaced"
				}
				if _, err := fmt.Fprintf(c.OutOrStdout(), "%s %s as %s: %s.\n", verb, format.Clean(e.Name), format.Clean(e.Code),
					format.Plural(len(e.Figures), "figure", "")); err != nil {
					return failed(err)
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&code, "code", "", "`name` of what was measured (default: the commit in --repository)")
	c.Flags().StringVar(&at, "at", "", "`time` of that code, which orders a series: 2026-11-01, or RFC 3339 (default: the commit's)")
	c.Flags().StringVar(&repository, "repository", ".", "git `directory` whose commit was measured")
	must(c.MarkFlagDirname("repository"))
	return c
}

// code is what was measured; the zero time stands for that of the run.
type code struct {
	name string
	at   time.Time
}

// codeOf finds what was measured. Without git, or outside of a repository, it is empty: the run's
// own time stands for it.
func codeOf(ctx context.Context, name, at, repository string) (c code, err error) {
	if at != "" {
		if c.at, err = time.Parse(time.RFC3339, at); err != nil {
			if c.at, err = time.Parse(time.DateOnly, at); err != nil {
				return code{}, fmt.Errorf("--at %q: expected a date (2026-11-01) or a time (2026-11-01T12:00:00Z)", at)
			}
		}
	}
	if c.name = name; name != "" {
		return c, nil
	}
	git := gitIn(ctx, repository)
	head, err := git("log", "-1", "--format=%H %cI")
	if err != nil {
		return c, nil
	}
	hash, when, _ := strings.Cut(head, " ")
	c.name = hash
	if changed, err := git("status", "--porcelain", "--untracked-files=no"); err == nil && changed != "" {
		c.name += archive.Changed
	}
	if c.at.IsZero() {
		if c.at, err = time.Parse(time.RFC3339, when); err != nil {
			return code{}, fmt.Errorf("reading the time of commit %s: %w", hash, err)
		}
	}
	return c, nil
}

// gitIn runs git in a repository, and returns what it says without the space around it.
func gitIn(ctx context.Context, repository string) func(arguments ...string) (string, error) {
	return func(arguments ...string) (string, error) {
		out, err := bounded.Output(exec.CommandContext(ctx, "git", append([]string{"-C", repository}, arguments...)...))
		if err != nil {
			return "", fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
}

// entryOf reads a run directory, and makes its report.
func entryOf(directory string, measured code) (archive.Entry, error) {
	run, err := record.Open(directory)
	if err != nil {
		return archive.Entry{}, err
	}
	r, err := tell.Result(run)
	if err != nil {
		return archive.Entry{}, err
	}
	e := archive.EntryOf(run, r)
	if len(e.Figures) == 0 {
		return e, fmt.Errorf("%s has no ranked figure to keep: assay report %s says why", directory, directory)
	}
	if e.Directory, err = filepath.Abs(directory); err != nil {
		return e, err
	}
	e.Code, e.CodeAt = measured.name, measured.at
	if e.Code == "" {
		e.Code = e.Created.UTC().Format("2006-01-02 15:04:05")
	}
	if e.CodeAt.IsZero() {
		e.CodeAt = e.Created
	}
	for i := range r.Trials {
		r.Trials[i].Link = "" // the page stands alone
	}
	var page bytes.Buffer
	err = html.Write(&page, r)
	e.Page = page.Bytes()
	return e, err
}

// groups opens the archive, and reads those series whose experiment has the name, or all.
func groups(open opener, name string, use func(*archive.Archive, []archive.Group) error) (err error) {
	a, err := open(false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(a.Close())) }()
	all, err := a.Groups()
	if err != nil {
		return failed(err)
	}
	var kept []archive.Group
	var names []string
	for _, g := range all {
		if name == "" || g.Name == name {
			kept = append(kept, g)
		}
		names = append(names, g.Name)
	}
	switch {
	case len(all) == 0:
		return usage(fmt.Errorf("%s holds no run\nhint: assay history add DIR", a.Path()))
	case len(kept) == 0:
		return usage(fmt.Errorf("no run of an experiment %q: expected one of %s", name, format.ListMax(names, 20)))
	}
	return use(a, kept)
}

func historyShow(open opener) *cobra.Command {
	var asJSON, full bool
	c := &cobra.Command{
		Use:   "show [EXPERIMENT]",
		Short: "Show the series of all runs, and where they changed",
		Example: `  assay history show
  assay history show gate --full
  assay history show gate --json | jq '.[].series[] | select(.changes)'`,
		Args: takes(0, 1, "an experiment's name, or nothing"),
		RunE: func(c *cobra.Command, args []string) error {
			return groups(open, strings.Join(args, ""), func(_ *archive.Archive, groups []archive.Group) error {
				if asJSON {
					return failed(writeForm(c.OutOrStdout(), groups))
				}
				return failed(text.History(c.OutOrStdout(), groups, textOptions(false), full))
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the series as JSON")
	c.Flags().BoolVar(&full, "full", false, "show every series")
	return c
}

func historySite(open opener) *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use:     "site [EXPERIMENT]",
		Short:   "Write a static site of all runs: a table for each experiment, each figure with its report",
		Example: `  assay history site --output public`,
		Args:    takes(0, 1, "an experiment's name, or nothing"),
		RunE: func(c *cobra.Command, args []string) error {
			return groups(open, strings.Join(args, ""), func(a *archive.Archive, groups []archive.Group) error {
				if err := site.Write(folder, a, groups); err != nil {
					return failed(err)
				}
				_, err := fmt.Fprintln(c.OutOrStdout(), "Site:", filepath.Join(folder, "index.html"))
				return failed(err)
			})
		},
	}
	c.Flags().StringVarP(&folder, "output", "o", "", "write into this `directory`, which is made")
	must(c.MarkFlagRequired("output"))
	must(c.MarkFlagDirname("output"))
	return c
}

func historyRemove(open opener) *cobra.Command {
	return &cobra.Command{
		Use:     "remove ID…",
		Short:   "Forget runs, by the beginning of their id; run directories stay",
		Example: `  assay history remove 3f9a2c`,
		Args:    takes(1, math.MaxInt, "ids of runs, as assay history show --json lists them"),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			a, err := open(false)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, failed(a.Close())) }()
			for _, id := range args {
				if err := a.Remove(id); err != nil {
					return usage(err)
				}
			}
			return nil
		},
	}
}
