// Package java_test holds the Java worker and the drivers of its clients to the contract. It tests
// what make jvm has built, and is skipped where that is missing.
package java_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/drivers"
	"assay/drivers/cassandra"
	"assay/internal/execution/server"
	"assay/internal/testkit/jvmbuild"
	"assay/internal/testkit/mongojava"
	"assay/internal/testkit/riakstandin"
	"assay/internal/testkit/servertest"
	"assay/store"
	"assay/storetest"
)

const vectorsFolder = "../../vectors"

// built returns the folder of what make jvm built, or skips.
func built(t *testing.T) string {
	t.Helper()
	return jvmbuild.Folder(t, "java", "mvn", "javac")
}

func worker(folder, name string) string { return filepath.Join(folder, "assay-worker-"+name) }

func long() bool { return os.Getenv("ASSAY_LONG") == "1" }

func vectors(folder, vectors string, files ...string) (string, error) {
	path := filepath.Join(folder, "assay-host", "test-classes") + ":" + filepath.Join(folder, "assay-host", "jars", "*")
	output, err := exec.Command("java", append(append(quick, "-cp", path, "assay.worker.Vectors", vectors), files...)...).CombinedOutput()
	return string(output), err
}

// All vectors of the contract come out the same in Java, none passed over.
func TestVectors(t *testing.T) {
	t.Parallel()
	output, err := vectors(built(t), vectorsFolder)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	files, err := filepath.Glob(filepath.Join(vectorsFolder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if !regexp.MustCompile(`(?m)^` + name + ` [1-9]`).MatchString(output) {
			t.Errorf("%s was held against nothing:\n%s", name, output)
		}
	}
}

// The check sees a vector that is not right.
func TestVectorsCheckFindsErrors(t *testing.T) {
	t.Parallel()
	folder := built(t)
	for name, change := range map[string][2]string{
		"mix":          {`"mix": "e2`, `"mix": "e3`},
		"keys":         {`"key": "00"`, `"key": "10"`},
		"pool":         {`"bytes": 6144`, `"bytes": 6145`},
		"values":       {`"first": "00`, `"first": "01`},
		"short_values": {`"c2"`, `"00"`},
		"checks":       {`"right": true`, `"right": false`},
		"versions":     {`"phase": 3`, `"phase": 4`},
		"traces":       {`"stride": 30`, `"stride": 31`},
		"counters":     {`"slot_bytes": 36992`, `"slot_bytes": 36993`},
		"buckets":      {`"bucket": 506`, `"bucket": 507`},
		"records":      {`"prefix": "mikio"`, `"prefix": "mikip"`},
		"history":      {`"outcome": 6`, `"outcome": 5`},
	} {
		if !long() && name != "mix" {
			continue // a JVM each
		}
		text, err := os.ReadFile(filepath.Join(vectorsFolder, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %s to change", name, change[0])
		}
		wrong := t.TempDir()
		if err := os.WriteFile(filepath.Join(wrong, name+".json"), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, err := vectors(folder, wrong, name); err == nil || !strings.Contains(output, "is wrong") {
			t.Errorf("%s: %s was changed to %s: %v\n%s", name, change[0], change[1], err, output)
		}
	}
}

// brief are the rules that a test without ASSAY_LONG holds the worker's own drivers to: one of each kind.
var brief = []string{"binary-keys", "overwrite", "add", "compare-and-swap", "scan-order", "history", "requests", "trial-tag", "handles-pool", "messages", "limits"}

// ofStore are those of brief that another store can break: the others are about the worker's loop, which all share.
var ofStore = []string{"binary-keys", "add", "compare-and-swap", "scan-order", "limits"}

// ofWay are those for another way to the same store by the same client: writes and reads that
// succeed, and that conflict.
var ofWay = []string{"add"}

// ofValues are those for another form of values, whose versions are the store's and whose limit is another.
var ofValues = []string{"compare-and-swap", "limits"}

// quick are options of a JVM that ends soon: less is compiled, and one thread collects garbage.
var quick = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

func conformance(t *testing.T, program, driver string, endpoints []string, options map[string]string) {
	t.Helper()
	storetest.Test(t, target(t, program, driver, endpoints, options))
}

func target(t *testing.T, program, driver string, endpoints []string, options map[string]string) storetest.Target {
	t.Helper()
	target := storetest.Target{
		Command: append([]string{worker(built(t), program)}, quick...), Driver: driver, Endpoints: endpoints,
		Options: options, TempDir: t.TempDir(),
		Brief: !long(),
	}
	if !long() {
		switch target.Rules = ofStore; {
		case driver == "memory-java":
			target.Rules = brief
		case program == "host":
			target.Rules = []string{"abilities", "limit", "stop"} // a store that keeps nothing is held to none of brief
		case driver == "tokyocabinet-table-java":
			target.Rules = []string{"record-columns", "define", "add"} // its key and values are the hash's
		}
	}
	return target
}

// The drivers without a server pass the conformance kit.
func TestConformance(t *testing.T) {
	for driver, program := range map[string]string{"null-java": "host", "memory-java": "host", "mvstore": "mvstore", "rocksdb-java": "rocksdb",
		"tokyocabinet-hash-java": "tokyocabinet", "tokyocabinet-btree-java": "tokyocabinet", "tokyocabinet-fixed-java": "tokyocabinet", "tokyocabinet-table-java": "tokyocabinet", "lmdb-java": "lmdb"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			conformance(t, program, driver, nil, nil)
		})
	}
}

// Clients of memcached pass it on the real server.
func TestMemcachedConformance(t *testing.T) {
	program, ok := drivers.Program("memcached")
	if !ok {
		t.Fatal("memcached can't be started")
	}
	clients := []string{"whalin", "spymemcached", "xmemcached", "folsom"}
	for _, c := range []struct {
		name    string
		clients []string
		server  map[string]string
		options map[string]string
		long    bool     // it differs from another by what the kit holds of others
		rules   []string // without ASSAY_LONG; nil: brief
	}{
		{name: "text", clients: clients, options: map[string]string{"protocol": "text"}},
		{name: "binary", clients: clients, options: map[string]string{"protocol": "binary"}, long: true},
		{name: "sasl", clients: clients, server: map[string]string{"login": "true", "login_by": "sasl"}, options: map[string]string{"protocol": "binary"}, rules: ofWay},
		{name: "udp", clients: []string{"whalin"}, server: map[string]string{"udp": "true"}, options: map[string]string{"protocol": "udp"}, rules: ofWay},
		{name: "object", clients: clients, options: map[string]string{"values": "object"}, long: true},
		{name: "custom", clients: clients, options: map[string]string{"values": "custom"}, rules: ofValues},
	} {
		for _, client := range c.clients {
			t.Run(client+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				if c.long && !long() {
					t.Skip("skipped: it differs from another little: ASSAY_LONG=1")
				}
				if _, err := os.Stat(worker(built(t), client)); err != nil {
					t.Skipf("the worker of %s is not built: make jvm", client)
				}
				server := servertest.Start(t, program, store.D0, c.server)
				options := server.Guard.DriverOptions()
				maps.Copy(options, c.options)
				target := target(t, client, client, []string{server.Endpoint()}, options)
				if !long() && c.rules != nil {
					target.Rules = c.rules
				}
				storetest.Test(t, target)
			})
		}
	}
}

