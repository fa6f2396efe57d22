package live

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// oneEnding is how soon after the first a signal is part of the same ending: timeout(1) sends its signal
// to the process and then to its group, so that one ending comes twice.
const oneEnding = 300 * time.Millisecond

// Interrupts calls first when the user presses Ctrl-C (or at SIGTERM, or when the terminal goes
// away), and again each time later than [oneEnding] after that: first should let the run write what
// it has and stop, again should stop at once. Both are called from another goroutine, one after the
// other. stop ends the watch. Workers must have a process group of their own, or the terminal sends
// the signal to them as well.
func Interrupts(first func(os.Signal), again func()) (stop func()) {
	return interrupts(first, again, time.Now)
}

func interrupts(first func(os.Signal), again func(), now func() time.Time) (stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup wants the run to outlive its terminal
		signal.Notify(signals, syscall.SIGHUP)
	}
	end := make(chan struct{})
	go func() {
		var began time.Time
		for {
			select {
			case s := <-signals:
				if at := now(); began.IsZero() {
					began = at
					first(s)
				} else if at.Sub(began) > oneEnding {
					again()
				}
			case <-end:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(end)
	})
}
