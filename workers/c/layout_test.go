package c_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/store"
)

// The declarations that the Rust driver makes by hand are those of the header: sizes, offsets and
// values.
func TestRustDeclarationsAreTheHeaders(t *testing.T) {
	plain.worker(t, "redb") // or skips
	if output, err := exec.Command(plain.tool(t, "layout", "layout")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// notInC is what no driver in C can say of itself: what only clients of servers do, or drivers whose
// options change their limits, and that several processes may have the store open, since workers in C do
// no part of a trace; and what the host says for each.
var notInC = map[string]bool{"unix_sockets": true, "connections_own": true, "connections_each": true, "connections_option": true, "handle_pools": true,
	"value_bytes_min": true, "value_bytes_choices": true, "variants": true, "key_pattern": true, "batch_bytes_option": true, "indexes_idle": true, "processes": true, "handle_times": true, "latency_sampled": true, "finds_recorded": true, "eventual_within_ns": true,
	"expiry": true, "pauses": true, "multi_get_max": true, "fills": true, "append_makes": true, "key_lengths": true}

// What a driver says of itself in C is what it says in Go and what the contract names, field by
// field.
func TestHeaderDescribesDriversAsTheContractDoes(t *testing.T) {
	header := read(t, "assay_driver.h")
	_, declared, found := strings.Cut(header, "\nstruct assay_description {\n")
	declared, _, ended := strings.Cut(declared, "\n};")
	if !found || !ended {
		t.Fatal("the header has no struct assay_description")
	}
	contract := read(t, "../../docs/worker-contract.schema.json")
	inC := map[string]bool{}
	for _, name := range regexp.MustCompile(`(?m)^    .*?(\w+);`).FindAllStringSubmatch(declared, -1) {
		inC[name[1]] = true
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[store.Description]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			continue // its fields follow
		}
		if !strings.Contains(contract, `"`+name+`": {`) {
			t.Errorf("the contract does not name %s", name)
		}
		if byFunctions := name == "version" || name == "abilities"; inC[name] == (byFunctions || notInC[name]) {
			t.Errorf("%s is a field of the header: %v", name, inC[name])
		}
		delete(inC, name)
	}
	if len(inC) > 0 {
		t.Errorf("the header has %v, store.Description has not", inC)
	}
}

// A driver's abilities are the same in the header, where they are functions, in Go, in the contract
// and in what a worker says.
func TestHeaderHasTheContractsAbilities(t *testing.T) {
	var inGo []string
	for i := range reflect.TypeFor[store.Abilities]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[store.Abilities]().Field(i).Tag.Get("json"), ",")
		inGo = append(inGo, name)
	}
	_, functions, found := strings.Cut(read(t, "assay_driver.h"), "/* Abilities:")
	functions, _, ended := strings.Cut(functions, "\n};")
	if !found || !ended {
		t.Fatal("the header has no abilities")
	}
	_, listed, found := strings.Cut(read(t, "../../docs/worker-contract.md"), "`abilities` is the same object in `describe` and `open`, of booleans: ")
	listed, _, ended = strings.Cut(listed, ".")
	if !found || !ended {
		t.Fatal("the contract does not list the abilities")
	}
	inC := submatches(`(?m)^    \w[\w ]*\(\*(\w+)\)\(`, functions)
	if i := slices.Index(inC, "define"); i >= 0 {
		inC[i] = "records" // the one whose function has another name
	}
	for where, names := range map[string][]string{
		"the header":   inC,
		"the contract": submatches("`(\\w+)`", listed),
		"the host":     describedAbilities(t),
	} {
		if where != "the contract" { // the C host has no loop that drives many connections from one thread, no servers, no store with TTLs and no multi-read
			names = append(names, "async", "delete_prefix", "expire", "multi_get", "touch", "append", "get_and_set")
		}
		if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(inGo))) {
			t.Errorf("%s has the abilities %v, store.Abilities %v", where, names, inGo)
		}
	}
}

func submatches(expression, text string) (all []string) {
	for _, found := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// describedAbilities returns the names that a worker gives, whether its driver has them or not.
func describedAbilities(t *testing.T) []string {
	t.Helper()
	worker, err := conductor.Start([]string{plain.worker(t, "null")}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Kill()
	var described struct {
		Drivers []struct {
			Abilities map[string]bool `json:"abilities"`
		} `json:"drivers"`
	}
	if err := worker.Call(control.Request{Command: control.CommandDescribe}, costTimeout, &described); err != nil ||
		len(described.Drivers) != 1 {
		t.Fatalf("the null worker describes %d drivers: %v", len(described.Drivers), err)
	}
	return slices.Collect(maps.Keys(described.Drivers[0].Abilities))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What drivers claim reaches the conductor: one that claims conflicts, and one that does not.
func TestWriteConflictsAreDescribed(t *testing.T) {
	for program, claims := range map[string]bool{"berkeleydb": true, "null": false} {
		worker, err := conductor.Start([]string{plain.worker(t, program)}, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		var described struct {
			Drivers []map[string]json.RawMessage `json:"drivers"`
		}
		err = worker.Call(control.Request{Command: control.CommandDescribe}, costTimeout, &described)
		worker.Kill()
		if err != nil || len(described.Drivers) == 0 {
			t.Fatalf("%s describes %d drivers: %v", program, len(described.Drivers), err)
		}
		for _, d := range described.Drivers {
			if got := string(d["write_conflicts"]); got != "true" && claims || got == "true" && !claims {
				t.Errorf("driver %s: write_conflicts is %q", d["name"], got)
			}
		}
	}
}

// The files of the host call each other one way: none is reached again from what it calls.
func TestHostFilesHaveNoCycle(t *testing.T) {
	plain.worker(t, "null")
	if _, err := exec.LookPath("nm"); err != nil {
		t.Skip("no nm here (Debian: apt-get install binutils)")
	}
	sources, err := filepath.Glob("host/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	definedIn, needs := map[string]string{}, map[string][]string{}
	for _, source := range sources {
		object := filepath.Join(plain.folder, "objects", strings.TrimSuffix(source, ".c")+".o")
		output, err := exec.Command("nm", "--format=posix", object).Output() // NAME TYPE VALUE SIZE
		if err != nil {
			t.Fatalf("nm %s: %v", object, err)
		}
		for line := range strings.Lines(string(output)) {
			switch fields := strings.Fields(line); {
			case len(fields) < 2:
			case fields[1] == "U":
				needs[source] = append(needs[source], fields[0])
			case strings.ToUpper(fields[1]) == fields[1]: // not static
				definedIn[fields[0]] = source
			}
		}
	}
	if definedIn["session_answer"] != "host/session.c" {
		t.Fatalf("nm told nothing: session_answer is in %q", definedIn["session_answer"])
	}
	calls := map[string][]string{}
	for source, names := range needs {
		for _, name := range names {
			if to := definedIn[name]; to != "" && to != source && !slices.Contains(calls[source], to) {
				calls[source] = append(calls[source], to)
			}
		}
	}
	for source := range calls {
		reached := map[string]bool{}
		for next := slices.Clone(calls[source]); len(next) > 0; next = next[1:] {
			if !reached[next[0]] {
				reached[next[0]] = true
				next = append(next, calls[next[0]]...)
			}
		}
		if reached[source] {
			t.Errorf("%s is reached from what it calls: %v", source, slices.Sorted(maps.Keys(reached)))
		}
	}
}
