package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/internal/execution/control"
	"assay/presets"
	"assay/store"
)

func TestPresetsCanBeListedPrintedAndRunFromAPipe(t *testing.T) {
	t.Parallel()
	list := assay(t, "presets")
	list.wants(t, 0)
	for _, name := range presets.Names() {
		wantParts(t, "assay presets", list.stdout, name)
		source, err := presets.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		printed := assay(t, "presets", name)
		if printed.stdout != string(source) {
			t.Errorf("assay presets %s does not print the preset as it is", name)
		}
		plan := assayIn(t, "", printed.stdout, "run", "-", "--dry-run")
		if plan.status == 2 && strings.Contains(plan.stderr, "its worker is not built") && strings.Contains(plan.stderr, "then make jvm") {
			continue // all its stores but one are clients in Java, and no JVM's worker stands beside this test
		}
		plan.wants(t, 0)
		wantParts(t, "the plan of "+name, plan.stdout, "phase", "trial", "measured", " trials", "about ", "Disk:")
	}
	assayIn(t, "", assay(t, "presets", "smoke").stdout, "run", "/dev/stdin", "--dry-run").wants(t, 0)
}

// A plan is a plan: nothing is run and nothing is written.
func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	plan := assayIn(t, directory, "", "run", "smoke", "--dry-run")
	plan.wants(t, 0)
	wantParts(t, "the plan", plan.stdout, "not supported: ", "a/a", "ceiling")
	if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestDryRunSaysWhatHappensToServers(t *testing.T) {
	t.Parallel()
	plan := assayIn(t, t.TempDir(), "", "run", "cart", "--set", "scale=faults", "--dry-run")
	plan.wants(t, 0)
	wantParts(t, "the plan", plan.stdout, "Servers in shared: kill node 1 at 15s, start node 1 at 25s, freeze node 1 at 40s, start node 1 at 45s")
}

func TestDrivers(t *testing.T) {
	t.Parallel()
	list := assay(t, "drivers")
	list.wants(t, 0)
	all := parsed[[]store.Description](t, assay(t, "drivers", "--json").stdout)
	if len(all) != len(descriptions()) {
		t.Errorf("--json has %d drivers, there are %d", len(all), len(descriptions()))
	}
	for _, d := range all {
		wantParts(t, "assay drivers", list.stdout, d.Name)
		one := assay(t, "drivers", d.Name)
		one.wants(t, 0)
		wantParts(t, "assay drivers "+d.Name, one.stdout, d.Name+": ", "licence", "Durability classes", "limits")
		for _, o := range d.Options {
			wantParts(t, "assay drivers "+d.Name, one.stdout, o.Name, o.Help)
		}
		if again := parsed[[]store.Description](t, assay(t, "drivers", d.Name, "--json").stdout); len(again) != 1 || again[0].Name != d.Name {
			t.Errorf("assay drivers %s --json: %+v", d.Name, again)
		}
	}
}

