package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recipe is the block of the recipes' page whose first line is a mark.
func recipe(t *testing.T, language, mark string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(string(page), language) {
		if strings.HasPrefix(block, mark+"\n") {
			return block
		}
	}
	t.Fatalf("the page has no block of %s that begins with %q", language, mark)
	return ""
}

// withFigures makes a folder in which figures.csv is that of a run of two stores.
func withFigures(t *testing.T) (folder, run string) {
	t.Helper()
	folder, run = t.TempDir(), made(t, quiet(50e3))
	assay(t, "report", run, "--format", "csv", "-o", filepath.Join(folder, "figures.csv")).wants(t, 0)
	return folder, run
}

// pythonWith returns a Python that has a module, and skips the test where there is none.
func pythonWith(t *testing.T, module string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import "+module).Run()
	}
	if err != nil {
		t.Skipf("SKIPPED: no python3 here that has %s (pip install %s)", module, module)
	}
	return python
}

func recipeSays(t *testing.T, folder string, stdin string, command ...string) string {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir, c.Stdin = folder, strings.NewReader(stdin)
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return string(said)
}

func TestRecipes(t *testing.T) {
	t.Parallel()
	t.Run("duckdb", func(t *testing.T) {
		query := recipe(t, "sql", "-- duckdb")
		python := pythonWith(t, "duckdb")
		folder, _ := withFigures(t)
		said := recipeSays(t, folder, query, python, "-c", "import duckdb, json, sys; print(json.dumps(duckdb.sql(sys.stdin.read()).fetchall(), default=str))")
		var rows [][]any
		if err := json.Unmarshal([]byte(said), &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%v\n%s", err, said)
		}
		for _, row := range rows {
			rate, low, high := row[3].(float64), row[4].(float64), row[5].(float64)
			if row[2] == "" || low > rate || rate > high || rate <= 0 {
				t.Errorf("%v", row)
			}
		}
	})
	t.Run("pandas", func(t *testing.T) {
		script := recipe(t, "python", "# pandas")
		python := pythonWith(t, "pandas")
		folder, _ := withFigures(t)
		wantParts(t, "pandas", recipeSays(t, folder, script, python, "-"), "store", "still", "changed", "1.0", "0.5")
	})
	t.Run("history", func(t *testing.T) {
		query := recipe(t, "sql", "-- sqlite")
		_, run := withFigures(t)
		archive := filepath.Join(t.TempDir(), "history.sqlite")
		assay(t, "history", "add", run, "--archive", archive, "--code", "v1", "--at", "2026-11-01").wants(t, 0)
		db, err := sql.Open("sqlite", archive)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		points := 0
		for ; rows.Next(); points++ {
			var at int64
			var series string
			var value float64
			if err := rows.Scan(&at, &series, &value); err != nil || at < 1.7e9 || at > 2e9 || value <= 0 || !strings.Contains(series, " ") {
				t.Errorf("%d %q %v: %v", at, series, value, err)
			}
		}
		if err := rows.Err(); err != nil || points == 0 {
			t.Errorf("%d points, %v", points, err)
		}
	})
}

// The recipe for github-action-benchmark is JSON with names of their own.
func TestBenchmarkActionOfARun(t *testing.T) {
	t.Parallel()
	e := assay(t, "report", made(t, quiet(100e3)), "--format", "benchmark-action")
	e.wants(t, 0)
	var points []struct{ Name, Unit string }
	if err := json.Unmarshal([]byte(e.stdout), &points); err != nil || len(points) == 0 || points[0].Unit != "ops/s" {
		t.Errorf("%v\n%s", err, e.stdout)
	}
	assay(t, "report", exampleRun(), exampleRun(), "--format", "benchmark-action").wants(t, exitUsage, "takes one run directory, got 2")
}
