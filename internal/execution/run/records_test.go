package run

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/testkit/misbehave"
	"assay/store"
)

// table is a small experiment on records with columns.
func table(driver, durability string) string {
	return strings.NewReplacer("DRIVER", driver, "CLASS", durability, "WORKER", own()).Replace(`name: table
stores: [{driver: DRIVER, worker: WORKER}]
records: 200
keys: {format: decimal, suffix: asdf}
values:
  columns:
    - {name: title, value: "title {i}"}
    - {name: tens, value: "{i/10}", type: integer}
    - {name: v, proof: 60}
    - {name: number, value: "{i/1%150*3+5}", type: integer}
  indexes: [tens]
  queries:
    both: {where: {tens: equal, title: {prefix: 7}}, limit: 20}
    one_of: {any: [{tens: equal, title: has}, {number: {range: 30}}], sort: number desc, limit: 5}
    newest: {sort: number desc, limit: 3, columns: [number, title]}
threads: 2
durability: CLASS
phases:
  - {name: load, load: true, batch: 20}
  - {name: overwrite, mix: {update: 1, read: 1}, order: shuffled, operations: 400}
  - {name: insert, mix: {insert: 1}, operations: 100}
  - {name: find, mix: {query: 3, count: 1}, query: {column: tens, limit: 7}, operations: 200}
  - {name: ask, mix: {"query:both": 2, "query:one_of": 2, "query:newest": 1, "count:one_of": 1}, operations: 3000}
  - {name: ask-beside, mix: {insert: 1, "query:both": 2, "query:one_of": 2, "query:newest": 1}, operations: 400}
blocks: 1
busy_machine: tell
step_timeout: 300s
`)
}

func runTable(t *testing.T, driver, durability string) *record.Trial {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(context.Background(), table(driver, durability), directory); err != nil {
		t.Fatal(err)
	}
	return trialOf(t, directory, driver)
}

// The null driver's answers, which no record explains, are not taken for wrong ones.
func TestQueriesOfTheNullDriverAreNotWrong(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runTextWith(context.Background(), table("memory", "D0"), directory, allTrials); err != nil {
		t.Fatal(err)
	}
	for _, m := range trialOf(t, directory, experiment.NullDriver).Marks {
		if m.Code == finding.MarkWrong {
			t.Error(finding.Text(m.Message))
		}
	}
}

func TestRecordsWithColumnsAreFoundAndChecked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, durability := range map[string]string{"memory": "D0", "sqlite": "D3"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runTable(t, driver, durability)
			if trial.Error != "" || len(codes(trial)) > 0 {
				t.Fatalf("error %q, marks %v", trial.Error, trial.Marks)
			}
			if len(trial.Phases) != 6 || trial.Final == nil || trial.Final.Right < 300 {
				t.Fatalf("%d phases, final check %+v", len(trial.Phases), trial.Final)
			}
			for _, o := range slices.Concat(trial.Phases[3].Operations, trial.Phases[4].Operations,
				trial.Phases[5].Operations) {
				if o.Name != "insert" && o.Items == 0 || o.Done() == 0 {
					t.Errorf("%+v found nothing", o)
				}
			}
			// The queries stand in the order of their names, and the phase's own behind them.
			none, finds := store.IndexNone, store.IndexFinds
			uses := map[string]store.IndexUse{"query 0": finds, "query 1": none, "query 2": none, "count 2": none, "query 3": finds, "count 3": finds}
			told := map[string]store.IndexUse{}
			for _, p := range trial.Plans {
				told[fmt.Sprint(p.Operation, " ", p.Position)] = p.Use
				if p.Why != "" || p.Plan == "" || (p.Index != "") != (p.Use == finds) {
					t.Errorf("%+v", p)
				}
			}
			if !maps.Equal(told, uses) || len(trial.Plans) != len(uses) {
				t.Errorf("told %v, expected %v", told, uses)
			}
			// 300 records of key, four lengths of 2 bytes, title, tens, number and 60 bytes of proof.
			want := 0
			for i := range 300 {
				want += len(fmt.Sprintf("%dasdf", i)) + len(fmt.Sprintf("..title %d", i)) + len(fmt.Sprintf("..%d", i/10)) + 2 + 60 + len(fmt.Sprintf("..%d", i%150*3+5))
			}
			if logical := trial.Phases[2].Sizes.LogicalBytes; logical == nil || *logical != uint64(want) {
				t.Errorf("%v logical bytes, counted %d", logical, want)
			}
		})
	}
}

