package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay/presets"
)

func listCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List the presets and the drivers by name",
		Long: `Lists the names that assay run takes. assay presets says what each preset asks, and
assay drivers what each driver can do.`,
		Example: `  assay list
  assay list --json | jq -r '.drivers[] | select(.built) | .name'`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			l := listOf()
			if asJSON {
				return failed(writeForm(c.OutOrStdout(), l))
			}
			var here, missing []string
			for _, d := range l.Drivers {
				if d.Built {
					here = append(here, d.Name)
				} else {
					missing = append(missing, d.Name)
				}
			}
			text := "presets: " + strings.Join(presets.Names(), ", ") + "\ndrivers: " + strings.Join(here, ", ") + "\n"
			if len(missing) > 0 {
				text += "not built here (assay doctor says what builds them): " + strings.Join(missing, ", ") + "\n"
			}
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return failed(err)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the names as JSON (docs/result.md)")
	return c
}

func listOf() listed {
	l := listed{Version: formsVersion}
	for _, p := range presets.All() {
		l.Presets = append(l.Presets, listedPreset{p.Name, p.Summary})
	}
	for _, name := range measurable() {
		n, hosted := hostedOf(name)
		l.Drivers = append(l.Drivers, listedDriver{name, !hosted || n.usable()})
	}
	return l
}
