package clock

import (
	"sync"
	"testing"
	"time"
)

// An alarm never wakes anybody before the time, also where others sleep by alarms of their own.
func TestAlarmsAreNeverEarly(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var a Alarm
			for k := range 40 {
				d := time.Duration(1+(i*40+k)%97) * 20 * time.Microsecond
				began := time.Now()
				a.Sleep(d)
				if slept := time.Since(began); slept < d {
					t.Errorf("slept %v, asked for %v", slept, d)
				}
				if k%13 == 0 { // it can be used again
					if err := a.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A sleep allocates nothing: what a worker allocates is shown as the store's.
func TestSleepsAllocateNothing(t *testing.T) {
	var a Alarm
	a.Sleep(time.Microsecond)
	if n := testing.AllocsPerRun(200, func() { a.Sleep(10 * time.Microsecond) }); n >= 1 {
		t.Errorf("a sleep allocates %.1f times", n)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// Without a timer of the kernel it sleeps too.
func TestAlarmWithoutATimerSleeps(t *testing.T) {
	a := Alarm{without: true}
	began := time.Now()
	a.Sleep(2 * time.Millisecond)
	a.Sleep(0)
	a.Sleep(-time.Second)
	if slept := time.Since(began); slept < 2*time.Millisecond {
		t.Errorf("slept %v", slept)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
