package facts_test

import (
	"math"
	"testing"
	"time"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
)

const ms = time.Millisecond

// overTime makes a clean run of which the phase put changes its rate, and returns what is known of an
// arm.
func overTime(t *testing.T, segments []trace.Segment, queue recordtest.Queue) (*facts.OverTime, *record.Run) {
	t.Helper()
	shape := resulttest.Clean()
	shape.Blocks = 3
	run := resulttest.Built(shape)
	recordtest.OverTime(run, "put", segments, func(string) recordtest.Queue { return queue })
	tables, _ := detect.Judge(run)
	for _, table := range tables {
		if table.Phase == "put" {
			return table.Row(plan.Measured, "oak").OverTime, run
		}
	}
	t.Fatal("no table")
	return nil, nil
}

func constant(d time.Duration) func(time.Duration, float64) time.Duration {
	return func(time.Duration, float64) time.Duration { return d }
}

// Through four stops of 100 ms, the 99th percentile of a stretch is what the operations that were due
// in it say, within 5 %: a share of them waited up to 100 ms.
func TestPercentilesOfStretches(t *testing.T) {
	stops := []time.Duration{1300 * ms, 2950 * ms, 5300 * ms, 7700 * ms}
	for name, segments := range map[string][]trace.Segment{
		"ramps":  {{Form: trace.FormRamp, From: 500, To: 8000, Duration: 5 * time.Second}, {Form: trace.FormRamp, From: 8000, To: 500, Duration: 5 * time.Second}},
		"bursts": {{Form: trace.FormBurst, From: 1000, To: 9000, Every: 2 * time.Second, Length: 200 * ms, Duration: 10 * time.Second}},
		"sine":   {{Form: trace.FormSine, From: 1000, To: 9000, Every: 4 * time.Second, Duration: 10 * time.Second}},
	} {
		o, _ := overTime(t, segments, recordtest.Queue{Threads: 4, Service: constant(50 * time.Microsecond),
			Stops: stops})
		for _, s := range o.Stretches {
			want := arithmetic(t, segments, s, stops)
			got := s.At(0.99)
			if got == nil || math.Abs(*got/want-1) > 0.05 {
				t.Errorf("%s, segment %d, burst %v: p99 of %+v, arithmetic says %.0f ns", name, s.Segment, s.Burst, s.Points, want)
			}
		}
	}
}

// arithmetic is the 99th percentile of how long operations wait that are due while the store is
// stopped, those that are not waiting for nothing; the rate is the integral's.
func arithmetic(t *testing.T, segments []trace.Segment, s facts.Stretch, stops []time.Duration) float64 {
	t.Helper()
	load, err := trace.NewLoad(segments)
	if err != nil {
		t.Fatal(err)
	}
	waits := histogram.New()
	all := 0.0
	for _, stretch := range stretchesOf(segments) {
		if stretch.segment != s.Segment || stretch.burst != s.Burst {
			continue
		}
		all += load.Until(stretch.to) - load.Until(stretch.from)
		for _, stop := range stops {
			for at := stop; at < stop+recordtest.StopLength; at += 10 * time.Microsecond {
				if at >= stretch.from && at < stretch.to {
					waits.Counts[histogram.Bucket(uint64(stop+recordtest.StopLength-at))] += uint64(1e6 *
						(load.Until(at+10*time.Microsecond) - load.Until(at)))
				}
			}
		}
	}
	waiting := float64(waits.Count()) / 1e6
	if waiting < 0.01*all {
		return 50_000 // of the service
	}
	return waits.Quantile(1-0.01*all/waiting) + 50_000
}

type stretch struct {
	segment  int
	burst    bool
	from, to time.Duration
}

func stretchesOf(segments []trace.Segment) (all []stretch) {
	var at time.Duration
	for i := range segments {
		if segments[i].Form == trace.FormBurst {
			trace.EachBurst(&segments[i], func(from, to time.Duration, burst bool) {
				all = append(all, stretch{i, burst, at + from, at + to})
			})
		} else {
			all = append(all, stretch{i, false, at, at + segments[i].Duration})
		}
		at += segments[i].Duration
	}
	return all
}

