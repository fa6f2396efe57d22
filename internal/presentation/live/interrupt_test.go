package live

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// A second signal of the same ending is none of its own; a later one is.
func TestInterrupts(t *testing.T) {
	calls, times := make(chan string, 10), make(chan time.Time)
	stop := interrupts(func(s os.Signal) { calls <- "first " + s.String() }, func() { calls <- "again" }, func() time.Time { return <-times })
	defer stop()
	began := time.Unix(1000, 0)
	for _, c := range []struct {
		after time.Duration
		want  string // "": nothing is called
	}{{0, "first interrupt"}, {oneEnding / 2, ""}, {oneEnding, ""}, {2 * oneEnding, "again"}, {3 * oneEnding, "again"}} {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		times <- began.Add(c.after)
		if c.want == "" {
			continue // had it called something, the next call would be another one than is wanted
		}
		if got := <-calls; got != c.want {
			t.Errorf("%v after the first: called %q, want %q", c.after, got, c.want)
		}
	}
	stop()
	stop() // twice does no harm
}
