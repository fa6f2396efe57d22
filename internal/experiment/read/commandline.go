package read

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"assay/internal/experiment/keyval"
)

// ImportCommand turns the command line of another benchmark into an experiment file that does the same,
// with a comment for each word that has no equal. Tools are memtier_benchmark, redis-benchmark, pgbench
// and db_bench; their defaults are those of their documentation. A mistake is an *Error.
func ImportCommand(line string) (text []byte, err error) {
	in := newSource("--from", line, true)
	fail := func(format string, args ...any) error { return place{in: in}.fail("", format, args...) }
	words, ok := shellSplit(line)
	if !ok {
		return nil, fail("the command line ends within quotation marks")
	}
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		words = words[1:] // variables before the command
	}
	if len(words) == 0 {
		return nil, fail("an empty command line").(*Error).hint("expected one of %s, with its options", strings.Join(toolNames(), ", "))
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	i := slices.IndexFunc(otherTools, func(t otherTool) bool { return t.name == name })
	if i < 0 {
		return nil, fail("the command %q is not known", name).(*Error).hint("expected one of %s", strings.Join(toolNames(), ", ")).near(name, toolNames())
	}
	c := &command{tool: otherTools[i], line: line, options: map[string]string{}}
	c.parse(words[1:])
	if mistake := c.tool.convert(c); mistake != nil {
		return nil, fail("%s", mistake)
	}
	return c.write(), nil
}

// otherTool is a benchmark whose command line is known.
type otherTool struct {
	name    string
	short   map[string]string // letter → long name
	alone   []string          // options that take no value
	silent  []string          // options that change what is printed alone
	convert func(*command) error
}

var otherTools []otherTool

func init() { // the tools' functions read the list
	memtier.convert, redisBenchmark.convert, pgbench.convert, dbBench.convert =
		convertMemtier, convertRedisBenchmark, convertPgbench, convertDBBench
	otherTools = []otherTool{memtier, redisBenchmark, pgbench, dbBench}
}

func toolNames() (names []string) {
	for _, t := range otherTools {
		names = append(names, t.name)
	}
	return names
}

// shellSplit parts a line into words, as a shell does without variables. ok is false where quotation
// marks are open at its end.
func shellSplit(line string) (words []string, ok bool) {
	var word strings.Builder
	begun, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, quote == 0 && !escaped
}

// command is a command line, and what it becomes.
type command struct {
	tool    otherTool
	line    string
	options map[string]string // by long name; those that were used are taken out
	order   []string          // of their names
	rest    []string          // words that are no options

	stores, durability, keys, values, handles string
	records                                   uint64
	threads                                   uint64
	phases                                    []string
	notes                                     []string
}

// parse reads options: --name=value, --name value, -x value, -xvalue.
func (c *command) parse(words []string) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if !strings.HasPrefix(word, "-") || word == "-" {
			c.rest = append(c.rest, word)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !strings.HasPrefix(word, "--") {
			letter := word[1:2]
			if long, known := c.tool.short[letter]; known {
				// -qx
				if name, value, given = long, word[2:], len(word) > 2; given && slices.Contains(c.tool.alone, long) {
					words = slices.Insert(words, i+1, "-"+value)
					value, given = "", false
				}
				value = strings.TrimPrefix(value, "=")
			}
		}
		name = strings.ReplaceAll(name, "_", "-")
		if !given && !slices.Contains(c.tool.alone, name) && i+1 < len(words) && (!strings.HasPrefix(words[i+1], "-") || isNumber(words[i+1])) {
			i++
			value = words[i]
		}
		if _, twice := c.options[name]; !twice {
			c.order = append(c.order, name)
		}
		c.options[name] = value
	}
}

func isNumber(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// take returns an option and that it was given; it then has an equal, or a note of its own.
func (c *command) take(name string) (value string, given bool) {
	value, given = c.options[name]
	delete(c.options, name)
	return value, given
}

func (c *command) text(name, otherwise string) string {
	if value, given := c.take(name); given {
		return value
	}
	return otherwise
}

// number reads a whole number; what is none is a note, and the default.
func (c *command) number(name string, otherwise uint64) uint64 {
	value, given := c.take(name)
	if !given {
		return otherwise
	}
	n, ok := parseWhole(value)
	if !ok || n > operationsMax {
		c.note("--%s=%s is no number here: %d stands in its place", name, value, otherwise)
		return otherwise
	}
	return n
}

func (c *command) note(text string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(text, args...))
}

