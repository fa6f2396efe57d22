package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"assay/internal/experiment/read"
	"assay/presets"
)

// habit is what people who know another tool type, and what it is here.
type habit struct {
	typed []string // flags without their dashes, or words
	here  string   // the right command or flag, as it is shown after "expected "
}

// flagHabits are flags of hyperfine, benchstat, k6, memtier_benchmark, redis-benchmark, sysbench,
// pgbench, YCSB and go-ycsb. A letter means different things in different tools: each is named.
var flagHabits = []habit{
	// How much, and how often.
	{[]string{"r", "runs", "run-count", "min-runs", "max-runs", "rounds", "iterations", "i", "x", "count", "trials", "repeat", "repetitions", "samples"},
		"--blocks N (everything is repeated N times) or --operations N (of each phase)"},
	{[]string{"n", "num", "requests", "transactions", "events", "total-requests", "max-requests"}, "--operations N (of each phase) or --records N"},
	{[]string{"T", "test-time", "maxexecutiontime", "seconds", "runtime", "period", "benchtime"}, "--for 60s (of each phase) or --time 5m (of the whole run)"},
	{[]string{"d"}, "--for 30s (of each phase), or --values 100 (the length of values)"},
	{[]string{"data-size", "valuesize", "fieldlength", "object-size", "data-size-range", "value-length"}, "--values 100 (the length of values)"},
	{[]string{"w", "warm-up"}, "--warm-up 5s (of drivers), or a phase of the experiment file with unmeasured: true"},
	{[]string{"key-maximum", "keyspace", "keyspacelen", "key-space", "num-keys", "table-size", "records-count", "entries"}, "--records N"},
	// How many at once.
	{[]string{"t"}, "--threads N, or for what is done: --mix update --mix read"},
	{[]string{"c", "j", "u", "vus", "workers", "jobs", "client", "parallel", "threadcount", "goroutines", "max-vus"}, "--threads N"},
	{[]string{"fieldcount", "fields"}, "columns of the experiment file: assay init my.yaml"},
	{[]string{"key-size", "key-prefix", "key-length", "keysize"}, "--set keys.bytes=16 (a server's keys get a prefix of the run's own)"},
	{[]string{"multi-key-get", "mget", "batch-size", "batchsize"}, "--batch N (writes together); reads are of one key each"},
	{[]string{"stages", "ramping-vus", "ramp-up"}, "groups and phases of the experiment file, one after the other: assay init my.yaml"},
	{[]string{"parameter-scan", "parameter-list", "L", "D"}, "a list for the field: --threads 1,8, or --set 'threads=[1, 8]'"},
	{[]string{"pipeline", "depth", "queue-depth"}, "--handles 'async(16)' (operations on the way on each connection)"},
	// What is done.
	{[]string{"workload", "W", "propertyfile", "property-file"},
		"a preset, as in: assay run ycsb-a (assay init my.yaml --ycsb FILE reads a workload file of YCSB)"},
	{[]string{"P"}, "a preset, as in: assay run ycsb-a, or for a pipeline: --handles 'async(16)'"},
	{[]string{"ratio", "S", "read-ratio", "readproportion", "reads", "writes", "test", "tests", "select-only", "benchmarks", "skip-trx", "read-only", "write-only"},
		"--mix read=90,update=10 (--ratio=1:9 of memtier_benchmark is 1 update to 9 reads)"},
	{[]string{"key-pattern", "requestdistribution", "random-keys", "zipf", "random"}, "--order uniform, zipfian, shuffled or sequential"},
	{[]string{"rate-limiting", "rps", "rate-limit", "R", "throughput", "arrival-rate"}, "--rate N (operations a second over all threads)"},
	{[]string{"poisson", "constant-arrival-rate"}, "--rate N --arrivals poisson or constant"},
	{[]string{"ttl", "expiry-range"}, "--set phases.NAME.ttl=30s (values expire; a mixture of times in the experiment file)"},
	{[]string{"cpu", "cpuset", "affinity", "taskset", "pin"}, "--cpus 0-1, or each end by itself: --set 'cpus={client: 0, server: 1}'"},
	{[]string{"cache-size", "compression-ratio", "compression-type", "bloom-bits", "write-buffer-size", "max-open-files"},
		"options of the store: --set stores.NAME.options.OPTION=VALUE (assay drivers NAME lists them)"},
	{[]string{"use-existing-db", "existing"}, "no flag: each trial begins with an empty directory and loads its own records"},
	{[]string{"reconnect-interval", "reconnect", "connect", "keepalive"}, "--handles per_operation (a new connection for each operation)"},
	{[]string{"timeout"}, "--time 5m (of the whole run), or --set step_timeout=60s (of opening, syncing and closing)"},
	{[]string{"interval", "report-interval", "print-interval", "progress", "stats-interval"}, "--set sample=1s (between samples)"},
	{[]string{"no-sync", "nosync", "sync-mode"}, "--durability D0 or D1 (assay drivers NAME shows what each class sets)"},
	// Where to.
	{[]string{"p"}, "the server beside its driver, as in: assay run redis@127.0.0.1:6379, or for properties of YCSB: --records N --operations N"},
	{[]string{"s", "port", "host", "server", "address", "addr", "uri", "url", "a", "mysql-host", "pgsql-host", "mysql-port", "pgsql-port", "hosts"},
		"the server beside its driver, as in: assay run redis@127.0.0.1:6379"},
	{[]string{"db", "database", "driver", "engine", "protocol", "store", "db-driver"}, "the drivers as arguments, as in: assay run bbolt pebble"},
	{[]string{"auth", "authenticate", "password", "user", "username", "tls", "ssl", "cluster", "cluster-mode", "udp"}, "options of the driver: assay drivers NAME shows them"},
	// What comes out.
	{[]string{"o", "output-dir", "dir"}, "--out DIR (the run directory; assay report DIR --format json prints it)"},
	{[]string{"export-json", "json-out-file", "summary-export", "out-file", "json-file"}, "--json > FILE, or afterwards: assay report DIR --json > FILE"},
	{[]string{"export-markdown"}, "--format md > FILE"},
	{[]string{"export-csv", "csv"}, "--format csv"},
	{[]string{"html"}, "report.html in the run directory: each run writes one"},
	{[]string{"percentiles", "percentile", "print-percentiles", "latency-percentiles", "p99", "p95"},
		"no flag: --full shows p50, p99 and p99.9, --format hlog all"},
	{[]string{"histogram", "hdr-file-prefix", "measurementtype", "hide-histogram"}, "afterwards: assay report DIR --format hlog"},
	{[]string{"v", "verbose", "debug", "log-level", "show-output"}, "--full (each table, each finding with its evidence)"},
	{[]string{"y", "yes", "f", "force"}, "no flag: a run asks no questions and overwrites nothing (--out names another directory)"},
	{[]string{"N", "shell", "prepare", "cleanup", "setup", "script", "lua"}, "phases of the experiment file: assay init my.yaml"},
	{[]string{"config", "file"}, "the experiment file as the argument: assay run my.yaml"},
	{[]string{"plan", "simulate", "estimate", "print", "show", "explain"}, "--dry-run (settings, phases and trials; nothing runs)"},
	{[]string{"option", "options", "opt", "conf"}, "options of a store in brackets behind it, as in: assay run 'pebble[cache_bytes=8MB]'"},
	{[]string{"prometheus", "telemetry", "metrics-port", "listen"}, "--metrics :9464"},
	{[]string{"compression", "compressible", "compressibility"}, "--set values.repeated=0.5 (the share of the bytes that repeats)"},
	{[]string{"preset"}, "the preset as the argument: assay run put-get"},
	{[]string{"baseline"}, "--set baseline=NAME"},
	{[]string{"tables", "table-count"}, "no flag: each store has one table"},
	{[]string{"thresholds", "threshold"}, "--fail-if 'p99 > 10ms' (repeatable), or afterwards: assay compare OLD NEW --fail-if 'rate < 0.95x'"},
	{[]string{"style", "color", "colour", "no-color"}, "--plain (progress as lines); the variable NO_COLOR leaves colours out"},
	{[]string{"cpuprofile", "memprofile", "blockprofile", "bench"}, "no flag: the page has CPU and memory over time; --mix says what is done"},
	{[]string{"scale"}, "--set scale=NAME (assay presets PRESET shows its scales)"},
	{[]string{"alpha", "delta-test", "confidence"}, "no flag: intervals are of 95 %"},
}

