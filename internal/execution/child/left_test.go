package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
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
			t.Fatalf("look %d: %v are reported as left", looks, left)
		}
	}
}

// In another time namespace the kernel gives another start of the same process: its owner's mark is then
// no sign that the owner has gone.
func TestOwnerWithOtherClocksIsNotGone(t *testing.T) {
	own := markOf(os.Getpid())
	for name, gone := range map[string]bool{
		own + "-1": false,
		strings.Replace(own, "."+namespaceOf("time"), ".1", 1) + "1-1": false, // begun at another time there
		own + "1-1": true, // another process had the number
		fmt.Sprintf("%s.1-%d-5-1", namespaceOf("pid"), 1<<22+1):                        true,  // there is no such process
		fmt.Sprintf("1.%s-%d-5-1", namespaceOf("time"), 1<<22+1):                       false, // numbers of others
		fmt.Sprintf("%s-%d-5-1", namespaceOf("pid"), 1<<22+1) /* of an older Assay */ : true,
	} {
		if ownerGone(name) != gone {
			t.Errorf("%s: gone is %v, expected %v", name, !gone, gone)
		}
	}
}

// An agent in a time namespace of its own keeps what it has started while another Assay cleans up.
//
// Fault (agents): an agent is in another time namespace, and another Assay on the machine ends what
// killed ones left
// Assay: its workers go on
// With: child.TestOwnerWithOtherClocksIsNotGone
func TestChildrenOfAnotherTimeNamespaceAreLeft(t *testing.T) {
	if os.Getenv("ASSAY_TEST_CLOCKS") != "" {
		c, err := Start(exec.Command("sleep", "1000"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("child %d\n", c.PID())
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test has looked
		c.Kill()
		_, _ = c.Wait() // it was killed
		return
	}
	inside := exec.Command("unshare", "--time", "--boottime", "1000000", "--monotonic", "1000000", "--fork", os.Args[0],
		"-test.run", "^"+t.Name()+"$")
	inside.Env = append(os.Environ(), "ASSAY_TEST_CLOCKS=1")
	in, inErr := inside.StdinPipe()
	out, outErr := inside.StdoutPipe()
	if err := errors.Join(inErr, outErr, inside.Start()); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	var pid int
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "child %d", &pid) // other lines are the test's
	}
	if pid == 0 {
		t.Skipf("SKIPPED: no time namespace can be made here: %v", inside.Wait())
	}
	ended := EndLeft()
	if slices.Contains(ended, pid) || statField(pid, stateField) == "" {
		t.Errorf("process %d, whose owner lives, was ended: %v", pid, ended)
	}
	_ = in.Close() // it ends then
	if err := inside.Wait(); err != nil {
		t.Error(err)
	}
}
