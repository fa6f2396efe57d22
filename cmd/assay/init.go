package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/internal/base/bounded"
	"assay/internal/experiment/read"
	"assay/presets"
)

func initCommand() *cobra.Command {
	var preset, ycsb, from string
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented experiment to begin with",
		Long: `Writes a commented experiment (default: experiment.yaml; - is standard output). An
existing file is never overwritten. With --preset it is a preset's file; with
--ycsb it is made from a YCSB property file, with a note for everything that differs.
With --from it does what the command line of another benchmark does, with a comment
for each word that has no equal: memtier_benchmark, redis-benchmark, pgbench, db_bench.`,
		Example: `  assay init my.yaml
  assay init my.yaml --preset put-get
  assay init a.yaml --ycsb workloads/workloada
  assay init m.yaml --from 'memtier_benchmark -s 127.0.0.1 -t 2 -c 25 --ratio 1:4 --test-time 30'`,
		Args: takes(0, 1, "at most one file to write"),
		RunE: func(c *cobra.Command, args []string) error {
			path := "experiment.yaml"
			if len(args) == 1 {
				path = args[0]
			}
			if preset != "" && ycsb != "" || preset+ycsb != "" && from != "" {
				return usage(errors.New("--preset, --ycsb and --from exclude each other"))
			}
			text, err := initialText(preset, ycsb, from)
			if err != nil {
				return usage(err)
			}
			return writeInitial(c.OutOrStdout(), path, text)
		},
	}
	c.Flags().StringVar(&preset, "preset", "", "begin with this `preset`")
	c.Flags().StringVar(&ycsb, "ycsb", "", "make it from this YCSB property `file`")
	c.Flags().StringVar(&from, "from", "", "make it from the `command` line of memtier_benchmark, redis-benchmark, pgbench or db_bench, in quotation marks")
	must(c.RegisterFlagCompletionFunc("preset",
		cobra.FixedCompletions(presets.Names(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func writeInitial(out io.Writer, path string, text []byte) error {
	printed := isStandardOutput(path)
	err := writeNew(path, out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	switch {
	case errors.Is(err, errThere):
		return usage(err)
	case err != nil || printed:
		return failed(err)
	}
	_, err = fmt.Fprintf(out, "Wrote %s; assay run %s --dry-run shows what it would do\n", path, path)
	return failed(err)
}

func initialText(preset, ycsb, from string) ([]byte, error) {
	switch {
	case from != "":
		return read.ImportCommand(from)
	case preset != "":
		return presets.Source(preset)
	case ycsb != "":
		properties, err := bounded.ReadFile(ycsb, read.FileBytesMax)
		if err != nil {
			return nil, fmt.Errorf("reading YCSB properties: %w", err)
		}
		text, notes, err := read.ImportYCSB(properties, filepath.Base(ycsb))
		for _, note := range notes {
			fmt.Fprintln(os.Stderr, "assay: note:", note)
		}
		return text, err
	}
	return read.Template(), nil
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files, for editors",
		Long: `Prints the JSON Schema of experiment files. An editor with a YAML language server
completes and checks a file whose first line names it:

  # yaml-language-server: $schema=assay.schema.json`,
		Example: "  assay schema > assay.schema.json",
		Args:    takes(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			schema, err := read.Schema(allDescriptions())
			if err != nil {
				return failed(err)
			}
			_, err = c.OutOrStdout().Write(append(schema, '\n'))
			return failed(err)
		},
	}
}
