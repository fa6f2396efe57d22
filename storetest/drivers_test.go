package storetest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/server"
	"assay/store"
)

// Every driver of Assay passes the kit: no figure is worth more than the driver behind it.
func TestDrivers(t *testing.T) {
	for _, d := range drivers.All() {
		description := d.Describe()
		t.Run(description.Name, func(t *testing.T) {
			t.Parallel()
			if raceDetector && description.Name == "boltdb" {
				t.Skip(description.Note)
			}
			if description.Kind == store.Server {
				testServer(t, description)
				return
			}
			target := target(t, "drivers", description.Name)
			if description.Version == "" && description.Kind == store.Embedded {
				// The linker does not write a test binary's modules into it, so that this worker
				// can't know its libraries' versions.
				target.Rules = slices.DeleteFunc(RuleNames(), func(name string) bool { return name == "version" })
			}
			Test(t, target)
		})
	}
}

// testServer holds a driver to the kit on the real server, with each of its clients: in the
// strongest class, and, in the long tests, in each that the server's settings give.
func testServer(t *testing.T, d store.Description) {
	program, ok := drivers.Program(d.Name)
	if !ok {
		t.Fatalf("no way is known to start a server for driver %s", d.Name)
	}
	classes := d.Durability[:1]
	if d.ServerSetsClass {
		classes = d.Durability[len(d.Durability)-1:]
		if os.Getenv("ASSAY_LONG") != "" {
			classes = d.Durability
		}
	}
	clients := []string{""}
	for _, o := range d.Options {
		if o.Name == "client" {
			clients = o.Choices
		}
	}
	type form struct {
		client   string
		pipeline int // 0: not asynchronous
	}
	var forms []form
	for _, client := range clients {
		forms = append(forms, form{client, 0})
	}
	if d.Abilities.Async {
		forms = append(forms, form{clients[0], 1}, form{clients[0], 16})
	}
	for _, form := range forms {
		for _, claim := range classes {
			name := fmt.Sprintf("%s %s", claim.Class, form.client)
			if form.pipeline > 0 {
				name += fmt.Sprintf(" async(%d)", form.pipeline)
			}
			t.Run(strings.TrimSpace(name), func(t *testing.T) {
				t.Parallel()
				target := target(t, "drivers", d.Name)
				if form.client != "" {
					target.Options = map[string]string{"client": form.client}
				}
				if target.Pipeline = form.pipeline; form.pipeline > 0 {
					target.Handles = handlesAsync
				}
				if d.Name == "ferretdb" { // whose scans read all that other rules have left
					target.Options = map[string]string{"flush_at_open": "true"}
				}
				target.Endpoints = []string{startServer(t, program, claim.Class)}
				Test(t, target)
			})
		}
	}
}

// startServer starts a server, empty, and ends it with the test.
func startServer(t *testing.T, program server.Program, class store.Durability) (endpoint string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "assay-server-") // the server may run as another user, who can't enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	i, err := server.Start(t.Context(), program, server.Request{Directory: directory, Log: t.Output(), Class: class, Patience: time.Minute})
	if errors.Is(err, server.ErrNotInstalled) {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	})
	return i.Endpoint()
}