// otherFlagHabits are those of other commands than run.
var otherFlagHabits = map[string][]habit{
	"compare": {{[]string{"threshold", "delta", "max-regression", "fail-on"}, "--fail-if 'rate < 0.95x' (repeatable)"}},
	"init":    {{[]string{"workload", "W", "P", "propertyfile"}, "--ycsb FILE, or of a preset: --preset ycsb-a"}},
	"report": {{[]string{"latest", "last"}, "assay report latest"}, {[]string{"dir"}, "the run directory as the argument: assay report DIR"},
		{[]string{"fail-if", "fail-on", "threshold", "thresholds"}, "assay compare DIR --fail-if 'p99 > 5ms' (exit status 4 where it fails)"}},
	"doctor": {{[]string{"fix", "repair"}, "no flag: what it finds stands with a command; --clean removes what killed runs left"}},
}

// habitOf returns what a flag of another tool is in a command.
func habitOf(command, flag string) (here string, known bool) {
	if command == "run" {
		return flagHabit(flag)
	}
	return habitual(otherFlagHabits[command], flag)
}

// commandHabits are words that are no commands here.
var commandHabits = []habit{
	{[]string{"bench", "benchmark", "measure", "test", "perf", "start", "exec", "hyperfine", "k6"}, "assay run bbolt pebble (drivers), assay run put-get (a preset) or assay run my.yaml (a file)"},
	{[]string{"ycsb", "go-ycsb", "load", "workload"}, "assay run ycsb-a (a preset; it loads by itself)"},
	{[]string{"diff", "benchstat", "benchcmp", "versus", "vs"}, "assay compare OLD NEW (run directories)"},
	{[]string{"results", "show", "view", "print", "open", "export"}, "assay report DIR"},
	{[]string{"ls", "stores", "engines", "dbs"}, "assay list"},
	{[]string{"check", "env", "info", "status", "system"}, "assay doctor"},
	{[]string{"new", "create", "generate", "template", "config"}, "assay init my.yaml"},
	{[]string{"resume", "continue"}, "assay run --resume DIR"},
	{[]string{"bisect"}, "assay history bisect"},
	{[]string{"watch", "live", "follow", "monitor", "dashboard"}, "assay serve DIR (in a browser, also while it runs)"},
	{[]string{"clean"}, "assay doctor --clean"},
	{[]string{"verify", "validate", "conformance-test"}, "assay conformance --driver NAME, or for a file: assay run my.yaml --dry-run"},
}