// A store that can't say it, and one that fails to, lose nothing by it.
func TestUnknownPlansAreRecordedAsUnknown(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial := runTable(t, "silent-explain", "D1")
	if trial.Error != "" || len(codes(trial)) > 0 || len(trial.Plans) == 0 {
		t.Fatalf("error %q, marks %v, plans %v", trial.Error, trial.Marks, trial.Plans)
	}
	for _, p := range trial.Plans {
		if p.Use != store.IndexUntold || p.Why == "" {
			t.Errorf("%+v", p)
		}
	}
}

func TestStoreThatLosesColumnsIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, mark := range map[string]string{
		"lies-column-lost": string(finding.FaultWrong), "lies-column-swapped": string(finding.FaultWrong), "lies-index-twice": string(finding.FaultWrong), "lies-query-limit": string(finding.FaultWrong),
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runTable(t, driver, "D1")
			if !slices.Contains(codes(trial), mark) {
				t.Errorf("state %s, error %q, marks %v: want %s", trial.State, trial.Error, trial.Marks, mark)
			}
		})
	}
}

// What the conductor computes is what a store that drops one record in a thousand, passes over a
// condition, or gives others than the first of an order, does not give.
func TestStoreThatAnswersQueriesWronglyIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, c := range map[string]struct {
		mark     finding.Code // "": answers are counted as wrong
		question string       // "": any: which of them meets the record that is dropped is chance
	}{
		"lies-query-most": {finding.MarkItems, ""}, "lies-query-any": {finding.MarkOrder, "query:one_of"},
		"lies-query-sorted": {finding.MarkOrder, "query:one_of"}, "lies-query-order": {}, "lies-query-first": {}, "lies-query-columns": {},
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runTable(t, driver, "D1")
			where := finding.Params{"operation": c.question}
			if c.question == "" {
				where = nil
			}
			if c.mark == "" && !slices.Contains(codes(trial), string(finding.FaultWrong)) || c.mark != "" && !hasMark(trial, c.mark, where) {
				t.Errorf("state %s, error %q, marks %v: want %s", trial.State, trial.Error, trial.Marks, c.mark)
			}
		})
	}
}

// A wrong or slow answer to one query counts for that query alone.
func TestEachQueryIsCountedAlone(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	const both, newest, oneOf = 0, 1, 2 // named queries stand in the order of their names
	asked := func(trial *record.Trial, query int) record.Question {
		for _, o := range trial.Phases[4].Operations {
			at := slices.IndexFunc(o.Questions, func(q record.Question) bool { return q.Query == query })
			if o.Name == "query" && at >= 0 {
				return o.Questions[at]
			}
		}
		t.Fatalf("no query %d among %+v", query, trial.Phases[4].Operations)
		return record.Question{}
	}
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		trial := runTable(t, misbehave.SlowSorts, "D1")
		if trial.Error != "" || len(codes(trial)) > 0 {
			t.Fatalf("error %q, marks %v", trial.Error, trial.Marks)
		}
		for query, slow := range map[int]bool{both: false, newest: true, oneOf: true} {
			q := asked(trial, query)
			if q.OK == 0 || q.Service.Count() != q.Done() || q.ItemsOwed == nil || *q.ItemsOwed != q.Items {
				t.Errorf("query %d: %d answers, %d times, %d records of %v", query, q.OK, q.Service.Count(), q.Items, q.ItemsOwed)
			}
			// A busy machine makes the others slow too, but never all of them.
			if fastest := q.Service.Quantile(1e-9); slow != (fastest >= float64(misbehave.SortingTakes)*0.99) {
				t.Errorf("query %d: the fastest answer took %v", query, time.Duration(fastest))
			}
		}
	})
	t.Run("wrong", func(t *testing.T) {
		t.Parallel()
		trial := runTable(t, "lies-query-order", "D1")
		if q := asked(trial, oneOf); q.Wrong == 0 {
			t.Errorf("no answer in an order is wrong: %+v", q)
		}
		if q := asked(trial, both); q.OK == 0 || q.OK != q.Done() {
			t.Errorf("%d of %d answers without an order are right", q.OK, q.Done())
		}
	})
}
