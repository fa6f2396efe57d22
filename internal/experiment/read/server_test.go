package read_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

// servers are drivers of which one speaks to a server that Assay can start, one to one that is not
// installed, and one to one that Assay does not know.
func servers(t *testing.T) read.Drivers {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	describe := func(s experiment.Store) (store.Description, error) {
		kind := store.Server
		if s.Driver == "embedded" {
			kind = store.Embedded
		}
		return store.Description{Name: s.Driver, Kind: kind,
			Options: []store.Option{{Name: "read_from", Type: store.Choice, Default: "primary", Choices: []string{"primary", "replica"}}}, UnixSockets: s.Driver == "here", Durability: []store.DurabilityClaim{{Class: store.D1}}}, nil
	}
	return read.Drivers{Names: []string{"here", "several", "absent", "unknown", "embedded"}, Describe: describe,
		ProgramOf: server.Startable(func(driver string) (server.Program, bool) {
			p := server.Program{Driver: driver, Binaries: []string{program}, Packages: []string{"server-package"}, AnySetting: true,
				Options: []store.Option{{Name: "memory_bytes", Type: store.Bytes, Default: "1MiB"}, {Name: "threads", Type: store.Int, Default: "4"}}}
			switch driver {
			case "here":
				return p, true
			case "several":
				p.Several, p.Replicates = server.Independent, true
				return p, true
			case "absent":
				p.Binaries, p.AnySetting = []string{"/no/such/server"}, false
				return p, true
			}
			return server.Program{}, false
		})}
}

func loadServer(t *testing.T, arm string) (*experiment.Experiment, error) {
	t.Helper()
	return read.Load([]byte("name: servers\nstores: ["+arm+"]\nphases: [{name: write, mix: {insert: 1}, for: 1s}]\n"), "servers.yaml", nil, servers(t))
}

// Fault (conductor): an endpoint's port is none (`127.0.0.1:99999`)
// Assay: refused when the experiment is read
//
// Fault (servers): an endpoint is a Unix socket: nothing listens, it is no socket, or the driver
// has none
// Assay: the run ends before its first trial, with the path and the reason; TLS, UDP, clusters and
// agents elsewhere are refused
// With: read.TestAgentsElsewhereReachNoUnixSocket, drivers.TestUnixSockets,
// drivers.TestUnixSocketsAreRefusedWhereClientsLackThem
func TestArmSaysHowItsServerIsReached(t *testing.T) {
	for _, c := range []struct{ arm, expected string }{
		{"here", "here is a server: Assay needs to know which one to use|server: start|endpoints: [HOST:PORT]"},
		{"unknown", "expected endpoints: [HOST:PORT]"},
		{"{driver: here, endpoints: ['127.0.0.1:99999']}", `no server listens at port "99999"|expected a number from 1 to 65535`},
		{"{driver: here, endpoints: ['127.0.0.1:0']}", `no server listens at port "0"|expected a number from 1 to 65535`},
		{"{driver: here, endpoints: ['127.0.0.1:redis']}", `no server listens at port "redis"|expected a number from 1 to 65535`},
		{"{driver: here, endpoints: [run/here.sock]}", `"run/here.sock" is no address of a server|the absolute path of a Unix socket`},
		{"{driver: here, endpoints: ['unix:here.sock']}", `"unix:here.sock" is no address of a server|the absolute path of a Unix socket`},
		{"{driver: here, endpoints: [/" + strings.Repeat("x", 107) + "]}", "the path of the Unix socket has 108 bytes, and its address takes 107"},
		{"{driver: unknown, endpoints: [/run/x.sock]}", "unknown reaches servers by TCP alone: /run/x.sock is a Unix socket|expected HOST:PORT"},
		{"{driver: here, server: start, endpoints: ['127.0.0.1:1']}", "the server is started, and an endpoint is named too"},
		{"{driver: here, server: {start: true, program: x, build: {git: /src}}}", "the server's program is named, and built too"},
		{"{driver: here, server: {start: true, build: {commit: x}}}", "a build without its source|expected git: DIRECTORY"},
		{"{driver: here, server: {start: true, build: {git: /src}}}", "Assay does not know how here is built|expected make: LINE"},
		{"{driver: here, server: {start: true, build: {git: /src, make: make}}}", "Assay does not know what the build of here makes"},
		{"{driver: here, server: {start: true, build: {git: /src, make: make, program: ../x}}}", "../x is not in the source's directory"},
		{"{driver: here, server: {start: true, build: {git: /src, make: make, program: x, commit: --all}}}", `"--all" is no name of a commit`},
		{"{driver: here, server: {start: true, image: '--privileged'}}", `"--privileged" is no name of an image|valkey/valkey:8`},
		{"{driver: here, server: {start: true, image: 'a b'}}", `"a b" is no name of an image`},
		{"{driver: here, server: {start: true, image: a, program: -x}}", `"-x" is no program of an image`},
		{"{driver: here, server: {image: a}}", "the server has settings, but is not started"},
		{"{driver: here, server: {start: true, image: a, build: {git: /src}}}", "the server runs in an image, and is built too"},
		{"{driver: embedded, server: start}", "embedded is not a server: there is nothing to start"},
		{"{driver: unknown, server: start}", "Assay can't start unknown"},
		{"{driver: here, server: {options: {threads: 2}}}", "the server has settings, but is not started|start: true"},
		{"{driver: here, server: {start: maybe}}", `expected start, true or false, got "maybe"`},
		{"{driver: here, server: {start: true, options: {thread: 2}}}", `the server of here has no option "thread"|did you mean "threads"`},
		{"{driver: here, server: {start: true, options: {threads: many}}}", "option threads of the server of here|whole number"},
		{"{driver: here, server: {start: true, count: 3}}", "several servers of here can't be started as one store"},
		{"{driver: several, server: {start: true, count: 0}}", "expected from 1 to 32 servers, got 0"},
		{"{driver: several, server: {start: true, count: 1e18}}", "expected from 1 to 32 servers, got 33"},
		{"{driver: several, server: {count: 3}}", "the server has settings, but is not started"},
		{"{driver: here, server: {start: true, replicas: 1}}", "replicas of here are not started by Assay"},
		{"{driver: several, server: {start: true, replicas: 32}}", "expected at most 32 servers, replicas among them, got 33"},
		{"{driver: several, server: {start: true, count: 2, replicas: 1}}", "replicas are of one server: expected count or replicas"},
		{"{driver: several, server: {replicas: 1}}", "the server has settings, but is not started"},
		{"{driver: several, server: start, options: {read_from: replica}}", "the server is started without a replica to read from|replicas: 1"},
		{"{driver: here, server: {begin: true}}", `unknown field "begin"`},
		{"{driver: absent, server: {start: true, settings: {colour: blue}}}", "takes no settings by its own names|memory_bytes, threads"},
	} {
		_, err := loadServer(t, c.arm)
		if err == nil {
			t.Errorf("%s: accepted", c.arm)
			continue
		}
		for _, part := range strings.Split(c.expected, "|") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error is\n%v\nexpected %q in it", c.arm, err, part)
			}
		}
	}
}

