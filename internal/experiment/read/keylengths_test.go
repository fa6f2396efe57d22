package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/experiment/read"
)

// keysFile is a recording of 300 keys: every third one has 3, 10 and 30 bytes.
func keysFile(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("time_ms,op,key,key_size,size\n")
	for i := range 600 {
		fmt.Fprintf(&text, "%d,get,k%d,%d,100\n", i, i%300, []int{3, 10, 30}[i%3])
	}
	file := filepath.Join(t.TempDir(), "keys.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func loadKeys(t *testing.T, store, more, file string) (*read.Loaded, error) {
	t.Helper()
	text := "name: r\nstores: [" + store + "]\n" + more + "phases:\n  - {name: load, load: true}\n  - {name: replay, replay: " + file + "}\n"
	return read.Source{Text: []byte(text), Name: "r.yaml"}.Load(fakeDrivers())
}

func TestReplayKeepsLengthsOfKeys(t *testing.T) {
	file := keysFile(t)
	for _, c := range []struct{ store, more, lengths, note string }{
		{"bbolt", "", "[{0 3 0} {100 10 0} {200 30 0} {300 14 0}]", ""},
		{"bbolt", "records: [60, 30]\n", "[{0 3 0} {10 10 0} {20 30 0} {30 3 10} {40 10 10} {50 30 10} {60 3 20} {140 10 20} {220 30 20} {300 14 0}]", ""},
		{"bbolt", "keys: {format: decimal}\n", "[{0 3 0} {100 10 0} {200 30 0} {300 14 0}]", ""},
		{"bbolt", "keys: {scatter: true}\n", "[{0 8 0} {100 10 0} {200 30 0} {300 14 0}]", "100 keys are longer than recorded: the shortest have 8 bytes, which tell them apart"},
		{"bbolt", "keys: {bytes: 12}\n", "[]", ""},
		{"bbolt", "keys: {format: decimal, digits: 12}\n", "[]", ""},
		{"bbolt", "keys: {format: ycsb}\n", "[]", ""},
		{"pogreb", "", "[]", "all keys have the same length: the worker of pogreb makes no others"},
		{"{driver: memcached, server: {start: true}}", "keys: {format: decimal}\n", "[{0 3 0} {100 10 0} {200 30 0} {300 14 0}]", ""},
		{"{driver: memcached, endpoints: ['127.0.0.1:1']}", "keys: {format: decimal}\n", "[{0 11 0} {200 30 0} {300 17 0}]",
			"200 keys are longer than recorded: the shortest have 11 bytes, of which 8 name the trial and the others tell them apart"},
	} {
		l, err := loadKeys(t, c.store, c.more, file)
		if err != nil {
			t.Errorf("%s %s: %v", c.store, c.more, err)
			continue
		}
		if got := fmt.Sprint(l.Experiment.Keys.Lengths); got != c.lengths {
			t.Errorf("%s %s: %s, expected %s", c.store, c.more, got, c.lengths)
		}
		if notes := strings.Join(l.Notes, "\n"); !strings.Contains(notes, c.note) {
			t.Errorf("%s %s: notes %q lack %q", c.store, c.more, notes, c.note)
		}
	}
}
