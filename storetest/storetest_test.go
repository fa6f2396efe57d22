package storetest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/drivers"
	"assay/drivers/nats"
	"assay/internal/testkit/misbehave"
	"assay/store"
	"assay/worker"
)

// The test binary is its own worker: with asWorker as its first argument it serves instead of
// testing.
const asWorker = "as-worker"

func TestMain(m *testing.M) {
	nats.ServeIfAsked()
	if len(os.Args) > 2 && os.Args[1] == asWorker {
		os.Exit(serve(os.Args[2]))
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set("6"); err != nil { // workers are waited for
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func serve(kind string) int {
	if kind == "drivers" {
		return worker.Main(append(misbehave.Drivers(), drivers.All()...)...)
	}
	if err := misbehave.Serve(kind, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func target(t *testing.T, kind, driver string) Target {
	target := Target{Command: []string{os.Args[0], asWorker, kind}, Driver: driver, TempDir: t.TempDir(), Brief: os.Getenv("ASSAY_LONG") != "1"}
	if misbehave.OnServer(driver) {
		server := misbehave.StartServer(t)
		target.Endpoints, target.Cut = []string{server.Endpoint}, server.Cut
	}
	return target
}

func report(t *testing.T, target Target) Report {
	t.Helper()
	r, err := Check(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func textOf(t *testing.T, r Report) string {
	t.Helper()
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A server that gives some of a driver's classes is held to these, and must refuse the others: one
// that is opened in another class is found.
func TestOnlyTheGivenClassesAreAllowed(t *testing.T) {
	target := target(t, "drivers", "goleveldb")
	target.Rules = []string{"durability-classes", "durability-refusal"}
	target.Durability = []store.Durability{store.D1}
	r := report(t, target)
	if failed := r.Failed(); !slices.Equal(failed, []string{"durability-refusal"}) || !strings.Contains(textOf(t, r), "opening in class D3") {
		t.Errorf("a store that is opened in D3, where D1 alone is given: %s", textOf(t, r))
	}
	target.Durability = []store.Durability{store.D1, store.D3}
	if r := report(t, target); len(r.Failed()) > 0 {
		t.Errorf("a store of both classes: %s", textOf(t, r))
	}
	target.Durability = []store.Durability{store.D4}
	if r := report(t, target); len(r.Failed()) != len(target.Rules) {
		t.Errorf("a class that the driver does not claim: %s", textOf(t, r))
	}
}

// honestRules are those that an honest driver could be failed by for what it does differently from
// the plainest one: being slow, also in putting in order, refusing writes beside others, printing, not
// explaining. With ASSAY_LONG=1 it is held to all.
var honestRules = map[string][]string{
	misbehave.Slow: {"counts", "deadline", "stop", "clock", "limit", "turns", "service-times", "lateness", "open-load",
		"reads-done", "concurrent-overwrite", "survives-kill", "history"},
	misbehave.Prints:        {"describe", "version", "abilities", "control-channel", "end-of-input", "overwrite", "reopen", "stop"},
	misbehave.SilentExplain: {"explain"},
	misbehave.SlowSorts:     {"query-conditions", "questions", "delete-query"},
	misbehave.Conflicts: {"overwrite", "compare-and-swap", "add", "batch", "record-columns", "modify", "increment", "buffers", "handles-shared",
		"handles-per-thread", "handles-pool", "handles-async", "handles-per-operation", "concurrent-overwrite", "write-conflicts", "processes",
		"survives-kill", "counts", "limit", "turns", "history", "requests", "service-times", "messages"},
}

func TestHonestDriversPass(t *testing.T) {
	for _, name := range misbehave.HonestNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, checked := target(t, "drivers", name), len(rules)
			if part := honestRules[name]; part != nil && os.Getenv("ASSAY_LONG") != "1" {
				target.Rules, checked = part, len(part)
			}
			r := report(t, target)
			if failed := r.Failed(); len(failed) > 0 {
				t.Errorf("%v failed:\n%s", failed, textOf(t, r))
			}
			if len(r.Results) != checked {
				t.Errorf("%d results of %d rules", len(r.Results), checked)
			}
		})
	}
}

// failures are the rules that must fail for each driver that breaks a promise. Others may fail as
// well.
var failures = map[string][]string{
	"lies-wrong-value":        {"value-lengths", "buffers", "overwrite"},
	"lies-damaged-value":      {"value-lengths", "overwrite"},
	"lies-empty-value":        {"value-lengths", "overwrite"},
	"lies-lost-writes":        {"overwrite", "value-lengths", "survives-kill", "reopen"},
	"lies-all-lost":           {"overwrite", "value-lengths", "batch", "survives-kill", "reopen"},
	"lies-swallowed-errors":   {"limits"},
	"lies-stale-value":        {"overwrite", "read-modify-write", "laps"}, // among threads, the value before the last may well be the last of another
	"lies-late":               {"history"},
	"lies-sometimes-old":      {"overwrite", "read-modify-write"}, // where one thread reads, which reads are old is certain
	"lies-leaks-files":        {"handles-per-operation"},
	"lies-shared-buffer":      {"buffers", "handles-per-thread", "handles-pool", "handles-per-operation"},
	"lies-shareable":          {"buffers", "handles-shared"},
	"lies-processes":          {"processes"},
	"lies-lane-order":         {"handles-async"},
	"lies-swap":               {"compare-and-swap"},
	"lies-key-zero":           {"binary-keys"},
	"lies-key-end":            {"key-shapes"},
	"lies-key-length":         {"key-lengths"},
	"lies-key-cut":            {"mixed-keys"},
	"lies-version":            {"version"},
	"lies-kept-buffer":        {"buffers"},
	"lies-empty-miss":         {"value-lengths"},
	"lies-missing-empty":      {"miss", "delete", "lost"},
	"lies-delete":             {"delete"},
	"lies-expires-early":      {"expiry"},
	"lies-expires-late":       {"expiry"},
	"lies-expires-never":      {"expiry"},
	"lies-expires-some":       {"expiry"},
	"lies-touch":              {"touch"},
	"lies-append-drops":       {"append"},
	"lies-append-overwrites":  {"append"},
	"lies-append-last":        {"append"},
	"lies-append-before":      {"append"},
	"lies-exchange-new":       {"get-and-set"},
	"lies-exchange-stale":     {"get-and-set"},
	"lies-exchange-nothing":   {"get-and-set"},
	"lies-fill":               {"fill"},
	"lies-multi-read-less":    {"multi-read", "history"},
	"lies-multi-read-other":   {"multi-read", "history"},
	"lies-multi-read-empty":   {"multi-read"},
	"lies-multi-read-calls":   {"multi-read"},
	"lies-scan-order":         {"scan-order"},
	"lies-scan-start":         {"scan-start", "scan-deleted"},
	"lies-scan-limit":         {"scan-limit"},
	"lies-scan-short":         {"scan-order", "scan-start", "scan-limit", "scan-deleted"},
	"lies-scan-place":         {"scan-beside-writes"},
	"lies-scan-skips":         {"finds", "scan-order"},
	"lies-scan-late":          {"finds", "scan-order"},
	"lies-batch-last":         {"batch"},
	"lies-batch-order":        {"batch-order"},
	"lies-add":                {"add"},
	"lies-add-apart":          {"add"},
	"lies-add-refuses":        {"add"},
	"lies-forgets":            {"reopen"},
	"lies-buffered":           {"survives-kill"},
	"lies-conflict-done":      {"write-conflicts", "survives-kill"},
	"lies-conflict-unclaimed": {"write-conflicts", "buffers", "concurrent-overwrite", "survives-kill"},
	"lies-conflict-lost":      {"write-conflicts", "survives-kill"},
	"lies-conflict-all":       {"write-conflicts", "concurrent-overwrite"},
	"lies-conflict-missing":   {"buffers", "handles-shared"},
	"lies-conflict-part":      {"write-conflicts"},
	"lies-conflict-alone":     {"overwrite", "value-lengths", "delete", "reopen"},
	"lies-class":              {"durability-classes"},
	"lies-class-default":      {"durability-classes"},
	"lies-one-class":          {"durability-classes"},
	"lies-no-class":           {"overwrite"},
	"lies-settings":           {"durability-classes"},
	"lies-abilities":          {"abilities"},
	"lies-description":        {"describe"},
	"lies-disk":               {"fixed-disk"},
	"lies-inspect":            {"inspect"},
	"lies-connections":        {"connections"},
	"lies-reconnects":         {"reconnects"},
	"lies-column-lost":        {"record-columns", "record-reopen"},
	"lies-column-double":      {"record-columns"},
	"lies-column-trimmed":     {"record-columns"},
	"lies-column-swapped":     {"record-columns", "query"},
	"lies-modify-nothing":     {"modify"},
	"lies-modify-replaces":    {"modify"},
	"lies-modify-creates":     {"modify"},
	"lies-modify-neighbour":   {"modify"},
	"lies-modify-half":        {"modify"},
	"lies-modify-apart":       {"modify"},
	"lies-modify-rewrites":    {"increment"},
	"lies-increment-apart":    {"increment"},
	"lies-increment-twice":    {"increment"},
	"lies-increment-nothing":  {"increment"},
	"lies-define-failed":      {"define"},
	"lies-define-words":       {"define"},
	"lies-define-no-words":    {"define"},
	"lies-define-empties":     {"record-reopen"},
	"lies-index-deleted":      {"query-changed"},
	"lies-index-twice":        {"query-changed"},
	"lies-query-limit":        {"query-limit"},
	"lies-query-alike":        {"query", "query-changed"},
	"lies-query-short":        {"query", "query-limit"},
	"lies-query-most":         {"query-many"},
	"lies-query-first":        {"query-conditions"},
	"lies-query-any":          {"query-conditions"},
	"lies-query-word":         {"query-conditions"},
	"lies-query-range":        {"query-conditions"},
	"lies-query-order":        {"query-conditions"},
	"lies-query-sorted":       {"query-conditions"},
	"lies-query-columns":      {"query-conditions"},
	"lies-index-late":         {"query", "query-limit", "count"},
	"lies-count-less":         {"count"},
	"lies-count":              {"count", "query-changed"},
	"lies-delete-query-more":  {"delete-query"},
	"lies-delete-query-less":  {"delete-query"},
	"lies-delete-query-count": {"delete-query"},
	"lies-remove-more":        {"remove"},
	"lies-remove-less":        {"remove"},
	"lies-explain-always":     {"explain"},
	"lies-explain-never":      {"explain"},
	"hangs-operation":         {"value-lengths", "stop"},
	"hangs-open":              {"abilities"},
	"hangs-close":             {"abilities", "reopen"},
	"crashes-exit":            {"value-lengths"},
	"crashes-panic":           {"value-lengths"},
}

// With the option that a class needs the class is reached, and without it not.
func TestClassesOpenWithDefaultOptions(t *testing.T) {
	t.Parallel()
	target := target(t, "drivers", "lies-class-default")
	target.Rules, target.Options = []string{"durability-classes"}, map[string]string{"log": "true"}
	if r := report(t, target); !strings.Contains(textOf(t, r), "with default options: ") {
		t.Error(textOf(t, r))
	}
}

// Fault (physics): a client's open handles don't come back after their server was killed, or it
// opens more connections than it says
// Assay: the conformance kit's rules `reconnects` and `connections`
func TestLiesAreFound(t *testing.T) {
	for _, d := range misbehave.Drivers() {
		name := d.Describe().Name
		if slices.Contains(misbehave.HonestNames, name) {
			continue
		}
		expected := failures[name]
		if len(expected) == 0 {
			t.Errorf("%s breaks a promise, but no rule is expected to see it", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := target(t, "drivers", name)
			target.Rules = expected
			if strings.HasPrefix(name, "hangs") {
				target.StepTimeout = time.Second
			}
			if slices.Contains([]string{"lies-disk", "lies-connections", "lies-reconnects"}, name) { // whose rules wait
				target.StepTimeout = 5 * time.Second
			}
			r := report(t, target)
			if failed := r.Failed(); !slices.Equal(slices.Sorted(slices.Values(failed)),
				slices.Sorted(slices.Values(expected))) {
				t.Errorf("%v failed, expected %v:\n%s", failed, expected, textOf(t, r))
			}
		})
	}
}

// A slow target has fewer operations to do, and may time out in one rule; its lies are found all the
// same.
func TestLiesOfASlowTargetAreFound(t *testing.T) {
	for name, rule := range map[string]string{
		"lies-swap": "compare-and-swap", "lies-wrong-value": "buffers", "lies-conflict-all": "concurrent-overwrite",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := target(t, "drivers", name)
			target.Rules, target.Slow = []string{rule}, true
			if r := report(t, target); len(r.Failed()) != 1 {
				t.Errorf("%s", textOf(t, r))
			}
		})
	}
}

// A lie about one thing must not make rules fail that have nothing to do with it: a report that
// cries everywhere says nothing.
func TestOtherRulesHold(t *testing.T) {
	for name, unconcerned := range map[string][]string{
		"lies-lane-order":    {"handles-shared", "handles-per-thread", "overwrite", "abilities"},
		"lies-shareable":     {"handles-per-thread", "handles-pool", "handles-per-operation", "value-lengths"},
		"lies-scan-order":    {"value-lengths", "delete", "batch", "reopen", "survives-kill", "counts"},
		"lies-forgets":       {"overwrite", "scan-order", "survives-kill", "counts"},
		"lies-batch-last":    {"overwrite", "scan-order", "reopen", "add"},
		"lies-empty-miss":    {"scan-order", "batch", "reopen", "miss", "laps"},
		"lies-settings":      {"abilities", "overwrite", "reopen"},
		"lies-index-twice":   {"record-columns", "record-reopen", "query", "query-limit", "count"},
		"lies-index-deleted": {"record-columns", "record-reopen", "query", "query-limit", "count"},
		"lies-query-limit":   {"record-columns", "query", "query-changed", "count"},
		"lies-count":         {"record-columns", "query", "query-limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := target(t, "drivers", name)
			target.Rules = unconcerned
			if r := report(t, target); len(r.Failed()) > 0 {
				t.Errorf("%s", textOf(t, r))
			}
		})
	}
}

// workerFailures are the rules that must fail for each kind of lying worker.
var workerFailures = map[string][]string{
	"counts-twice":              {"counts"},
	"counts-attempts":           {"counts", "limit"},
	"counts-nothing":            {"counts"},
	"counts-no-times":           {"counts"},
	"counts-bytes":              {"counts", "fill", "record-columns", "query"},
	"counts-items":              {"scan-order", "batch", "query", "count"},
	"counts-early-end":          {"deadline", "open-load"},
	"counts-late-end":           {"clock"},
	"counts-no-reads":           {"reads-done"},
	"counts-early-start":        {"clock"},
	"times-one":                 {"service-times"},
	"times-unasked":             {"latency-sampled"},
	"keys-one-length":           {"mixed-keys"},
	"counts-no-handles":         {"handles-per-operation"},
	"late-never":                {"lateness", "open-load"},
	"late-uncounted":            {"lateness", "open-load"},
	"late-twice":                {"lateness"},
	"late-word-zero":            {"lateness", "open-load"},
	"late-wrong-word":           {"lateness"},
	"late-queue":                {"lateness", "open-load"},
	"late-first-only":           {"lateness", "open-load"},
	"late-closed-load":          {"counts", "limit"},
	"questions-as-one":          {"questions"},
	"questions-timed-as-one":    {"questions"},
	"ignores-deadline":          {"deadline"},
	"ignores-tag":               {"trial-tag"},
	"ignores-turns":             {"turns"},
	"records-nothing":           {"history"},
	"wipes-at-open":             {"reopen", "first-opening"},
	"skips-reads":               {"reads-done"},
	"times-a-tenth":             {"service-times"},
	"times-a-tenth-of-counts":   {"service-times"},
	"times-before-the-call":     {"service-times"},
	"ignores-verify":            {"wrong-values", "messages"},
	"ignores-must-hit":          {"lost", "messages", "query", "count"},
	"ignores-loaded":            {"wrong-values"},
	"ignores-stride":            {"laps"},
	"ignores-due":               {"open-load"},
	"ignores-pauses":            {"think"},
	"ignores-limit":             {"limit"},
	"requests-of-last-step":     {"requests"},
	"requests-all-ok":           {"requests"},
	"requests-handle-each-step": {"requests"},
	"requests-at-once":          {"requests"},
	"requests-cut":              {"requests"},
	"prints-after-run":          {"control-channel"},
	"refuses-as-failed":         {"bad-requests", "request-order", "durability-refusal", "handle-limits", "define"},
	"accepts-everything":        {"bad-requests", "request-order", "durability-refusal", "handle-limits", "define"},
	"outlives-input":            {"end-of-input"},
	"counts-all-ok":             {"lost", "miss", "wrong-values"},
	"answers-garbage":           {"describe"},
	"answers-wrong-id":          {"describe"},
	"answers-never":             {"abilities"},
	"closes-stdout":             {"abilities"},
	"floods-stderr":             nil,
	"works-early":               nil, // beside others it is seen
	"truncates":                 nil,
}

func TestLyingWorkersAreFound(t *testing.T) {
	for _, kind := range misbehave.Kinds() {
		rules, known := workerFailures[kind]
		if !known {
			t.Errorf("nothing is expected of workers of kind %s", kind)
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			target := target(t, kind, misbehave.Honest)
			target.Rules = rules
			if rules == nil {
				target.Rules = []string{"counts", "reopen", "control-channel"}
			}
			if rules != nil { // those that keep what they promise have time
				target.StepTimeout = 5 * time.Second
			}
			if slices.Contains([]string{"answers-never", "ignores-deadline", "outlives-input"}, kind) {
				target.StepTimeout = time.Second
			}
			r := report(t, target)
			if failed := r.Failed(); !slices.Equal(failed, sortedAsRun(rules)) {
				t.Errorf("%v failed, expected %v:\n%s", failed, rules, textOf(t, r))
			}
		})
	}
}

// A worker that lets a store do what it can't do is seen with a driver that can't do much.
func TestWorkersThatClaimAbilitiesAreFound(t *testing.T) {
	t.Parallel()
	target := target(t, "accepts-everything", misbehave.Bare)
	target.Rules = []string{"abilities"}
	r := report(t, target)
	for _, operation := range []string{"scan", "batch", "query", "count"} {
		if expected := "a trace with " + operation + " was accepted"; len(r.Failed()) != 1 || !strings.Contains(r.Results[0].Detail, expected) {
			t.Errorf("expected %q:\n%s", expected, textOf(t, r))
		}
	}
}

// sortedAsRun puts names of rules in the order in which they are checked.
func sortedAsRun(names []string) []string {
	var sorted []string
	for _, name := range RuleNames() {
		if slices.Contains(names, name) {
			sorted = append(sorted, name)
		}
	}
	return sorted
}

func TestProgramThatIsNoWorker(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{nil, {"/nonexistent/worker"}, {"true"}, {"false"}} {
		r := report(t, Target{Command: command, Driver: "x", TempDir: t.TempDir(), Rules: []string{"describe", "miss"}, StepTimeout: 5 * time.Second})
		if len(r.Failed()) != 2 {
			t.Errorf("worker %q: expected both rules to fail:\n%s", command, textOf(t, r))
		}
	}
}

func TestUnknownRuleAndDriver(t *testing.T) {
	t.Parallel()
	unknown := target(t, "drivers", misbehave.Honest)
	unknown.Rules = []string{"no-such-rule"}
	if _, err := Check(t.Context(), unknown); err == nil || !strings.Contains(err.Error(), "no-such-rule") {
		t.Errorf("an unknown rule: %v", err)
	}
	r := report(t, Target{Command: unknown.Command, Driver: "no-such-driver", Rules: []string{"miss"}})
	if len(r.Failed()) != 1 || !strings.Contains(r.Results[0].Detail, "no-such-driver") {
		t.Errorf("an unknown driver:\n%s", textOf(t, r))
	}
}

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules {
		if r.name == "" || r.guards == "" || r.run == nil || seen[r.name] {
			t.Errorf("rule %q has no name, no explanation or no check, or is there twice", r.name)
		}
		seen[r.name] = true
	}
}

