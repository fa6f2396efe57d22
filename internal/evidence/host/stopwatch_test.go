package host

import "testing"

// Fault (stops): the machine sleeps, the virtual machine is paused
// Assay: `machine-disturbed` (`stopped`): `CLOCK_BOOTTIME` runs ahead, or a wait overran
func TestStopWatch_gaps_and_joins(t *testing.T) {
	const ms = int64(1e6)
	w := StopWatch{processes: NewStopped(), lookedNS: 1000 * ms}
	w.look(1050 * ms)
	w.look(1500 * ms) // late, as on a busy machine
	if len(w.all) > 0 {
		t.Fatalf("a busy machine is a stop: %+v", w.all)
	}
	w.look(2500 * ms) // nothing ran
	w.look(2550 * ms)
	w.add(Stop{Why: StoppedSuspend, FromNS: 3000 * ms, ToNS: 3050 * ms, SleptNS: 60_000 * ms})
	w.add(Stop{Why: StoppedSuspend, FromNS: 3050 * ms, ToNS: 3100 * ms, SleptNS: 1_000 * ms})
	for _, c := range []struct {
		from, to int64
		want     string
	}{{1000, 1500, ""}, {1400, 1600, StoppedGap}, {2500, 3000, ""}, {3000, 3010, StoppedSuspend}, {3100, 4000, ""}} {
		if got := w.Within(c.from*ms, c.to*ms); got != c.want {
			t.Errorf("%d to %d ms: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	all := w.Since(1600 * ms)
	if len(all) != 2 || all[0] != (Stop{StoppedGap, 1600 * ms, 2500 * ms, 0}) ||
		all[1] != (Stop{StoppedSuspend, 3000 * ms, 3100 * ms, 61_000 * ms}) {
		t.Fatalf("%+v", all)
	}
}
