package storetest

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/drivers"
	"assay/internal/execution/server"
	"assay/internal/testkit/mongojava"
	"assay/internal/testkit/riakstandin"
	"assay/internal/testkit/servertest"
	"assay/internal/testkit/tyrantstandin"
	"assay/store"
)

// onLoop are the drivers that show the worker's own loops: where operations wait, and where several
// are on their way. Others share these.
var onLoop = []string{"memory", "redis"}

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
			if !slices.Contains(onLoop, description.Name) {
				target.Changes = Driver
			}
			if description.Version == "" {
				// The linker does not write a test binary's modules into it, so that this worker
				// can't know its libraries' versions.
				target.Rules = slices.DeleteFunc(rulesOf(target), func(name string) bool { return name == "version" })
			}
			Test(t, target)
		})
	}
}

// testServer holds a driver to the kit on the real server, in each of its forms. On a slow one, what
// other drivers' servers show as well is left to the long tests.
func testServer(t *testing.T, d store.Description) {
	if endpoints := unpackaged[d.Name]; endpoints != nil {
		testUnpackaged(t, d, endpoints)
		return
	}
	program, ok := drivers.Program(d.Name)
	if !ok {
		t.Fatalf("no way is known to start a server for driver %s", d.Name)
	}
	forms := inClasses(d, formsOf(d, program))
	if program.Slow && os.Getenv("ASSAY_LONG") != "1" {
		forms = slices.DeleteFunc(forms, func(f form) bool { return f.name != forms[0].name })
		forms = forms[len(forms)-1:] // one server, in the strongest class
	}
	for _, form := range forms {
		t.Run(strings.Join(strings.Fields(string(form.class)+" "+form.name), " "), func(t *testing.T) {
			t.Parallel()
			target := form.target(t, d)
			if target.Slow = program.Slow; target.Slow {
				target.Changes = Connections | Durability
			}
			var options map[string]string
			var group *server.Group
			target.Endpoints, options, group = serveFor(t, program, form)
			if group != nil && (!program.Slow || os.Getenv("ASSAY_LONG") == "1") {
				target.Cut = func(halted func()) error { return group.Cut(t.Context(), halted, servertest.Patience) }
			}
			maps.Copy(target.Options, options)
			Test(t, target)
		})
	}
}

// inClasses gives each form the weakest class of one server, in which no operation waits for a
// sync. The first form is tested in the strongest as well, which changes what the server does with
// what it has been given; in the long tests, each form is in each class.
func inClasses(d store.Description, forms []form) (classed []form) {
	classes := d.Durability[:1]
	if d.ServerSetsClass {
		classes = slices.DeleteFunc(slices.Clone(d.Durability),
			func(c store.DurabilityClaim) bool { return c.Class == store.D4 })
	}
	long := os.Getenv("ASSAY_LONG") == "1"
	for i, f := range forms {
		for k, claim := range classes {
			strongest := i == 0 && k == len(classes)-1
			if k > 0 && !strongest && !long {
				continue
			}
			f := f
			if f.class = claim.Class; k > 0 {
				f.changes = Durability
			}
			classed = append(classed, f)
		}
	}
	return classed
}

// unpackaged are the drivers of servers that no package has, and the endpoints of what stands in.
var unpackaged = map[string]func(t *testing.T) []string{
	"riak": func(t *testing.T) []string { return riakstandin.Start(t, 3).Endpoints },
}

// testUnpackaged holds a driver to the kit on what stands in for its server, with each of its
// clients, and on a real one where the environment names its endpoints.
func testUnpackaged(t *testing.T, d store.Description, standIn func(*testing.T) []string) {
	variable := "ASSAY_" + strings.ToUpper(d.Name)
	named := os.Getenv(variable)
	for _, form := range formsOf(d, server.Program{}) {
		check := func(t *testing.T, endpoints []string) {
			target := form.target(t, d)
			target.Endpoints = endpoints
			Test(t, target)
		}
		t.Run(form.name+"stand-in", func(t *testing.T) {
			t.Parallel()
			check(t, standIn(t))
		})
		t.Run(form.name+"real", func(t *testing.T) {
			if named == "" {
				t.Skipf("SKIPPED: no package has a server for %s; %s=HOST:PORT,… names a real one", d.Name, variable)
			}
			check(t, strings.Split(named, ","))
		})
	}
}