func TestReportText(t *testing.T) {
	r := Report{Driver: "x", Results: []Result{
		{Rule: "one", Guards: "first", State: OK},
		{Rule: "second", Guards: "why", State: Failed, Detail: "a fault\nanother"},
		{Rule: "three", Guards: "third", State: Skipped, Detail: "no scans"},
	}}
	const expected = `conformance of x: 3 rules, 1 ok, 1 failed, 1 skipped

ok       one
FAILED   second
           a fault
           another
         guards: why
skipped  three   no scans
`
	if got := textOf(t, r); got != expected {
		t.Errorf("got\n%s\nexpected\n%s", got, expected)
	}
}

// Test is what a driver's author calls: here on a driver of a third party.
func TestOfAThirdParty(t *testing.T) {
	third := target(t, "drivers", misbehave.Honest)
	third.Rules = []string{"describe", "miss", "reopen"}
	Test(t, third)
}

// A rule that no misbehaviour can break holds nothing.
func TestEveryRuleCanFail(t *testing.T) {
	var broken []string
	for _, table := range []map[string][]string{failures, workerFailures} {
		for names := range maps.Values(table) {
			broken = append(broken, names...)
		}
	}
	for _, name := range RuleNames() {
		if !slices.Contains(broken, name) {
			t.Errorf("no driver or worker of package misbehave breaks rule %s", name)
		}
	}
}