// without notes options that are given, and why they have no equal.
func (c *command) without(why string, names ...string) {
	for _, name := range names {
		if value, given := c.take(name); given {
			c.note("--%s has no equal: %s", withValue(name, value), why)
		}
	}
}

func withValue(name, value string) string {
	if value == "" {
		return name
	}
	return name + "=" + value
}

// server says which server is meant: the one that is named, or one that Assay starts.
func (c *command) server(driver, host, port, usual string) {
	name, named := c.take(host)
	number, numbered := c.take(port)
	if !named && !numbered {
		c.stores = fmt.Sprintf("[{driver: %s, server: start}]", driver)
		c.note("no server is named: Assay starts one for each trial; endpoints: [HOST:PORT] names one that runs")
		return
	}
	if name == "" {
		name = "127.0.0.1"
	}
	if number == "" {
		number = usual
	}
	c.stores = fmt.Sprintf("[{driver: %s, endpoints: [%s]}]", driver, yamlText(net.JoinHostPort(name, number), true))
}

// write puts the experiment into a file. What is left of the options has no equal.
func (c *command) write() []byte {
	for _, name := range c.order {
		value, left := c.options[name]
		switch {
		case !left:
		case slices.Contains(c.tool.silent, name):
			c.note("--%s is left out: it changes what is printed", withValue(name, value))
		default:
			c.note("--%s has no equal here", withValue(name, value))
		}
	}
	for _, word := range c.rest {
		c.note("%s has no equal here", word)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Made from: %s\n", oneLine(c.line))
	for _, note := range c.notes {
		fmt.Fprintf(&b, "#  * %s\n", oneLine(note))
	}
	fmt.Fprintf(&b, "name: %s\nabout: How fast is what %s asked for?\nstores: %s\ndurability: %s\n", plainNameOf(c.tool.name), c.tool.name, c.stores, c.durability)
	fmt.Fprintf(&b, "records: %d\n", c.records)
	for _, field := range []struct{ name, value string }{{"keys", c.keys}, {"values", c.values}, {"handles", c.handles}} {
		if field.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", field.name, field.value)
		}
	}
	fmt.Fprintf(&b, "threads: %d\nphases:\n", max(c.threads, 1))
	for _, phase := range c.phases {
		fmt.Fprintf(&b, "  - {%s}\n", phase)
	}
	return []byte(b.String())
}

// times returns a product, and the most operations of a phase where that is less.
func times(factors ...uint64) uint64 {
	product := uint64(1)
	for _, f := range factors {
		if f > 0 && product > operationsMax/f {
			return operationsMax
		}
		product *= f
	}
	return product
}

func threadsOf(n uint64) uint64 { return min(max(n, 1), 65_535) }

var memtier = otherTool{
	name: "memtier_benchmark",
	short: map[string]string{"s": "server", "h": "server", "p": "port", "S": "unix-socket", "P": "protocol", "a": "authenticate", "x": "run-count", "D": "debug", "o": "out-file",
		"n": "requests", "c": "clients", "t": "threads", "d": "data-size", "R": "random-data"},
	alone: []string{"random-data", "debug", "hide-histogram", "show-config", "distinct-client-seed", "randomize", "tls", "tls-skip-verify", "cluster-mode", "no-expiry",
		"verify-only", "data-verify", "data-import", "generate-keys", "reconnect-on-error", "ipv4", "ipv6", "help", "version", "4", "6"},
	silent: []string{"hide-histogram", "show-config", "out-file", "json-out-file", "hdr-file-prefix", "print-percentiles", "debug", "client-stats", "print-all-runs"},
}

