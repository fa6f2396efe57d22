package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/drivers"
	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/jars"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
	"assay/worker"
)

// descriptions returns what Assay's own drivers say of themselves.
func descriptions() []store.Description {
	var all []store.Description
	for _, d := range drivers.All() {
		all = append(all, worker.Describe(d))
	}
	return all
}

func description(name string) (store.Description, bool) {
	for _, d := range descriptions() {
		if d.Name == name {
			return d, true
		}
	}
	return store.Description{}, false
}

// ceiling is the null driver as an arm.
func ceiling() experiment.Store {
	d, ok := description(experiment.NullDriver)
	if !ok {
		panic("the null driver is not in drivers.All")
	}
	return experiment.Store{Name: experiment.NullDriver, Driver: experiment.NullDriver, Description: d}
}

// driverCatalogue tells package read what stores can do: Assay's own drivers from their code, others by
// asking their worker.
func driverCatalogue() read.Drivers {
	var names []string
	for _, d := range descriptions() {
		names = append(names, d.Name)
	}
	for _, n := range slices.Concat(natives, jvmPrograms) {
		names = append(names, n.drivers...)
	}
	return read.Drivers{Names: names, Describe: describeStore, WorkerOf: func(driver string) []string {
		if n, ok := hostedOf(driver); ok {
			return []string{n.path()}
		}
		return nil
	}, OnJVM: func(driver string) bool { n, ok := hostedOf(driver); return ok && n.onJVM() },
		JarsOf: jarsOf, NullOf: nullOf, ProgramOf: server.Startable(programOf), OwnCPUs: host.CPUsByCore}
}

// completeDriver completes a driver's name.
func completeDriver(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return driverCatalogue().Names, cobra.ShellCompDirectiveNoFileComp
}

// programOf returns the server that Assay can start for a driver.
func programOf(driver string) (server.Program, bool) {
	if n, ok := hostedOf(driver); ok && n.servers != nil {
		driver = n.servers[slices.Index(n.drivers, driver)]
	}
	return drivers.Program(driver)
}

// jarsOf resolves a client of the JVM by Maven.
func jarsOf(coordinates string) (folder string, err error) {
	folder, err = jars.Resolve(coordinates)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%w: there is no Maven (%s)", read.ErrNotHere, mavenInstall)
	}
	return folder, err
}

// measurable are the drivers that a run may name: all but the null drivers.
func measurable() []string {
	return slices.DeleteFunc(driverCatalogue().Names, func(name string) bool {
		return slices.Contains([]string{experiment.NullDriver, nativeNull, jvmNull}, name)
	})
}

// nullOf finds the null driver that runs in the same loop as a store with a worker: null-c for all
// of workers/c and null-java for all of workers/java, which share one host each (of the JVM: with
// the same options), and for anybody else's worker the first driver of kind none that it lists.
func nullOf(s experiment.Store) (experiment.Store, bool) {
	if n, ok := hostedOf(s.Driver); ok && s.Worker[0] == n.path() {
		driver := nativeNull
		if n.onJVM() {
			driver = jvmNull
		}
		null, _ := hostedOf(driver)
		command := append([]string{null.path()}, s.JVM.Arguments()...)
		d, err := describeHosted(null, command, driver)
		return experiment.Store{Driver: driver, Worker: command, Description: d}, err == nil
	}
	described, err := describeWorker(s.Worker)
	if err != nil {
		return experiment.Store{}, false // it has just described its driver: a ceiling that can't be had is not known
	}
	for _, d := range described.Drivers {
		if d.Kind == store.None {
			return experiment.Store{Driver: d.Name, Worker: s.Worker, Description: d}, true
		}
	}
	return experiment.Store{}, false
}

func describeStore(s experiment.Store) (store.Description, error) {
	if d, ok := description(s.Driver); ok && len(s.Worker) == 0 {
		return d, nil
	}
	if n, ok := hostedOf(s.Driver); ok && (len(s.Worker) == 0 || s.Worker[0] == n.path()) {
		command := s.Worker
		if len(command) == 0 {
			command = []string{n.path()}
		}
		return describeHosted(n, command, s.Driver)
	}
	if len(s.Worker) == 0 {
		return store.Description{}, fmt.Errorf("unknown driver %q", s.Driver)
	}
	return askWorker(s.Worker, s.Driver)
}

// describeTimeout is far more than a JVM takes to start, on a busy machine too.
const describeTimeout = time.Minute

