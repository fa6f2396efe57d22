package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// typed is a command that a person types who has read nothing but assay --help, knows another tool, or
// knows the field's words.
type typed struct {
	line string
	// says are words that the answer has, several with | between; "!" before them: the command is
	// refused, and they say what to type; "-" before them: what is asked for is not there, whatever is typed,
	// and they say so.
	says string
}

// What people type, and what they get: the right thing at once, or what to type. assay run is asked for its
// plan, so that nothing is measured. Nothing here may be taken for something else.
var typedCommands = []typed{
	// Stores.
	{"run pebble", "pebble"}, {"run pebble bbolt", "pebble|bbolt"}, {"run pebble bbolt badger goleveldb pogreb sqlite memory", "badger|sqlite"},
	{"run badgerdb", "badger"}, {"run sqlite3", "sqlite"}, {"run pebbledb", "pebble"}, {"run 'pebble[cache_bytes=8MB]'", "pebble"},
	{"run 'pebble[cache_bytes=8MB,64MB]'", "pebble-8MB|pebble-64MB"}, {"run pebble?cache_bytes=8MB", "pebble"},
	{"run pebble 'pebble[cache_bytes=64MB]'", "pebble-64MB"}, {"run redis@127.0.0.1:1", "redis"}, {"run redis://127.0.0.1:1", "redis"},
	{"run rediss://127.0.0.1:1", "redis"}, {"run redis://127.0.0.1:1/2", "redis"}, {"run valkey@127.0.0.1:1", "valkey"}, {"run keydb@127.0.0.1:1", "keydb"}, {"run redict@127.0.0.1:1", "redict"},
	{"run dragonfly@127.0.0.1:1", "dragonfly"}, {"run mysql@127.0.0.1:1", "mysql"}, {"run mariadb@127.0.0.1:1", "mariadb"},
	{"run postgresql://127.0.0.1:1", "postgres"}, {"run pg@127.0.0.1:1", "postgres"}, {"run mongo@127.0.0.1:1", "mongodb"},
	{"run memcache@127.0.0.1:1", "memcached"}, {"run etcd@127.0.0.1:1", "etcd"}, {"run memcached@127.0.0.1:1 redis@127.0.0.1:1", "memcached|redis"},
	{"run scylla@127.0.0.1:1", "scylla"}, {"run redis@[::1]:1", "redis"}, {"run Pebble", "pebble"}, {"run bolt", "bbolt"}, {"run bolt pebble", "bbolt|pebble"},
	{"run redis", "redis"}, {"run mysql", "!mariadb@start"}, {"run redis:7", "!redis@start=/PATH"}, {"run localhost:6379", "redis"},
	{"run redis@/run/redis.sock", "redis"}, {"run redis@unix:///run/redis.sock", "redis"}, {"run redis+unix:///run/redis.sock", "redis"}, {"run postgres@/var/run/postgresql", "postgres"}, {"run unix:///run/mysqld/mysqld.sock", "mysql"}, {"run unix:///tmp/x.sock", "!DRIVER@unix:///tmp/x.sock"}, {"run etcd@/run/etcd.sock", "!by TCP alone"},
	{"run mysql@start", "!mariadb@start"}, {"run postgresql://u:pw@127.0.0.1:1/db", "!export PGPASSWORD"}, {"run tikv", "-not supported"},
	{"run aerospike@localhost:3000", "-not supported"}, {"run dynamodb", "-not supported"}, {"run duckdb", "-not supported"}, {"run pebble:cache_bytes=8MB", "pebble"},
	{"run pebble:v2", "!linked in"}, {"run ./pebble", "!assay run pebble"}, {"run bbolt,pebble", "bbolt|pebble"}, {"run bbolt vs pebble", "bbolt|pebble"},
	// How much.
	{"run pebble --records 10k", "10,000"}, {"run pebble --records 1M", "1,000,000"}, {"run pebble --records 1e6", "1,000,000"}, {"run pebble --records 1_000_000", "1,000,000"},
	{"run pebble --records 1,000,000", "1,000,000"}, {"run pebble --recordcount 5000", "5,000"}, {"run pebble --records 1k,10k", "1,000; 10,000"},
	{"run pebble --values 1KB", "1 kB"}, {"run pebble --values 4KiB", "4 KiB"}, {"run pebble --value-size 4096", "4 KiB"}, {"run pebble --values 100,1000", "100 B; 1 kB"}, {"run pebble --set values.bytes=64", "64 B"},
	{"run pebble --values 1k", "!1KiB"}, {"run pebble --for 30s", "30s"}, {"run pebble --for 1m", "1m"}, {"run pebble --duration 5s", "5s"}, {"run pebble --for 500ms", "500ms"}, {"run pebble --for 30", "30s"},
	{"run pebble --operations 1e6", "1,000,000 operations"}, {"run pebble --ops 10k", "10,000 operations"}, {"run pebble --operationcount 1000", "1,000 operations"},
	{"run pebble --blocks 5", "b5-"}, {"run pebble --repeat 4", "b4-"}, {"run pebble --blocks auto", "up to"}, {"run pebble --detect 5%", "up to"}, {"run pebble --seed 42", "pebble"},
	{"run pebble --time 10m", "within"}, {"run pebble --time 1m", "pebble"}, {"run pebble --time 20s", "orders of magnitude"}, {"run pebble --time 10s", "orders of magnitude"}, {"run pebble bbolt --time 15s", "orders of magnitude"},
	{"run pebble --time 1s", "!too short"}, {"run pebble --detect 2%", "!3%"}, {"run pebble --runs 5", "b5-"}, {"run pebble -n 1000", "1,000 operations"}, {"run pebble -d 30s", "30s"}, {"run pebble -d 100", "!--values"},
	// How many at once, and what.
	{"run pebble --threads 8", "8"}, {"run pebble --threads 1,2,4,8", "1; 2; 4; 8"}, {"run pebble --clients 4", "4"}, {"run pebble --concurrency 16", "16"}, {"run pebble --connections 50", "50"},
	{"run pebble --set threads=[1,8]", "1; 8"}, {"run redis@127.0.0.1:1 --handles async(16)", "async"}, {"run redis@127.0.0.1:1 --handles pool(8)", "pool"}, {"run redis@127.0.0.1:1 --agents local:2", "2"},
	{"run pebble -t 8", "8"}, {"run pebble -t get", "read"}, {"run redis@127.0.0.1:1 -t set,get", "upsert|read"}, {"run pebble -c 50", "50"}, {"run pebble -c100", "100"}, {"run pebble -t 4 -c 50", "!--threads"}, {"capacity pebble --objective p99<5ms -d 30s", "!-d"}, {"run pebble --threads 1 2 4", "1; 2; 4"}, {"run redis@127.0.0.1:1 --pipeline 16", "async"},
	{"run pebble --mix read", "read"}, {"run pebble --mix read=95,update=5", "95 % read"}, {"run pebble --mix read:95,update:5", "95 % read"}, {"run pebble --mix read=95%,update=5%", "95 % read"},
	{"run pebble --mix update --mix read", "update|read"}, {"run pebble --mix insert", "insert"}, {"run pebble --mix scan", "scan"}, {"run pebble --mix get", "read"}, {"run pebble --mix rmw", "read_modify_write"}, {"run pebble --mix get=90,del=5,insert=5", "90 % read"},
	{"run pebble --mix insert --batch 100", "batches of 100"}, {"run pebble --mix put", "upsert"}, {"run pebble --mix get=90,set=10", "10 % upsert"}, {"run pebble --mix write", "upsert"}, {"run pebble --mix 95:5", "!one of"}, {"run pebble --ratio 1:9", "90 % read"},
	{"run pebble --order zipfian", "zipfian"}, {"run pebble --order zipf", "zipfian"}, {"run pebble --order random", "uniform"}, {"run pebble --order seq", "sequential"}, {"run pebble --order Uniform", "uniform"}, {"run pebble --distribution latest", "latest"},
	{"run pebble --order newest", "latest"}, {"run pebble --rate 5000", "5.00 k/s"}, {"run pebble --rate 5k", "5.00 k/s"}, {"run pebble --rate 5000/s", "5.00 k/s"}, {"run pebble --target 100", "100"}, {"run pebble --qps 100", "100"},
	{"run pebble --rate 100 --arrivals constant", "constant"}, {"run pebble --rps 100", "100"},
	// At which durability, under which limits.
	{"run pebble --durability D3", "D3"}, {"run pebble --durability d3", "D3"}, {"run pebble --durability D0,D3", "D0; D3"}, {"run goleveldb --durability D1", "D1"}, {"run pebble --set 'durability=[D0, D3]'", "D0; D3"},
	{"run pebble --durability fsync", "D3"}, {"run pebble --durability D2", "!D2(100ms)"}, {"run pebble --fsync", "D3"}, {"run pebble --memory-limit 512MiB", "512 MiB"}, {"run pebble --disk-quota 1GiB", "1 GiB"},
	{"run pebble --memory 1GB", "1 GB"}, {"run pebble --cache_bytes 8MB", "pebble"}, {"run pebble bbolt --cache_bytes 8MB", "pebble[cache_bytes=8MB]"}, {"run bbolt boltdb --sync=maybe", "!--sync"}, {"run pebble --options cache_bytes=8MB", "pebble"}, {"run pebble --set stores.pebble.options.cache_bytes=8MB", "pebble"},
	// Presets and files.
	{"run put-get", "overwrite"}, {"run ycsb-a", "read"}, {"run ycsb-a --set stores=pebble", "pebble"}, {"run ycsb-a --set stores=pebble,bbolt", "bbolt"}, {"run put-get --set 'stores=[pebble]' --threads 4", "pebble"}, {"run ycsb-b --records 1k", "1,000"},
	{"run smoke", "overwrite"}, {"run mine.yaml", "pebble"}, {"run mine.yaml --set records=50", "50"}, {"run ycsb-a pebble", "pebble"}, {"run workloada", "read"}, {"run nosuch.yaml", "-assay init"},
	// What comes out.
	{"run pebble --out results/one", "pebble"}, {"run pebble --json", "\"trials\""}, {"run pebble --quiet", "pebble"}, {"run pebble --save-as saved.yaml", "pebble"}, {"run pebble --metrics :9464", "pebble"}, {"run pebble --no-html", "pebble"},
	{"run pebble --fail-if 'p99 > 10ms'", "pebble"}, {"run pebble --fail-if 'rate < 20k/s'", "pebble"}, {"run pebble --fail-if 'rate < 0.9x'", "!assay compare"}, {"run pebble --thresholds x", "!--fail-if"}, {"run pebble --export-json x", "!--json"}, {"run pebble -o x", "pebble"}, {"run pebble --plan", "pebble"},
	{"run pebble -P workloada -c 50 -n 100000 -L", "!-P|-c|-n|-L"}, {"run pebble --warmup 5s", "warm-up"}, {"run pebble --warm-up 2s --mix read --mix update", "warm-up"}, {"run put-get --warmup 5s", "!unmeasured: true"}, {"run pebble --percentiles 50,99", "pebble"}, {"run pebble --percentiles 42", "!p99"}, {"run pebble --verbose", "pebble"}, {"run pebble --ttl 5", "!phases.NAME.ttl"}, {"run pebble --compression 0.5", "!values.repeated"}, {"run pebble --prometheus", "pebble"},
	// Other commands.
	{"--help", "assay run bbolt pebble"}, {"help run", "DRIVER"}, {"run --help", "Examples"}, {"version", "assay"}, {"--version", "assay"}, {"list", "put-get"}, {"list --json", "\"drivers\""}, {"drivers", "pebble"}, {"drivers pebble", "cache_bytes"}, {"presets", "ycsb-a"}, {"presets put-get", "phases"},
	{"init", "experiment.yaml"}, {"init new.yaml", "new.yaml"}, {"init a.yaml --preset ycsb-a", "a.yaml"}, {"schema", "properties"}, {"help units", "4KiB"}, {"help classes", "power cut"}, {"help endpoints", "redis@start"}, {"help exit-statuses", "regression"}, {"completion bash", "assay"}, {"crash --help", "power"},
	{"pebble", "pebble"}, {"bench pebble bbolt", "bbolt"}, {"ycsb-a pebble", "pebble"}, {"ls", "put-get"}, {"show results", "-results"}, {"report", "-assay run pebble bbolt makes one"}, {"report latest", "-assay run pebble bbolt makes one"}, {"report --html", "!--html FILE"}, {"compare pebble bbolt", "!assay compare --run DIR pebble bbolt"},
	{"compare", "!two or more run directories"}, {"compare a b --threshold 5%", "!--fail-if"}, {"follow", "!assay serve"}, {"report x --fail-if 'p99 > 5ms'", "!assay compare DIR --fail-if 'p99 > 5ms'"}, {"run pebble --out", "!--out"},
}

