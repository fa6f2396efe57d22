package main

import (
	"github.com/spf13/cobra"

	"assay/drivers"
	"assay/worker"
)

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Host the Go drivers: what assay run starts for each trial",
		Long: `Speaks the worker contract (docs/worker-contract.md) on standard input and output.
assay run starts it; by hand it is of use to see the contract at work.`,
		Example: `  echo '{"id":1,"command":"describe"}' | assay worker`,
		Args:    takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if status := worker.MainLinked(drivers.All()...); status != 0 {
				return &exitError{status: status}
			}
			return nil
		},
	}
}
