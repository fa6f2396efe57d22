package servertest

import "time"

// StoppedQuantile returns the quantile of response times that stops of a server cause by
// themselves, where operations fall due evenly over so much time. During a stop of length l, those
// that fall due at x after its begin wait for the rest of it, and for those ahead of them: a server
// that operations keep busy for a share of its time works off what a stop left at the rest of its
// pace. So a share of (l−w)/(1−busy)/elapsed waits longer than w. Without the stops, operations are
// taken to need no time.
func StoppedQuantile(q float64, stops []time.Duration, elapsed time.Duration, busy float64) time.Duration {
	low, high := time.Duration(0), elapsed
	for high-low > time.Microsecond {
		x := (low + high) / 2
		var beyond time.Duration
		for _, stop := range stops {
			beyond += max(stop-x, 0)
		}
		if float64(beyond)/(1-busy) > (1-q)*float64(elapsed) {
			low = x
		} else {
			high = x
		}
	}
	return low
}
