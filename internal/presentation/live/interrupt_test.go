package live

import (
	"os"
	"syscall"
	"testing"
)

func TestInterrupts(t *testing.T) {
	calls := make(chan string, 10)
	stop := Interrupts(func(s os.Signal) { calls <- "first " + s.String() }, func() { calls <- "again" })
	defer stop()
	for _, want := range []string{"first interrupt", "again", "again"} {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if got := <-calls; got != want {
			t.Errorf("called %q, want %q", got, want)
		}
	}
	stop()
	stop() // twice does no harm
}
