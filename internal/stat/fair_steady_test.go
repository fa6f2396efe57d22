package stat

import "testing"

// What changes after the first quarter is no warm-up, however well MSER would like to cut it off: a store that is dead for the rest has the smallest
// error of all.
func TestTheGoodPartIsNotTakenForAWarmup(t *testing.T) {
	noise := func(i int) float64 { return 1 + 0.02*float64((i*7919)%11-5)/5 }
	for _, c := range []struct {
		name string
		rate func(second int) float64
		kind SteadyKind
	}{
		{"dead from 24 s on", func(s int) float64 { return map[bool]float64{true: 100e3}[s < 24] }, Stepped},
		{"one a second from 24 s on", func(s int) float64 { return map[bool]float64{true: 100e3, false: 1}[s < 24] }, Stepped},
		{"a fifth from 24 s on", func(s int) float64 { return map[bool]float64{true: 100e3, false: 20e3}[s < 24] }, Stepped},
		{"slow for 29 s", func(s int) float64 { return map[bool]float64{true: 13e3, false: 130e3}[s < 29] }, Stepped},
		{"slow for 20 s", func(s int) float64 { return map[bool]float64{true: 60e3, false: 90e3}[s < 20] }, Stepped},
		{"a warm-up of 10 s", func(s int) float64 { return map[bool]float64{true: 60e3, false: 130e3}[s < 10] }, Steady},
		{"steady", func(int) float64 { return 130e3 }, Steady},
	} {
		rates := make([]float64, 60)
		for i := range rates {
			rates[i] = c.rate(i) * noise(i)
		}
		if got := Decide(rates, 1); got.Kind != c.kind || 4*got.From > len(rates) {
			t.Errorf("%s: %s from sample %d on (%s)", c.name, got.Kind, got.From, got.Why)
		}
	}
}
