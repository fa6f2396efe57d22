package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

// clients has a client for the JVM, an engine that is none, and a Maven that knows g:a:1 and g:a:2.
func clients(t *testing.T) read.Drivers {
	t.Helper()
	return read.Drivers{
		Names:    []string{"client", "engine"},
		Describe: func(s experiment.Store) (store.Description, error) { return embedded(s.Driver, store.D1), nil },
		WorkerOf: func(driver string) []string {
			return map[string][]string{"client": {"/jvm/worker"}}[driver]
		},
		OnJVM: func(driver string) bool { return driver == "client" },
		JarsOf: func(coordinates string) (string, error) {
			switch coordinates {
			case "g:a:1", "g:a:2":
				return "/cache/" + coordinates, nil
			case "no:maven:1":
				return "", fmt.Errorf("%w: there is no Maven", read.ErrNotHere)
			}
			return "", fmt.Errorf("no such library: %s", coordinates)
		},
	}
}

func loadClients(t *testing.T, arms string) (*experiment.Experiment, error) {
	t.Helper()
	return read.Load([]byte("name: clients\nstores: ["+arms+"]\nphases: [{name: write, mix: {insert: 1}, for: 1s}]\n"), "clients.yaml", nil, clients(t))
}

func TestTwoVersionsOfAClientAreTwoArms(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "mine.jar")
	if err := os.WriteFile(jar, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := loadClients(t, "{name: one, driver: client, client: {maven: 'g:a:1'}, java: {heap: 256MiB, direct: 64MiB, collector: serial, flags: [-Xlog:gc]}}, "+
		"{name: two, driver: client, client: {maven: 'g:a:2'}}, {name: mine, driver: client, client: {jar: '"+jar+"'}}, {name: usual, driver: client}")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{
		{"/jvm/worker", "--jars=/cache/g:a:1", "-Xmx268435456", "-XX:MaxDirectMemorySize=67108864", "-XX:+UseSerialGC", "-Xlog:gc"},
		{"/jvm/worker", "--jars=/cache/g:a:2"},
		{"/jvm/worker", "--jars=" + jar},
		{"/jvm/worker"},
	} {
		if got := e.Stores[i].Worker; !slices.Equal(got, want) {
			t.Errorf("%s has the worker %q, want %q", e.Stores[i].Name, got, want)
		}
	}
	if all := e.Stores[0].AllOptions(); all["client"] != "g:a:1" || all["java.heap"] != "256MiB" || all["java.collector"] != "serial" {
		t.Errorf("the options are %v", all)
	}
	if all := e.Stores[3].AllOptions(); len(all) != 0 {
		t.Errorf("an arm that asks nothing has the options %v", all)
	}
}

func TestClientWithoutMavenIsRefused(t *testing.T) {
	e, err := loadClients(t, "{name: one, driver: client, client: {maven: 'no:maven:1'}}, engine")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.Stores[0].Missing, "there is no Maven") {
		t.Errorf("it misses %q", e.Stores[0].Missing)
	}
}

func TestMistakesOfClients(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct{ arm, expected string }{
		{"{driver: client, client: {maven: 'g:a:3'}}", "no such library: g:a:3"},
		{"{driver: client, client: {maven: 'g:a:1', jar: here.jar}}", "either maven or jar, not both"},
		{"{driver: client, client: {jar: /nowhere/a.jar}}", "the client's jar can't be used|/nowhere/a.jar: no such file"},
		{"{driver: client, client: {jar: '" + empty + "'}}", "no jar in the folder " + empty},
		{"{driver: client, client: {version: 2}}", `unknown field "version"|maven`},
		{"{driver: client, java: {heap: 1}}", "from 2097152"},
		{"{driver: client, java: {collector: cms}}", `unknown collector "cms"|g1, parallel, serial, shenandoah, z`},
		{"{driver: client, java: {flags: [gc]}}", `"gc" is no option of the JVM|-Xlog:gc`},
		{"{driver: engine, java: {heap: 1GiB}}", "engine does not run in a JVM|leave java out"},
		{"{driver: engine, client: {jar: here.jar}}", "engine does not run in a JVM|leave client out"},
		{"{driver: client, worker: [./mine], java: {heap: 1GiB}}", "java says what JVM Assay starts|one of the two"},
	} {
		_, err := loadClients(t, c.arm)
		if err == nil {
			t.Errorf("%s is taken", c.arm)
			continue
		}
		for part := range strings.SplitSeq(c.expected, "|") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v\nexpected %q in it", c.arm, err, part)
			}
		}
	}
}
