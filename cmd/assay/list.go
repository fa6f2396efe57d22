package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the presets and the drivers by name",
		Long: `Lists the names that assay run takes. assay presets says what each preset asks, and
assay drivers what each driver can do.`,
		Example: `  assay list`,
		Args:    takes(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			var here, missing []string
			for _, name := range measurable() {
				if n, native := nativeOf(name); native && !n.built() {
					missing = append(missing, name)
				} else {
					here = append(here, name)
				}
			}
			text := "presets: " + strings.Join(presetNames(), ", ") + "\ndrivers: " + strings.Join(here, ", ") + "\n"
			if len(missing) > 0 {
				text += "not built here (make native): " + strings.Join(missing, ", ") + "\n"
			}
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return failed(err)
		},
	}
}
