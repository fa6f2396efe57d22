package run

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// simulated is a store without a clock: when each operation of a trace begins and ends, if each thread
// does its own in turn, each takes a time, and nothing goes on in some stretches of time.
type simulated struct {
	file       *trace.File
	counters   *counters.File
	begun, end [][]uint64 // of each operation of each thread
	at         []int      // operations counted so far
	starts     [][]uint32
}

type heldUp struct{ from, to time.Duration }

// fourStops are four stops of 100 ms, none near another.
var fourStops = []heldUp{{1300 * ms, 1400 * ms}, {3100 * ms, 3200 * ms}, {5300 * ms, 5400 * ms}, {7700 * ms, 7800 * ms}}

const ms = time.Millisecond

func simulate(t *testing.T, p *experiment.Phase, threads int, service func(due time.Duration) time.Duration,
	stops []heldUp) *simulated {
	t.Helper()
	spec := trace.Spec{Mix: []trace.Share{{Operation: trace.Read, Weight: 1}}, Records: 1000, Fresh: 1000,
		Order:   trace.Order{Distribution: trace.Uniform},
		Threads: threads, Seed: 3, Rate: 1, Segments: p.Segments, EndNS: uint64(p.Duration), FromNS: uint64(p.From)}
	if p.Batch > 1 {
		spec.Mix, spec.Sizes, spec.Batch = []trace.Share{{Operation: trace.Update, Weight: 1}},
			[]trace.Size{{Bytes: 10, Weight: 1}}, p.Batch
	}
	file, err := trace.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := &simulated{file: file, at: make([]int, threads)}
	if s.counters, err = counters.Create(filepath.Join(t.TempDir(), "counters"), file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.counters.Unmap() })
	for i := range file.Threads {
		var begun, end []uint64
		var last time.Duration
		starts := startsOf(&file.Threads[i])
		for _, start := range starts {
			due := time.Duration(file.Threads[i].Due[start])
			from := max(due, last)
			for _, stop := range stops {
				if from >= stop.from && from < stop.to {
					from = stop.to
				}
			}
			last = from + service(due)
			begun, end = append(begun, uint64(from)), append(end, uint64(last))
		}
		s.begun, s.end, s.starts = append(s.begun, begun), append(s.end, end), append(s.starts, starts)
	}
	return s
}

// countUntil counts what is done so long after the phase began, as a worker does.
func (s *simulated) countUntil(at time.Duration) {
	for i := range s.file.Threads {
		t, head := &s.file.Threads[i], s.counters.Thread(i)
		entries := func(operation int) uint64 {
			if operation < len(s.starts[i]) {
				return uint64(s.starts[i][operation])
			}
			return uint64(len(t.Entries))
		}
		for s.at[i] < len(s.end[i]) && s.end[i][s.at[i]] <= uint64(at) {
			k := s.at[i]
			s.counters.Response(i, 0)[histogram.Bucket(s.end[i][k]-t.Due[s.starts[i][k]])]++
			s.at[i]++
		}
		atomic.StoreUint64(&head.Acknowledged, entries(s.at[i]))
		begun := s.at[i]
		if begun < len(s.begun[i]) && s.begun[i][begun] <= uint64(at) {
			begun++
		}
		atomic.StoreUint64(&head.Attempted, entries(begun))
	}
}

// follow lets a part be followed to its end, with looks that come up to 4 ms late.
func (s *simulated) follow(p *experiment.Phase) []record.Interval {
	o := newOverTime(p, s.file, func(int) bool { return true })
	late := rand.New(rand.NewPCG(1, 2))
	for {
		at, wanted := o.wanted()
		if !wanted || at >= p.From+p.Duration {
			break
		}
		at += time.Duration(late.Int64N(int64(4 * ms)))
		s.countUntil(at)
		o.look(int64(at), s.counters)
	}
	end := p.From + p.Duration
	s.countUntil(end)
	o.look(int64(end), s.counters)
	return o.result(int64(end))
}

// due lists the response times of what was due in a stretch and ended in the phase.
func (s *simulated) due(from, to, end time.Duration) (all []float64, asked uint64) {
	for i := range s.file.Threads {
		for k, start := range s.starts[i] {
			due := s.file.Threads[i].Due[start]
			if due < uint64(from) || due >= uint64(to) {
				continue
			}
			if asked++; s.end[i][k] <= uint64(end) {
				all = append(all, float64(s.end[i][k]-due))
			}
		}
	}
	slices.Sort(all)
	return all, asked
}