// A store that answers late only above a rate is found at that rate, up and down; one that does not
// is not.
func TestRateAboveWhichAnswersAreLate(t *testing.T) {
	ramp := []trace.Segment{{Form: trace.FormRamp, From: 1000, To: 20_000, Duration: 10 * time.Second}}
	slowAbove := func(limit float64) func(time.Duration, float64) time.Duration {
		return func(_ time.Duration, rate float64) time.Duration {
			if rate > limit {
				return 12 * ms
			}
			return 100 * time.Microsecond
		}
	}
	for _, limit := range []float64{6000, 14_000} {
		o, _ := overTime(t, ramp, recordtest.Queue{Threads: 400, Service: slowAbove(limit)})
		if o.Rises == nil || math.Abs(o.Rises.Rate/limit-1) > 0.02 {
			t.Errorf("late above %v/s: found %+v", limit, o.Rises)
		}
		if r := o.Rises; r != nil && (r.BelowNS > 3e6 || r.AboveNS < 10e6 || r.Blocks != 3) {
			t.Errorf("late above %v/s: %+v", limit, r)
		}
	}
	steps := []trace.Segment{}
	for i := range 10 {
		steps = append(steps, trace.Segment{Form: trace.FormStep, To: 1000 * float64(1+i), Duration: time.Second})
	}
	o, _ := overTime(t, steps, recordtest.Queue{Threads: 200, Service: slowAbove(7500)})
	if o.Rises == nil || o.Rises.Rate < 7000 || o.Rises.Rate > 8000 {
		t.Errorf("of steps: %+v", o.Rises)
	}
	// A queue that is full answers late above what it can do: 8,000 a second.
	o, _ = overTime(t, ramp, recordtest.Queue{Threads: 8, Service: constant(ms)})
	if o.Rises == nil || math.Abs(o.Rises.Rate/8000-1) > 0.15 {
		t.Errorf("a full queue: %+v", o.Rises)
	}
	o, _ = overTime(t, ramp, recordtest.Queue{Threads: 8, Service: constant(50 * time.Microsecond),
		Stops: []time.Duration{2 * time.Second, 7 * time.Second}})
	if o.Rises != nil {
		t.Errorf("a store that stops twice answers late at any rate: %+v", o.Rises)
	}
}

// 8,000 a second are done. A burst of 20,000 for a second leaves 12,000, which drain at 6,000 a second:
// two seconds.
func TestRecoveryFromABurst(t *testing.T) {
	segments := []trace.Segment{{Form: trace.FormBurst, From: 2000, To: 20_000, Every: 10 * time.Second,
		Length: time.Second, Duration: 20 * time.Second}}
	o, run := overTime(t, segments, recordtest.Queue{Threads: 8, Service: constant(ms)})
	burst := o.Stretches[1]
	if !burst.Burst || burst.Times != 2 || burst.RecoveryS == nil || math.Abs(*burst.RecoveryS-2) > 0.25 {
		t.Errorf("bursts: %+v", burst)
	}
	if math.Abs(burst.Backlog-12_000) > 300 || math.Abs(burst.Asked-20_000) > 50 || math.Abs(burst.Begun-8000) > 100 {
		t.Errorf("a burst asks for %.0f, begins %.0f and leaves %.0f", burst.Asked, burst.Begun, burst.Backlog)
	}
	if o.NotBegun > 0 || o.BehindS > 0 {
		t.Errorf("behind by %v s at the end", o.BehindS)
	}
	for _, trial := range run.Trials {
		for i := range trial.Phases {
			if p := &trial.Phases[i]; len(p.Intervals) > 0 {
				carried := facts.CarriedOver(p, experiment.Phase{Segments: segments})
				for k, interval := range p.Intervals {
					at := float64(interval.FromNS) / 1e9
					if drains := at > 5.5+0.2 && at < 5.5+1.8; drains && !carried[k] || at < 4.4 && carried[k] {
						t.Fatalf("at %v s the rate before counts: %v", at, carried[k])
					}
				}
			}
		}
	}
}

func TestUndrainedBacklog(t *testing.T) {
	segments := []trace.Segment{{Form: trace.FormRamp, From: 1000, To: 15_000, Duration: 10 * time.Second}}
	o, _ := overTime(t, segments, recordtest.Queue{Threads: 8, Service: constant(ms)})
	// Above 8,000, from 5 s on, the rate is 1,400 a second larger each second: 17,500 are left.
	if math.Abs(float64(o.NotBegun)-17_500) > 300 || math.Abs(o.BehindS-1.3) > 0.3 {
		t.Errorf("at the end %d were not begun, %.2f s behind", o.NotBegun, o.BehindS)
	}
	last := o.Stretches[0]
	if len(last.Refused) == 0 || last.At(0.99) != nil {
		t.Errorf("a percentile of a stretch of which not all ended: %+v", last.Latencies)
	}
}

// What the experiment asked for is nothing that a store did.
func TestOrderedChangeIsNoFinding(t *testing.T) {
	segments := []trace.Segment{{Form: trace.FormStep, To: 5000, Duration: 30 * time.Second}, {Form: trace.FormStep,
		To: 1000, Duration: 30 * time.Second}}
	_, run := overTime(t, segments, recordtest.Queue{Threads: 8, Service: constant(50 * time.Microsecond)})
	r := resulttest.ResultOf(t, run)
	for _, f := range r.Findings {
		switch f.Code {
		case "rate-step", "rate-declined", "rate-drops", "rate-oscillates", "rate-unknown", "fell-behind":
			t.Errorf("%s: %+v", f.Code, f.Params)
		}
	}
	for _, table := range r.Tables {
		if table.Phase != "put" {
			continue
		}
		for _, row := range table.Rows {
			if row.Course.Kind != "" {
				t.Errorf("%s: the rate is %s", row.Arm, row.Course.Kind)
			}
		}
	}
}