func convertMemtier(c *command) error {
	driver := "redis"
	if protocol := c.text("protocol", "redis"); strings.HasPrefix(protocol, "memcache") {
		driver = "memcached"
		if protocol == "memcache_binary" {
			c.note("the binary protocol has no equal: the text protocol is spoken")
		}
	}
	usual := "6379"
	if driver == "memcached" {
		usual = "11211"
	}
	if host, given := c.options["host"]; given {
		delete(c.options, "host")
		c.options["server"] = host
	}
	c.server(driver, "server", "port", usual)
	c.durability = "D0"
	clients, workers := c.number("clients", 50), c.number("threads", 4)
	c.threads = threadsOf(times(clients, workers))
	first, last := c.number("key-minimum", 0), c.number("key-maximum", 10_000_000)
	if last < first {
		return fmt.Errorf("--key-maximum=%d is below --key-minimum=%d", last, first)
	}
	c.records = last - first + 1
	c.keys = fmt.Sprintf("{format: decimal, prefix: %s, first: %d}", yamlText(c.text("key-prefix", "memtier-"), true), first)
	c.values = c.memtierValues()
	if pipeline := c.number("pipeline", 1); pipeline > 1 {
		c.handles = fmt.Sprintf("async(%d)", pipeline)
	}
	sets, gets, ok := strings.Cut(c.text("ratio", "1:10"), ":")
	set, setOK := parseWhole(sets)
	get, getOK := parseWhole(gets)
	if !ok || !setOK || !getOK || set+get == 0 {
		return fmt.Errorf("--ratio is SETS:GETS, such as 1:10")
	}
	var mix []string
	if get > 0 {
		mix = append(mix, fmt.Sprintf("read: %d", get))
	}
	if set > 0 {
		mix = append(mix, fmt.Sprintf("upsert: %d", set))
	}
	phase := fmt.Sprintf("name: memtier, mix: {%s}, order: %s", strings.Join(mix, ", "), c.memtierOrder())
	if seconds := c.number("test-time", 0); seconds > 0 {
		phase += fmt.Sprintf(", for: %ds", seconds)
		c.without("--test-time ends it", "requests")
	} else if all, _ := c.options["requests"]; all == "allkeys" {
		delete(c.options, "requests")
		phase += fmt.Sprintf(", operations: %d", times(c.records, uint64(1)))
	} else {
		phase += fmt.Sprintf(", operations: %d", times(c.number("requests", 10_000), c.threads))
	}
	if limit := c.number("rate-limiting", 0); limit > 0 {
		phase += fmt.Sprintf(", rate: %d, arrivals: constant", times(limit, c.threads))
		c.note("--rate-limiting became rate: response time counts from the due time, and a stall does not slow the load down")
	}
	if set > 0 {
		c.note("nothing is loaded first, as in memtier: a get of a key that was not set yet is a miss")
	} else { // reads alone find nothing in an empty store
		c.phases = append(c.phases, "name: load, load: true, batch: 1000")
		c.note("a load of all keys stands first: gets alone would find nothing in a server that is started")
	}
	c.phases = append(c.phases, phase)
	if runs := c.number("run-count", 1); runs > 1 {
		c.note("--run-count=%d: blocks says how often everything is done, 3 by default", runs)
	}
	c.without("a password stands in the credentials of docs/servers.md", "authenticate")
	c.without("values have no time to live here", "expiry-range")
	return nil
}

func (c *command) memtierValues() string {
	repeated := "1"
	if _, random := c.take("random-data"); random {
		repeated = "0"
	}
	if list, given := c.take("data-size-list"); given {
		var sizes []string
		for part := range strings.SplitSeq(list, ",") {
			size, weight, _ := strings.Cut(part, ":")
			if isNumber(size) && isNumber(weight) {
				sizes = append(sizes, fmt.Sprintf("{bytes: %s, weight: %s}", size, weight))
			}
		}
		if len(sizes) > 0 {
			return fmt.Sprintf("{sizes: [%s], repeated: %s}", strings.Join(sizes, ", "), repeated)
		}
		c.note("--data-size-list=%s is not SIZE:WEIGHT,…", list)
	}
	if span, given := c.take("data-size-range"); given {
		low, high, _ := strings.Cut(span, "-")
		least, leastOK := parseWhole(low)
		most, mostOK := parseWhole(high)
		if leastOK && mostOK && least <= most && most <= valueBytesMax {
			const lengths = 16
			var sizes []string
			for k := range uint64(lengths) {
				sizes = append(sizes, fmt.Sprintf("{bytes: %d, weight: 1}", least+(most-least)*(2*k+1)/(2*lengths)))
			}
			c.note("--data-size-range=%s: %d lengths stand for those in it", span, lengths)
			c.without("lengths are drawn evenly", "data-size-pattern")
			return fmt.Sprintf("{sizes: [%s], repeated: %s}", strings.Join(slices.Compact(sizes), ", "), repeated)
		}
		c.note("--data-size-range=%s is not MIN-MAX", span)
	}
	size := c.number("data-size", 32)
	c.noteShort(size)
	return fmt.Sprintf("{bytes: %d, repeated: %s}", size, repeated)
}

func (c *command) noteShort(bytes uint64) {
	if bytes < keyval.StampBytes {
		c.note("values of %d bytes prove their key but not their version", bytes)
	}
}