// javaGaps are the rules that the driver mongodb breaks on the in-memory Java server, and what the
// kit then says. They are the server's gaps, which docs/servers/mongodb.md states.
var javaGaps = map[string]string{
	"abilities": "the open store can [batch scan add compare_and_swap inspect", // no fsync, and so no sync
	"explain":   "the server's error [59]",                                     // no such command
}

// javaRace is a rule that it breaks now and then: it updates a document in place, field by field,
// while answers to others are written from it.
const javaRace = "modify"

// The driver mongodb passes the kit on another server of the protocol, but for what that server does
// not do. It keeps documents in memory: every class but D0 is refused.
func TestMongoDBOnTheJavaServer(t *testing.T) {
	t.Parallel()
	i := servertest.Start(t, mongojava.Program, store.D0, nil)
	target := target(t, "drivers", "mongodb")
	target.Endpoints, target.Durability = []string{i.Endpoint()}, []store.Durability{store.D0}
	target.Options = map[string]string{"flush_at_open": "true"} // it would look at all that other rules left
	// The driver's promises are held on FerretDB: these are where two servers answer in words of their own.
	target.Rules = []string{"miss", "add", "batch", "compare-and-swap", "limits", "record-columns", "query-conditions", "count", "delete-query"}
	if os.Getenv("ASSAY_LONG") == "1" {
		target.Rules = slices.DeleteFunc(RuleNames(), func(name string) bool { return javaGaps[name] != "" || name == javaRace })
	}
	Test(t, target)
	for rule, says := range javaGaps {
		target.Rules = []string{rule}
		if found := report(t, target); !strings.Contains(textOf(t, found), says) || len(found.Failed()) == 0 {
			t.Errorf("%s: expected the fault %q, which is a gap of the server: %s", rule, says, textOf(t, found))
		}
	}
}

// form is a way to run and to reach servers.
type form struct {
	name           string
	changes        Aspect            // from the driver's first form
	crossed        bool              // of forms each of which is there by itself
	servers        int               // 0: one
	pipeline       int               // 0: not asynchronous
	server, driver map[string]string // options
	class          store.Durability
}

func (f form) target(t *testing.T, d store.Description) Target {
	target := target(t, "drivers", d.Name)
	target.Changes, target.Pipeline = f.changes, f.pipeline
	if target.Changes&Loop != 0 && !slices.Contains(onLoop, d.Name) {
		target.Changes &^= Loop
	}
	if f.crossed && os.Getenv("ASSAY_LONG") != "1" {
		target.Rules = []string{"buffers"} // values of all lengths, written and read by several threads
		if f.pipeline > 0 {
			target.Rules = []string{"handles-async"}
		}
	}
	if f.pipeline > 0 {
		target.Handles = handlesAsync
	}
	target.Options = maps.Clone(f.driver)
	if has(d.Options, "operation_timeout") {
		if target.Options["operation_timeout"] = "300s"; f.driver["protocol"] == "udp" { // on a machine that others keep busy
			target.Options["operation_timeout"] = "20s" // where an answer may be lost
		}
	}
	if d.Name == "ferretdb" { // whose scans read all that other rules have left
		target.Options["flush_at_open"] = "true"
	}
	return target
}

