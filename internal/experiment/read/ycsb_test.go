package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/testkit/golden"
	"assay/presets"
)

// published are the facts of YCSB's six core workload files, written down anew.
func published(workload string) string {
	common := "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=1000\noperationcount=1000\nreadallfields=true\n"
	proportions := func(read, update, scan, insert string) string {
		return fmt.Sprintf("readproportion=%s\nupdateproportion=%s\nscanproportion=%s\ninsertproportion=%s\n", read, update, scan, insert)
	}
	switch workload {
	case "a":
		return common + proportions("0.5", "0.5", "0", "0") + "requestdistribution=zipfian\n"
	case "b":
		return common + proportions("0.95", "0.05", "0", "0") + "requestdistribution=zipfian\n"
	case "c":
		return common + proportions("1", "0", "0", "0") + "requestdistribution=zipfian\n"
	case "d":
		return common + proportions("0.95", "0", "0", "0.05") + "requestdistribution=latest\n"
	case "e":
		return common + proportions("0", "0", "0.95", "0.05") + "requestdistribution=zipfian\nmaxscanlength=100\nscanlengthdistribution=uniform\n"
	default:
		return common + proportions("0.5", "0", "0", "0") + "readmodifywriteproportion=0.5\nrequestdistribution=zipfian\n"
	}
}

func TestPublishedWorkloadsImportToThePresets(t *testing.T) {
	for _, workload := range []string{"a", "b", "c", "d", "e", "f"} {
		text, notes, err := read.ImportYCSB([]byte(published(workload)), "workload"+workload)
		if err != nil {
			t.Fatal(err)
		}
		imported := mustLoad(t, string(text))
		source, err := presets.Source("ycsb-" + workload)
		if err != nil {
			t.Fatal(err)
		}
		preset := mustLoad(t, string(source), "scale=published")
		if preset.Name != "ycsb-"+workload || imported.Name != "workload"+workload {
			t.Errorf("names %q, %q", preset.Name, imported.Name)
		}
		preset.Name, preset.About, preset.Scale = imported.Name, imported.About, imported.Scale
		preset.BaselineNamed = imported.BaselineNamed // a workload file has no stores
		if !reflect.DeepEqual(preset, imported) {
			t.Errorf("workload %s: imported\n%+v\npreset\n%+v", workload, imported, preset)
		}
		writes := workload == "a" || workload == "b" || workload == "f"
		if got := slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "writeallfields=true") }); got != writes {
			t.Errorf("workload %s: notes %q", workload, notes)
		}
		for _, note := range notes {
			if strings.Contains(note, "not a property") {
				t.Errorf("workload %s: %s", workload, note)
			}
		}
	}
}

// The numbers themselves, apart from what the importer thinks of them.
func TestPresetsOfYCSBAreAsPublished(t *testing.T) {
	mixes := map[string]map[string]float64{
		"a": {"read": 0.5, "update": 0.5}, "b": {"read": 0.95, "update": 0.05}, "c": {"read": 1},
		"d": {"read": 0.95, "insert": 0.05}, "e": {"scan": 0.95, "insert": 0.05}, "f": {"read": 0.5, "read_modify_write": 0.5},
	}
	for workload, mix := range mixes {
		source, err := presets.Source("ycsb-" + workload)
		if err != nil {
			t.Fatal(err)
		}
		e := mustLoad(t, string(source), "scale=published")
		run := e.Phases[1]
		order := "scrambled_zipfian"
		if workload == "d" {
			order = "latest"
		}
		if !reflect.DeepEqual(run.Mix, mix) || run.Order.Distribution != order || run.Order.Theta != 0.99 ||
			run.Operations != 1000 || run.Duration != 0 {
			t.Errorf("%s: %+v", workload, run)
		}
		if c := e.Cells[0]; c.Records != 1000 || c.ValueBytes != 1000 || c.Threads != 1 {
			t.Errorf("%s: %+v", workload, c)
		}
		if e.Keys.Format != "ycsb" || e.Keys.Prefix != "user" || e.Values.RepeatedPermille != 0 {
			t.Errorf("%s: %+v %+v", workload, e.Keys, e.Values)
		}
		if scans := run.Scan == (experiment.Scan{Min: 1, Max: 100, Distribution: "uniform"}); scans != (workload == "e") {
			t.Errorf("%s: %+v", workload, run.Scan)
		}
	}
}

