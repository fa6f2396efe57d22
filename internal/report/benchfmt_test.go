package report

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"assay/internal/record"
	"assay/internal/record/recordtest"
)

func TestBenchfmtReadsBack(t *testing.T) {
	v := exampleView(t)
	want := map[string]float64{}
	for _, trial := range v.Trials {
		for _, p := range trial.Phases {
			if trial.State == "ok" && trial.Role != "ceiling" && p.Measured {
				want[capital(p.Name)+" /store="+benchWord(trial.Arm)+" /class="+trial.Class] += p.Rate
			}
		}
	}
	read := map[string]float64{}
	for _, result := range readBenchfmt(t, v) {
		base, parts := result.Name.Parts()
		rate, ok := result.Value("ops/s")
		if !ok || len(parts) != 2 {
			t.Fatalf("%s has %d parts, and a rate: %v", result.Name, len(parts), ok)
		}
		// The reader turns ns into seconds.
		time, ok := result.Value("sec/op")
		if !ok || math.Abs(time*rate-1) > 1e-6 {
			t.Errorf("%s has %g s/op and %g ops/s", result.Name, time, rate)
		}
		if p99, ok := result.Value("p99-sec"); !ok || p99 <= 0 {
			t.Errorf("%s has a p99 of %g s, %v", result.Name, p99, ok)
		}
		if result.GetConfig("conditions") == "" || result.GetConfig("run") != "" {
			t.Errorf("%s is of conditions %q and run %q", result.Name, result.GetConfig("conditions"), result.GetConfig("run"))
		}
		read[string(base)+" "+string(parts[0])+" "+string(parts[1])] += rate
	}
	if len(read) == 0 || len(read) != len(want) {
		t.Fatalf("%d arms are read back, want %d", len(read), len(want))
	}
	for name, rate := range want {
		if math.Abs(read[name]/rate-1) > 1e-6 {
			t.Errorf("%s: the rates add up to %g, want %g", name, read[name], rate)
		}
	}
}

// readBenchfmt writes a view and reads it back.
func readBenchfmt(t *testing.T, v View) (results []*benchfmt.Result) {
	t.Helper()
	var out bytes.Buffer
	if err := Benchfmt(&out, v); err != nil {
		t.Fatal(err)
	}
	reader := benchfmt.NewReader(&out, "report")
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("a line can't be read: %v", reader.Result())
		}
		results = append(results, result.Clone())
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	return results
}

// again is the example run a second time: the same experiment, other figures, another order.
func again(t *testing.T) *record.Run {
	t.Helper()
	shape := recordtest.Example()
	shape.Seed++
	run := recordtest.Run(shape)
	run.Directory = "results/new"
	return run
}

// tabulated puts results into tables, rows and columns by the projections of benchstat's flags -table, -row and -col.
func tabulated(t *testing.T, next func() (*benchfmt.Result, bool), column string) map[string]map[string]map[string]int {
	t.Helper()
	var parser benchproc.ProjectionParser
	filter, err := benchproc.NewFilter("*")
	if err != nil {
		t.Fatal(err)
	}
	var projections []*benchproc.Projection
	for _, keys := range []string{".config", ".fullname", column} {
		projection, err := parser.Parse(keys, filter)
		if err != nil {
			t.Fatal(err)
		}
		projections = append(projections, projection)
	}
	tables := map[string]map[string]map[string]int{}
	for result, more := next(); more; result, more = next() {
		table, row, col := projections[0].Project(result).String(), projections[1].Project(result).String(), projections[2].Project(result).String()
		if tables[table] == nil {
			tables[table] = map[string]map[string]int{}
		}
		if tables[table][row] == nil {
			tables[table][row] = map[string]int{}
		}
		tables[table][row][col]++
	}
	return tables
}

// compares checks that all is in one table, and that what was measured in both runs stands in one row, a run each column.
func compares(t *testing.T, tables map[string]map[string]map[string]int, rows int) {
	t.Helper()
	if len(tables) != 1 {
		t.Errorf("benchstat would make %d tables, want one: %v", len(tables), slices.Sorted(maps.Keys(tables)))
	}
	for _, table := range tables {
		if len(table) != rows {
			t.Errorf("a table has %d rows, want %d", len(table), rows)
		}
		for row, columns := range table {
			if len(columns) != 2 {
				t.Errorf("%s is compared with nothing: %v", row, columns)
			}
		}
	}
}