// At least this share of what can be had is right at once.
const rightAtOnce = 0.85

func TestTypedCommands(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	if err := os.WriteFile(filepath.Join(here, "mine.yaml"), []byte("name: mine\nstores: [pebble]\nrecords: 100\ndurability: D3\nblocks: 1\n"+
		"phases: [{name: load, load: true}, {name: get, mix: {read: 1}, for: 1s}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	right, had := 0, 0
	for _, c := range typedCommands {
		says, refused := strings.CutPrefix(c.says, "!")
		rest, absent := strings.CutPrefix(c.says, "-")
		if absent {
			says, refused = rest, true
		} else {
			had++
		}
		args := words(c.line)
		if runs := []string{"run", "bench", "pebble", "ycsb-a"}; slices.Contains(runs, args[0]) && !refused && !strings.HasSuffix(c.line, "--help") {
			args = append(args, "--dry-run")
		}
		e := assayIn(t, here, "", args...)
		want := 0
		if refused {
			want = exitUsage
		} else {
			right++
		}
		said := e.stdout + e.stderr
		if e.status != want || refused && e.stdout != "" {
			t.Errorf("assay %s: exit status %d, want %d\n%s", c.line, e.status, want, said)
			continue
		}
		for word := range strings.SplitSeq(says, "|") {
			if !strings.Contains(said, word) {
				t.Errorf("assay %s: no %q in\n%s", c.line, word, said)
			}
		}
	}
	if share := float64(right) / float64(had); share < rightAtOnce {
		t.Errorf("%d of %d commands are right at once, want %.0f %%", right, had, 100*rightAtOnce)
	}
	t.Logf("%d commands; of %d whose answer can be had, %d are right at once", len(typedCommands), had, right)
}