func TestImportCarriesOver(t *testing.T) {
	base := "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=50\noperationcount=7\n"
	for _, c := range []struct {
		properties string
		check      func(e *experiment.Experiment) any
		want       any
	}{
		{"", func(e *experiment.Experiment) any { return e.Phases[1].Mix }, map[string]float64{"read": 0.95, "update": 0.05}},
		{"", func(e *experiment.Experiment) any { return e.Phases[1].Order.Distribution }, "uniform"},
		{"requestdistribution: hotspot\nhotspotdatafraction 0.1\n", func(e *experiment.Experiment) any { return e.Phases[1].Order },
			experiment.Order{Distribution: "hotspot", HotRecords: 0.1, HotOps: 0.8}},
		{"workload=core\n", func(e *experiment.Experiment) any { return e.Cells[0].Records }, uint64(50)},
		{"requestdistribution=exponential\n", func(e *experiment.Experiment) any { return e.Phases[1].Order.Distribution }, "exponential"},
		{"requestdistribution=exponential\nexponential.percentile=80\nexponential.frac=0.5\n", func(e *experiment.Experiment) any { return e.Phases[1].Order },
			experiment.Order{Distribution: "exponential", HotRecords: 0.5, HotOps: 0.8}},
		{"requestdistribution=zipfian\nzipfianconstant=0.7\n", func(e *experiment.Experiment) any { return e.Phases[1].Order },
			experiment.Order{Distribution: "zipfian", Theta: 0.7}},
		{"requestdistribution=zipfian\nzipfianconstant=0.99\n", func(e *experiment.Experiment) any { return e.Phases[1].Order.Distribution }, "scrambled_zipfian"},
		{"keyprefix=k:\n", func(e *experiment.Experiment) any { return fmt.Sprint(e.Keys.Format, e.Keys.Prefix) }, "ycsbk:"},
		{"fieldcount=1\nfieldlength=16\nfieldlengthdistribution=uniform\n", func(e *experiment.Experiment) any { return e.Values.Sizes[3] }, experiment.Size{Bytes: 4, Weight: 1}},
		{"fieldcount=10\nfieldlength=100\nfieldlengthdistribution=uniform\nminfieldlength=50\n", func(e *experiment.Experiment) any { return e.Cells[0].ValueBytes }, 750},
		{"fieldcount=10\nfieldlength=100\nfieldlengthdistribution=zipfian\n", func(e *experiment.Experiment) any {
			return e.Cells[0].ValueBytes > 150 && e.Cells[0].ValueBytes < 250 && len(e.Values.Sizes) == 16
		}, true},
		{"requestdistribution=sequential\n", func(e *experiment.Experiment) any { return e.Phases[1].Order.Distribution }, "sequential"},
		{"threadcount=8\n", func(e *experiment.Experiment) any { return e.Cells[0].Threads }, 8},
		{"target=500\n", func(e *experiment.Experiment) any { return e.Phases[1].Rate }, 500.0},
		{"maxexecutiontime=60\n", func(e *experiment.Experiment) any { return e.Phases[1].Duration.Seconds() }, 60.0},
		{"insertorder=ordered\nzeropadding=12\n", func(e *experiment.Experiment) any { return fmt.Sprint(e.Keys.Format, e.Keys.Prefix, e.Keys.Digits) }, "decimal" + "user" + "12"},
		{"fieldcount=2\nfieldlength=30\n", func(e *experiment.Experiment) any { return e.Cells[0].ValueBytes }, 60},
		{"scanproportion=1\n", func(e *experiment.Experiment) any { return e.Phases[1].Scan }, experiment.Scan{Min: 1, Max: 1000, Distribution: "uniform"}},
		{"scanproportion=1\nmaxscan\\\nlength=5\nscanlengthdistribution=zipfian\n", func(e *experiment.Experiment) any { return e.Phases[1].Scan }, experiment.Scan{Min: 1, Max: 5, Distribution: "zipfian"}},
		{"# threadcount=3\n! threadcount=4\n", func(e *experiment.Experiment) any { return e.Cells[0].Threads }, 1},
	} {
		text, _, err := read.ImportYCSB([]byte(base+c.properties), "w.properties")
		if err != nil {
			t.Errorf("%q: %v", c.properties, err)
			continue
		}
		if got := c.check(mustLoad(t, string(text))); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, want %v", c.properties, got, c.want)
		}
	}
}

