package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"assay/internal/base/owned"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/store"
	"assay/storetest"
)

// openPatience is how long a store or a server may take to answer before the rules begin.
const openPatience = 10 * time.Second

// openable opens a store once as the user asked and says what he got wrong, where it is that:
// otherwise each rule would tell the same. What may be the worker's own fault is left to the rules.
func openable(ctx context.Context, target storetest.Target, described control.Described, driver string) error {
	i := slices.IndexFunc(described.Drivers, func(d store.Description) bool { return d.Name == driver })
	if i < 0 || len(described.Drivers[i].Durability) == 0 {
		return nil
	}
	d := described.Drivers[i]
	if d.Kind == store.Server {
		if len(target.Endpoints) == 0 {
			return fmt.Errorf("%s is a server\n--endpoint HOST:PORT names one that may be filled and emptied", driver)
		}
		for _, endpoint := range target.Endpoints {
			connection, err := net.DialTimeout(store.Network(endpoint), endpoint, openPatience)
			if err != nil {
				return fmt.Errorf("--endpoint %s: no server answers: %w", endpoint, err)
			}
			_ = connection.Close() // nothing was sent
		}
	}
	if len(target.Options) == 0 && len(target.Endpoints) == 0 {
		return nil // there is nothing that the user could have got wrong
	}
	var err error
	var no *control.Error
	for i := range d.Durability { // a server may have one class only, and it is not known which
		if err = tryOpen(ctx, target, d, d.Durability[i].Class); err == nil || !d.ServerSetsClass {
			break
		}
	}
	if !errors.As(err, &no) || no.Class == control.ClassFailed {
		return nil
	}
	var options []string
	for _, o := range d.Options {
		options = append(options, o.Name)
	}
	if len(options) == 0 {
		return fmt.Errorf("%w\n%s has no options", err, driver)
	}
	return fmt.Errorf("%w\nexpected one of %s", err, strings.Join(options, ", "))
}

// tryOpen opens the store in a class and ends the worker.
func tryOpen(ctx context.Context, target storetest.Target, d store.Description, class store.Durability) error {
	place, err := owned.NewDirectory(cmp.Or(target.TempDir, os.TempDir()), "open")
	if err != nil {
		return err
	}
	defer func() { _ = place.Remove() }() // what stays is noted, and told by the next cleaning
	o := control.Open{Driver: d.Name, Endpoints: target.Endpoints, Options: target.Options, Durability: class,
		Handles: control.HandlesPerThread, Threads: 1}
	if d.HandlesShareable {
		o.Handles = control.HandlesShared
	}
	if d.Kind == store.Embedded {
		o.Directory = place.Path
	}
	if o.Durability == store.D2 {
		o.LossWindowNS = int64(time.Minute)
	}
	w, err := conductor.Start(target.Command, os.Stderr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, w.Kill)()
	err = w.Call(control.Request{Command: control.CommandOpen, Open: &o}, openPatience, nil)
	w.Kill()
	_ = w.End(openPatience) // it says that the worker was killed
	return err
}