// What init writes is an experiment, and what is there stays as it is.
func TestInit(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	workload := "recordcount=1000\noperationcount=5000\nreadproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian\nworkload=site.ycsb.workloads.CoreWorkload\nunheardof=1\n"
	if err := os.WriteFile(filepath.Join(directory, "workloada"), []byte(workload), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{{"init"}, {"init", "mine.yaml"}, {"init", "smoke.yaml", "--preset", "smoke"}, {"init", "a.yaml", "--ycsb", "workloada"}} {
		file := "experiment.yaml"
		if len(c) > 1 {
			file = c[1]
		}
		made := assayIn(t, directory, "", c...)
		made.wants(t, 0)
		wantParts(t, "init", made.stdout, "Wrote "+file, "assay run "+file+" --dry-run")
		text, err := os.ReadFile(filepath.Join(directory, file))
		if err != nil {
			t.Fatal(err)
		}
		assayIn(t, directory, "", "run", file, "--dry-run").wants(t, 0)
		assayIn(t, directory, "", c...).wants(t, exitUsage, file, "exists", "another file")
		if after, err := os.ReadFile(filepath.Join(directory, file)); err != nil || !bytes.Equal(after, text) {
			t.Errorf("%s was changed (%v)", file, err)
		}
	}
	assayIn(t, directory, "", "init", "b.yaml", "--ycsb", "workloada").wants(t, 0, "note:", "unheardof")
	assayIn(t, directory, "", "init", "c.yaml", "--ycsb", "nosuch").wants(t, exitUsage, "nosuch")
	if _, err := os.Stat(filepath.Join(directory, "c.yaml")); err == nil {
		t.Error("a file was written though there was nothing to write")
	}
}

func TestSchemaPassesAllPresets(t *testing.T) {
	t.Parallel()
	printed := assay(t, "schema")
	printed.wants(t, 0)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(printed.stdout))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("assay.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("assay.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) error {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	for _, name := range presets.Names() {
		source, err := presets.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(source); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if valid([]byte(strings.Replace(oneStore, "mix:", "mxi:", 1))) == nil {
		t.Error("the schema passes a field that there is not")
	}
}

// A directory of a preset's name, perhaps of an earlier run, hides no preset; a directory of any other
// name is reported.
func TestPresetBesideADirectory(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, name := range []string{"smoke", "other"} {
		if err := os.Mkdir(filepath.Join(directory, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	assayIn(t, directory, "", "run", "smoke", "--dry-run").wants(t, 0)
	assayIn(t, directory, "", "run", "other", "--dry-run").wants(t, exitUsage, "other is a directory")
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{t.TempDir(), "/dev/shm"} {
		e := assay(t, "doctor", directory)
		e.wants(t, 0)
		wantParts(t, "doctor", e.stdout, "processor", "CPUs", "kernel", "clock", "fdatasync", "file system",
			"memory limit", "disk quota", "cold caches", "native", "Rust")
		if directory == "/dev/shm" {
			wantParts(t, "doctor of files that can't be dropped", e.stdout, "pages stay: 1024 of 1024 KiB", "- With cache: cold")
		}
		if regexp.MustCompile(`(?m)^governor +unknown$`).MatchString(e.stdout) != strings.Contains(e.stdout, "Unknown on this machine: the CPU governor") {
			t.Errorf("what is not known is not said to be unjudged:\n%s", e.stdout)
		}
		if directory == "/dev/shm" {
			wantParts(t, "doctor of a directory in memory", e.stdout, "! This directory is in memory", "--data")
		}
		if left, err := os.ReadDir(directory); directory != "/dev/shm" && (err != nil || len(left) > 0) {
			t.Errorf("it left %v (%v)", left, err)
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	good := assay(t, "conformance", "--driver", "null")
	good.wants(t, 0)
	wantParts(t, "conformance", good.stdout, "conformance of null", " 0 failed", "ok ", "skipped")
	broken := assay(t, "conformance", "--driver", "crashes-exit", "--", os.Args[0], "worker")
	broken.wants(t, exitTrials, "can't be trusted")
	wantParts(t, "conformance of a store that dies", broken.stdout, "FAILED", "guards: ")
	assay(t, "conformance", "--", "/nonexistent/worker").wants(t, exitFailed, "/nonexistent/worker", "no such file")
	assay(t, "conformance", "--driver", "x", "--", "true").wants(t, exitTrials, "can't be trusted")
}

// A mistake of the user is reported once, and not once for each rule.
func TestConformanceOfWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arguments []string
		says      []string
	}{
		{[]string{"--driver", "memcached"}, []string{"memcached is a server", "--endpoint HOST:PORT"}},
		{[]string{"--driver", "memcached", "--endpoint", nobody}, []string{"--endpoint " + nobody, "no server answers"}},
		{[]string{"--driver", "bbolt", "--option", "nosuch=1"}, []string{`unknown option "nosuch"`, "expected one of "}},
		{[]string{"--driver", "pebble", "--option", "cache_bytes=many"}, []string{"cache_bytes", "many"}},
		{[]string{"--driver", "memory", "--option", "nosuch=1"}, []string{`unknown option "nosuch"`, "memory has no options"}},
		{[]string{"--option", "nosuch=1"}, []string{`unknown option "nosuch"`}},
	} {
		e := assay(t, append([]string{"conformance"}, c.arguments...)...)
		e.wants(t, exitUsage, c.says...)
		if e.stdout != "" || strings.Count(e.stderr, "\n") > 2 {
			t.Errorf("%v: it says more than once what is wrong:\n%s%s", c.arguments, e.stdout, e.stderr)
		}
	}
}

// Ctrl-C leaves rules that were not checked: that is no failure of Assay's.
func TestConformanceStopped(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "conformance", "--", os.Args[0], "worker")
	eventually(t, func() bool { return len(p.workers(t)) > 0 }, func() string { return "no worker was started" })
	p.send(t, syscall.SIGINT)
	p.end(t).wants(t, exitTrials, "stopping;", "not all rules were checked")
}

// A worker answers what it can't read, and goes on: the conductor's mistake is not the worker's
// end.
func TestWorkerAnswersGarbage(t *testing.T) {
	t.Parallel()
	e := assayIn(t, "", "garbage\n{\"id\":2,\"command\":\"dance\"}\n\n{\"id\":3,\"command\":\"describe\"}\n", "worker")
	lines := strings.Split(strings.TrimSpace(e.stdout), "\n")
	if e.status != 0 || len(lines) < 3 {
		t.Fatalf("status %d, answers:\n%s", e.status, e.stdout)
	}
	for i, line := range lines {
		reply, err := control.ParseReply([]byte(line))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if last := i == len(lines)-1; last != (reply.Error == nil) {
			t.Errorf("answer %d: %s", i+1, line)
		}
	}
}

// Ctrl-C ends a worker that a person tries by hand.
func TestWorkerEndsAtCtrlC(t *testing.T) {
	t.Parallel()
	var input *os.File
	p := start(t, func(c *exec.Cmd) {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdin, input = reader, writer
	}, "worker")
	defer input.Close()
	if _, err := input.WriteString("{\"id\":1,\"command\":\"describe\"}\n"); err != nil {
		t.Fatal(err)
	}
	p.send(t, 2)
	if e := p.end(t); e.status != 128+2 {
		t.Errorf("status %d: %s", e.status, e.stderr)
	}
}

// What is built says of itself what the list in hosted.go says of it.
func TestNativeWorkersHostTheDriversThatAreListed(t *testing.T) {
	t.Parallel()
	own, said := nativeOnce()
	for _, n := range natives {
		program := nativeProgram(own, n)
		if _, err := os.Stat(program); err != nil {
			t.Logf("skipped: %s is not built here\n%s", n.program, said)
			continue
		}
		described, err := describeWorker([]string{program})
		if err != nil {
			t.Errorf("%s: %v", n.program, err)
			continue
		}
		var names []string
		for _, d := range described.Drivers {
			names = append(names, d.Name)
		}
		slices.Sort(names)
		if want := slices.Sorted(slices.Values(n.drivers)); !slices.Equal(names, want) {
			t.Errorf("%s hosts %v, the list says %v", n.program, names, want)
		}
	}
}
