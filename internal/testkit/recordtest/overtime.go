package recordtest

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// Queue is a store as a queue: threads that each do one operation after the other.
type Queue struct {
	Threads int
	// Service is how long an operation takes that is due at a moment, at which so many operations a second
	// are asked for.
	Service func(at time.Duration, rate float64) time.Duration
	// Stops are when nothing goes on, for 100 ms each.
	Stops []time.Duration
}

// StopLength is how long each of a queue's stops is.
const StopLength = 100 * time.Millisecond

// OverTime makes a phase of each trial of a run one whose rate changes over time, and its arms queues.
func OverTime(run *record.Run, name string, segments []trace.Segment, queueOf func(arm string) Queue) {
	load, err := trace.NewLoad(segments)
	if err != nil {
		panic(err) // of the test
	}
	at := slices.IndexFunc(run.Experiment.Phases, func(p experiment.Phase) bool { return p.Name == name })
	asked := &run.Experiment.Phases[at]
	asked.Segments, asked.Duration, asked.Rate, asked.Arrivals = segments, load.Ends(), load.Total()/load.Ends().
		Seconds(), trace.Poisson
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil {
			continue
		}
		for i := range t.Phases {
			if p := &t.Phases[i]; p.Name == name {
				samples := queueOf(planned.Arm).play(p, segments, load, uint64(planned.Block))
				kept := slices.DeleteFunc(slices.Clone(run.InMemory[planned.ID]),
					func(s record.Sample) bool { return s.Phase == name })
				run.InMemory[planned.ID] = append(kept, samples...)
			}
		}
	}
}

// play does the phase, and returns its samples.
func (q Queue) play(p *record.Phase, segments []trace.Segment, load *trace.Load,
	seed uint64) (samples []record.Sample) {
	file, err := trace.Generate(trace.Spec{Mix: []trace.Share{{Operation: trace.Read, Weight: 1}}, Records: 1000,
		Fresh: 1000,
		Order: trace.Order{Distribution: trace.Uniform}, Threads: q.Threads, Seed: seed, Rate: 1, Segments: segments})
	if err != nil {
		panic(fmt.Errorf("recordtest: %w", err))
	}
	end := load.Ends()
	planned := experiment.Intervals(segments)
	p.Open, p.Threads, p.ElapsedNS, p.Late, p.NotBegun, p.BehindNS, p.Attempted =
		true, q.Threads, int64(end), make([]uint64, counters.LatenessWords), 0, 0, 0
	p.Intervals = nil
	for _, i := range planned {
		p.Intervals = append(p.Intervals, record.Interval{Stretch: i.Stretch, FromNS: int64(i.From),
			ToNS: int64(i.To), Response: histogram.New()})
	}
	number := func(ns time.Duration) int {
		k, _ := slices.BinarySearchFunc(planned, ns+1, func(i experiment.Interval, ns time.Duration) int {
			return int(i.To - ns)
		})
		return min(k, len(planned)-1)
	}
	in := func(ns time.Duration) *record.Interval { return &p.Intervals[number(ns)] }
	for s := range int(end.Seconds()) {
		samples = append(samples, record.Sample{Phase: p.Name, At: float64(s + 1), Seconds: 1})
	}
	response := histogram.New()
	for i := range file.Threads {
		var last time.Duration
		for _, word := range file.Threads[i].Due {
			due := time.Duration(word)
			at := in(due)
			at.Asked++
			begin := max(due, last)
			for _, stop := range q.Stops {
				if begin >= stop && begin < stop+StopLength {
					begin = stop + StopLength
				}
			}
			for k := number(due); k < len(planned) && begin >= planned[k].To; k++ {
				p.Intervals[k].Backlog++
				p.Intervals[k].BehindNS = max(p.Intervals[k].BehindNS, uint64(planned[k].To-due))
			}
			if begin >= end {
				at.Never++
				p.NotBegun++
				p.BehindNS = max(p.BehindNS, uint64(end-due))
				last = begin
				continue
			}
			rate := (load.Until(due+time.Millisecond) - load.Until(due)) / 1e-3
			last = begin + q.Service(due, rate)
			in(begin).Begun++
			p.Attempted++
			if last > end {
				at.Never++
				continue
			}
			in(last).Ended++
			at.Response.Record(uint64(last - due))
			response.Record(uint64(last - due))
			samples[min(int(last.Seconds()), len(samples)-1)].Operations++
		}
	}
	done := response.Count()
	p.Operations = []record.Operation{{Name: "update", OK: done, Service: response, Response: response}}
	p.Attempted, p.Unfinished = done, 0
	return samples
}