// benchmarkHabits are words that name work in db_bench, sysbench and memtier's kin.
var benchmarkHabits = []habit{
	{[]string{"db_bench", "sysbench", "pgbench", "memtier_benchmark", "redis-benchmark", "wrk"}, "a store, as in: assay run rocksdb, or assay run redis@start"},
	{[]string{"fillrandom", "fillseq", "overwrite", "updaterandom"}, "--mix update, as in: assay run rocksdb --mix update"},
	{[]string{"readrandom", "readseq", "readwhilewriting", "oltp_point_select", "oltp_read_only"}, "--mix read, as in: assay run rocksdb --mix read"},
	{[]string{"oltp_read_write", "oltp_write_only", "tpcb-like", "readrandomwriterandom"}, "--mix read=50,update=50, as in: assay run postgres@start --mix read=50,update=50"},
}

// stepHabits are words behind which other tools do a part of the work.
var stepHabits = []habit{{[]string{"load", "prepare", "cleanup", "run"}, "drivers alone: each trial loads its records, and removes them"}}

// driverHabits are names that other tools have for drivers, beside those that the command line takes.
var driverHabits = map[string]string{
	"bolt": "bbolt", "memcache_text": "memcached", "bdb": "berkeleydb-btree", "jetstream": "nats", "basic": "memory", "map": "memory",
}

// unsupported are stores that people ask for, and that no driver measures.
var unsupported = []string{
	"aerospike", "dynamodb", "s3", "tikv", "foundationdb", "cockroachdb", "couchbase", "couchdb", "hbase", "elasticsearch", "opensearch",
	"clickhouse", "duckdb", "bigtable", "spanner", "firestore", "ignite", "hazelcast", "arangodb", "oracle", "sqlserver", "db2",
	"zookeeper", "consul", "influxdb", "ydb", "yugabytedb", "tidb", "surrealdb", "fjall", "sled", "redb", "speedb", "wiredtiger",
}

// notSupported says of a store that no driver measures how it can be.
func notSupported(argument string) (why string, known bool) {
	name := strings.ToLower(argument)
	if end := strings.IndexAny(name, "@:[?"); end >= 0 {
		name = name[:end]
	}
	if !slices.Contains(unsupported, name) {
		return "", false
	}
	return "no store: " + name + " is not supported; anything that speaks the worker contract can be: docs/add-a-driver.md, docs/worker-contract.md", true
}

// portDrivers are the drivers by the default port of their servers.
var portDrivers = map[string]string{
	"6379": "redis", "11211": "memcached", "5432": "postgres", "3306": "mariadb", "2379": "etcd", "27017": "mongodb",
	"9042": "cassandra", "4222": "nats", "8087": "riak", "3301": "tarantool", "1978": "tokyotyrant",
}

func habitual(habits []habit, typed string) (here string, known bool) {
	for _, h := range habits {
		if slices.Contains(h.typed, typed) {
			return h.here, true
		}
	}
	return "", false
}

// flagHabit returns what a flag of another tool is here. A word after one dash is a long flag in
// tools of Java and Go.
func flagHabit(flag string) (here string, known bool) {
	if here, known = habitual(flagHabits, flag); known {
		return here, true
	}
	return habitual(flagHabits, strings.ToLower(strings.ReplaceAll(flag, "_", "-")))
}

// startable is how a driver is named on the command line: a server needs to be started or pointed
// at.
func startable(driver string) string {
	if _, server := programOf(driver); server {
		return driver + "@start"
	}
	return driver
}

