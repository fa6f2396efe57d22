package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"assay/drivers"
	"assay/internal/base/format"
	"assay/internal/base/owned"
	"assay/internal/execution/control"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
	"assay/storetest"
)

// versionPatience is how long doctor and drivers wait for all servers to print their versions.
const versionPatience = 10 * time.Second

// serversHere finds the servers that Assay can start, and then those that it only speaks to.
func serversHere() (all []diagnosedServer) {
	ctx, cancel := context.WithTimeout(context.Background(), versionPatience)
	defer cancel()
	for _, p := range drivers.Programs() {
		all = append(all, programsHere(ctx, p, true)...)
	}
	for _, p := range drivers.Found() {
		all = append(all, programsHere(ctx, p, false)...)
	}
	return all
}

// programsHere lists the program that a driver's server is started by, and then every other one on this
// machine that an arm may name: other versions, and other products that speak the driver's protocol.
func programsHere(ctx context.Context, p server.Program, starts bool) []diagnosedServer {
	told, where := serverHere(ctx, p)
	all := []diagnosedServer{{p.Driver, starts, told.Product, told.Version, where}}
	for _, binary := range p.All() {
		if binary == where {
			continue
		}
		if told, err := p.Identify(ctx, binary); err == nil { // what is something else has that name by chance
			all = append(all, diagnosedServer{p.Driver, starts, told.Product, told.Version, binary})
		}
	}
	return all
}

