package read

import (
	"time"

	"assay/internal/experiment"
)

// ThinkForm is for how long a thread pauses: a duration, or {exponential: DURATION}.
type ThinkForm struct {
	Mean        DurationForm
	Exponential bool
}

const thinkWords = "a duration such as 10ms, or {exponential: 10ms}"

func (f *ThinkForm) fromNode(n *node, path string) *Error {
	switch n.kind {
	case null:
		return nil
	case table:
		if len(n.entries) != 1 || n.entries[0].key != "exponential" {
			return n.expected(path, thinkWords)
		}
		f.Exponential = true
		return f.Mean.fromNode(n.entries[0].value, join(path, "exponential"))
	case scalar:
		if _, ok := parseDuration(n.text); ok {
			return f.Mean.fromNode(n, path)
		}
	}
	return n.expected(path, thinkWords)
}

// thinkMax is below what a worker is given to end an operation: a longer pause would be taken for a hang.
const thinkMax = 5 * time.Second

// think resolves for how long threads pause.
func (r workResolver) think(p PhaseFile, resolved *experiment.Phase) *Error {
	if p.Think == nil || p.Think.Mean == 0 {
		return nil
	}
	think := experiment.Think{Mean: time.Duration(p.Think.Mean), Exponential: p.Think.Exponential}
	switch {
	case p.Load:
		return r.fail(r.in("think"), "a load runs as fast as the store lets it: its threads do not pause")
	case p.Rate != nil:
		return r.fail(r.in("think"), "a rate says when each operation is due: threads do not pause beside it").hint("leave out rate, or think")
	case r.file.Latency.Every > 1:
		return r.fail(r.in("think"), "with latency: sampled(%d) most operations have no end, from which a pause could count", r.file.Latency.Every).
			hint("leave out latency, or think")
	case think.Mean > thinkMax:
		return r.fail(r.in("think"), "threads pause for at most %s, not %s", thinkMax, think.Mean)
	case think.Exponential && think.Mean > thinkMax/10:
		return r.fail(r.in("think"), "threads pause for at most %s on average where pauses are exponential, not %s", thinkMax/10, think.Mean)
	}
	resolved.Think = think
	return nil
}
