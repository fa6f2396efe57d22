package main

import (
	"github.com/spf13/cobra"

	"assay/drivers/nats"
)

// natsServerCommand is the NATS server that Assay starts: linked in, and a process of its own.
func natsServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:                nats.ServerCommand,
		Short:              "The NATS server that assay run starts for nats@start",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if status := nats.ServerMain(args); status != 0 {
				return &exitError{status: status}
			}
			return nil
		},
	}
}
