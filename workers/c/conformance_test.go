package c_test

import (
	"os"
	"testing"

	"assay/storetest"
)

// engine is a driver of a native worker, and how the kit is to be run on it.
type engine struct {
	program, driver string
	options         map[string]string
	changes         storetest.Aspect // from the first engine: they share the host
}

var engines = []engine{
	{program: "tokyocabinet", driver: "tokyocabinet-hash"},
	{program: "null", driver: "null-c", changes: storetest.Driver},
	{program: "tokyocabinet", driver: "tokyocabinet-btree", changes: storetest.Driver},
	{program: "tokyocabinet", driver: "tokyocabinet-table", changes: storetest.Driver},
	{program: "tokyocabinet", driver: "tokyocabinet-hash", options: severalFiles, changes: storetest.Placement},
	{program: "tokyocabinet", driver: "tokyocabinet-btree", options: severalFiles, changes: storetest.Placement},
	{program: "tokyocabinet", driver: "tokyocabinet-table", options: severalFiles, changes: storetest.Placement},
	{program: "tokyocabinet", driver: "tokyocabinet-fixed", changes: storetest.Driver},
	{program: "tokyocabinet", driver: "tokyocabinet-fixed", options: map[string]string{"width_bytes": "65536", "limit_bytes": "64GiB"}, changes: storetest.Encoding},
	{program: "tokyocabinet", driver: "tokyocabinet-fixed", options: map[string]string{"width_bytes": "100"}, changes: storetest.Encoding},
	{program: "tokyocabinet", driver: "tokyocabinet-fixed", options: map[string]string{"limit_bytes": "1MiB"}, changes: storetest.Placement},
	{program: "tokyocabinet", driver: "tokyocabinet-hash", options: map[string]string{"compression": "tcbs"}, changes: storetest.Encoding},
	{program: "tokyocabinet", driver: "tokyocabinet-table", options: map[string]string{"compression": "tcbs"}, changes: storetest.Encoding},
	{program: "lmdb", driver: "lmdb", options: map[string]string{"map_bytes": "4GiB"}, changes: storetest.Driver},
	{program: "rocksdb", driver: "rocksdb", changes: storetest.Driver},
	{program: "leveldb", driver: "leveldb", changes: storetest.Driver},
	{program: "wiredtiger", driver: "wiredtiger", changes: storetest.Driver},
	{program: "kyotocabinet", driver: "kyotocabinet-hash", changes: storetest.Driver},
	{program: "kyotocabinet", driver: "kyotocabinet-tree", changes: storetest.Driver},
	{program: "berkeleydb", driver: "berkeleydb-btree", changes: storetest.Driver},
	{program: "berkeleydb", driver: "berkeleydb-hash", changes: storetest.Driver},
	{program: "sqlite", driver: "sqlite-c", changes: storetest.Driver},
	{program: "redb", driver: "redb", changes: storetest.Driver},
}

// severalFiles spreads the records, few buckets each so that the many files of a test stay small.
var severalFiles = map[string]string{"files": "3", "bnum": "100"}

// name tells engines of one driver apart.
func (e engine) name() string {
	if files := e.options["files"]; files != "" {
		return e.driver + "-" + files + "-files"
	}
	if width := e.options["width_bytes"]; width != "" {
		return e.driver + "-" + width + "-bytes"
	}
	for _, option := range []string{"compression", "limit_bytes"} {
		if value := e.options[option]; value != "" {
			return e.driver + "-" + value
		}
	}
	return e.driver
}

func (e engine) test(t *testing.T, b *build) {
	target := storetest.Target{
		Command: []string{b.worker(t, e.program)}, Driver: e.driver, Options: e.options, TempDir: t.TempDir(),
		Changes: e.changes, Brief: !long(),
	}
	if e.options["compression"] != "" && !long() {
		// Tokyo Cabinet gives the processor away at each operation on compressed records, so that the
		// whole kit takes as long as others on the machine let it: seconds, or half an hour.
		target.Rules = []string{"binary-keys"}
	}
	storetest.Test(t, target)
}

// Every native driver passes the conformance kit.
func TestConformance(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name(), func(t *testing.T) {
			t.Parallel()
			e.test(t, plain)
		})
	}
}

// The same with AddressSanitizer and UndefinedBehaviorSanitizer in host and drivers.
func TestConformanceUnderAddressSanitizer(t *testing.T) {
	if !long() {
		t.Skip("takes minutes: set ASSAY_LONG=1")
	}
	// The engines themselves are not compiled with it, so that leaks are those of host and driver,
	// and reported at exit.
	t.Setenv("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0")
	for _, e := range engines {
		t.Run(e.name(), func(t *testing.T) { e.test(t, address) })
	}
}

// The same with ThreadSanitizer.
func TestConformanceUnderThreadSanitizer(t *testing.T) {
	if !long() {
		t.Skip("takes minutes: set ASSAY_LONG=1")
	}
	// The first race ends the worker, which fails the rule at hand: the kit kills the worker in the
	// end, and would never see its exit status.
	t.Setenv("TSAN_OPTIONS", "halt_on_error=1:suppressions="+suppressions(t))
	for _, e := range engines {
		t.Run(e.name(), func(t *testing.T) {
			if e.program == "redb" {
				t.Skip("linked statically and not compiled with it: there is no library by whose name to suppress")
			}
			e.test(t, thread)
		})
	}
}

// suppressions names the engines, and the library that those in C++ run on: they are not compiled
// with ThreadSanitizer, which then does not see their locks. What is held against it is host and
// drivers.
func suppressions(t *testing.T) string {
	t.Helper()
	name := t.TempDir() + "/suppressions"
	text := "called_from_lib:libtokyocabinet\ncalled_from_lib:liblmdb\ncalled_from_lib:librocksdb\ncalled_from_lib:libleveldb\n" +
		"called_from_lib:libwiredtiger\ncalled_from_lib:libkyotocabinet\ncalled_from_lib:libdb-5.3\ncalled_from_lib:libsqlite3\ncalled_from_lib:libstdc++\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
