package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/presets"
)

func presetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the experiments that ship with Assay, or print one",
		Long: `Lists the experiments that ship with Assay. With a name: prints its file, which can be
changed and run.`,
		Example: `  assay presets
  assay presets put-get > mine.yaml   # a copy to change`,
		Args: takes(0, 1, "at most one preset's name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return presets.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			if len(args) == 1 {
				source, err := presets.Source(args[0])
				if err != nil {
					return usage(err)
				}
				_, err = out.Write(source)
				return failed(err)
			}
			table := newColumns("preset", "what it asks")
			for _, p := range presets.All() {
				table.add(p.Name, p.Summary)
			}
			if err := table.print(out); err != nil {
				return failed(err)
			}
			_, err := fmt.Fprintln(out, "\nassay run NAME runs one; assay presets NAME prints it; --set scale=… picks its size.")
			return failed(err)
		},
	}
}