// printServers says which servers Assay can start here, and how the others are installed.
func printServers(w io.Writer, all []diagnosedServer) error {
	started, others := newColumns("server", "version", "binary or install line"), newColumns("server", "version", "binary, or source")
	for i, s := range all {
		table, where := others, s.Where
		if s.Starts {
			table = started
		}
		if i > 0 && s.Version == "" && where == all[i-1].Where {
			where = "as " + all[i-1].Driver
		}
		version := s.Version
		if s.Product != s.Driver {
			version = strings.TrimSpace(s.Product + " " + version)
		}
		table.add(s.Driver, orDash(version), where)
	}
	fmt.Fprintln(w, "\nServers that Assay can start (DRIVER@start, or server: start):")
	if err := started.print(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nServers that Assay does not start (DRIVER@HOST:PORT):")
	return others.print(w)
}

func serverHere(ctx context.Context, p server.Program) (told server.Identity, where string) {
	binary, err := p.Find()
	if err != nil {
		return told, "not installed: " + p.Install()
	}
	if told, err = p.Identify(ctx, binary); err != nil {
		return told, err.Error()
	}
	return told, binary
}

// printServer lists what a driver's server can be asked for.
func printServer(w io.Writer, driver string) error {
	p, known := programOf(driver)
	if !known {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionPatience)
	defer cancel()
	fmt.Fprintf(w, "\nServer (%s@start, or server: start)\n", driver)
	for _, s := range programsHere(ctx, p, true) {
		fmt.Fprintf(w, "  %s\n", strings.TrimSpace(s.Version+" "+s.Where))
	}
	switch p.Several {
	case server.Independent:
		fmt.Fprintln(w, "  server.count starts several: the driver spreads keys over them; the options are each one's.")
	case server.Cluster:
		fmt.Fprintln(w, "  server.count starts several, which make one cluster; the options are each one's.")
	}
	if p.Replicates {
		fmt.Fprintln(w, "  server.replicas starts replicas of the first; with the driver's option read_from they are read from.")
	}
	if len(p.Options) > 0 {
		if err := printOptions(w, "server.options", p.Options); err != nil {
			return err
		}
	}
	if p.AnySetting {
		fmt.Fprintln(w, "server.settings takes any setting by the server's own name.")
	}
	return nil
}

func printOptions(w io.Writer, head string, options []store.Option) error {
	table := newColumns(head, "type", "default", "")
	for _, o := range options {
		kind := string(o.Type)
		if len(o.Choices) > 0 {
			kind = strings.Join(o.Choices, "|")
		}
		table.add(o.Name, kind, orDash(o.Default), o.Help)
	}
	return table.print(w)
}

// checkRemote refuses to load a server that is not on this machine's loopback, unless that is
// confirmed: a mistyped name would load somebody's server.
func checkRemote(endpoints []string, allowed bool) error {
	if allowed || len(endpoints) == 0 {
		return nil
	}
	return fmt.Errorf("%s: not on this machine's loopback, so that others may depend on it\n--allow-remote confirms that it may be loaded",
		format.List(endpoints))
}

// connectPatience is how long a server that the experiment names has to take a connection before a
// run begins. One that says nothing is left to its driver.
const connectPatience = 2 * time.Second

// checkEndpoints refuses a run of a store at none of whose endpoints anything listens: each of its
// trials would fail.
func checkEndpoints(e *experiment.Experiment) error {
	for _, s := range e.Stores {
		refused := 0
		for _, endpoint := range s.Endpoints {
			connection, err := net.DialTimeout(store.Network(endpoint), endpoint, connectPatience)
			switch {
			case err == nil:
				connection.Close()
			case errors.Is(err, syscall.ECONNREFUSED):
				refused++
			case store.Network(endpoint) == "unix" && !errors.Is(err, syscall.EAGAIN): // its queue is full: a server is there
				return fmt.Errorf("%s: no server can be reached at %s: %w\n%s", s.Name, endpoint, socketError(err), cureOf(s))
			}
		}
		datagrams := slices.Contains(slices.Collect(maps.Values(s.Options)), "udp") // such a server need take no connections
		if datagrams || len(s.Endpoints) == 0 || refused < len(s.Endpoints) {
			continue
		}
		return fmt.Errorf("%s: connection refused: no server listens at %s\n%s", s.Name, format.List(s.Endpoints), cureOf(s))
	}
	return nil
}

// cureOf is what to do where nothing listens at a store's endpoint.
func cureOf(s experiment.Store) string {
	if _, can := programOf(s.Driver); can {
		return fmt.Sprintf("start the server, correct the address, or let Assay start one for each trial: %s@start", read.StartWord(s))
	}
	return "start the server, or correct the address"
}

// socketError is why a Unix socket can't be connected to, without the words of the call.
func socketError(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

// checkEntry looks, before anything is run, whether the servers that are started can reach their
// directories: one that doesn't run as root can't go through root's own.
func checkEntry(e *experiment.Experiment, place string) error {
	for _, s := range e.Stores {
		if s.Server == nil || !s.Server.NeedsDirectory() {
			continue
		}
		program, known := programOf(s.Driver)
		if !known {
			continue
		}
		program = program.By(s.Server.Binary())
		if err := program.Enters(place); err != nil {
			return fmt.Errorf("the server of %s: %w", s.Name, err)
		}
	}
	return nil
}

// serverToCheck returns the server that the rules of the contract are checked on as a target, and
// starts it where the endpoints are the word start: such a server may be killed.
func serverToCheck(ctx context.Context, endpoints []string, allowRemote bool, described control.Described,
	driver string) (
	target storetest.Target, stop func(), err error,
) {
	nothing := func() {}
	binary, starts := "", false // of the word start, or start=PROGRAM
	if len(endpoints) == 1 {
		if binary, starts = strings.CutPrefix(endpoints[0], "start="); !starts {
			binary, starts = "", endpoints[0] == "start"
		}
	}
	endpoints = slices.Clone(endpoints)
	for i, endpoint := range endpoints {
		endpoints[i] = read.Endpoint(driver, endpoint)
	}
	if !starts {
		var remote []string
		for _, endpoint := range endpoints {
			if !experiment.IsLoopback(endpoint) {
				remote = append(remote, endpoint)
			}
		}
		return storetest.Target{Endpoints: endpoints}, nothing, checkRemote(remote, allowRemote)
	}
	i := slices.IndexFunc(described.Drivers, func(d store.Description) bool { return d.Name == driver })
	program, known := programOf(driver)
	if i < 0 || !known {
		return target, nothing, errors.New("--endpoint start needs a server that Assay can start: --driver NAME\nassay drivers lists them")
	}
	place, err := owned.NewDirectory(os.TempDir(), "server")
	if err != nil {
		return target, nothing, err
	}
	err = os.Chmod(place.Path, 0o711) // the server may run as another user
	var started *server.Group
	if err == nil {
		started, err = server.StartGroup(ctx, program.By(binary), server.Request{
			Directory: place.Path, Log: io.Discard, Class: strongestClaim(described.Drivers[i]),
			Patience: startPatience,
		})
	}
	if err != nil {
		return target, nothing, errors.Join(err, place.Remove())
	}
	target.Endpoints, target.Options = started.Endpoints(), started.Guard().DriverOptions()
	target.Cut = func(halted func()) error { return started.Cut(ctx, halted, startPatience) }
	return target, func() {
		if err := errors.Join(started.Stop(startPatience), place.Remove()); err != nil {
			fmt.Fprintln(os.Stderr, "assay:", err)
		}
	}, nil
}

// startPatience is how long a server may take to start and to end.
const startPatience = 30 * time.Second

// strongestClaim is the class that the server is started for: a driver opens such a server in the
// weaker classes too.
func strongestClaim(d store.Description) store.Durability {
	strongest := d.Durability[0].Class
	for _, claim := range d.Durability {
		strongest = max(strongest, claim.Class)
	}
	return strongest
}