func TestStartedServerIsResolved(t *testing.T) {
	e, err := loadServer(t, "{driver: here, server: {start: true, options: {memory_bytes: 2mib}, settings: {colour: blue}}}")
	if err != nil {
		t.Fatal(err)
	}
	s := e.Stores[0]
	if s.Server == nil || s.Server.Options["memory_bytes"] != "2MiB" || s.Server.Settings["colour"] != "blue" || s.Missing != "" {
		t.Errorf("the store is %+v, its server %+v", s, s.Server)
	}
	if all := s.AllOptions(); len(all) != 2 || all["server.memory_bytes"] != "2MiB" || all["server.colour"] != "blue" {
		t.Errorf("its options are %v", all)
	}
	if s.Outlives() || !s.KeepsFiles() || e.KeyNamespace {
		t.Errorf("it outlives the trial: %v, keeps files: %v, keys name the trial: %v", s.Outlives(), s.KeepsFiles(), e.KeyNamespace)
	}
}

func TestSeveralStartedServersAreResolved(t *testing.T) {
	e, err := loadServer(t, "{driver: several, server: {start: true, count: 3}}, {driver: here, server: {start: true, count: 1}}")
	if err != nil {
		t.Fatal(err)
	}
	if s := e.Stores[0]; s.Server.Count != 3 || s.AllOptions()["server.count"] != "3" {
		t.Errorf("the server is %+v, the options are %v", s.Server, s.AllOptions())
	}
	if s := e.Stores[1]; s.Server.Count != 1 || len(s.AllOptions()) != 0 {
		t.Errorf("the server is %+v, the options are %v", s.Server, s.AllOptions())
	}
}

func TestReplicasAreResolved(t *testing.T) {
	e, err := loadServer(t, "{driver: several, server: {start: true, replicas: 2}, options: {read_from: replica}}")
	if err != nil {
		t.Fatal(err)
	}
	if s := e.Stores[0]; s.Server.Replicas != 2 || s.Servers() != 3 || s.AllOptions()["server.replicas"] != "2" {
		t.Errorf("the server is %+v, the options are %v", s.Server, s.AllOptions())
	}
}