// What a client of memcached does not support is refused, with what it supports.
func TestMemcachedClientsRefuse(t *testing.T) {
	t.Parallel()
	folder := built(t)
	credentials := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(credentials, []byte("someone:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(driver, options string) string {
		return `{"id":1,"command":"open","open":{"driver":"` + driver + `","endpoints":["127.0.0.1:1"],"durability":"D0","handles":"shared","threads":1,"options":{` + options + `}}}`
	}
	for _, c := range []struct{ client, options, says string }{
		{"spymemcached", `"protocol":"udp"`, `"class":"bad_request"`},
		{"folsom", `"protocol":"udp"`, "no choice of: text binary"},
		{"xmemcached", `"credentials_file":"` + credentials + `"`, "set protocol: binary"},
		{"whalin", `"protocol":"udp","credentials_file":"` + credentials + `"`, "set protocol: binary"},
	} {
		command := exec.Command(worker(folder, c.client))
		command.Stdin = strings.NewReader(strings.ReplaceAll(open(c.client, c.options), `\`, `\\`) + "\n")
		output, err := command.Output()
		if said := strings.ReplaceAll(string(output), `\"`, `"`); err != nil || !strings.Contains(said, c.says) {
			t.Errorf("%s with %s: %v %s, expected %q", c.client, c.options, err, output, c.says)
		}
	}
}

// Clients of Redis pass it on the real server: Jedis with its oldest version that is driven, too, where
// Maven has it.
func TestRedisConformance(t *testing.T) {
	program, ok := drivers.Program("redis")
	if !ok {
		t.Fatal("Redis can't be started")
	}
	for _, client := range []string{"jedis", "lettuce"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(worker(built(t), client)); err != nil {
				t.Skipf("the worker of %s is not built: make jvm", client)
			}
			server := servertest.Start(t, program, store.D0, nil)
			conformance(t, client, client, []string{server.Endpoint()}, server.Guard.DriverOptions())
		})
	}
}

// Drivers of JDBC pass it on the real servers, over a pool and over connections of their own; the long tests
// kill the server in each of its classes.
func TestJDBCConformance(t *testing.T) {
	for driver, server := range map[string]string{"jdbc-mariadb": "mariadb", "jdbc-mysql": "mariadb", "jdbc-postgres": "postgres"} {
		program, ok := drivers.Program(server)
		if !ok {
			t.Fatalf("%s can't be started", server)
		}
		for _, pool := range []string{"hikari", "none"} {
			if pool == "none" && driver == "jdbc-mysql" && !long() {
				continue // as jdbc-mariadb, but for the URL
			}
			classes := []store.Durability{store.D0}
			if long() {
				classes = append(classes, store.D1, store.D2, store.D3)
			}
			for _, class := range classes {
				t.Run(driver+"/"+pool+"/"+string(class), func(t *testing.T) {
					t.Parallel()
					if _, err := os.Stat(worker(built(t), "jdbc")); err != nil {
						t.Skip("the worker of JDBC is not built: make jvm")
					}
					group := servertest.StartGroup(t, program, class, nil, 1)
					target := target(t, "jdbc", driver, group.Endpoints(), map[string]string{"pool": pool, "operation_timeout": "300s"})
					if pool == "none" && !long() {
						target.Rules = ofWay
					}
					if long() {
						target.Cut = func(halted func()) error {
							return group.Cut(t.Context(), halted, servertest.Patience)
						}
					}
					storetest.Test(t, target)
				})
			}
		}
	}
}

// clusterParts is in how many parts the long tests hold Cassandra's client to all rules.
const clusterParts = 8

// MongoDB's, Cassandra's and Riak's clients pass it: on the in-memory Java server of MongoDB's protocol, on a
// node of Cassandra, and on the stand-in for Riak.
func TestDocumentAndClusterConformance(t *testing.T) {
	start := func(t *testing.T, program server.Program, class store.Durability) []string {
		return []string{servertest.Start(t, program, class, nil).Endpoint()}
	}
	for driver, c := range map[string]struct {
		program   string
		endpoints func(t *testing.T) []string
		options   map[string]string
		long      bool
		given     []store.Durability // the classes of the server; nil: all that the client claims
		gaps      []string           // rules that the server breaks
	}{
		// The server keeps documents in memory; its gaps are those of TestMongoDBOnTheJavaServer,
		// with the same client's protocol.
		"mongodb-java": {program: "mongodb", options: map[string]string{"operation_timeout": "300s", "flush_at_open": "true"}, given: []store.Durability{store.D0},
			gaps: []string{"abilities", "explain", "modify"}, endpoints: func(t *testing.T) []string { return start(t, mongojava.Program, store.D0) }},
		// A node takes half a minute to start, and 1 GB.
		"cassandra-java": {program: "cassandra", long: true, options: map[string]string{"operation_timeout": "300s"},
			endpoints: func(t *testing.T) []string { return start(t, cassandra.Program, store.D2) }},
		"riak-java": {program: "riak", options: map[string]string{"operation_timeout": "300s"}, endpoints: func(t *testing.T) []string { return riakstandin.Start(t, 1).Endpoints }},
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			if c.long && !long() {
				t.Skip("skipped: takes minutes: ASSAY_LONG=1")
			}
			if _, err := os.Stat(worker(built(t), c.program)); err != nil {
				t.Skipf("the worker of %s is not built: make jvm", c.program)
			}
			if c.long { // in parts, each of which has a node of its own: the whole takes too long for one test
				names := storetest.RuleNames()
				each := (len(names) + clusterParts - 1) / clusterParts
				for rules := range slices.Chunk(names, each) {
					t.Run("from "+rules[0], func(t *testing.T) {
						target := target(t, c.program, driver, c.endpoints(t), c.options)
						target.Rules = rules
						storetest.Test(t, target)
					})
				}
				return
			}
			target := target(t, c.program, driver, c.endpoints(t), c.options)
			target.Durability = c.given
			if long() {
				target.Rules = slices.DeleteFunc(storetest.RuleNames(),
					func(rule string) bool { return slices.Contains(c.gaps, rule) })
			}
			storetest.Test(t, target)
		})
	}
}

// An arm's jars stand in place of the client's own: a class that they lack is not found elsewhere.
func TestJarsStandInPlaceOfTheClients(t *testing.T) {
	t.Parallel()
	folder := built(t)
	for _, c := range []struct{ argument, says string }{
		{"--jars=" + filepath.Join(folder, "assay-folsom", "client"), "WhalinDriver can't be used with the jars that were given: java.lang.NoClassDefFoundError: com.whalin.MemCached.MemCachedClient"},
		{"--jars=" + filepath.Join(folder, "assay-whalin", "client"), `"name":"whalin"`},
		{"--jars=/nowhere/a.jar", "no jar and no folder of jars: /nowhere/a.jar"},
		{"-XX:+NoSuchOption", "Unrecognized VM option 'NoSuchOption'"},
	} {
		command := exec.Command(worker(folder, "whalin"), c.argument)
		command.Stdin = strings.NewReader(`{"id":1,"command":"describe"}` + "\n")
		output, err := command.CombinedOutput()
		if !strings.Contains(string(output), c.says) {
			t.Errorf("%s: %v\n%s\nexpected %q", c.argument, err, output, c.says)
		}
	}
}

// The example of docs/jvm.md becomes a driver of the worker outside this tree, and passes the kit.
func TestExampleOutsideTheTree(t *testing.T) {
	t.Parallel()
	folder, away := built(t), t.TempDir()
	if err := os.CopyFS(away, os.DirFS("example")); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"javac", "--release", "17", "-Xlint:all,-try", "-Werror", "-cp", filepath.Join(folder, "assay-host", "jars", "*"), filepath.Join("example", "MapDriver.java")},
		{"jar", "cf", "map.jar", "example", "META-INF"},
	} {
		c := exec.Command(command[0], command[1:]...)
		c.Dir = away
		if output, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, output)
		}
	}
	storetest.Test(t, storetest.Target{
		Command: append([]string{worker(folder, "host"), "--jars=" + filepath.Join(away, "map.jar")}, quick...),
		Driver:  "example-map", Rules: []string{"overwrite", "add", "abilities"}, TempDir: away,
	})
}
