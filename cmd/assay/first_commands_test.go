package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/internal/testkit/golden"
)

// everyDriver is a list of all drivers: one that is added changes no golden file.
var everyDriver = regexp.MustCompile(`one of badger, bbolt, [^;]+;`)

// said is what a command wrote, as it stands in a golden file. The directory of the test is written
// as DIR, a list of all drivers as DRIVERS.
func said(directory, line string, e ended) string {
	text := everyDriver.ReplaceAllString(strings.ReplaceAll(e.stdout+e.stderr, directory, "DIR"), "one of DRIVERS;")
	return fmt.Sprintf("$ assay %s\n%sexit status %d\n\n", line, text, e.status)
}

// words splits a command line; single quotes keep spaces.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// commandsSay runs command lines one after the other in one directory and holds what they say
// against a golden file.
func commandsSay(t *testing.T, name string, status func(line string) int, lines []string) {
	t.Helper()
	directory := t.TempDir()
	for file, text := range map[string]string{
		"worker.yaml": "name: w\nstores: [{driver: mine, worker: [./touches, started]}]\ndurability: D3\n" +
			"phases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\nblocks: 1\n",
		"touches": "#!/bin/sh\ntouch \"$1\"\n",
		"taken":   "",
	} {
		if err := os.WriteFile(filepath.Join(directory, file), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for _, line := range lines {
		e := assayIn(t, directory, "", words(line)...)
		if e.status != status(line) {
			t.Errorf("assay %s: exit status %d, want %d\n%s", line, e.status, status(line), e.stderr)
		}
		all.WriteString(said(directory, line, e))
	}
	golden.Check(t, name, all.String())
}

// What people type first. A dry run shows what a line means without running it.
func TestFirstCommands(t *testing.T) {
	t.Parallel()
	commandsSay(t, "first-commands.txt", func(string) int { return 0 }, []string{
		"run bbolt pebble --mix read=95,update=5 --threads 8 --records 1e6 --for 10s --blocks 1 --dry-run",
		"run bbolt --mix update --mix read --dry-run --blocks 1 --save-as saved.yaml",
		"run saved.yaml --dry-run",
		"run memory bbolt --blocks 1 --dry-run",
		"run memcached@127.0.0.1:11211 --blocks 1 --dry-run",
		"run put-get --set 'stores=[pebble, sqlite]' --set scale=small --blocks 1 --dry-run",
		"run ycsb-e --set 'stores=[pogreb, bbolt]' --blocks 1 --dry-run",
		"run smoke --records 10k --values 4kb --threads 1,2 --durability D1 --blocks 1 --dry-run",
		"run smoke --memory-limit 512mb --for 2s --durability D1 --blocks 1 --dry-run",
		"run pebble --duration 5s --clients 4 --ops 10k --blocks 1 --dry-run",
		"run pebble --mix read=100,update=20 --rate 10k --order zipfian --blocks 1 --dry-run",
		"run worker.yaml --dry-run",
		"run put-get --set 'stores=[bbolt]' --set blocks=1 --records 1k,2k --durability D1 --dry-run",
		"run ycsb-b --set 'stores=[pebble, bbolt]' --time 2m --dry-run",
		"run bbolt --blocks auto --for 2s --dry-run",
		"run badgerdb --blocks 1 --dry-run", "run pebble?cache_bytes=8MB --blocks 1 --dry-run", "run pebble pebble[cache_bytes=64MB] --blocks 1 --dry-run",
		"presets",
	})
}

// What people get wrong first: status 2, one reason, and what would be right.
func TestFirstMistakes(t *testing.T) {
	t.Parallel()
	lines := []string{
		"rnu", "run", "run nosuch", "run put-gte", "run a b", "run pebbel bbolt", "run ./nosuch.yaml", "run .",
		"run smoke --otu x", "run smoke --nothing-like-it", "run smoke --out", "run smoke --size 100",
		"run smoke --set recrods=5", "run smoke --set records", "run smoke --set records=many", "run smoke --set phases.raed.for=1s",
		"run smoke --set stores.pebbel.options.x=1", "run smoke --set blocks=0", "run smoke --records 10kk", "run smoke --values 4k", "run smoke --set duration=10s", "run smoke --time 3s", "run smoke --set step_timeout=10ms", "run smoke --set 'stores=[nosuch]'",
		"run bbolt --mix raed=95", "run bbolt --durability D0", "run smoke --mix read", "run null",
		"run memcached@admin:hunter2@cache:11211", "run memory redis@strat", "run smoke --describe-workers",
		"run memcached@127.0.0.1:1 bbolt", "run smoke --data /nonexistent", "run smoke --data /proc", "run smoke --data taken", "run smoke --out /proc/x", "run smoke --out taken", "run smoke --out taken/x",
		"run bbolt --save-as taken", "run --resume", "run --resume /nonexistent", "run smoke --resume --dry-run",
		"drivers pebbel", "drivers nosuchthing", "drivers a b", "presets putget", "init --preset smoke --ycsb x", "init a b", "init taken",
		"doctor /nonexistent", "schema x", "worker x", "conformance --driver pebbel", "completion", "completion tcsh", "version x", "list x", "man", "man taken",
	}
	commandsSay(t, "first-mistakes.txt", func(string) int { return exitUsage }, lines)
}

// What people type who know hyperfine, benchstat, k6, memtier_benchmark, redis-benchmark, YCSB,
// go-ycsb, sysbench or pgbench: one line says what it is here.
func TestHabitsOfOtherTools(t *testing.T) {
	t.Parallel()
	lines := []string{
		"worker.yaml", "ycsb load", "benchstat old new", "show results", "resume dir", "frobnicate",
		"run mysql", "run mysql@127.0.0.1:1", "run redis:6379",
		"run redis://127.0.0.1:1", "run redis://127.0.0.1:1/2?client=lean", "run postgres://127.0.0.1:1/db", "run mongodb://127.0.0.1:1", "run workloads/workloada", "run 127.0.0.1:1234",
		"run bbolt -r 10", "run bbolt --warmup 3", "run bbolt --export-json out.json", "run bbolt --export-markdown out.md", "run bbolt -N", "run bbolt --prepare x",
		"run bbolt --vus 10", "run bbolt -u 10", "run bbolt -i 100", "run bbolt --summary-export x",
		"run redis@start -s 127.0.0.1", "run redis@start -p 6379", "run redis@start --data-size=100", "run redis@start --test-time=60", "run redis@start --key-pattern=R:R",
		"run redis@start --key-maximum=1000", "run redis@start -P 16", "run redis@start --rate-limiting=10", "run redis@start --csv",
		"run memory --workload a", "run memory -workload a", "run memory -threads 8", "run memory -P workloads/workloada", "run memory -p recordcount=10", "run memory -W x",
		"run memory --propertyfile x", "run memory -T 60", "run memory -S", "run memory -j 2", "run memory -v", "run memory -y", "run memory --output-dir x",
		"run memory --scale full", "run memory --preset smoke", "compare bbolt pebble", "compare old.txt new.txt", "report", "report bbolt",
	}
	commandsSay(t, "habits.txt", func(string) int { return exitUsage }, lines)
}

// Fifty more that were tried in November 2026: settings that are fields of the file alone, words of
// stores for their settings, numbers that are none, and other commands than run.
func TestFiftyMoreMistakes(t *testing.T) {
	t.Parallel()
	lines := []string{
		"run bbolt --latency sampled(100)", "run bbolt --cache cold", "run bbolt --verify=false", "run bbolt --step-timeout 3s", "run bbolt --key-size 16",
		"run bbolt --cpu 0", "run bbolt --cpuset 0-1", "run bbolt --timeout 10s", "run bbolt --interval 1s", "run bbolt --percentiles 42", "run bbolt --p99",
		"run redis@start -c 50 -n 100000 -t 8 -d 20s -P f -L", "run bbolt --detect 2%", "run bbolt --no-sync", "run bbolt --sync always", "run redis@start --tls", "run redis@start --cluster", "run redis@start --ttl 5",
		"run bbolt --durability everysec", "run bbolt --durability none", "run bbolt --durability D2",
		"run bbolt --threads 0", "run bbolt --threads many", "run bbolt --threads -1", "run bbolt --records -5", "run bbolt --records 0",
		"run bbolt --blocks 3.5", "run bbolt --blocks", "run bbolt --seed abc",
		"run bbolt --mix read=abc", "run bbolt --mix 95/5", "run bbolt --arrivals uniform --rate 10", "run bbolt --handles 8",
		"run bbolt --batch 100", "run bbolt --format yaml", "run memcached@start --durability D3",
		"run tikv", "run aerospike@localhost:3000", "run dynamodb pebble", "run etcd:v3.5", "run redis:7", "run redis@/nowhere/redis.sock", "run pebble[cache_bytes=8MB", "run mysql@start", "run postgresql://u:pw@127.0.0.1/db", "run bbolt bbolt", "run http://localhost:8080", "run help",
		"report nosuch --format pdf", "report --latest", "compare one", "compare a b --threshold 5%", "list drivers", "doctor --fix", "init --workload a",
		"bisect", "watch results", "crash bbolt --kind reboot", "crash bbolt --cuts many", "serve nosuch", "help frobnicate",
	}
	commandsSay(t, "more-mistakes.txt", func(string) int { return exitUsage }, lines)
}

// What users of memtier_benchmark, db_bench, sysbench, pgbench, k6, wrk, hyperfine, YCSB and Go's own
// benchmarks type, in a third sitting: each has one error and the right command.
func TestHabitsOfAThirdSitting(t *testing.T) {
	t.Parallel()
	lines := []string{
		"run redis@start --test redis", "run redis@start --hide-histogram", "run redis@start --key-prefix mem:", "run redis@start --multi-key-get=10",
		"run redis@start --reconnect-interval 1", "run redis@start --authenticate secret", "run redis@start --json-out-file x.json", "run memcached@start --udp",
		"run redis@start --total-requests 100", "run redis@start --expiry-range=10-20", "run memtier_benchmark", "run redis-benchmark",
		"run bbolt --benchmarks=fillrandom,readrandom", "run bbolt --num=1000", "run bbolt --key_size=16", "run bbolt --use_existing_db", "run bbolt --histogram",
		"run bbolt --sync=1", "run bbolt --compression_ratio=0.5", "run bbolt --cache_size=8388608", "run db_bench", "run fillrandom", "run bbolt readrandom",
		"run oltp_point_select", "run postgres@start --db-driver=pgsql", "run postgres@start --table-size=1000", "run postgres@start --tables=10",
		"run postgres@start prepare", "run postgres@start --threads=8 --time=60 run", "run postgres@start --events=1000", "run postgres@start --report-interval=1",
		"run postgres@start --mysql-host=x", "run oltp_read_write.lua", "run postgres@start -S -M prepared", "run postgres@start -T 60 -c 8",
		"run postgres@start --select-only", "run postgres@start --client=8", "run postgres@start --progress=1", "run postgres@start --jobs=4", "run pgbench",
		"run bbolt --stages 30s:10", "run bbolt --thresholds p95", "run script.js", "run bbolt --iterations 100", "run bbolt --script x.lua", "run bbolt -R 2000",
		"run wrk", "run bbolt --min-runs 5", "run bbolt --parameter-scan threads", "run bbolt -L threads,1", "run bbolt --show-output",
		"run bbolt --style full", "run bbolt --setup x", "run bbolt --fieldcount 10", "run bbolt --readproportion 0.95", "run bbolt -target", "run load bbolt",
		"run bbolt --count 10", "run bbolt -bench x", "run bbolt --benchtime 10s", "run bbolt --cpuprofile x",
	}
	commandsSay(t, "third-sitting.txt", func(string) int { return exitUsage }, lines)
}

// A plan starts no program that a file names, unless it is asked to.
func TestDryRunStartsNoWorker(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	text := "name: w\nstores: [{driver: mine, worker: [./touches]}]\ndurability: D3\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n"
	if err := os.WriteFile(filepath.Join(here, "touches"), []byte("#!/bin/sh\ntouch started\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--set", "blocks=2"}, {"--save-as", "saved.yaml"}} {
		e := assayIn(t, here, text, append([]string{"run", "-", "--dry-run"}, flags...)...)
		e.wants(t, 0)
		wantParts(t, "the plan", e.stdout, "the worker of mine was not started", "--describe-workers")
		if _, err := os.Stat(filepath.Join(here, "started")); err == nil {
			t.Fatalf("run --dry-run %v started the worker", flags)
		}
	}
	assayIn(t, here, text, "run", "-", "--dry-run", "--describe-workers").wants(t, exitUsage, "mine")
	if _, err := os.Stat(filepath.Join(here, "started")); err != nil {
		t.Error("--describe-workers did not start the worker")
	}
}

// The lines that do measure: they end well, and a saved file does the same run.
func TestFirstRuns(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	for i, line := range []string{
		"run memory bbolt --mix read=95,update=5 --records 1k --for 60ms --blocks 1 --set busy_machine=tell --save-as saved.yaml",
		"run saved.yaml",
		"run smoke --set 'stores=[pebble, sqlite]' --durability D1 --for 60ms --blocks 1 --set busy_machine=tell",
	} {
		directory := filepath.Join(here, fmt.Sprint("run-", i))
		e := assayIn(t, here, "", append(words(line), "--out", directory, "--no-html")...)
		run := fine(t, e, directory)
		if i == 1 && run.Experiment.Name != "memory-bbolt" {
			t.Errorf("the saved experiment is %q", run.Experiment.Name)
		}
	}
	again := assayIn(t, here, "", "run", filepath.Join(here, "run-0", "experiment.yaml"), "--dry-run")
	again.wants(t, 0)
	if saved := assayIn(t, here, "", "run", "saved.yaml", "--dry-run"); trialLines(saved.stdout) != trialLines(again.stdout) {
		t.Errorf("the run directory's experiment plans\n%s\nthe saved one\n%s", again.stdout, saved.stdout)
	}
}

func TestListManAndVersion(t *testing.T) {
	t.Parallel()
	list := assay(t, "list")
	list.wants(t, 0)
	wantParts(t, "list", list.stdout, "presets: ", "put-get, ", "drivers: ", "bbolt", "pebble")
	if version := assay(t, "version"); version.status != 0 || version.stdout != assay(t, "--version").stdout {
		t.Errorf("assay version: %d, %q", version.status, version.stdout)
	}
	directory := filepath.Join(t.TempDir(), "man", "man1")
	assay(t, "man", directory).wants(t, 0)
	for _, c := range command(os.Stderr).Commands() {
		if c.Hidden || isTopic(c) || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		page, err := os.ReadFile(filepath.Join(directory, "assay-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		wantParts(t, "the page of "+c.Name(), string(page), ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLES", roff(c.Short))
		// a line that begins with a dot and is no macro of ours vanishes
		for line := range strings.Lines(string(page)) {
			if macro, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(macro, ".") &&
				!strings.Contains(" .TH .SH .TP .nf .fi ", " "+macro+" ") {
				t.Errorf("%s: %q is taken for a macro", c.Name(), line)
			}
		}
	}
}