func askWorker(command []string, driver string) (store.Description, error) {
	described, err := describeWorker(command)
	if err != nil {
		return store.Description{}, err
	}
	var names []string
	for _, d := range described.Drivers {
		if d.Name == driver {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return store.Description{}, fmt.Errorf("worker %s has no driver %q%s", command[0], driver, suggestion(driver, names))
}

func describeWorker(command []string) (control.Described, error) {
	var described control.Described
	w, err := conductor.Start(command, io.Discard) // the error says why it ended
	if err != nil {
		return described, err
	}
	err = w.Call(control.Request{Command: control.CommandDescribe}, describeTimeout, &described)
	if endErr := w.End(describeTimeout); err == nil {
		err = endErr
	}
	if err == nil && described.Contract != control.Contract {
		err = fmt.Errorf("worker %s speaks version %d of the worker contract, expected version %d", command[0], described.Contract, control.Contract)
	}
	return described, err
}

func driversCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "drivers [NAME]",
		Short: "List the stores that can be measured, with their abilities and options",
		Long: `Lists the stores that can be measured. With a name: its durability classes and how
each is reached, its abilities, limits and options (set them under options: in an
experiment, or with --set stores.NAME.options.OPTION=VALUE).`,
		Example: `  assay drivers
  assay drivers pebble
  assay drivers --json | jq '.[].name'`,
		Args:              takes(0, 1, "at most one driver's name"),
		ValidArgsFunction: completeDriver,
		RunE: func(c *cobra.Command, args []string) error {
			var all []store.Description
			var missing []sideProgram
			if len(args) == 1 {
				d, err := describeStore(experiment.Store{Driver: args[0]})
				if errors.Is(err, read.ErrNotHere) {
					return usage(fmt.Errorf("driver %s is %w", args[0], err))
				}
				if err != nil {
					return usage(fmt.Errorf("%w%s", err, nearOr(args[0], driverCatalogue().Names, "assay drivers lists them")))
				}
				all = []store.Description{d}
			} else {
				all, missing = hostedDescriptions()
				all = append(descriptions(), all...)
			}
			out := c.OutOrStdout()
			if asJSON {
				encoder := json.NewEncoder(out)
				encoder.SetIndent("", "  ")
				return failed(encoder.Encode(all))
			}
			if len(args) == 1 {
				if err := printDriver(out, all[0]); err != nil {
					return failed(err)
				}
				return failed(printServer(out, all[0].Name))
			}
			return failed(printDrivers(out, all, missing))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	return c
}

func suggestion(word string, names []string) string {
	return nearOr(word, names, "expected one of "+strings.Join(names, ", "))
}

// nearOr says which of the names was probably meant, and otherwise what else there is to say.
func nearOr(word string, names []string, otherwise string) string {
	if near := format.Nearest(word, names); near != "" {
		return fmt.Sprintf("\ndid you mean %q?", near)
	}
	return "\n" + otherwise
}

func printDrivers(w io.Writer, all []store.Description, missing []sideProgram) error {
	table := newColumns("driver", "version", "licence", "durability", "abilities", "what it is")
	for _, d := range all {
		var classes []string
		for _, c := range d.Durability {
			classes = append(classes, string(c.Class))
		}
		table.add(d.Name, orDash(d.Version), orDash(d.Licence), strings.Join(classes, " "), strings.Join(d.Abilities.List(), " "), d.Summary)
	}
	if err := table.print(w); err != nil {
		return err
	}
	if len(missing) > 0 {
		fmt.Fprintln(w, "\nNot built here:")
		lines := newColumns("driver", "install")
		for _, n := range missing {
			lines.add(strings.Join(n.drivers, " "), n.remedy())
		}
		if err := lines.print(w); err != nil {
			return err
		}
	}
	if err := printServers(w, serversHere()); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nassay drivers NAME shows options, limits and how each durability class is reached.")
	return err
}

func printDriver(w io.Writer, d store.Description) error {
	fmt.Fprintf(w, "%s: %s\n", d.Name, d.Summary)
	fmt.Fprintf(w, "library   %s, licence %s\n", orDash(strings.TrimSpace(d.Library+" "+d.Version)), orDash(d.Licence))
	fmt.Fprintf(w, "abilities %s\n", orDash(strings.Join(d.Abilities.List(), ", ")))
	fmt.Fprintf(w, "limits    keys %d to %s bytes, values %d to %s bytes\n", d.KeyBytesMin, limit(d.KeyBytesMax), d.ValueBytesMin, limit(d.ValueBytesMax))
	if d.TokenIndexes {
		fmt.Fprintln(w, "indexes   ordered, and of the words of a text")
	}
	if d.WriteConflicts {
		fmt.Fprintln(w, "conflicts an operation may end in a conflict with another thread; such a write was not done")
	}
	if d.Note != "" {
		fmt.Fprintf(w, "note      %s\n", d.Note)
	}
	fmt.Fprintln(w, "\nDurability classes (claimed)")
	for _, c := range d.Durability {
		fmt.Fprintf(w, "  %s  %s\n", c.Class, c.How)
	}
	if len(d.Options) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nOptions")
	return printOptions(w, "option", d.Options)
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func limit(n int) string {
	if n == 0 {
		return "any number of"
	}
	return fmt.Sprint(n)
}
