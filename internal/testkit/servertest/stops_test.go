package servertest

import (
	"testing"
	"time"
)

func TestStoppedQuantile(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		stops   []time.Duration
		elapsed time.Duration
		busy    float64
		want    time.Duration
	}{
		{"none", nil, time.Second, 0, 0},
		{"one of 100 ms in 1 s", []time.Duration{100 * ms}, time.Second, 0, 90 * ms},
		{"four of 100 ms in 3.2 s", []time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms}, 3200 * ms, 0, 92 * ms},
		{"unequal: the longest alone decides", []time.Duration{50 * ms, 200 * ms}, 10 * time.Second, 0, 100 * ms},
		{"unequal: both decide", []time.Duration{190 * ms, 200 * ms}, 10 * time.Second, 0, 145 * ms},
		{"a server that is busy half of its time", []time.Duration{100 * ms}, time.Second, 0.5, 95 * ms},
		{"too rare", []time.Duration{100 * ms}, 20 * time.Second, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := StoppedQuantile(0.99, c.stops, c.elapsed, c.busy); got < c.want-2*time.Microsecond ||
				got > c.want+2*time.Microsecond {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
