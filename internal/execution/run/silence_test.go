package run

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/testkit/drivertest"
)

const silentText = `name: silent
stores: [{driver: memcached, worker: WORKER, endpoints: ['ENDPOINT'], options: {operation_timeout: 4s}}]
durability: D0
threads: 2
records: 5000
blocks: 1
repeats: 0
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - {name: get, mix: {read: 1}, operations: 500}
step_timeout: 20s
`

// A server that answers no more, from some request on or each second time, costs a bounded time, and
// the report says what was not read. 5,000 time-outs of 4 s would be three hours on two threads.
//
// Fault (servers): a server stops answering in a load, the final check, or a phase that goes by
// operations; or leaves each third request unanswered
// Assay: given up after three failures in a row of each thread and 10 s without an answer, or once
// time-outs took `step_timeout`. A load fails (`load-unanswered`); the final check has `not_read`
// With: run.TestSilence
func TestSilentServerIsGivenUp(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		silent func(sets, gets int64) bool // at a request
		load   bool                        // it is the load that is given up
	}{
		{"in the load", func(sets, _ int64) bool { return sets > 1000 }, true},
		{"at each second record of the load", func(sets, gets int64) bool { return gets == 0 && sets%2 == 0 }, true},
		{"in the final check", func(_, gets int64) bool { return gets > 500+1000 }, false},
		{"at the first read of the final check", func(_, gets int64) bool { return gets > 500 }, false},
		{"at each third read of the final check", func(_, gets int64) bool { return gets > 500 && gets%3 == 0 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := drivertest.StartStandIn(t)
			var sets, gets atomic.Int64
			s.SetLie(func(request string, _ io.Writer) bool {
				switch {
				case strings.HasPrefix(request, "set "):
					return c.silent(sets.Add(1), gets.Load())
				case strings.HasPrefix(request, "get"):
					return c.silent(sets.Load(), gets.Add(1))
				}
				return false
			})
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runIn(strings.NewReplacer("WORKER", own(), "ENDPOINT", s.Endpoint).Replace(silentText), directory, ""); err != nil {
				t.Fatal(err)
			}
			trial, _ := readable(t, directory, "memcached")
			if asked := sets.Load() + gets.Load(); asked > 8500 {
				t.Errorf("it was asked %d times", asked)
			}
			if c.load {
				if len(trial.Phases) == 0 {
					t.Fatalf("%s: %s", trial.State, trial.Error)
				}
				last := trial.Phases[len(trial.Phases)-1]
				if trial.State != record.Failed || trial.Cause != finding.CauseSilent ||
					last.EndedBy != record.EndedUnanswered {
					t.Errorf("%s, %s: %s; ended by %q", trial.State, trial.Cause, trial.Error, last.EndedBy)
				}
				return
			}
			f := trial.Final
			if f == nil || f.NotRead == 0 || f.Records+f.NotRead != 5000 || f.Right+f.Errors != f.Records ||
				f.Lost > 0 {
				t.Fatalf("%s: %+v", trial.Error, f)
			}
			said := ""
			for _, m := range trial.Marks {
				said += finding.Text(m.Message) + "\n"
			}
			if want := fmt.Sprintf("%d of 5,000 records could not be read back at the end", f.Errors); !strings.Contains(said, want) {
				t.Errorf("marks do not say %q:\n%s", want, said)
			}
			t.Logf("%+v\n%s", f, said)
		})
	}
}

// A store that is slow, fails now and then, or pauses for a while is not given up.
func TestSilence(t *testing.T) {
	const threads = 4
	var s silence
	at := func(second int) time.Time { return time.Unix(1e9+int64(second), 0) }
	totals := func(ok, errors, timeouts uint64) []counters.Total {
		return []counters.Total{{Outcomes: [counters.Outcomes]uint64{counters.OK: ok, counters.Error: errors,
			counters.Timeout: timeouts}, ServiceMaxNS: 1e9}}
	}
	for _, c := range []struct {
		second               int
		ok, errors, timeouts uint64
		given                bool
	}{
		{0, 0, 0, 0, false},
		{30, 0, 0, 0, false},        // nothing failed: whether it hangs is not asked here
		{31, 10, 100_000, 0, false}, // failures between answers
		{40, 10, 100_000, 11, false},
		{40, 10, 100_000, 12, false}, // 9 s
		{41, 10, 100_000, 12, true},
		{42, 11, 100_000, 13, false},       // it answers again
		{43, 1e6, 100_000, 4 * 60, false},  // time-outs took a minute
		{44, 2e6, 100_000, 4*60 + 1, true}, // and more
	} {
		if got := s.look(totals(c.ok, c.errors, c.timeouts), threads, time.Minute, at(c.second)); (got != "") != c.given {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