// formsOf are those of a driver: each of its clients, and what its options add.
func formsOf(d store.Description, p server.Program) (forms []form) {
	clients := choices(d.Options, "client")
	if clients == nil {
		clients = []string{""}
	}
	add := func(client string, f form, given ...string) {
		f.driver = map[string]string{}
		if client != "" {
			f.driver["client"] = client
		}
		for i := 0; i < len(given); i += 2 {
			f.driver[given[i]] = given[i+1]
		}
		f.name = client + " " + f.name
		forms = append(forms, f)
	}
	login := map[string]string{"login": "true"}
	for i, client := range clients {
		another := i > 0
		if another {
			add(client, form{changes: Encoding})
		} else {
			add(client, form{changes: Loop | Driver})
		}
		if has(p.Options, "tls") { // those without it demand a login in each form
			add(client, form{name: "guarded", changes: Connections, crossed: another, server: map[string]string{"tls": "true", "login": "true"}})
		}
		if has(d.Options, "hashing") {
			for _, hashing := range []string{"modulo", "ketama"} {
				add(client, form{name: hashing, changes: Placement, crossed: another, servers: 3}, "hashing", hashing, "weights", "3,1,1")
			}
		}
		if has(d.Options, "columns_as") {
			add(client, form{name: "jsonb", changes: Columns, crossed: another}, "columns_as", "jsonb")
		}
	}
	for i, protocol := range choices(d.Options, "protocol") {
		if i == 0 {
			continue // the default
		}
		f := form{name: protocol, changes: Encoding}
		if has(p.Options, "udp") {
			f.server = map[string]string{"udp": "true"}
		}
		add(clients[0], f, "protocol", protocol)
		if protocol != "udp" {
			add(clients[0], form{name: "async(16) " + protocol, changes: Encoding, pipeline: 16, crossed: true}, "protocol", protocol)
		}
	}
	if has(p.Options, "cluster") {
		add(clients[0], form{name: "cluster", changes: Placement, servers: 3, server: map[string]string{"cluster": "true"}})
	}
	if has(d.Options, "resp") {
		add(clients[0], form{name: "resp3", changes: Encoding, server: login}, "resp", "3")
		add(clients[0], form{name: "async(16) resp3", changes: Encoding, pipeline: 16, crossed: true}, "resp", "3")
	}
	if has(p.Options, "login_by") {
		add(clients[0], form{name: "sasl", changes: Connections, server: map[string]string{"login": "true", "login_by": "sasl"}}, "protocol", "binary")
	}
	if d.Abilities.Async {
		add(clients[0], form{name: "async(1)", changes: Loop | Connections, pipeline: 1, crossed: true})
		// Tokyo Tyrant's stores differ in what the server keeps, and share one protocol.
		sameProtocol := strings.HasPrefix(d.Name, "tokyotyrant-")
		add(clients[0], form{name: "async(16)", changes: Loop | Encoding | Connections, pipeline: 16, crossed: sameProtocol})
		if has(p.Options, "login") {
			add(clients[0], form{name: "async(16) login", changes: Connections, pipeline: 16, server: login, crossed: true})
		}
	}
	if d.Name == "tokyotyrant" {
		add("", form{name: "putnr", changes: Encoding}, "write", "putnr")
	}
	return forms
}

func has(options []store.Option, name string) bool {
	return slices.ContainsFunc(options, func(o store.Option) bool { return o.Name == name })
}

// choices are those of an option; nil: there is none of that name.
func choices(options []store.Option, name string) []string {
	for _, o := range options {
		if o.Name == name {
			return o.Choices
		}
	}
	return nil
}

// serveFor starts servers, or what stands in for one that is not installed, and returns where they
// are and how a driver gets in.
func serveFor(t *testing.T, p server.Program, f form) (endpoints []string, options map[string]string, g *server.Group) {
	t.Helper()
	if _, err := p.Find(); errors.Is(err, server.ErrNotInstalled) {
		if endpoint := tyrantstandin.For(t, p.Driver, f.class); endpoint != "" {
			t.Logf("%v: a stand-in is tested", err)
			return []string{endpoint}, nil, nil
		}
	}
	settings := f.server
	if slices.ContainsFunc(p.Options, func(o store.Option) bool { return o.Name == "write_request_timeout" }) {
		settings = maps.Clone(settings)
		if settings == nil {
			settings = map[string]string{}
		}
		settings["write_request_timeout"] = "5m" // a disk that other tests sync may take seconds
	}
	g = servertest.StartGroup(t, p, f.class, settings, max(f.servers, 1))
	return g.Endpoints(), g.Guard().DriverOptions(), g
}
