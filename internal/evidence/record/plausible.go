package record

import (
	"slices"

	"assay/internal/base/finding"
	"assay/internal/experiment/trace"
)

const (
	bucketError = 1.02 // of a mean from a histogram, with a margin
	// floorNS is below what two looks at a clock take: the null drivers' operations take 16 ns.
	floorNS = 4

	operationsMin = 1000 // fewer, and the begin of the threads counts
	beginNS       = 1e8  // that a thread may need to begin, of a few operations or of a count of them
	// Of the time that threads had, the share that operations must explain: of writes, between
	// which a worker does almost nothing, and of others with what may pass between them: checking
	// values and making keys.
	servedMin    = 0.1
	explainedMin = 0.2
	betweenNS    = 2000 // for each operation and item
	betweenByte  = 2    // ns for each byte read

	meanErrors = 4 // standard errors that the mean of a sample may be off
)

// plausible says why the times of a phase, or of one of its groups, can't be: by Little's law rate,
// latency and threads hold each other. Nothing if nothing speaks against them. whole is the phase.
func plausible(p, whole *Phase) (problems []finding.Message) {
	cpus := whole.cpus()
	if p.ElapsedNS <= 0 || p.Threads == 0 || cpus == 0 {
		return nil // how long threads may have waited for a CPU is not known
	}
	add := func(p finding.Parameters) { problems = append(problems, finding.New(p)) }
	elapsed := float64(p.ElapsedNS)
	served, unknown, between, written, operations, onlyWrites := 0.0, 0.0, 0.0, 0.0, uint64(0), true
	for i, o := range slices.Concat(p.Operations, p.Steps) {
		code, _ := trace.ParseOperation(o.Name)
		onlyWrites = onlyWrites && code.Changes() && code != trace.ReadModifyWrite && code != trace.ReadOrFill &&
			!code.Replaces()
		if o.Service == nil || o.Service.Count() == 0 {
			continue
		}
		n, mean := o.Service.Count(), o.Service.Mean()
		if p.TimedEvery > 0 {
			n = o.Done()
			unknown += meanErrors * o.Service.MeanError() * float64(n)
		}
		if i < len(p.Operations) { // the time of a step is in that of its request
			served, operations = served+mean*float64(n), operations+n
		}
		between += betweenNS*float64(n+o.Items) + betweenByte*float64(o.BytesRead)
		written += float64(o.BytesWritten)
		if mean < floorNS {
			add(finding.MarkBelowFloorParams{Operation: o.Name, MeanNS: mean, FloorNS: floorNS})
		}
		if most := float64(o.MaxNS); most > elapsed+ClockSlackNS(elapsed) {
			add(finding.MarkMaxOverParams{Operation: o.Name, MaxNS: most, ElapsedS: elapsed / 1e9})
		} else if o.MaxNS > 0 && mean > bucketError*most {
			add(finding.MarkMeanOverParams{Operation: o.Name, MeanNS: mean, MaxNS: most})
		}
		// A response is counted from the due time, at which the operation can't have begun yet.
		if o.Response != nil && o.Response.Count() == n && bucketError*o.Response.Mean() < mean {
			add(finding.MarkResponseParams{Operation: o.Name, MeanNS: mean, ResponseNS: o.Response.Mean()})
		}
	}
	had := elapsed * float64(p.Threads)
	explained := served + float64(p.HandleWaitNS)
	idle := p.Threads * int(whole.HeldNS(cpus))
	code := finding.MarkTimeOver
	switch {
	case served-unknown > bucketError*had*float64(max(p.Pipeline, 1)):
	case p.TimedEvery > 0:
		return problems // a few long operations, in no sample, may have taken the rest of the time
	case p.Open || p.ThinkNS > 0 || p.EndedBy != EndedDuration && p.EndedBy != EndedOperations:
		return problems // threads wait for due times or pause, or the phase was cut off
	case p.EndedBy == EndedOperations || whole.Threads > cpus || operations < operationsMin:
		// Threads that are done before others, have begun after them, or wait for a processor, had
		// less time. What a thread waits for processors between operations is in idle.
		room := workedNS(p) - float64(idle) - beginNS*float64(p.Threads)
		if explained+between+betweenByte*written >= explainedMin*room {
			return problems
		}
		code = finding.MarkTimeUnder
	case onlyWrites && explained < servedMin*had, explained+between < explainedMin*(had-float64(idle)):
		code = finding.MarkTimeUnder
	default:
		return problems
	}
	return append(problems, finding.New(finding.TimesParams{Code: code, ServedS: served / 1e9, Threads: p.Threads,
		HadS: had / 1e9}))
}

// workedNS is the time from a phase's begin to the end of each thread's last operation, over all
// threads. Where that is not known, one of them worked to the end.
func workedNS(p *Phase) float64 {
	switch {
	case p.EndedBy == EndedDuration:
		return float64(p.ElapsedNS) * float64(p.Threads)
	case p.ThreadsNS > 0:
		return float64(p.ThreadsNS)
	}
	return float64(p.ElapsedNS)
}
