package verdict

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// said is all that is printed of n samples, one a second, of 100,000 times a level.
func said(t *testing.T, n int, level func(second int) float64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), 5))
	var b strings.Builder
	b.WriteString("time_s,rate\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%.0f\n", i+1, 1e5*level(i)*(1+0.02*r.NormFloat64()))
	}
	s, _, err := ReadSeries(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	a := Analyze(s)
	var text strings.Builder
	if err := a.WriteText(&text, s); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func levelIn(level float64, in func(second int) bool) func(second int) float64 {
	return func(second int) float64 {
		if in(second) {
			return level
		}
		return 1
	}
}

// What a first sentence says has its times.
func TestSentencesSayWhen(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want []string
	}{
		{"an outage", said(t, 600, levelIn(0, func(s int) bool { return s >= 300 && s < 405 })), []string{"It stalled once, from 300 s to 405 s, below a tenth of the usual", ", and recovered.", "until 300 s, then 0/s until 405 s, then "}},
		{"two stalls", said(t, 200, levelIn(0.02, func(s int) bool { return s == 50 || s >= 120 && s < 123 })), []string{"It stalled 2 times, first at 50.0 s, longest from 120 s to 123 s, below a tenth", ", and recovered."}},
		{"a stall at the end", said(t, 200, levelIn(0.02, func(s int) bool { return s > 197 })), []string{"It stalled once, from 198 s to 200 s, below", "and had not recovered at the end."}},
		{"a small fall", said(t, 120, levelIn(0.76, func(s int) bool { return s >= 40 })), []string{"it has 99.6 k/s until 40.0 s, then 76.1 k/s."}},
		{"a rise", said(t, 120, levelIn(1.8, func(s int) bool { return s >= 40 })), []string{"k/s until 40.0 s, then 180 k/s."}},
		{"an early outage", said(t, 300, levelIn(0.4, func(s int) bool { return s >= 40 && s < 70 })), []string{"it has 100 k/s until 40.0 s, then 39.8 k/s until 70.0 s, then 100 k/s."}},
		{"the last sample", said(t, 60, levelIn(0.3, func(s int) bool { return s == 59 })), []string{"The rate fell at 59.0 s", "for the last 1 sample: too few to tell a cliff from a stall. Until then it is steady", "! the rate fell too late, 1 of 60 samples before the end"}},
		{"a decline", said(t, 120, func(s int) float64 { return 1 / float64(s+1) }), []string{"From 0 s to 120 s the rate declines, from 1", "k/s at 7.00 s to 8", "half of that first rate is left at 14."}},
		{"spikes", said(t, 600, levelIn(100, func(s int) bool { return s%30 > 27 })), []string{"But for its spikes the rate is steady", "k/s on average with them", "It spikes 20 times between 28.0 s and 600 s, for 2.00 s at the median, to 10", " times what is usual around (highest 10.", "in all 6.7 % of the time, and comes back; every 30.0 s (", "^ spike", "mean rate between spikes"}},
		{"one spike", said(t, 120, levelIn(4, func(s int) bool { return s >= 70 && s < 73 })), []string{"It spikes once, from 70.0 s to 73.0 s, to 4", "times the usual 1", ", and came back."}},
		{"one sample", said(t, 120, levelIn(10, func(s int) bool { return s == 70 })), []string{"But for its spikes the rate is steady", "One sample, from 70.0 s to 71.0 s, has 9.8 times the usual 100 k/s (987 k/s)."}},
		{"dips and spikes", said(t, 600, func(s int) float64 {
			return levelIn(0.4, func(s int) bool { return s%60 == 40 })(s) * levelIn(4, func(s int) bool { return s%60 == 10 })(s)
		}), []string{"But for its dips and spikes the rate is steady", "It dips 10 times", "It spikes 10 times"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.text, want) {
				t.Errorf("%s: %q is not said in:\n%s", c.name, want, c.text)
			}
		}
	}
}
