package record

import (
	"testing"

	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/host"
)

// timed is a phase of one thread and one second, in which so many writes took so long each.
func timed(operation string, operations int, each uint64) *Phase {
	h := histogram.New()
	h.Counts[histogram.Bucket(each)] = uint64(operations)
	return &Phase{Name: "p", Threads: 1, ElapsedNS: 1e9, EndedBy: EndedDuration, Attempted: uint64(operations),
		Operations: []Operation{{Name: operation, OK: uint64(operations), Service: h}}}
}

func TestServiceTimesMustFitTheTimeThatThreadsHad(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase *Phase
		want  finding.Code
	}{
		{"all of it", timed("update", 1_000_000, 990), ""},
		{"more than there was", timed("update", 1_000_000, 1_200), finding.MarkTimeOver},
		{"a hundredth", timed("update", 1_000_000, 10), finding.MarkTimeUnder},
		{"reads, whose values are checked between", timed("read", 1_000_000, 10), ""},
		{"few, and almost nothing of the time", timed("update", 500, 10), finding.MarkTimeUnder},
	} {
		c.phase.Machine = &Machine{CPUs: 4}
		got := c.phase.Marks()
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0].Code != c.want) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
	open := timed("update", 1_000_000, 10)
	open.Open = true
	if got := plausible(open, open); got != nil {
		t.Errorf("open load: %v", got)
	}
}

// Fault (physics): latencies below 4 ns, a maximum above the phase, a mean above the maximum,
// responses shorter than their service
// Assay: `counts-disagree` (`latency-below-floor`, `latency-over-phase`, `latency-over-max`,
// `response-too-short`): no figure of the trial is trusted
// With: run.TestEachMisbehaviourIsCaught
//
// Fault (physics): service times sum up to more than threads × elapsed, or in closed load to far
// less
// Assay: `counts-disagree` (`time-over`, `time-under`). Not found: latencies reported as a fifth or
// more of the truth, tails cut by less than a fifth of the time, operations below some 2 µs, open
// load, and threads that keep all processors busy
// With: record.TestServiceTimesMustFitTheTimeThatThreadsHad
func TestImpossibleTimesAreMarked(t *testing.T) {
	longest := func(p *Phase, ns uint64) *Phase {
		p.Operations[0].MaxNS = ns
		return p
	}
	mixed := func(reads, writes *Phase) *Phase {
		reads.Operations = append(reads.Operations, writes.Operations...)
		reads.Attempted += writes.Attempted
		return reads
	}
	open := func(service, response uint64) *Phase {
		p := timed("read", 1000, service)
		p.Open, p.Operations[0].Response = true, histogram.New()
		p.Operations[0].Response.Counts[histogram.Bucket(response)] = 1000
		return p
	}
	counted := func(p *Phase, threads int, worked int64) *Phase {
		p.EndedBy, p.Threads, p.ThreadsNS = EndedOperations, threads, worked
		return p
	}
	crowded := func(p *Phase, threads int, cpuSeconds float64) *Phase {
		p.Threads, p.Process.CPUSeconds = threads, &cpuSeconds
		return p
	}
	sampled := func(p *Phase, stallNS uint64) *Phase { // one operation in ten, and perhaps a stall
		p.TimedEvery, p.Operations[0].OK = 10, 10*p.Operations[0].OK
		if stallNS > 0 {
			p.Operations[0].Service.Counts[histogram.Bucket(stallNS)]++
		}
		return p
	}
	const s = int64(1e9)
	held := timed("read", 2000, 1000)
	held.Machine = &Machine{Seconds: 1, Foreign: &host.Bounds{Least: 1, Most: 1}}
	for _, c := range []struct {
		name  string
		phase *Phase
		want  finding.Code
	}{
		{"true", longest(timed("read", 1_000_000, 900), 20_000), ""},
		{"p50 = max = 1 ns", longest(timed("read", 1_000_000, 1), 1), finding.MarkBelowFloor},
		{"a null driver", longest(timed("read", 50_000_000, 16), 20_000), ""},
		{"longer than the phase", longest(timed("read", 1_000_000, 900), 4e9), finding.MarkMaxOver},
		{"a mean above the longest", longest(timed("read", 1_000_000, 900), 90), finding.MarkMeanOver},
		{"reads of 150 µs told as a tenth", timed("read", 6_600, 15_000), finding.MarkTimeUnder},
		{"mixed, and far below", mixed(timed("read", 3_000, 15_000), timed("update", 3_000, 10_000)), finding.MarkTimeUnder},
		{"mixed, and above", mixed(timed("read", 600_000, 1000), timed("update", 600_000, 1000)), finding.MarkTimeOver},
		{"mixed, and true", mixed(timed("read", 400_000, 1000), timed("update", 400_000, 1000)), ""},
		{"far below, as others had the processors", held, ""},
		{"few, and a tenth", timed("read", 100, 900_000), finding.MarkTimeUnder},
		{"few, and true", timed("read", 100, 9_000_000), ""},
		{"few, and late to begin", timed("read", 3, 290_000_000), ""},
		{"counted, and a tenth", counted(timed("read", 6_600, 15_000), 8, 8*s), finding.MarkTimeUnder},
		{"counted, and one thread done long after the others", counted(timed("read", 6_600, 150_000), 8, s+7*s/100), ""},
		{"counted, and what each thread worked is not known", counted(timed("read", 1_000, 15_000), 8, 0), finding.MarkTimeUnder},
		{"counted, of short operations", counted(timed("read", 300_000, 100), 1, s), ""},
		{"more threads than processors, and a tenth", crowded(timed("update", 6_400, 100_000), 64, 0.5), finding.MarkTimeUnder},
		{"more threads than processors, and true", crowded(timed("update", 64_000, 1_000_000), 64, 0.5), ""},
		{"more threads than processors, which they keep busy", crowded(timed("update", 6_400, 100_000), 64, 2), ""},
		{"a sample, and true", sampled(timed("read", 100_000, 900), 0), ""},
		{"a sample, and above", sampled(timed("read", 100_000, 1100), 0), finding.MarkTimeOver},
		{"a sample with one stall", sampled(timed("read", 100_000, 900), 500_000_000), ""},
		{"a sample that missed a stall", sampled(timed("read", 10_000, 900), 0), ""},
		{"open load", open(900, 2000), ""},
		{"open load, and a response shorter than its service", open(9000, 900), finding.MarkResponse},
		{"open load, and above", open(9_000_000, 9_000_000), finding.MarkTimeOver},
	} {
		if c.phase.Machine == nil {
			c.phase.Machine = &Machine{}
		}
		c.phase.Machine.CPUs = 4
		got := plausible(c.phase, c.phase)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0].Code != c.want) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
}

