package child

import (
	"os/exec"
	"testing"
)

// A process that ends while it is looked at, and that another goroutine waits for, was not left by
// the child: it has no session and no environment any more, as one that has cleared its signs.
func TestLeft_passes_over_processes_that_end_meanwhile(t *testing.T) {
	c, err := Start(exec.Command("true"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := c.Wait(); left > 0 || err != nil {
		t.Fatal(left, err)
	}
	ended := make(chan error, 1)
	go func() {
		for range 500 {
			if err := exec.Command("true").Run(); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for looks := 0; ; looks++ {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d looks", looks)
			return
		default:
		}
		if left := c.Left(); len(left) > 0 {
			t.Fatalf("look %d: %v are told to be left", looks, left)
		}
	}
}
