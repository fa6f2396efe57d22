package worker

import (
	"math/rand/v2"
	"testing"
	"time"
)

// waits lets a thread wait n times on a made-up clock, every so often, by sleeps that end late by what late
// returns. It returns which share of the time was spun away, and of the operations began late.
func waits(w *waiter, n int, every time.Duration, late func() int64) (spun, lateOnes float64) {
	now := int64(0)
	for i := range n {
		due := int64(i+1) * int64(every)
		if now >= due {
			lateOnes++
			continue
		}
		if asked := due - now - w.lead(now); asked > aloneBelowNS {
			over := late()
			now += asked + over
			w.slept(over)
		}
		if now > due {
			lateOnes++
			continue
		}
		w.spun(due - now)
		spun += float64(due - now)
		now = due
	}
	return spun / float64(now), lateOnes / float64(n)
}

// However late sleeps end, threads spin a quarter of the processors at most.
func TestWaitsDoNotTakeTheProcessorsOfAServer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, late := range []time.Duration{0, 20 * time.Microsecond, 200 * time.Microsecond, 2 * time.Millisecond} {
		for _, every := range []time.Duration{20 * time.Microsecond, 200 * time.Microsecond, 5 * time.Millisecond} {
			w := newWaiter(1)
			w.share = spinShare
			const n = 50_000
			spun, _ := waits(&w, n, every, func() int64 { return int64(random.ExpFloat64() * float64(late)) })
			most := spinShare + float64(creditMostNS)/(n*float64(every))
			if spun > most+0.001 {
				t.Errorf("sleeps late by %v, operations every %v: %.3f of the time is spun, expected at most %.3f", late, every, spun, most)
			}
		}
	}
}

// Where there is enough of it, nine in ten operations begin on time.
func TestNineInTenWaitsEndOnTime(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, late := range []time.Duration{time.Microsecond, 25 * time.Microsecond, 100 * time.Microsecond} {
		w := newWaiter(1)
		w.share = spinShare
		_, lateOnes := waits(&w, 50_000, 5*time.Millisecond, func() int64 {
			return int64(random.ExpFloat64() * float64(late))
		})
		if lateOnes > 0.11 {
			t.Errorf("sleeps late by %v on average: %.3f of the operations begin late", late, lateOnes)
		}
		if w.lateNS > int64(4*late)+2*9*lateStepNS {
			t.Errorf("sleeps late by %v on average: %v are spun away", late, time.Duration(w.lateNS))
		}
	}
}

// All threads of a phase share what may be spun.
func TestThreadsShareTheSpinBudget(t *testing.T) {
	one, many := newWaiter(1), newWaiter(1000)
	if many.share > one.share/900 && one.share < 1 || many.share <= 0 {
		t.Errorf("one thread may spin %.3f of its time, each of a thousand %.5f", one.share, many.share)
	}
}
