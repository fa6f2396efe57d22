package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay/internal/record"
	"assay/internal/report"
)

func reportCommand() *cobra.Command {
	var html, format string
	c := &cobra.Command{
		Use:   "report DIR…",
		Short: "Show the results of run directories",
		Long: `Prints the tables and findings of one or more run directories, or writes them in
another form. Nothing but the directories is needed: no store, no network.`,
		Example: `  assay report results/put-get
  assay report results/put-get --html put-get.html
  assay report results/put-get --format json | jq .findings
  assay report results/put-get --format benchfmt > new.txt && benchstat old.txt new.txt`,
		Args:              atLeastOneDirectory,
		ValidArgsFunction: completeDirectories,
		RunE: func(_ *cobra.Command, args []string) error {
			view, err := viewOf(args)
			if err != nil {
				return usage(err)
			}
			if html != "" {
				if err := writeFile(html, func(w io.Writer) error { return report.HTML(w, view) }); err != nil {
					return &exitError{exitFailed, err}
				}
				fmt.Println("Report:", html)
				return nil
			}
			return printAs(os.Stdout, view, format)
		},
	}
	c.Flags().StringVar(&html, "html", "", "write the HTML report to this `file`")
	c.Flags().StringVar(&format, "format", "text", "text, json, csv or benchfmt")
	must(c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "csv", "benchfmt"}, cobra.ShellCompDirectiveNoFileComp)))
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

func viewOf(directories []string) (report.View, error) {
	var runs []*record.Run
	for _, directory := range directories {
		r, err := record.Open(directory)
		if err != nil {
			return report.View{}, err
		}
		runs = append(runs, r)
	}
	return report.Build(runs...)
}

func printAs(w io.Writer, view report.View, format string) error {
	switch format {
	case "text":
		return printText(w, view)
	case "json":
		return report.JSON(w, view)
	case "csv":
		return report.CSV(w, view)
	case "benchfmt":
		return report.Benchfmt(w, view)
	}
	return usage(fmt.Errorf("--format %s: expected text, json, csv or benchfmt", format))
}

// widthElsewhere is how wide tables are where no terminal says how wide it is.
const widthElsewhere = 140

// printText prints for a person: in colour and to the terminal's width on a terminal, plain and wide otherwise.
func printText(w io.Writer, view report.View) error {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	terminal := err == nil
	if !terminal {
		width = widthElsewhere
	}
	return report.Text(w, view, terminal && os.Getenv("NO_COLOR") == "", width)
}

// writeFile writes a file beside its name and then puts it there, so that a failure leaves what stood there before.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".assay-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(file.Name())
	err = write(file)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err) // a flag's name that this file itself misspells
	}
}
