package archive

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/analysis/stat"
	"assay/internal/base/format"
)

func opened(t *testing.T) *Archive {
	t.Helper()
	a, err := Open(filepath.Join(t.TempDir(), "new", "history.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func entry(id int, code string, figures ...Figure) Entry {
	at := time.Date(2026, 1, 1, id, 0, 0, 0, time.UTC)
	return Entry{ID: fmt.Sprintf("%04x", id), Name: "gate", Experiment: "e1", Machine: "m1", Created: at, Code: code, CodeAt: at,
		Figures: figures, Page: []byte("<p>" + code)}
}

func rate(v float64) Figure {
	return Figure{Class: "D3", Phase: "read", Arm: "pebble", Metric: "rate", Version: "v2", Value: v}
}

func add(t *testing.T, a *Archive, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if _, err := a.Add(e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRunsOfOneExperimentAndMachineAreASeries(t *testing.T) {
	a := opened(t)
	other, elsewhere := entry(9, "x", rate(1)), entry(10, "x", rate(1))
	other.Experiment, elsewhere.Machine = "e2", "m2"
	missing := entry(3, "c") // no ranked figure
	add(t, a, entry(4, "d", rate(400)), entry(1, "a", rate(100)), missing, entry(2, "a", rate(400)), other, elsewhere)
	groups, err := a.Groups()
	if err != nil || len(groups) != 3 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	g := groups[0]
	if len(g.Runs) != 4 || len(g.Points) != 3 || len(g.Series) != 1 {
		t.Fatalf("%d runs, %d points, %d series", len(g.Runs), len(g.Points), len(g.Series))
	}
	values := g.Series[0].Values
	if math.Abs(values[0].Value-200) > 1e-9 || values[0].Runs != 2 || values[1] != nil || values[2].Value != 400 ||
		!g.Series[0].TooShort {
		t.Errorf("values %+v, too short %v", values, g.Series[0].TooShort)
	}
}

func TestRunIsReplacedAndRemoved(t *testing.T) {
	a := opened(t)
	add(t, a, entry(1, "a", rate(100)), entry(2, "b", rate(100)))
	if replaced, err := a.Add(entry(1, "c", rate(300))); !replaced || err != nil {
		t.Errorf("replaced %v, %v", replaced, err)
	}
	var page bytes.Buffer
	if err := a.WritePage(&page, "0001"); page.String() != "<p>c" || err != nil {
		t.Errorf("page %q, %v", page.String(), err)
	}
	for _, id := range []string{"", "00", "7"} {
		if err := a.Remove(id); err == nil {
			t.Errorf("%q removed a run", id)
		}
	}
	if err := a.Remove("0001"); err != nil {
		t.Error(err)
	}
	groups, err := a.Groups()
	if err != nil || len(groups) != 1 || len(groups[0].Runs) != 1 || groups[0].Runs[0].Code != "b" {
		t.Errorf("%+v, %v", groups, err)
	}
	if left, err := a.figures("0001"); len(left) != 0 || err != nil {
		t.Errorf("figures of a removed run: %v, %v", left, err)
	}
}

func TestOtherFileIsRefusedAsArchiveAndUnchanged(t *testing.T) {
	for name, c := range map[string]struct{ make, says string }{
		"another program's": {"CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)", "another program"},
		"a newer Assay's":   {fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 4", applicationID), "version 4"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(c.make); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(path)
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s file was changed", name)
		}
	}
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("notes ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(text); err == nil {
		t.Error("a text file was opened")
	}
}

// history is a group of several rates over 60 commits; a share of the noise is common to all.
func history(random *rand.Rand, series int, noise, change float64, at int) *Group {
	g := &Group{}
	for i := range 60 {
		g.Points = append(g.Points, Point{Code: fmt.Sprint(i)})
	}
	for s := range series {
		values := make([]*Value, 60)
		for i := range values {
			v := 1000 * math.Exp(noise*random.NormFloat64())
			if s == 0 && i >= at {
				v *= 1 + change
			}
			values[i] = &Value{Value: v, Runs: 1}
		}
		g.Series = append(g.Series, Series{Arm: fmt.Sprint(s), Metric: "rate", Values: values})
	}
	g.findChanges()
	return g
}

// 60 commits without a change: at most 5 % of histories report some change, however many series they
// have. Twice the standard error is allowed.
func TestHistoriesWithoutAChange(t *testing.T) {
	t.Parallel()
	const histories = 100
	for _, series := range []int{1, 8} {
		random := rand.New(rand.NewPCG(1, uint64(series)))
		wrong := 0
		for range histories {
			for _, s := range history(random, series, 0.06, 0, 60).Series {
				if len(s.Changes) > 0 {
					wrong++
					break
				}
			}
		}
		share := float64(wrong) / histories
		t.Logf("%d series: %s", series, format.Percent(share))
		if share > stat.Significance+2*math.Sqrt(0.05*0.95/histories) {
			t.Errorf("%d series: a change in %d of %d histories", series, wrong, histories)
		}
	}
}

// A fall of 5 % at commit 40 of 60, in one of 8 rates with noise of 1.5 %, is found, and at its
// commit or next to it.
func TestPlantedChangeIsFoundAtItsCommit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 3))
	const histories = 30
	found, exact := 0, 0
	for range histories {
		for _, c := range history(random, 8, 0.015, -0.05, 40).Series[0].Changes {
			if c.At >= 39 && c.At <= 41 {
				found++
			}
			if c.At == 40 {
				exact++
			}
		}
	}
	t.Logf("found in %d of %d, at the very commit in %d", found, histories, exact)
	if found < histories*9/10 || exact < histories*3/4 {
		t.Errorf("found in %d of %d, at the very commit in %d", found, histories, exact)
	}
}
