package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSI(t *testing.T) {
	for _, c := range []struct {
		v          float64
		unit, want string
	}{
		{0, "", "0"}, {0, "B", "0 B"}, {1, "", "1.00"}, {12.34, "", "12.3"}, {412_345, "", "412 k"}, {999.4, "", "999"},
		{999.6, "", "1.00 k"}, {999_600, "B", "1.00 MB"}, {1.42e6, "", "1.42 M"}, {0.5, "", "0.500"}, {0.0123, "", "0.0123"},
		{15.8e-6, "s", "15.8 µs"}, {306e-9, "s", "306 ns"}, {0.9, "s", "900 ms"}, {-2500, "", "-2.50 k"}, {3e15, "B", "3000 TB"},
		{0.02e-9, "s", "0.0200 ns"},
	} {
		if got := si(c.v, c.unit); got != c.want {
			t.Errorf("si(%g, %q) is %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

// What is written, read back, is the number within half of its third digit.
func TestSIKeepsThreeDigits(t *testing.T) {
	factors := map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6, "n": 1e-9}
	rapid.Check(t, func(t *rapid.T) {
		v := math.Pow(10, rapid.Float64Range(-8, 14).Draw(t, "exponent"))
		number, unit, _ := strings.Cut(si(v, "s"), " ")
		read, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatalf("si(%g) is no number: %v", v, err)
		}
		factor, known := factors[strings.TrimSuffix(unit, "s")]
		if !known || math.Abs(read*factor/v-1) > 0.0051 {
			t.Fatalf("si(%g) is %s %s", v, number, unit)
		}
		if digits := len(strings.Trim(strings.ReplaceAll(number, ".", ""), "0")); digits > 3 {
			t.Fatalf("si(%g) has %d digits: %s", v, digits, number)
		}
	})
}

func TestAlignDecimals(t *testing.T) {
	got := alignDecimals([]string{"412 k", "1.42 M", "36.3", absent, ""})
	want := []string{
		"412    k",
		"  1.42 M",
		" 36.3   ",
		"       –",
		"        ",
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestIntervals(t *testing.T) {
	low, high := 1.38, 1.47
	e := Estimate{1.42, &low, &high}
	if e.ratioRange() != "1.38–1.47" || e.within() != "±3.5 %" {
		t.Errorf("the interval reads %q and %q", e.ratioRange(), e.within())
	}
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0.91, 1.09, "±9.0 %"}, {0.5, 1.5, "±50 %"}, {0.45, 2.22, "×÷2.2"}, {0.3, 1.9, "±90 %"}, {0.001, 106, "wide"}} {
		if got := (Estimate{1, &c.low, &c.high}).within(); got != c.want {
			t.Errorf("the interval from %g to %g around 1 reads %q, want %q", c.low, c.high, got, c.want)
		}
	}
	tiny, huge := 0.0001, 10527.0
	if got := (Estimate{1, &tiny, &huge}).ratioRange(); got != "wide" {
		t.Errorf("a ratio's interval that says nothing reads %q", got)
	}
	if e := (Estimate{Value: 1.42}); e.ratioRange() != "" || e.within() != absent {
		t.Error("an interval is shown where there is none")
	}
	if count(1_000_000) != "1,000,000" || count(999) != "999" {
		t.Errorf("counts read %s and %s", count(1_000_000), count(999))
	}
}

func TestPerOperation(t *testing.T) {
	for v, want := range map[float64]string{0: "0 B", 0.000256: "<0.01 B", 0.01: "0.01 B", 0.808: "0.81 B", 1.5: "1.50 B", 225: "225 B", 21_512: "21.5 kB"} {
		if got := allocBytesText(v); got != want {
			t.Errorf("%g bytes an operation read %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.000003: "<0.01", 0.981: "0.98", 64: "64.0", 1270: "1.27 k"} {
		if got := allocsText(v); got != want {
			t.Errorf("%g allocations an operation read %q, want %q", v, got, want)
		}
	}
}

// An interval that goes on beyond the figure must not look as if it ended there.
func TestWideIntervalsAreCut(t *testing.T) {
	low, near, far := 0.8, 1.2, 7.0
	figure := rateBars(Table{Rows: []Row{
		{Arm: "a", Role: "measured", Rate: &Estimate{Value: 1, Low: &low, High: &near}},
		{Arm: "b", Role: "measured", Rate: &Estimate{Value: 1, Low: &low, High: &far}},
	}})
	if len(figure.Bars) != 2 || figure.Bars[0].Cut || !figure.Bars[1].Cut || figure.Bars[1].From != "53.33%" || figure.Bars[1].Across != "46.67%" {
		t.Errorf("the bars are %+v", figure.Bars)
	}
}