// driverHabit returns the argument that was probably meant by one that is no driver: of several
// drivers in one argument, a URL, an address, another tool's name for a driver, or a workload of
// YCSB's.
func driverHabit(argument string) (meant string, known bool) {
	if parts := strings.Split(argument, ","); len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return !isDriverName(p) }) {
		return "assay run " + strings.Join(parts, " "), true
	}
	if meant, known = notSupported(argument); known {
		return meant, true
	}
	name, place, at := strings.Cut(argument, "@")
	if driver := driverHabits[strings.ToLower(name)]; driver != "" {
		if at {
			return addressed(driver, place)
		}
		return "assay run " + startable(driver), true
	}
	if argument == "help" {
		return "assay run --help", true
	}
	if u, err := url.Parse(argument); err == nil && u.Host != "" {
		return "assay run DRIVER@" + u.Host + ", where DRIVER is that of the server (assay drivers)", true
	}
	if driver, option, is := strings.Cut(argument, ":"); is && strings.Contains(option, "=") && isDriverName(driverNamed(driver)) {
		return fmt.Sprintf("assay run '%s[%s]'", driver, option), true
	}
	if base := path.Base(argument); base != argument && !at && path.Dir(argument) == "." && isDriverName(driverNamed(base)) {
		return "assay run " + startable(driverNamed(base)) + " (a driver has no path)", true
	}
	if host, port, err := net.SplitHostPort(argument); err == nil && !at {
		// an image and its version
		if number, err := strconv.Atoi(port); isDriverName(driverNamed(host)) && (err != nil || number < 1024) {
			if _, server := programOf(driverNamed(host)); !server {
				return fmt.Sprintf("assay run %s (the version that is linked in: assay drivers %[1]s)", host), true
			}
			return fmt.Sprintf("assay run %[1]s@start (the server that is installed), or of another version: assay run %[1]s@start=/PATH/OF/PROGRAM", host), true
		}
		if isDriverName(driverNamed(host)) {
			return addressed(host, net.JoinHostPort("127.0.0.1", port))
		}
		if driver := portDrivers[port]; driver != "" {
			return addressed(driver, argument)
		}
		return "assay run DRIVER@" + argument, true
	}
	if meant, known = habitual(benchmarkHabits, strings.TrimSuffix(strings.ToLower(argument), ".lua")); known {
		return meant, true
	}
	letter, is := strings.CutPrefix(strings.ToLower(path.Base(argument)), "workload")
	switch {
	case is && slices.Contains(presets.Names(), "ycsb-"+letter):
		return "assay run ycsb-" + letter + ", or for a file of your own: assay init my.yaml --ycsb FILE", true
	case is:
		return "assay init my.yaml --ycsb " + argument, true
	}
	return "", false
}

func isDriverName(argument string) bool {
	return slices.Contains(measurable(), read.DriverOf(argument))
}

func driverNamed(name string) string {
	if driver := driverHabits[strings.ToLower(name)]; driver != "" {
		return driver
	}
	return read.DriverNamed(strings.ToLower(name))
}

func addressed(driver, endpoint string) (meant string, known bool) {
	if !isDriverName(driverNamed(driver)) {
		return "", false
	}
	return "assay run " + driver + "@" + endpoint, true
}

// unknownWord says what is meant by a first word that is no command: drivers, presets and files
// are what assay run takes.
func unknownWord(args []string) (meant string, known bool) {
	runs := func(word string) bool {
		if info, err := os.Stat(word); err == nil && !info.IsDir() {
			return true
		}
		return isDriverName(word) || slices.Contains(presets.Names(), word)
	}
	if runs(args[0]) {
		return "assay run " + strings.Join(args, " "), true
	}
	if _, err := os.Stat(args[0]); err == nil {
		return "assay report " + args[0], true
	}
	if meant, known = driverHabit(args[0]); known {
		return meant, true
	}
	return habitual(commandHabits, strings.ToLower(args[0]))
}

// unknownDriver says that a name is no driver's, and which one was probably meant.
func unknownDriver(argument string) error {
	if meant, known := driverHabit(argument); known {
		return fmt.Errorf("unknown driver %q\n%s", argument, expected(meant))
	}
	if _, err := strconv.Atoi(strings.TrimSuffix(argument, ",")); err == nil {
		return fmt.Errorf("unknown driver %q\nvalues of a flag have commas between, and no spaces: --threads 1,8", argument)
	}
	if here, known := habitual(stepHabits, argument); known {
		return fmt.Errorf("unknown driver %q\nexpected %s", argument, here)
	}
	name, _, _ := strings.Cut(argument, "@")
	return fmt.Errorf("unknown driver %q%s", name, nearOr(name, measurable(), "assay list shows the presets and drivers"))
}
