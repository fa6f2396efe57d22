package run

import (
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// fidelity holds what a replay sent against what was recorded; nil: it is none. Requests were dealt to
// the threads in turn, so that number i of a lap is number i ÷ threads of thread i mod threads.
//
// When a request is due is known of each, and how late requests were begun is known of all together, to
// a factor of 2: a lateness of that distribution is drawn for each. A thread that is busy with the
// request before is no lateness, but the store's queue, which response times have.
func (p *phase) fidelity(r *record.Phase) *recording.Fidelity {
	replay := p.asked.Replay
	if replay == nil || p.trace.recorded == nil {
		return nil
	}
	f := &recording.Fidelity{
		Recorded: replay.Summary.Requests * replay.Loops, Left: replay.Summary.Told.Left, OneIn: replay.OneIn,
		Keys:   replay.Summary.Keys,
		Closed: replay.Closed, KeyBytesRecorded: replay.Summary.KeyBytesMean, KeyBytes: p.keyBytes(),
	}
	speed := replay.Speed
	if !replay.Closed {
		f.Asked = speed
	}
	sent := recording.NewShape(float64(replay.Summary.Keys), 1, true)
	threads, attempted := p.file.Threads, p.read.last.Attempted
	late := newLateDraw(r.Late, r.Attempted, p.file.Seed)
	var first, last uint64
	for i := range replay.Summary.Requests {
		t := int(i % uint64(len(threads)))
		at := i / uint64(len(threads))
		if at >= attempted[t] || at >= uint64(len(threads[t].Entries)) {
			continue // not sent in the first lap
		}
		e := threads[t].Entries[at]
		sent.Add(recordedAs(e.Operation()), e.Index(), int64(p.file.Amounts[e.SizeClass()]))
		if e.Operation().Puts() {
			sent.AddTTL(replay.RecordedTTL(p.file.TTLs[e.SizeClass()]))
		}
		if len(threads[t].Due) > 0 {
			due := threads[t].Due[at]
			if sent.Requests == 1 {
				first = due
			}
			last = max(last, due)
			sent.AddTime(int64(due + late.next()))
		}
	}
	for _, n := range attempted {
		f.Sent += n
	}
	f.Distances, f.HitRates = recording.Compare(p.trace.recorded, sent.Done())
	if elapsed := float64(r.ElapsedNS); elapsed > 0 {
		switch {
		case replay.Closed:
			f.Speed = float64(replay.Summary.DurationNS) * float64(f.Sent) / float64(replay.Summary.Requests) / elapsed
		case f.Sent > 0:
			if laps := (f.Sent - 1) / replay.Summary.Requests; laps > 0 {
				last += laps * threads[0].LapNS
			}
			planned := float64(last - first)
			f.Speed = speed * planned / max(elapsed-float64(first), planned)
			f.DelayNS, f.GapNS = meanDelay(r.Operations), elapsed/float64(f.Sent)
		}
	}
	return f
}

// meanDelay is how long after they were due operations began, in the mean: what response times have beyond
// service times.
func meanDelay(operations []record.Operation) float64 {
	response, service, n := 0.0, 0.0, 0.0
	for _, o := range operations {
		if o.Response == nil || o.Service == nil || o.Response.Count() == 0 {
			continue
		}
		done := float64(o.Response.Count())
		response, service, n = response+done*o.Response.Mean(), service+done*o.Service.Mean(), n+done
	}
	return max(response-service, 0) / max(n, 1)
}

// keyBytes is the length of keys, of those that have one each.
func (p *phase) keyBytes() float64 {
	shape := p.holdings.experiment.Keys
	switch shape.Format {
	case keyval.Binary:
		return float64(shape.Bytes)
	case keyval.Decimal:
		if shape.Digits > 0 {
			return float64(len(shape.Prefix) + shape.Digits + len(shape.Suffix))
		}
	}
	return 0
}

// recordedAs is what an operation of a replay stands for.
func recordedAs(o trace.Operation) recording.Operation {
	switch o {
	case trace.Read:
		return recording.Get
	case trace.Delete:
		return recording.Delete
	}
	return recording.Set
}

// lateDraw draws how late requests were begun.
type lateDraw struct {
	words []uint64 // as record.Phase.Late
	all   uint64
	state uint64
}

func newLateDraw(words []uint64, attempted, seed uint64) *lateDraw {
	return &lateDraw{words: words, all: attempted, state: seed}
}

// next returns a lateness in ns; below 128 ns it is 0: the wait's own looks at the clock.
func (l *lateDraw) next() uint64 {
	if l.all == 0 {
		return 0
	}
	l.state = keyval.Mix(l.state)
	nth := l.state % l.all
	for k, n := range l.words {
		if nth < n {
			from := counters.LatenessFromNS(k)
			return from + l.state>>32%max(from, 1)
		}
		nth -= n
	}
	return 0
}