// A target that differs from another in one aspect is held to fewer rules. What could be wrong with
// that aspect alone must still be found by one of them.
func TestChangedAspectsAreHeldToTheRulesThatTheyCanBreak(t *testing.T) {
	lies := slices.Sorted(maps.Keys(failures))
	kinds := slices.DeleteFunc(misbehave.Kinds(), func(kind string) bool { return workerFailures[kind] == nil })
	without := func(all []string, others ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
	}
	for aspect, broken := range map[Aspect][]string{
		// All but what is wrong with a list of items, with the store's data, and with the first answer.
		Loop: without(kinds, "counts-items", "wipes-at-open", "answers-garbage", "answers-wrong-id"),
		// All but what a driver says of itself, and what becomes of records and handles after the operation.
		Encoding: without(lies, "lies-version", "lies-description", "lies-disk", "lies-connections", "lies-reconnects", "lies-class", "lies-class-default", "lies-one-class", "lies-settings", "lies-define-failed",
			"lies-define-words", "lies-define-no-words", "lies-processes", "lies-forgets", "lies-buffered", "lies-define-empties", "lies-leaks-files"),
		Connections: {"lies-leaks-files", "lies-connections", "lies-reconnects", "lies-wrong-value", "lies-lost-writes", "lies-shared-buffer", "lies-shareable", "lies-processes", "lies-lane-order", "lies-kept-buffer",
			"lies-missing-empty", "lies-forgets", "lies-abilities", "hangs-operation", "hangs-open", "hangs-close", "counts-no-handles", "outlives-input"},
		Placement: {"lies-wrong-value", "lies-lost-writes", "lies-forgets", "lies-buffered", "lies-key-zero", "lies-key-end", "lies-key-length", "lies-key-cut", "lies-delete",
			"lies-add", "lies-swap", "lies-scan-order", "lies-scan-start", "lies-scan-short", "lies-scan-place", "lies-batch-last", "lies-batch-order",
			"lies-modify-neighbour", "lies-increment-twice", "lies-query-short", "lies-query-order", "lies-count", "lies-delete-query-less", "lies-remove-less", "lies-index-deleted"},
		Columns: slices.DeleteFunc(slices.Clone(lies), func(lie string) bool {
			return !slices.ContainsFunc([]string{"column", "modify", "increment", "define", "index", "query", "count"}, func(of string) bool {
				return strings.HasPrefix(lie, "lies-"+of)
			})
		}),
		Durability: {"lies-lost-writes", "lies-all-lost", "lies-forgets", "lies-buffered", "lies-class", "lies-class-default", "lies-one-class", "lies-no-class", "lies-settings",
			"lies-conflict-lost", "lies-define-empties", "wipes-at-open"},
		Driver: lies,
	} {
		checked := rulesFor(aspect)
		for _, lie := range broken {
			found := append(slices.Clone(failures[lie]), workerFailures[lie]...)
			if !slices.ContainsFunc(found, func(rule string) bool { return slices.Contains(checked, rule) }) {
				t.Errorf("aspect %b: none of its rules finds %s, which %v find", aspect, lie, found)
			}
		}
	}
}