func (c *command) memtierOrder() string {
	pattern := c.text("key-pattern", "R:R")
	_, gets, _ := strings.Cut(pattern, ":")
	if sets, gets, _ := strings.Cut(pattern, ":"); sets != gets {
		c.note("--key-pattern=%s: sets and gets have one order here, that of gets", pattern)
	}
	switch gets {
	case "S", "P":
		return "sequential"
	case "G":
		c.note("--key-pattern=%s: a normal distribution of keys has no equal; hotspot stands in its place", pattern)
		c.without("see --key-pattern", "key-stddev", "key-median")
		return "hotspot"
	case "Z":
		return fmt.Sprintf("{distribution: zipfian, theta: %s}", c.text("key-zipf-exp", "1"))
	}
	return "uniform"
}

var redisBenchmark = otherTool{
	name: "redis-benchmark",
	short: map[string]string{"h": "host", "p": "port", "s": "socket", "a": "password", "u": "uri", "c": "clients", "n": "requests", "d": "size", "k": "keepalive", "r": "keyspace",
		"P": "pipeline", "q": "quiet", "t": "tests", "l": "loop", "I": "idle", "e": "errors", "x": "stdin", "3": "resp3"},
	alone:  []string{"quiet", "loop", "idle", "errors", "csv", "cluster", "enable-tracking", "tls", "insecure", "help", "version", "stdin", "resp3"},
	silent: []string{"quiet", "csv", "precision", "errors"},
}

func convertRedisBenchmark(c *command) error {
	c.server("redis", "host", "port", "6379")
	c.durability = "D0"
	c.threads = threadsOf(c.number("clients", 50))
	requests, size, pipeline := c.number("requests", 100_000), c.number("size", 3), c.number("pipeline", 1)
	c.records = max(c.number("keyspace", 1), 1)
	if c.records == 1 {
		c.note("without -r all requests are for one key")
	}
	c.keys = `{format: decimal, prefix: "key:", digits: 12}`
	c.values = fmt.Sprintf("{bytes: %d, repeated: 1}", size)
	c.noteShort(size)
	if pipeline > 1 {
		c.handles = fmt.Sprintf("async(%d)", pipeline)
	}
	if keep := c.text("keepalive", "1"); keep == "0" {
		c.handles = "per_operation"
	}
	tests := strings.Split(strings.ToLower(c.text("tests", "set,get")), ",")
	if len(c.rest) > 0 {
		return fmt.Errorf("a command of its own (%s) can't be carried over: only tests can (-t set,get)", strings.Join(c.rest, " "))
	}
	set := false
	for _, test := range tests {
		switch test {
		case "set":
			set = true
			c.phases = append(c.phases, fmt.Sprintf("name: set, mix: {upsert: 100}, order: uniform, operations: %d", requests))
		case "get":
			if !set {
				c.phases = append(c.phases, "name: load, load: true, batch: 1000")
				c.note("a load of all keys stands before get: redis-benchmark would find what was there")
				set = true
			}
			c.phases = append(c.phases, fmt.Sprintf("name: get, mix: {read: 100}, order: uniform, operations: %d", requests))
		case "mset":
			c.phases = append(c.phases, fmt.Sprintf("name: mset, mix: {upsert: 100}, order: uniform, batch: 10, operations: %d", requests))
			set = true
		case "":
		default:
			c.note("-t %s has no equal: a key-value store has no such command", test)
		}
	}
	if len(c.phases) == 0 {
		return fmt.Errorf("none of the tests %s can be carried over: set, get and mset can", strings.Join(tests, ", "))
	}
	c.without("it has one thread for all clients, and Assay as many as the machine has cores", "threads")
	c.without("a password stands in the credentials of docs/servers.md", "password")
	return nil
}

var pgbench = otherTool{
	name: "pgbench",
	short: map[string]string{"c": "client", "j": "jobs", "T": "time", "t": "transactions", "s": "scale", "S": "select-only", "N": "skip-some-updates", "b": "builtin", "f": "file", "M": "protocol",
		"P": "progress", "R": "rate", "r": "report-per-command", "l": "log", "n": "no-vacuum", "v": "vacuum-all", "C": "connect", "i": "initialize", "F": "fillfactor", "q": "quiet",
		"h": "host", "p": "port", "U": "username", "d": "debug", "D": "define", "L": "latency-limit", "I": "init-steps"},
	alone: []string{"select-only", "skip-some-updates", "report-per-command", "report-latencies", "log", "no-vacuum", "vacuum-all", "connect", "initialize", "quiet", "foreign-keys", "unlogged-tables",
		"progress-timestamp", "failures-detailed", "verbose-errors", "help", "version", "debug"},
	silent: []string{"progress", "report-per-command", "report-latencies", "log", "log-prefix", "quiet", "progress-timestamp", "failures-detailed", "verbose-errors", "aggregate-interval", "debug"},
}