// A thread that waits for one of two processors beside 50 others does almost nothing of its time. A report,
// which takes each group for a phase of its own, must not blame the worker for it; where processors are
// free, it must.
func TestGroupWaitsForProcessorsThatOthersUse(t *testing.T) {
	for _, c := range []struct {
		cpus int
		want finding.Code
	}{{2, ""}, {64, finding.MarkTimeUnder}} {
		count, insert := timed("count", 1, 70_000), timed("insert", 50_000_000, 990)
		count.Name, insert.Name, insert.Threads = "beside · count", "beside · insert", 50
		used := 1.98
		whole := Phase{Name: "beside", Measured: true, Threads: 51, ElapsedNS: 1e9, EndedBy: EndedDuration,
			Attempted: 50_000_001, Operations: append(insert.Operations, count.Operations...),
			Groups: []Phase{*insert, *count}, Machine: &Machine{CPUs: c.cpus}, Process: Process{CPUSeconds: &used}}
		stored := &Trial{State: OK, Phases: []Phase{whole}}
		for name, trial := range map[string]*Trial{"as stored": stored, "by group": stored.byGroup()} {
			marks := trial.CountedMarks()
			if c.want == "" && len(marks) > 0 {
				t.Errorf("%d CPUs, %s: %v", c.cpus, name, marks)
			}
			for _, m := range marks {
				if m.Code != c.want || m.Phase != count.Name {
					t.Errorf("%d CPUs, %s: %v", c.cpus, name, m)
				}
			}
			if c.want != "" && len(marks) == 0 {
				t.Errorf("%d CPUs, %s: no mark", c.cpus, name)
			}
		}
	}
}
