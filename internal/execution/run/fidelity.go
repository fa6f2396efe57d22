package run

import (
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// fidelity holds what a replay sent against what was recorded; nil: it is none. Requests were dealt to
// the threads in turn, so that number i of a lap is number i ÷ threads of thread i mod threads.
//
// Gaps are between requests as they were sent: see sentTimes.
func (p *phase) fidelity(r *record.Phase) *recording.Fidelity {
	replay := p.asked.Replay
	if replay == nil || p.trace.recorded == nil {
		return nil
	}
	f := &recording.Fidelity{
		Recorded: replay.Summary.Requests * replay.Loops, Left: replay.Summary.Parsed.Left, OneIn: replay.OneIn,
		Keys:   replay.Summary.Keys,
		Closed: replay.Closed, KeyBytesRecorded: p.trace.recorded.KeyBytes(),
	}
	speed := replay.Speed
	if !replay.Closed {
		f.Asked = speed
	}
	sent := recording.NewShape(float64(replay.Summary.Keys), 1, true)
	keys := &p.holdings.experiment.Keys
	threads, attempted := p.file.Threads, p.read.last.Attempted
	var first, last uint64
	for i := range replay.Summary.Requests {
		t := int(i % uint64(len(threads)))
		at := i / uint64(len(threads))
		if at >= attempted[t] || at >= uint64(len(threads[t].Entries)) {
			continue // not sent in the first lap
		}
		e := threads[t].Entries[at]
		sent.AddKey(keys.BytesOf(e.Index()))
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
		}
	}
	f.KeyBytes = sent.KeyBytes()
	times := sentTimes{threads: threads, attempted: attempted, late: newLateDraw(r.Late, r.Attempted, p.file.Seed)}
	if p.cell.Handles != experiment.Async { // their operations overlap
		times.service = newServiceDraws(r.Operations, p.file.Seed)
	}
	times.each(sent.AddTime)
	for _, n := range attempted {
		f.Sent += n
	}
	f.Distances, f.HitRates = recording.Compare(p.trace.recorded, sent.Done())
	if !replay.Closed {
		f.GapsAt = recording.GapsOf(p.trace.recorded, sent)
	}
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