func convertPgbench(c *command) error {
	if _, given := c.options["initialize"]; given {
		return fmt.Errorf("-i makes the tables: give the command that measures, with -s for their size")
	}
	if file, given := c.options["file"]; given {
		return fmt.Errorf("a script of one's own (%s) can't be carried over: only the built-in ones can", file)
	}
	c.server("postgres", "host", "port", "5432")
	c.durability = "D3"
	c.threads = threadsOf(c.number("client", 1))
	c.records = times(100_000, max(c.number("scale", 1), 1))
	c.note("records are the accounts: 100,000 for each unit of --scale, which pgbench reads from the server where it is not given")
	c.keys, c.values = "{format: decimal}", "{bytes: 97}"
	script := c.text("builtin", "tpcb-like")
	if _, given := c.take("select-only"); given {
		script = "select-only"
	}
	if _, given := c.take("skip-some-updates"); given {
		script = "simple-update"
	}
	mix := "read: 100"
	if !strings.HasPrefix("select-only", script) || script == "s" {
		mix = "read_modify_write: 100"
		c.note("%s is a transaction of several statements on several tables: what stands here reads an account and writes it, without a transaction", script)
	}
	phase := fmt.Sprintf("name: pgbench, mix: {%s}, order: uniform", mix)
	if seconds := c.number("time", 0); seconds > 0 {
		phase += fmt.Sprintf(", for: %ds", seconds)
	} else {
		phase += fmt.Sprintf(", operations: %d", times(c.number("transactions", 10), c.threads))
	}
	if rate, given := c.take("rate"); given {
		if !isNumber(rate) {
			return fmt.Errorf("--rate=%s is no number", rate)
		}
		phase += fmt.Sprintf(", rate: %s, arrivals: poisson", rate)
	}
	if _, given := c.take("connect"); given {
		c.handles = "per_operation"
	}
	c.phases = []string{"name: load, load: true, batch: 1000", phase}
	c.without("Assay has as many threads as the machine has cores", "jobs")
	c.without("see assay drivers postgres for how its clients speak", "protocol")
	c.without("a fresh server has nothing to vacuum", "no-vacuum", "vacuum-all")
	c.without("whom Assay connects as stands in docs/servers/postgresql.md", "username")
	if len(c.rest) > 0 {
		c.note("the database %s is left out: Assay has one of its own", c.rest[0])
		c.rest = c.rest[1:]
	}
	return nil
}

var dbBench = otherTool{
	name:   "db_bench",
	silent: []string{"statistics", "histogram", "stats-interval", "stats-interval-seconds", "stats-per-interval", "report-file", "report-interval-seconds", "perf-level"},
}

