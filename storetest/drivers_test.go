package storetest

import (
	"errors"
	"maps"
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
	for _, form := range formsOf(d, program) {
		for _, claim := range classes {
			t.Run(strings.Join(strings.Fields(string(claim.Class)+" "+form.name), " "), func(t *testing.T) {
				t.Parallel()
				target := target(t, "drivers", d.Name)
				target.Options = maps.Clone(form.driver)
				if target.Pipeline = form.pipeline; form.pipeline > 0 {
					target.Handles = handlesAsync
				}
				for range form.servers {
					i := startServer(t, program, claim.Class, form.server)
					target.Endpoints = append(target.Endpoints, i.Endpoint())
					maps.Copy(target.Options, i.Guard.DriverOptions())
				}
				Test(t, target)
			})
		}
	}
}

// form is a way to run and to reach servers.
type form struct {
	name           string
	servers        int
	pipeline       int               // 0: not asynchronous
	server, driver map[string]string // options
}

// formsOf are those of a driver: each of its clients, and what its options add.
func formsOf(d store.Description, p server.Program) (forms []form) {
	clients := []string{""}
	for _, o := range d.Options {
		if o.Name == "client" {
			clients = o.Choices
		}
	}
	has := func(options []store.Option, name string) bool {
		return slices.ContainsFunc(options, func(o store.Option) bool { return o.Name == name })
	}
	add := func(client, name string, servers, pipeline int, started, driver map[string]string) {
		driver = maps.Clone(driver)
		if client != "" {
			driver["client"] = client
		}
		if d.Name == "ferretdb" { // whose scans read all that other rules have left
			driver["flush_at_open"] = "true"
		}
		forms = append(forms, form{client + " " + name, servers, pipeline, started, driver})
	}
	none := map[string]string{}
	for _, client := range clients {
		add(client, "", 1, 0, none, none)
		if has(p.Options, "login") {
			add(client, "guarded", 1, 0, map[string]string{"tls": "true", "login": "true"}, none)
		}
		if has(d.Options, "hashing") {
			for _, hashing := range []string{"modulo", "ketama"} {
				add(client, hashing, 3, 0, none, map[string]string{"hashing": hashing, "weights": "3,1,1"})
			}
		}
	}
	if d.Abilities.Async {
		add(clients[0], "async(1)", 1, 1, none, none)
		add(clients[0], "async(16)", 1, 16, none, none)
		if has(p.Options, "login") {
			add(clients[0], "async(16) login", 1, 16, map[string]string{"login": "true"}, none)
		}
	}
	return forms
}

// startServer starts a server, empty, and ends it with the test.
func startServer(t *testing.T, program server.Program, class store.Durability, options map[string]string) *server.Instance {
	t.Helper()
	directory, err := os.MkdirTemp("", "assay-server-") // the server may run as another user, who can't enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	i, err := server.Start(t.Context(), program, server.Request{
		Directory: directory, Log: t.Output(), Class: class, Options: options, Patience: time.Minute,
	})
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
	return i
}