func TestMissingServerIsRefusedWithItsInstallLine(t *testing.T) {
	e, err := loadServer(t, "{driver: absent, server: start}, embedded")
	if err != nil {
		t.Fatal(err)
	}
	refusal := e.Refusal(0, 0)
	if refusal == nil || !strings.Contains(refusal.Reason, "absent is not installed (apt-get install") || !strings.Contains(refusal.Reason, "server-package)") {
		t.Errorf("refused with %+v", refusal)
	}
}

func TestStartedServerIsNamedOnTheCommandLine(t *testing.T) {
	source, err := read.Quick([]string{"here@start", "here@127.0.0.1:11211"}, nil, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"{driver: here, server: start}", `{driver: here, endpoints: ["127.0.0.1:11211"]}`} {
		if !strings.Contains(string(source.Text), part) {
			t.Errorf("the experiment has no %s:\n%s", part, source.Text)
		}
	}
}

func TestRemoteEndpointsAreKnown(t *testing.T) {
	for endpoint, loopback := range map[string]bool{
		"127.0.0.1:1": true, "127.8.9.10:1": true, "[::1]:1": true, "localhost:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:1": false, "192.0.2.1:1": false, "[2001:db8::1]:1": false, "0.0.0.0:1": false, "no-such-host.invalid:1": false, "127.0.0.1": false,
	} {
		if experiment.IsLoopback(endpoint) != loopback {
			t.Errorf("%s is loopback: %v, expected %v", endpoint, !loopback, loopback)
		}
	}
}

func TestEachOfSeveralServersHasOptionsOfItsOwn(t *testing.T) {
	e, err := loadServer(t, "{driver: several, server: {start: true, count: 2, each: [{memory_bytes: 128mib}, {}]}}")
	if err != nil {
		t.Fatal(err)
	}
	if all := e.Stores[0].AllOptions(); all["server1_memory_bytes"] != "128MiB" || all["server2_memory_bytes"] != "" {
		t.Errorf("the options are %v", all)
	}
	for _, c := range []struct{ arm, expected string }{
		{"{driver: several, server: {start: true, count: 3, each: [{}]}}", "1 table for 3 servers"},
		{"{driver: several, server: {start: true, count: 1, each: [{thread: 2}]}}", `the server of several has no option "thread"`},
		{"{driver: several, server: {each: [{}]}}", "the server has settings, but is not started"},
	} {
		if _, err := loadServer(t, c.arm); err == nil || !strings.Contains(err.Error(), c.expected) {
			t.Errorf("%s: %v\nexpected %q in it", c.arm, err, c.expected)
		}
	}
}

// Stores without a name are named by their programs where their driver does not tell them apart, and a
// path at which there is no program is a mistake of the file.
func TestStoresAreNamedByTheirPrograms(t *testing.T) {
	drivers := servers(t)
	startable := drivers.ProgramOf
	drivers.ProgramOf = func(driver string) (experiment.Program, bool) {
		p, known := startable(driver)
		p.Identify = func(binary string) (product, version string, err error) {
			return "here", "1." + strconv.Itoa(len(binary)), nil
		}
		return p, known
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	load := func(stores string) (names []string, err error) {
		e, err := read.Load([]byte("name: servers\nstores: ["+stores+"]\nphases: [{name: write, mix: {insert: 1}, for: 1s}]\n"), "servers.yaml", nil, drivers)
		if err != nil {
			return nil, err
		}
		for _, s := range e.Stores {
			names = append(names, s.Name)
		}
		return names, nil
	}
	names, err := load("{driver: here, server: start}, {driver: here, server: {start: true, program: " + self + "}}")
	if want := []string{"here-1.0", "here-1." + strconv.Itoa(len(self))}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v; want %q", names, err, want)
	}
	_, err = load("{driver: here, server: {start: true, program: /no/such/server}}")
	if err == nil || !strings.Contains(err.Error(), "servers.yaml:2:") || !strings.Contains(err.Error(), "no program at /no/such/server: there is no such file") {
		t.Errorf("%v", err)
	}
}

// A Unix socket is written in several ways, and is one path from then on; it is of this machine.
func TestEndpointsThatAreUnixSockets(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"/run/here.sock": "/run/here.sock", "'unix:/run/here.sock'": "/run/here.sock", "'unix:///run/./here.sock'": "/run/here.sock"} {
		e, err := loadServer(t, "{driver: here, endpoints: ["+typed+"]}")
		if err != nil {
			t.Errorf("%s: %v", typed, err)
			continue
		}
		if got := e.Stores[0].Endpoints; !slices.Equal(got, []string{want}) || len(e.Remote()) > 0 {
			t.Errorf("%s: %q, remote %q; want %q, which is not", typed, got, e.Remote(), want)
		}
	}
}
