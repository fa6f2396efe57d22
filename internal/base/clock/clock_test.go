package clock

import (
	"testing"
	"time"
)

func TestClocksKeepUpWithTheMonotonicClock(t *testing.T) {
	for _, source := range []Source{TSC, Monotonic} {
		t.Run(string(source), func(t *testing.T) {
			c, err := New(source)
			if err != nil {
				t.Skipf("skipped: %v", err)
			}
			time.Sleep(200 * time.Millisecond)
			if d := c.DifferenceNS(); d > 200_000 || d < -200_000 { // 0.1 % of 200 ms
				t.Errorf("after 200 ms the clock is %d ns away from CLOCK_MONOTONIC", d)
			}
		})
	}
}

func TestDifferenceSeesAWrongScale(t *testing.T) {
	c, err := New(TSC)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	c.scale += c.scale / 100
	time.Sleep(50 * time.Millisecond)
	if d := c.DifferenceNS(); d < 250_000 {
		t.Errorf("a clock that runs 1 %% fast was %d ns ahead after 50 ms, expected about 500,000", d)
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	for _, source := range []Source{TSC, Monotonic} {
		c, err := New(source)
		if err != nil {
			continue
		}
		last := c.NowNS()
		for range 1_000_000 {
			now := c.NowNS()
			if now < last {
				t.Fatalf("%s went from %d back to %d", source, last, now)
			}
			last = now
		}
	}
}

func TestUnknownSourceIsRefused(t *testing.T) {
	if _, err := New("sundial"); err == nil {
		t.Error("New accepted a clock that does not exist")
	}
}

func BenchmarkNow(b *testing.B) {
	for _, source := range []Source{TSC, Monotonic} {
		c, err := New(source)
		if err != nil {
			continue
		}
		b.Run(string(source), func(b *testing.B) {
			for range b.N {
				c.NowNS()
			}
		})
	}
}

// A calibration begins at the looks of the one before, and not where the machine slept in between.
func TestCalibrationGoesOn(t *testing.T) {
	first, err := New(TSC)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	time.Sleep(2 * calibrateLeast)
	for range 100 {
		c, err := New(TSC)
		if err != nil {
			t.Fatal(err)
		}
		if d := float64(c.scale)/float64(first.scale) - 1; d > 1e-3 || d < -1e-3 {
			t.Fatalf("a tick is %v of what it was longer", d)
		}
	}
	for what, looks := range map[string]looks{
		"the machine slept":      {ticks: earlier.at.ticks - 1<<40, ns: earlier.at.ns - int64(50*time.Millisecond)},
		"the counter began anew": {ticks: 1 << 63, ns: earlier.at.ns - int64(50*time.Millisecond)},
		"long ago":               {ticks: 1, ns: earlier.at.ns - int64(time.Hour)},
	} {
		earlier.at = looks
		c, err := New(TSC)
		if err != nil {
			t.Fatal(err)
		}
		if d := float64(c.scale)/float64(first.scale) - 1; d > 1e-3 || d < -1e-3 {
			t.Errorf("%s: a tick is %v of what it was longer", what, d)
		}
	}
}