func TestImportSaysWhatItLeavesOut(t *testing.T) {
	text, notes, err := read.ImportYCSB([]byte("recordcount=5\nopertioncount=7\ntable=x\nfoo=1\nreadallfields=false\ntarget=5\n"), "dir/odd name!")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "ycsb-notes.txt", strings.Join(notes, "\n")+"\n")
	if e := mustLoad(t, string(text)); e.Name != "odd-name-" {
		t.Errorf("name %q", e.Name)
	}
}

// Each testdata/ycsb/NAME.properties can't be carried over; NAME.txt is the error.
func TestImportRefuses(t *testing.T) {
	files, err := filepath.Glob("testdata/ycsb/*.properties")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files (%v)", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = read.ImportYCSB(text, filepath.Base(file))
		if err == nil {
			t.Errorf("%s: no error", file)
			continue
		}
		checkPlaced(t, err)
		golden.Check(t, strings.TrimPrefix(regexp.MustCompile(`properties$`).ReplaceAllString(file, "txt"), "testdata/"), err.Error()+"\n")
	}
}

// What is imported without an error always loads, unless it is the stores of the placeholder that
// can't do it.
func FuzzImportYCSB(f *testing.F) {
	for _, workload := range []string{"a", "d", "e", "f"} {
		f.Add([]byte(published(workload)), "workload")
	}
	f.Add([]byte("recordcount=5\\\n6\nmaxexecutiontime=3\ntarget=0.5\ninsertorder=ordered\nzeropadding=20"), "x: \"y\n")
	f.Add([]byte("requestdistribution hotspot\nhotspotdatafraction=1e-9\nscanproportion:2\nminscanlength=3"), "ä/ö.properties")
	f.Fuzz(func(t *testing.T, properties []byte, name string) {
		text, _, err := read.ImportYCSB(properties, "f"+name)
		if err != nil {
			checkPlaced(t, err)
			return
		}
		if _, err := read.Load(text, "imported", nil, fakeDrivers()); err != nil {
			for _, bound := range []string{"records to", "no store can do this", "at most", "must be 1 to", "parts the records", "a weight is", "a rate is", "the file has"} {
				if strings.Contains(err.Error(), bound) {
					return
				}
			}
			t.Fatalf("imported from %q:\n%s\n%v", properties, text, err)
		}
	})
}

// Deletes are carried over, and an update beside them becomes an upsert; no records are loaded where the
// file says so.
func TestImportOfDeletesAndOfNoRecords(t *testing.T) {
	for properties, want := range map[string]string{
		"recordcount=10\noperationcount=10\nreadproportion=0.5\nupdateproportion=0\ndeleteproportion=0.5\n":    "mix: {read: 0.5, delete: 0.5}",
		"recordcount=10\noperationcount=10\nreadproportion=0\nupdateproportion=0.5\ndeleteproportion=0.5\n":    "mix: {upsert: 0.5, delete: 0.5}",
		"recordcount=0\noperationcount=10\nreadproportion=0\nupdateproportion=0\ninsertproportion=1\n":         "phases:\n  - name: run\n",
		"operationcount=10\nreadproportion=1\nupdateproportion=0\nrequestdistribution=uniform\nfieldcount=1\n": "records: 10000\n",
	} {
		text, _, err := read.ImportYCSB([]byte(properties), "w.properties")
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %q in\n%s", properties, err, want, text)
			continue
		}
		mustLoad(t, string(text))
	}
}
