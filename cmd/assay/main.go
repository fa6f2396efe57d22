// Command assay measures key-value stores so that the number can be trusted. Each subcommand has a file of its own here,
// which reads flags and wires packages; nothing else is done here.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"assay/internal/live"
)

// Exit statuses. DESIGN names them, scripts rely on them.
const (
	exitFailed = 1 // Assay itself failed
	exitUsage  = 2 // bad arguments, or an experiment that can't be
	exitTrials = 3 // trials failed, were marked, or are left to do
	// 4 and 5 are verdict.Outcome's: a regression, or inconclusive.
)

// exitError ends the program with a status. Its text may be empty where everything was said already.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs the command and returns the exit status.
func execute(args []string) int {
	root := command()
	root.SetArgs(args)
	ctx, stop := interruptible()
	defer stop()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err} // what cobra itself refuses: unknown commands and flags
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "assay:", text)
	}
	return exit.status
}

// interruptible returns a context that ends at the first Ctrl-C or SIGTERM; the second one ends the program at once.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := live.Interrupts(func() {
		fmt.Fprintln(os.Stderr, "\nassay: stopping; what was measured is kept (Ctrl-C again: at once)")
		cancel()
	}, func() { os.Exit(130) }) // workers die with their conductor, and what was recorded stands on the disk
	return ctx, func() { stop(); cancel() }
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Measure key-value stores so that the number can be trusted",
		Long: `Assay drives the same operations, byte for byte, at embedded engines, servers and
client libraries, checks every value that it reads and every write that was
acknowledged, and says which is faster, by how much, at what durability, and why.

Begin with:
  assay run put-get            compare embedded engines, in about four minutes
  assay init my.yaml           write a commented experiment of your own
  assay run my.yaml --dry-run  see what it would do

Exit status: 0 fine · 1 Assay failed · 2 bad arguments or experiment ·
3 trials failed or were marked · 4 regression · 5 inconclusive.
Results go to standard output, progress to standard error.`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.AddCommand(runCommand(), reportCommand(), compareCommand(), driversCommand(), presetsCommand(),
		initCommand(), schemaCommand(), doctorCommand(), conformanceCommand(), workerCommand())
	return root
}
