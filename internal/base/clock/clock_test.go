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
