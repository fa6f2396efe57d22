package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/spf13/cobra"

	"assay/internal/base/owned"
	"assay/internal/execution/control"
	"assay/storetest"
)

func conformanceCommand() *cobra.Command {
	var driver string
	var options map[string]string
	var endpoints []string
	var allowRemote bool
	c := &cobra.Command{
		Use:   "conformance [--driver NAME] -- PROGRAM [ARG…]",
		Short: "Hold a worker, in any language, against the rules of the contract",
		Long: `Starts the worker and checks every rule of docs/worker-contract.md on its drivers:
each check explains the rule that it guards. Without a program, Assay's own worker
is checked. A server is loaded only if --endpoint names it; the word start instead
of HOST:PORT lets Assay start the installed server and stop it afterwards, and
start=PROGRAM another program of it.`,
		Example: `  assay conformance --driver bbolt
  assay conformance -- ./my-worker
  assay conformance --driver memcached --endpoint start
  assay conformance --driver memcached --endpoint 127.0.0.1:11211`,
		RunE: func(c *cobra.Command, args []string) error {
			command := args
			if len(command) == 0 {
				self, err := os.Executable()
				if err != nil {
					return failed(err)
				}
				command = []string{self, "worker"}
			}
			ctx, stop := interruptible("the checks that are left are not done", func(text string) { fmt.Fprintln(os.Stderr, "assay:", text) })
			defer stop()
			var names []string
			described, err := describeWorker(command)
			switch {
			case err != nil && driver == "":
				return failed(err)
			case err != nil:
				names = []string{driver} // the checks say what is wrong with it
			case driver == "":
				for _, d := range described.Drivers {
					if d.Kind != "server" || len(endpoints) > 0 {
						names = append(names, d.Name)
					}
				}
			default:
				if names, err = driverAmong(described, driver); err != nil {
					return usage(err)
				}
			}
			target, stopServer, err := serverToCheck(ctx, endpoints, allowRemote, described, driver)
			if err != nil {
				return usage(err)
			}
			defer stopServer()
			target.Command = command
			if target.Options == nil {
				target.Options = map[string]string{}
			}
			maps.Copy(target.Options, options)
			if program, known := programOf(driver); known {
				target.Slow = program.Slow
			}
			for _, name := range names {
				if err := openable(ctx, target, described, name); err != nil {
					return usage(err)
				}
			}
			return checkDrivers(ctx, c.OutOrStdout(), target, names)
		},
	}
	c.Flags().StringVar(&driver, "driver", "", "check only the driver of this `name` (default: all that need no server)")
	must(c.RegisterFlagCompletionFunc("driver", completeDriver))
	c.Flags().StringToStringVar(&options, "option", nil, "set a driver's option: `name=value`")
	c.Flags().StringSliceVar(&endpoints, "endpoint", nil, "`host:port` or Unix socket of a server that may be loaded and emptied, or start, or start=PROGRAM")
	c.Flags().BoolVar(&allowRemote, "allow-remote", false, "load the named servers even where they are not on this machine's loopback")
	return c
}

func driverAmong(described control.Described, name string) ([]string, error) {
	var names []string
	for _, d := range described.Drivers {
		if d.Name == name {
			return []string{name}, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("the worker has no driver %q%s", name, suggestion(name, names))
}

func checkDrivers(ctx context.Context, out io.Writer, target storetest.Target, names []string) error {
	place, err := owned.NewDirectory(os.TempDir(), "conformance")
	if err != nil {
		return failed(err)
	}
	defer place.Remove()
	target.TempDir = place.Path
	broken := 0
	for _, name := range names {
		target.Driver = name
		result, err := storetest.Check(ctx, target)
		if ctx.Err() != nil {
			return &exitError{exitTrials, fmt.Errorf("stopped at %s; not all rules were checked", name)}
		}
		if err != nil {
			return failed(fmt.Errorf("%s: %w", name, err))
		}
		if err := result.Write(out); err != nil {
			return failed(err)
		}
		broken += len(result.Failed())
	}
	if broken > 0 {
		return &exitError{exitTrials, errors.New("the worker breaks rules of the contract; its figures can't be trusted")}
	}
	return nil
}
