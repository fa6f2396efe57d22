package clock

import (
	"time"

	"assay/internal/base/linux"
)

// Alarm lets a goroutine sleep. It wakes within some 20 to 100 µs, by a timer of the kernel
// (timerfd_create(2)) for which the scheduler waits as for a socket: [time.Sleep] oversleeps by up to a
// millisecond. The zero value is ready to use, by one goroutine at a time. Where no such timer can be had,
// it is time.Sleep.
type Alarm struct {
	timer   *linux.Timer // nil: none was made yet
	without bool         // none can be had
}

// Sleep returns once d has passed.
func (a *Alarm) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if a.timer == nil && !a.without {
		a.timer = linux.NewTimer()
		a.without = a.timer == nil
	}
	began := time.Now()
	if a.timer != nil {
		_ = a.timer.Wait(d) // what fails here is slept away below
	}
	if left := d - time.Since(began); left > 0 {
		time.Sleep(left)
	}
}

// Close gives the timer back. The alarm can be used again.
func (a *Alarm) Close() error {
	if a.timer == nil {
		return nil
	}
	err := a.timer.Close()
	a.timer = nil
	return err
}