// names counts the benchmarks of a view: one for each arm, class and measured phase.
func names(t *testing.T, v View) int {
	t.Helper()
	all := map[string]bool{}
	for _, result := range readBenchfmt(t, v) {
		all[result.Name.String()] = true
	}
	return len(all)
}

// As the help says: benchstat old.txt new.txt.
func TestBenchstatComparesTwoRuns(t *testing.T) {
	directory := t.TempDir()
	var files benchfmt.Files
	for name, run := range map[string]*record.Run{"old.txt": recordtest.Run(recordtest.Example()), "new.txt": again(t)} {
		v, err := Build(run)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Benchfmt(&out, v); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		files.Paths = append(files.Paths, path)
	}
	tables := tabulated(t, func() (*benchfmt.Result, bool) {
		if !files.Scan() {
			return nil, false
		}
		return files.Result().(*benchfmt.Result), true
	}, ".file")
	if err := files.Err(); err != nil {
		t.Fatal(err)
	}
	compares(t, tables, names(t, exampleView(t)))
}

// And of both run directories in one report: benchstat -col run.
func TestBenchstatComparesTwoRunsOfOneReport(t *testing.T) {
	old := recordtest.Run(recordtest.Example())
	old.Directory = "results/old"
	v, err := Build(old, again(t))
	if err != nil {
		t.Fatal(err)
	}
	results := readBenchfmt(t, v)
	tables := tabulated(t, func() (*benchfmt.Result, bool) {
		if len(results) == 0 {
			return nil, false
		}
		result := results[0]
		results = results[1:]
		return result, true
	}, "run")
	compares(t, tables, names(t, exampleView(t)))
	for _, table := range tables {
		for row, columns := range table {
			if columns["run:results/old"]+columns["results/old"] == 0 {
				t.Errorf("%s has no column of the old run: %v", row, columns)
			}
		}
	}
}

// Cells whose conditions are the same when rounded keep apart.
func TestBenchfmtKeepsCellsApart(t *testing.T) {
	trial := func(key, run, cell string) Trial {
		return Trial{Key: key, Run: run, Arm: "a", Class: "D1", Cell: cell, State: "ok", Phases: []Phase{{Name: "put", Measured: true, Rate: 100, Attempted: 5}}}
	}
	v := View{Runs: []Run{{ID: "x", Directory: "x"}, {ID: "y", Directory: "y"}},
		Trials: []Trial{trial("x1", "x", "1 M"), trial("x2", "x", "1 M"), trial("x3", "x", "2 M"), trial("y2", "y", "1 M"), trial("y1", "y", "1 M")},
		Matrix: Matrix{Rows: []MatrixRow{{Arm: "a", Squares: [][]string{{"x1"}, {"x2"}, {"x3"}, {"y1"}, {"y2"}}}}}}
	var got []string
	for _, result := range readBenchfmt(t, v) {
		got = append(got, result.GetConfig("run")+" "+result.Name.String())
	}
	want := "x Put/store=a/class=D1/cell=1, x Put/store=a/class=D1/cell=2, x Put/store=a/class=D1, y Put/store=a/class=D1/cell=2, y Put/store=a/class=D1/cell=1"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// What benchstat will not see is counted, with the reason.
func TestBenchfmtLeftOut(t *testing.T) {
	v := View{Trials: []Trial{{State: "ok"}, {State: "marked", Reasons: []string{"5 operations\nended in an error"}}, {State: "ok", Role: "ceiling"},
		{State: "failed", Reasons: []string{"the worker died"}}, {State: "marked", Reasons: []string{"another"}}, {State: "planned"}, {State: "marked", Role: "ceiling"}}}
	want := "benchfmt has only trials without faults: 4 of 5 are left out: 2 marked (the first: 5 operations ended in an error); 1 failed (the worker died); 1 planned"
	if got := BenchfmtLeftOut(v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := BenchfmtLeftOut(View{Trials: v.Trials[:1]}); got != "" {
		t.Errorf("nothing is left out, and it says %q", got)
	}
}
