package run

import (
	"math"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// overTime follows a part whose rate changes over time, interval by interval. Workers count for the
// whole phase alone: what an interval has is the difference of two looks. Which operations came in
// between is known of each thread, as it does them in their order, and so is when they were due. A
// nil one follows nothing.
type overTime struct {
	file      *trace.File
	begin     int64 // of the part, ns since the phase's start
	intervals []record.Interval
	threads   []threadOverTime
	lanes     []laneOverTime
	counted   []int // slots that a rate counts
	exact     bool  // response times are kept as they are counted
	closed    bool  // its threads change, and nothing is due: what ends is of the interval in which it does

	at   int64 // of the last look
	next int   // the first interval whose end was not looked at
}

// threadOverTime is a thread's operations by the interval in which they are due.
type threadOverTime struct {
	entries uint64   // of a lap
	starts  []uint32 // entry of each operation; nil: each entry is one
	due     []uint64
	// before are how many of its operations are due before each interval, and at last before the end.
	before       []int
	begun, ended int // at the last look
}

// laneOverTime is some threads whose histograms are read as one: a thousand threads of their own would
// be 40 MB.
type laneOverTime struct {
	threads  []int
	response [histogram.Buckets]uint64 // at the last look
	late     [counters.LatenessWords]uint64
	latest   int // the last interval of which an operation ended
}

const lanesOverTime = 64

func newOverTime(asked *experiment.Phase, file *trace.File, counted func(slot int) bool) *overTime {
	planned := asked.Intervals()
	if len(planned) == 0 {
		return nil
	}
	o := &overTime{file: file, begin: int64(asked.From), at: int64(asked.From), closed: len(asked.Staircase) > 0,
		exact: asked.InWholeStretches()}
	for _, i := range planned {
		o.intervals = append(o.intervals, record.Interval{Stretch: i.Stretch, FromNS: o.begin + int64(i.From),
			ToNS: o.begin + int64(i.To), Response: histogram.New()})
	}
	for slot := range file.Operations {
		if counted(slot) {
			o.counted = append(o.counted, slot)
		}
	}
	o.lanes = make([]laneOverTime, min(len(file.Threads), lanesOverTime))
	for i := range file.Threads {
		o.lanes[i%len(o.lanes)].threads = append(o.lanes[i%len(o.lanes)].threads, i)
		o.threads = append(o.threads, o.thread(&file.Threads[i]))
	}
	return o
}

func (o *overTime) thread(t *trace.Thread) threadOverTime {
	thread := threadOverTime{due: t.Due, entries: uint64(len(t.Entries))}
	if slices.ContainsFunc(o.file.Operations, func(op trace.Operation) bool {
		return op.HasMembers() || op == trace.Request
	}) {
		thread.starts = startsOf(t)
		thread.due = nil
		for _, start := range thread.starts {
			if !o.closed {
				thread.due = append(thread.due, t.Due[start])
			}
		}
	}
	for _, i := range o.intervals {
		thread.before = append(thread.before, dueBefore(thread.due, i.FromNS))
	}
	thread.before = append(thread.before, len(thread.due))
	return thread
}

// startsOf returns the entries with which a thread's operations begin.
func startsOf(t *trace.Thread) (starts []uint32) {
	inRequest := false
	requests := t.HasRequests()
	for p, e := range t.Entries {
		if !e.IsMember() && !inRequest {
			starts = append(starts, uint32(p))
		}
		inRequest = requests && e.Operation() != trace.Request
	}
	return starts
}

func dueBefore(due []uint64, ns int64) int {
	n, _ := slices.BinarySearch(due, uint64(max(ns, 0)))
	return n
}

// operations returns how many operations the first entries are, whole or begun.
func (t *threadOverTime) operations(entries uint64) int {
	if t.starts == nil {
		return int(entries)
	}
	laps, rest := entries/t.entries, entries%t.entries
	return int(laps)*len(t.starts) + sort.Search(len(t.starts), func(i int) bool { return uint64(t.starts[i]) >= rest })
}

// leadNS is how long before the end of a stretch a look is due beside the one at its end: what comes
// between two looks is parted by numbers, and there one rate follows another.
const leadNS = int64(10 * time.Millisecond)

// wanted returns when the next look is due, since the phase's start: at the end of an interval.
func (o *overTime) wanted() (at time.Duration, wanted bool) {
	if o == nil || o.next == len(o.intervals) {
		return 0, false
	}
	interval := &o.intervals[o.next]
	endsStretch := o.next == len(o.intervals)-1 || o.intervals[o.next+1].Stretch != interval.Stretch
	if before := interval.ToNS - min(leadNS, (interval.ToNS-interval.FromNS)/4); endsStretch && o.at < before {
		return time.Duration(before), true
	}
	return time.Duration(interval.ToNS), true
}

// look reads the counters, so long after the phase began.
func (o *overTime) look(at int64, c *counters.File) {
	if o == nil || at <= o.at {
		return
	}
	begun, ended := make([]int, len(o.threads)), make([]int, len(o.threads))
	for i := range o.threads {
		head := c.Thread(i)
		ended[i] = o.threads[i].operations(atomic.LoadUint64(&head.Acknowledged))
		begun[i] = max(o.threads[i].operations(atomic.LoadUint64(&head.Attempted)), ended[i])
	}
	for i := range o.lanes {
		o.lookAtLane(&o.lanes[i], ended, c)
	}
	o.passEnds(at, begun, ended)
	for i := range o.threads {
		o.threads[i].begun, o.threads[i].ended = begun[i], ended[i]
	}
	o.at = at
}

// lookLast reads the final counters of a part that ended so long after the phase began, by the worker's
// clock: a look before may have been later by the conductor's.
func (o *overTime) lookLast(at int64, c *counters.File) {
	if o != nil {
		o.look(max(at, o.at+1), c)
	}
}

// passEnds takes down how far threads had come at the end of each interval since the last look: each
// thread at its mean rate between the looks. Once all have ended, what is still done is of the last one.
func (o *overTime) passEnds(at int64, begun, ended []int) {
	from := o.at
	was := make([]int, len(o.threads)) // begun, at the end of the interval before
	wasEnded := make([]int, len(o.threads))
	for i := range o.threads {
		was[i], wasEnded[i] = o.threads[i].begun, o.threads[i].ended
	}
	for k := min(o.next, len(o.intervals)-1); k < len(o.intervals); k++ {
		interval := &o.intervals[k]
		last, passed := k == len(o.intervals)-1, o.next == len(o.intervals)
		end := min(interval.ToNS, at)
		share := min(float64(end-from)/float64(at-from), 1)
		if last && interval.ToNS <= at {
			share = 1 // what ends after all intervals is of the last one
		}
		if !passed {
			interval.Backlog, interval.BehindNS = 0, 0
		}
		for i := range o.threads {
			t := &o.threads[i]
			by := t.begun + int(math.Round(share*float64(begun[i]-t.begun)))
			endedBy := t.ended + int(math.Round(share*float64(ended[i]-t.ended)))
			interval.Begun += uint64(by - was[i])
			interval.Ended += uint64(endedBy - wasEnded[i])
			was[i], wasEnded[i] = by, endedBy
			if due := dueBefore(t.due, end); due > by && !passed {
				interval.Backlog += uint64(due - by)
				interval.BehindNS = max(interval.BehindNS, uint64(end)-t.due[by])
			}
		}
		if interval.ToNS > at {
			return
		}
		o.next = k + 1
	}
}

// lookAtLane adds what a lane's threads counted since the last look to the intervals in which that was
// due.
func (o *overTime) lookAtLane(lane *laneOverTime, ended []int, c *counters.File) {
	shares := []shareOf{{min(o.next, len(o.intervals)-1), 1}}
	if !o.closed {
		shares = o.sharesOf(lane, ended)
	}
	var now [histogram.Buckets]uint64
	for _, i := range lane.threads {
		for _, slot := range o.counted {
			buckets := &c.Slot(i, slot).Service
			if !o.closed {
				buckets = c.Response(i, slot)
			}
			for b := range buckets {
				now[b] += atomic.LoadUint64(&buckets[b])
			}
		}
	}
	carry := make([]float64, len(shares))
	for b, n := range now {
		if n > lane.response[b] {
			bucket := b
			if !o.exact {
				bucket = coarse(b)
			}
			deal(n-lane.response[b], shares, carry, func(k int, part uint64) {
				o.intervals[k].Response.Counts[bucket] += part
			})
		}
	}
	lane.response = now
	var late [counters.LatenessWords]uint64
	for _, i := range lane.threads {
		head := c.Thread(i)
		for word := range head.Late {
			late[word] += atomic.LoadUint64(&head.Late[word])
		}
	}
	clear(carry)
	for word, n := range late {
		if n > lane.late[word] {
			deal(n-lane.late[word], shares, carry, func(k int, part uint64) {
				if o.intervals[k].Late == nil {
					o.intervals[k].Late = make([]uint64, counters.LatenessWords)
				}
				o.intervals[k].Late[word] += part
			})
		}
	}
	lane.late = late
}

// coarse joins four buckets in one, 3 % wide: there are a hundred histograms of each phase.
func coarse(bucket int) int {
	if bucket < 2<<histogram.SubBucketBits {
		return bucket // exact ones
	}
	return bucket&^3 + 1
}

// shareOf is an interval and how much of something is of it.
type shareOf struct {
	interval int
	share    float64
}

// sharesOf returns in which intervals the operations were due that a lane's threads ended since the
// last look. What was counted a moment before its operation is known to have ended is of the last one.
func (o *overTime) sharesOf(lane *laneOverTime, ended []int) (shares []shareOf) {
	counts := map[int]int{}
	all := 0
	for _, i := range lane.threads {
		t := &o.threads[i]
		from, to := t.ended, ended[i]
		for k := max(sort.SearchInts(t.before, from+1)-1, 0); from < to && k < len(o.intervals); k++ {
			if n := min(to, t.before[k+1]) - from; n > 0 {
				counts[k], all, from = counts[k]+n, all+n, from+n
				lane.latest = max(lane.latest, k)
			}
		}
	}
	if all == 0 {
		return []shareOf{{lane.latest, 1}}
	}
	for k, n := range counts {
		shares = append(shares, shareOf{k, float64(n) / float64(all)})
	}
	slices.SortFunc(shares, func(a, b shareOf) int { return a.interval - b.interval })
	return shares
}

// deal parts n by shares into whole numbers. What a share lacks, or has too much, is carried to the
// next call.
func deal(n uint64, shares []shareOf, carry []float64, give func(interval int, part uint64)) {
	left := n
	for k, s := range shares {
		if k == len(shares)-1 {
			break
		}
		carry[k] += float64(n) * s.share
		part := min(uint64(max(math.Round(carry[k]), 0)), left)
		carry[k] -= float64(part)
		if left -= part; part > 0 {
			give(s.interval, part)
		}
	}
	if left > 0 {
		give(shares[len(shares)-1].interval, left)
	}
}

// result returns the intervals of a part that ended so long after the phase began.
func (o *overTime) result(end int64) (all []record.Interval) {
	if o == nil {
		return nil
	}
	for k, interval := range o.intervals {
		if interval.FromNS >= end {
			if len(all) == 0 {
				break
			}
			// A look is by the conductor's clock, which may be ahead of the worker's, by which the part ended.
			joinIntervals(&all[len(all)-1], &interval)
			continue
		}
		last := k == len(o.intervals)-1
		if interval.ToNS = min(interval.ToNS, end); last { // what was due in the last moment of all is of it
			interval.ToNS = o.intervals[k].ToNS
		}
		for _, t := range o.threads {
			until := t.before[k+1]
			if interval.ToNS == end && !last {
				until = dueBefore(t.due, end)
			}
			interval.Asked += uint64(max(until-t.before[k], 0))
			interval.Never += uint64(max(until-max(t.before[k], t.ended), 0))
		}
		all = append(all, interval)
	}
	for i := range all {
		all[i].Response.Pack()
	}
	return all
}

// joinIntervals counts what was done in one interval as done in another.
func joinIntervals(into, from *record.Interval) {
	into.Begun += from.Begun
	into.Ended += from.Ended
	into.Response.Add(from.Response)
	if from.Late != nil && into.Late == nil {
		into.Late = make([]uint64, len(from.Late))
	}
	for word, n := range from.Late {
		into.Late[word] += n
	}
}