var phasesOverTime = map[string]*experiment.Phase{
	"ramp": {Duration: 10 * time.Second, Segments: []trace.Segment{{Form: trace.FormRamp, From: 500, To: 8000, Duration: 5 * time.Second},
		{Form: trace.FormRamp, From: 8000, To: 500, Duration: 5 * time.Second}}},
	"bursts": {Duration: 10 * time.Second, Segments: []trace.Segment{{Form: trace.FormBurst, From: 1000, To: 30_000, Every: 2 * time.Second, Length: 200 * ms, Duration: 10 * time.Second}}},
	"sine":   {Duration: 10 * time.Second, Segments: []trace.Segment{{Form: trace.FormSine, From: 1000, To: 9000, Every: 4 * time.Second, Duration: 10 * time.Second}}},
	"steps": {Duration: 10 * time.Second, From: time.Second, Segments: []trace.Segment{{Form: trace.FormStep, To: 3000, Duration: 3 * time.Second},
		{Form: trace.FormStep, To: 100, Duration: 3 * time.Second}, {Form: trace.FormStep, To: 6000,
			Duration: 4 * time.Second}}},
	"batches": {Duration: 10 * time.Second, Batch: 10, Segments: []trace.Segment{{Form: trace.FormRamp, From: 500, To: 2000, Duration: 10 * time.Second}}},
}

// A store that four stops of 100 ms hold up: the p99 of each stretch is what arithmetic says, within
// 5 %, and every operation is of the stretch in which it was due.
func TestIntervalsOfARateOverTime(t *testing.T) {
	for name, p := range phasesOverTime {
		for _, threads := range []int{4, 70} {
			t.Run(fmt.Sprint(name, " ", threads), func(t *testing.T) {
				s := simulate(t, p, threads, func(time.Duration) time.Duration { return 50 * time.Microsecond },
					fourStops)
				intervals := s.follow(p)
				var all uint64
				for k, stretch := range experiment.Stretches(p.Segments) {
					truth, asked := s.due(p.From+stretch.From, p.From+stretch.To, p.From+p.Duration)
					sum, sumAsked := histogram.New(), uint64(0)
					for _, i := range intervals {
						if i.Stretch == k {
							sum.Add(i.Response)
							sumAsked += i.Asked
						}
					}
					all += sum.Count()
					var never uint64
					for _, i := range intervals {
						if i.Stretch == k {
							never += i.Never
						}
					}
					if never != asked-uint64(len(truth)) {
						t.Errorf("%s to %s: %d operations never ended, truth %d", stretch.From, stretch.To, never, asked-uint64(len(truth)))
					}
					if sumAsked != asked {
						t.Errorf("%s to %s: %d operations asked for, %d are due", stretch.From, stretch.To, sumAsked, asked)
					}
					if off := math.Abs(float64(sum.Count()) - float64(len(truth))); off > 1+0.02*float64(len(truth)) {
						t.Errorf("%s to %s: %d operations, truth %d", stretch.From, stretch.To, sum.Count(), len(truth))
					}
					want := truth[int(math.Ceil(0.99*float64(len(truth))))-1]
					if got := sum.Quantile(0.99); math.Abs(got/want-1) > 0.05 {
						t.Errorf("%s to %s: p99 is %.3f ms, arithmetic says %.3f ms", stretch.From, stretch.To, got/1e6, want/1e6)
					}
				}
				ended := uint64(0)
				for i := range s.at {
					ended += uint64(s.at[i])
				}
				if all != ended {
					t.Errorf("%d response times in all intervals, %d operations ended", all, ended)
				}
			})
		}
	}
}

// Above what a store can do, its backlog grows by the difference, and shrinks below: known at each
// interval's end.
func TestIntervalsCountTheBacklog(t *testing.T) {
	p := &experiment.Phase{Duration: 9 * time.Second, Segments: []trace.Segment{{Form: trace.FormStep, To: 1000,
		Duration: 3 * time.Second},
		{Form: trace.FormStep, To: 6000, Duration: 2 * time.Second}, {Form: trace.FormStep, To: 1000,
			Duration: 4 * time.Second}}}
	s := simulate(t, p, 4, func(time.Duration) time.Duration { return ms }, nil) // 4,000 a second
	var ended uint64
	for _, i := range s.follow(p) {
		at := float64(i.ToNS) / 1e9
		want := 0.0
		switch {
		case at > 3 && at <= 5:
			want = 2000 * (at - 3)
		case at > 5:
			want = max(4000-3000*(at-5), 0)
		}
		if math.Abs(float64(i.Backlog)-want) > 60 {
			t.Errorf("at %.2f s the backlog is %d, expected about %.0f", at, i.Backlog, want)
		}
		// What is first in the queue was due when as many were due as have begun.
		if seconds := want / 6000; at > 3 && at <= 5 && math.Abs(float64(i.BehindNS)/1e9-seconds) > 0.06 {
			t.Errorf("at %.2f s it is %.3f s behind, expected about %.3f s", at, float64(i.BehindNS)/1e9, seconds)
		}
		ended += i.Ended
	}
	if want := uint64(3000 + 12_000 + 4000); ended < want-8 || ended > want {
		t.Errorf("%d operations ended, expected %d", ended, want)
	}
}

