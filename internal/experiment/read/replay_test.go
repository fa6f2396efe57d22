package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment/read"
)

// recording is one of n reads and writes of 100 keys, a thousand a second.
func recordingFile(t *testing.T, n int) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("time_ms,op,key,key_size,size\n")
	for i := range n {
		op := "get"
		if i%4 == 0 {
			op = "incr"
		}
		fmt.Fprintf(&text, "%d,%s,k%d,24,%d\n", i, op, i%100, 100+i%100)
	}
	text.WriteString("wrong\n")
	file := filepath.Join(t.TempDir(), "r.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func loadReplay(t *testing.T, more, replay string) (*read.Loaded, error) {
	t.Helper()
	text := "name: r\nstores: [bbolt]\ndurability: D1\n" + more + "phases:\n  - {name: load, load: true}\n  - {name: replay, replay: " + replay + "}\n"
	return read.Source{Text: []byte(text), Name: "r.yaml"}.Load(fakeDrivers())
}

func TestReplaySetsWhatTheFileLeavesOut(t *testing.T) {
	file := recordingFile(t, 5000)
	l, err := loadReplay(t, "", file)
	if err != nil {
		t.Fatal(err)
	}
	p, cell := l.Experiment.Phases[1], l.Experiment.Cells[0]
	if cell.Records != 100 || l.Experiment.Keys.Bytes != 24 || cell.ValueBytes < 149 || cell.ValueBytes > 150 ||
		len(l.Experiment.Values.Sizes) != 100 {
		t.Errorf("%d records, keys of %d, values of %d bytes in %d lengths", cell.Records, l.Experiment.Keys.Bytes, cell.ValueBytes, len(l.Experiment.Values.Sizes))
	}
	if p.Operations != 5000 || p.Rate < 999 || p.Rate > 1001 || p.Mix["read"] != 3750 || p.Mix["upsert"] != 1250 || p.Duration != 0 || len(p.Segments) != 1 {
		t.Errorf("%+v", p)
	}
	notes := strings.Join(l.Notes, "\n")
	for _, want := range []string{"1 line or request left out: another number of columns (the first is line 5,002)", "incr write a whole value here"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", notes, want)
		}
	}
	if l, err = loadReplay(t, "records: 50\nvalues: {bytes: 10}\nkeys: {format: decimal}\n", "{file: "+file+", speed: 10, loops: 2, from: 1s, until: 3s, sample: 1/2}"); err != nil {
		t.Fatal(err)
	}
	p, cell = l.Experiment.Phases[1], l.Experiment.Cells[0]
	if cell.Records != 50 || cell.ValueBytes != 10 || p.Replay.Lasts() != 400*time.Millisecond ||
		p.Operations != 2*p.Replay.Summary.Requests || !p.Replay.OwnValues {
		t.Errorf("%+v lasts %s", cell, p.Replay.Lasts())
	}
	if l, err = loadReplay(t, "", "{file: "+file+", closed: true}"); err != nil || l.Experiment.Phases[1].Rate != 0 {
		t.Error(err)
	}
}

func TestReplayMistakes(t *testing.T) {
	file := recordingFile(t, 100)
	for replay, want := range map[string]string{
		"nowhere.csv":                                  "opening the recording",
		"{speed: 2}":                                   "a replay without a recording",
		"{file: " + file + ", speed: 0}":               "a speed is above 0",
		"{file: " + file + ", sample: 5}":              "1/N",
		"{file: " + file + ", format: x}":              `unknown form of a recording "x"`,
		"{file: " + file + ", from: 2s}":               "no request in what is selected",
		"{file: " + file + ", closed: true, speed: 2}": "has no speed",
		file + ", mix: {read: 1}":                      "it has no mix",
		file + ", rate: 5":                             "it has no rate",
		"{file: " + file + ", ttl: 5s}":                "recorded or none",
		file + ", ttl: 5s":                             "it has no ttl",
		file + ", order: uniform":                      "it has no order",
	} {
		_, err := loadReplay(t, "", replay)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", replay, err, want)
		}
	}
}

// Recorded TTLs are played where stores have them, parted by the speed, or left out if the file says so.
func TestReplayOfTTLs(t *testing.T) {
	var text strings.Builder
	text.WriteString("time_ms,op,key,size,ttl\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "%d,set,k%d,20,%d\n", i, i%100, i%2*25)
	}
	file := filepath.Join(t.TempDir(), "ttl.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(stores, replay string) (*read.Loaded, error) {
		return read.Source{Text: []byte("name: r\nstores: [" + stores + "]\ndurability: D0\n" +
			"phases:\n  - {name: replay, replay: {file: " + file + replay + "}}\n"), Name: "r.yaml"}.Load(fakeDrivers())
	}
	for replay, want := range map[string]string{
		"":                            "25s 50 %, none 50 %",
		", speed: 10":                 "3s 50 %, none 50 %",
		", closed: true":              "25s 50 %, none 50 %",
		", speed: 10, ttl: none":      "",
		", speed: 100, ttl: recorded": "1s 50 %, none 50 %",
	} {
		l, err := load("memory", replay)
		if err != nil {
			t.Fatal(err)
		}
		e := l.Experiment
		if got := e.Phases[0].TTLText(); got != want || e.ExpiresBy(0) != (want != "") {
			t.Errorf("%s: %q, want %q", replay, got, want)
		}
		noted := strings.Contains(strings.Join(l.Notes, "\n"), "TTLs of 500 writes are left out")
		if r := e.Refusal(0, 0); r != nil || noted != (want == "") {
			t.Errorf("%s: %v, notes %q", replay, r, l.Notes)
		}
	}
	l, err := load("pebble, memory", "")
	if err == nil {
		if r := l.Experiment.Refusal(0, 0); r == nil || !strings.Contains(r.Reason, "replay: {ttl: none} leaves recorded TTLs out") {
			t.Errorf("%+v", r)
		}
	} else if !strings.Contains(err.Error(), "ttl: none") {
		t.Error(err)
	}
}

func TestReplayWithoutAFile(t *testing.T) {
	source, err := read.QuickReplay([]string{"bbolt"}, nil, recordingFile(t, 500), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := source.Load(fakeDrivers())
	if err != nil || l.Experiment.Phases[1].Replay == nil || l.Experiment.Cells[0].Records != 100 ||
		len(l.Experiment.Phases) != 2 {
		t.Fatal(err)
	}
	if again, err := read.Load(l.File(), "again", nil, fakeDrivers()); err != nil || again.Phases[1].Operations != 500 {
		t.Error(err)
	}
}

// Short recorded keys leave no room beside the trial's name on a server that outlives it.
func TestReplayOnANamedServerHasKeysEnough(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,op,key,size\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "%d,set,k%d,20\n", i, i%600)
	}
	file := filepath.Join(t.TempDir(), "short.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	e := "name: r\nstores: [{driver: memcached, endpoints: [\"127.0.0.1:11211\"]}, {driver: bbolt}]\ndurability: [D0, D1]\nkeys: {format: FORMAT}\n" +
		"phases:\n  - {name: load, load: true}\n  - {name: replay, replay: " + file + "}\n"
	for _, format := range []string{"decimal"} {
		l, err := read.Source{Text: []byte(strings.Replace(e, "FORMAT", format, 1)), Name: "r.yaml"}.Load(fakeDrivers())
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if limit := l.Experiment.Keys.IndexLimit(); limit < 600 {
			t.Errorf("%s keys of %d bytes: %d of them", format, l.Experiment.Keys.Bytes, limit)
		}
	}
}
