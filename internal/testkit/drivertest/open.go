// Package drivertest opens drivers for tests, and stands in for the servers that they need.
package drivertest

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"assay/store"
)

// patientTimeout is longer than any operation takes on a busy machine.
const patientTimeout = "1m"

// Config fills in what a worker would: the defaults of all options, with given over them. An
// operation has a minute where the test does not say how long: no test may depend on how busy the
// machine is.
func Config(t testing.TB, d store.Description, class store.Durability, given map[string]string) store.Config {
	t.Helper()
	patient := map[string]string{}
	for _, o := range d.Options {
		if o.Name == "operation_timeout" {
			patient[o.Name] = patientTimeout
		}
	}
	maps.Copy(patient, given)
	options, err := store.Resolve(d.Options, patient)
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	c := store.Config{Directory: t.TempDir(), Durability: class, Options: options, Threads: 4, Handles: 4}
	if class == store.D2 {
		c.LossWindow = time.Minute // longer than any store that syncs in the background needs
	}
	return c
}

// At is [Config] of a server, with options of the test's own, such as the place where it puts its
// records, under those that are given.
func At(t testing.TB, d store.Description, endpoint string, class store.Durability, own,
	given map[string]string) store.Config {
	t.Helper()
	maps.Copy(own, given)
	c := Config(t, d, class, own)
	c.Endpoints = []string{endpoint}
	return c
}

// Open opens a store and one handle, and closes both when the test ends.
func Open(t testing.TB, driver store.Driver, c store.Config) (store.Store, store.Handle) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := driver.Open(ctx, c)
	if err != nil {
		t.Fatalf("open %s at %s: %v", driver.Describe().Name, c.Durability, err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatalf("handle: %v", errors.Join(err, s.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(), s.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, h
}
