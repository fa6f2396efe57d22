package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"assay/internal/evidence/record"
	"assay/internal/presentation/tell"
)

func reportCommand() *cobra.Command {
	var s show
	var page, output string
	c := &cobra.Command{
		Use:   "report [DIR…|latest]",
		Short: "Show the results of run directories",
		Long: `Prints the result of one or more run directories: one screen that answers the
experiment's question, everything (--full), or another form. Without a directory, or
with latest, it takes the newest run in this folder, up to two folders deep. Nothing
but the directories is needed: no store, no network.

  text      the screen; --full everything, --brief the answer alone
  md        the screen as Markdown, for a pull request
  html      the page, with charts; its links to raw data hold from where it stands
  json      the whole result; assay schema result prints its JSON Schema
  csv       a line for each store of each table; of a mix, also for each operation
  benchfmt  for benchstat: a value a trial; trials with faults are left out and
            counted on standard error; several directories: benchstat -col run
  benchmark-action
            for github-action-benchmark (customBiggerIsBetter): the rate of each ranked store
  hlog      HdrHistogram's log of the latencies, in ns, of one directory; the tag of
            each histogram is TRIAL/PHASE/OPERATION`,
		Example: `  assay report
  assay report results/put-get
  assay report results/put-get --full
  assay report results/put-get --format html -o put-get.html
  assay report results/put-get --json | jq '.findings[].text'
  assay report before after --format benchfmt | benchstat -col run -`,
		ValidArgsFunction: completeDirectories,
		RunE: func(c *cobra.Command, args []string) error {
			args, err := orNewest(args)
			if err != nil {
				return usage(err)
			}
			if err := s.check(len(args)); err != nil {
				return err
			}
			runs, err := runsOf(args)
			if err != nil {
				return usage(err)
			}
			r, err := tell.Result(runs...)
			if err != nil {
				return usage(err)
			}
			if page != "" {
				s.format, output = "html", page
			}
			switch out := c.OutOrStdout(); {
			case s.format == "html":
				if output == "" {
					output = "-"
				}
				if err := writePage(output, out, r); err != nil || isStandardOutput(output) {
					return failed(err)
				}
				_, err := fmt.Fprintln(out, "Report:", output)
				return failed(err)
			case output != "":
				s.file = !isStandardOutput(output)
				return failed(writeTarget(output, out, func(w io.Writer) error { return s.write(w, r, runs, "") }))
			default:
				return failed(s.write(out, r, runs, ""))
			}
		},
	}
	s.flags(c)
	c.Flags().StringVarP(&output, "output", "o", "", "write to this `file` instead of standard output")
	c.Flags().StringVar(&page, "html", "", "the same as --format html -o `FILE`")
	c.MarkFlagsMutuallyExclusive("html", "format")
	c.MarkFlagsMutuallyExclusive("html", "output")
	return c
}

func completeDirectories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func atLeastOneDirectory(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("expected at least one run directory, as assay run --out makes them"))
	}
	return nil
}

// latest is the word for the newest run.
const latest = "latest"

// orNewest puts the newest run below this folder in the place of latest, or of no directory at all, and
// says on standard error which one that is. A directory of that name wins.
func orNewest(directories []string) ([]string, error) {
	if len(directories) == 0 {
		directories = []string{latest}
	}
	directories = slices.Clone(directories)
	for i, directory := range directories {
		if _, err := os.Stat(directory); directory != latest || err == nil {
			continue
		}
		newest, err := record.Newest(".")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("no run directory in this folder, up to two folders deep\nassay run pebble bbolt makes one; assay report DIR shows one elsewhere")
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(os.Stderr, "assay: the newest run:", newest)
		directories[i] = newest
	}
	return directories, nil
}

func runsOf(directories []string) (runs []*record.Run, err error) {
	for _, directory := range directories {
		r, err := record.Open(directory)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func must(err error) {
	if err != nil {
		panic(err) // a flag's name that this file itself misspells
	}
}