func convertDBBench(c *command) error {
	c.stores = "[rocksdb]"
	c.note("db_bench is of RocksDB and LevelDB: any embedded store can stand here (stores: [rocksdb, goleveldb, pebble])")
	c.durability = "D1"
	if truthy(c.text("sync", "0")) {
		c.durability = "D3"
	}
	if truthy(c.text("disable-wal", "0")) {
		c.durability = "D0"
	}
	c.threads = threadsOf(c.number("threads", 1))
	num := c.number("num", 1_000_000)
	c.records = num
	c.keys = fmt.Sprintf("{format: binary, bytes: %d}", max(c.number("key-size", 16), 6))
	ratio, err := strconv.ParseFloat(c.text("compression-ratio", "0.5"), 64)
	if err != nil || ratio < 0 || ratio > 1 {
		ratio = 0.5
	}
	c.values = fmt.Sprintf("{bytes: %d, repeated: %s}", c.number("value-size", 100), number(math.Round((1-ratio)*1000)/1000))
	end := fmt.Sprintf("operations: %d", times(num, c.threads))
	reads := c.number("reads", 0)
	if seconds := c.number("duration", 0); seconds > 0 {
		end = fmt.Sprintf("for: %ds", seconds)
	} else if reads > 0 {
		end = fmt.Sprintf("operations: %d", times(reads, c.threads))
	}
	batch := ""
	if n := c.number("batch-size", 1); n > 1 {
		batch = fmt.Sprintf(", batch: %d", n)
	}
	readShare := c.number("readwritepercent", 90)
	nexts := max(c.number("seek-nexts", 0), 1)
	benchmarks := strings.Split(c.text("benchmarks", "fillseq,readrandom"), ",")
	stored := truthy(c.text("use-existing-db", "0"))
	if stored {
		c.phases = append(c.phases, "name: load, load: true, batch: 1000")
		c.note("--use_existing_db: each trial begins with fresh files, and a load stands first")
	}
	seen := map[string]int{}
	for at, benchmark := range benchmarks {
		benchmark = strings.TrimSpace(benchmark)
		name := benchmark
		if seen[benchmark]++; seen[benchmark] > 1 {
			name = fmt.Sprintf("%s-%d", benchmark, seen[benchmark])
		}
		add := func(rest string) { c.phases = append(c.phases, fmt.Sprintf("name: %s, %s, %s", name, rest, end)) }
		needsRecords := func() {
			if !stored {
				c.phases = append(c.phases, "name: load, load: true, batch: 1000")
				c.note("%s: a load stands before it, as its keys must be there", benchmark)
				stored = true
			}
		}
		switch benchmark {
		case "fillseq", "fillseqdeterministic":
			if len(benchmarks) > at+1 && at == 0 {
				c.phases = append(c.phases, "name: load, load: true, order: sequential, batch: 1000")
				c.note("%s is the load, which is not in the tables: what follows works on its records", benchmark)
			} else {
				c.phases = append(c.phases, fmt.Sprintf("name: %s, mix: {insert: 100}, operations: %d%s", name, num, batch))
			}
			stored = true
		case "fillrandom", "filluniquerandom", "overwrite":
			c.phases = append(c.phases, fmt.Sprintf("name: %s, mix: {upsert: 100}, order: uniform, operations: %d%s", name, times(num, c.threads), batch))
			stored = true
		case "fillsync":
			c.note("fillsync: durability is of the whole experiment; D3 syncs each write")
			c.durability = "D3"
			c.phases = append(c.phases, fmt.Sprintf("name: %s, mix: {upsert: 100}, order: uniform, operations: %d", name, max(num/1000, 1)))
			stored = true
		case "readrandom", "readrandomfast":
			needsRecords()
			add("mix: {read: 100}, order: uniform")
		case "readseq":
			needsRecords()
			add("mix: {scan: 100}, order: sequential, scan: {min: 1000, max: 1000}")
			c.note("readseq: scans of 1,000 records, one behind the other, stand for one iterator")
		case "readhot":
			needsRecords()
			add("mix: {read: 100}, order: {distribution: hotspot, hot_records: 0.01, hot_operations: 1}")
		case "seekrandom":
			needsRecords()
			add(fmt.Sprintf("mix: {scan: 100}, order: uniform, scan: {min: %d, max: %[1]d}", nexts))
		case "deleterandom":
			needsRecords()
			add("mix: {delete: 100}, order: uniform")
		case "deleteseq":
			needsRecords()
			add("mix: {delete: 100}, order: sequential")
		case "updaterandom", "readmodifywrite":
			needsRecords()
			add("mix: {read_modify_write: 100}, order: uniform")
		case "readrandomwriterandom":
			needsRecords()
			add(fmt.Sprintf("mix: {read: %d, upsert: %d}, order: uniform", min(readShare, 100), 100-min(readShare, 100)))
		case "readwhilewriting":
			needsRecords()
			groups := fmt.Sprintf("groups: [{name: readers, threads: %d, mix: {read: 100}, order: uniform, %s}, {name: writer, threads: 1, mix: {upsert: 100}, order: uniform, %s}]", c.threads, end, end)
			c.phases = append(c.phases, fmt.Sprintf("name: %s, %s", name, groups))
			c.note("readwhilewriting: the writer does as much as each reader; db_bench's goes on until the readers end")
		default:
			c.note("--benchmarks=%s has no equal here", benchmark)
		}
	}
	if len(c.phases) == 0 || len(c.phases) == 1 && strings.Contains(c.phases[0], "load: true") {
		return fmt.Errorf("none of the benchmarks %s can be carried over", strings.Join(benchmarks, ","))
	}
	c.without("each trial has a directory of its own", "db", "wal-dir")
	c.without("it is an option of the store: assay drivers rocksdb lists them", "cache-size", "write-buffer-size", "bloom-bits", "compression-type", "block-size", "max-background-jobs")
	return nil
}

func truthy(word string) bool { return word == "" || word == "1" || strings.EqualFold(word, "true") }