func TestIntervalsOfAPhaseThatEndsBefore(t *testing.T) {
	p := phasesOverTime["ramp"]
	s := simulate(t, p, 4, func(time.Duration) time.Duration { return 50 * time.Microsecond }, nil)
	o := newOverTime(p, s.file, func(int) bool { return true })
	end := 2200 * ms
	s.countUntil(end)
	o.look(int64(end), s.counters)
	intervals := o.result(int64(end))
	last := intervals[len(intervals)-1]
	if last.ToNS != int64(end) {
		t.Errorf("the last interval ends at %d ns", last.ToNS)
	}
	var asked uint64
	for _, i := range intervals {
		asked += i.Asked
	}
	if _, want := s.due(0, end, end); asked != want {
		t.Errorf("%d operations were asked for by then, expected %d", asked, want)
	}
	if o := newOverTime(&experiment.Phase{Rate: 5}, s.file, nil); o != nil || o.result(5) != nil {
		t.Error("a rate that does not change has intervals")
	}
}

// What was counted at a look past the part's end, by the worker's clock, still counts in an interval.
func TestIntervalsOfAPhaseThatEndsBeforeItsLastLook(t *testing.T) {
	p := phasesOverTime["ramp"]
	s := simulate(t, p, 4, func(time.Duration) time.Duration { return 50 * time.Microsecond }, nil)
	o := newOverTime(p, s.file, func(int) bool { return true })
	boundary := time.Duration(o.intervals[2].FromNS)
	for _, at := range []time.Duration{boundary - 20*ms, boundary + 20*ms} {
		s.countUntil(at)
		o.look(int64(at), s.counters)
	}
	var done, ended, timed uint64
	for i := range s.file.Threads {
		done += s.counters.Thread(i).Acknowledged
	}
	for _, interval := range o.result(int64(boundary - ms)) {
		ended, timed = ended+interval.Ended, timed+interval.Response.Count()
	}
	if done == 0 || ended != done || timed != done {
		t.Errorf("%d operations are done, %d ended in intervals and %d are timed there", done, ended, timed)
	}
}

// Of threads that come and go nothing is due: what ended between two looks is of the step that ends
// then.
func TestIntervalsOfThreadsThatComeAndGo(t *testing.T) {
	p := &experiment.Phase{Duration: 4 * time.Second, Threads: 2, Staircase: []experiment.ThreadStep{{Threads: 1,
		Duration: 2 * time.Second}, {Threads: 2, Duration: 2 * time.Second}}}
	file, err := trace.Generate(trace.Spec{Mix: []trace.Share{{Operation: trace.Read, Weight: 1}}, Records: 1000,
		Fresh: 1000, ThreadEntries: 100,
		Order: trace.Order{Distribution: trace.Uniform}, Threads: 2, Spans: experiment.Spans(p.Staircase, false)})
	if err != nil {
		t.Fatal(err)
	}
	if from := file.Threads[1].FromNS; from != 2e9 {
		t.Errorf("the second thread begins at %d ns", from)
	}
	c, err := counters.Create(filepath.Join(t.TempDir(), "counters"), file)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Unmap()
	o := newOverTime(p, file, func(int) bool { return true })
	for {
		at, wanted := o.wanted()
		if !wanted {
			break
		}
		for i := range file.Threads { // each operation takes a millisecond, of the second thread two
			each := time.Duration(i+1) * ms
			done := uint64(max(at-time.Duration(file.Threads[i].FromNS), 0) / each)
			c.Slot(i, 0).Service[histogram.Bucket(uint64(each))] = done
			atomic.StoreUint64(&c.Thread(i).Acknowledged, done)
			atomic.StoreUint64(&c.Thread(i).Attempted, done)
		}
		o.look(int64(at), c)
	}
	var ended [2]uint64
	slowest := [2]*histogram.Histogram{histogram.New(), histogram.New()}
	for _, i := range o.result(int64(p.Duration)) {
		ended[i.Stretch] += i.Ended
		slowest[i.Stretch].Add(i.Response)
		if i.Asked+i.Backlog+i.Never > 0 {
			t.Errorf("something was due: %+v", i)
		}
	}
	if ended != [2]uint64{2000, 3000} || slowest[0].Quantile(1) > 1.1e6 || slowest[1].Quantile(1) < 1.9e6 ||
		slowest[1].Count() != 3000 {
		t.Errorf("%d ended, longest %.0f and %.0f ns", ended, slowest[0].Quantile(1), slowest[1].Quantile(1))
	}
}
