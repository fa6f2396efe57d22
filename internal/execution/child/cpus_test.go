package child

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestChildRunsOnItsCPUsAlone(t *testing.T) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		t.Fatal(err)
	}
	last := 0
	for cpu := range 1024 {
		if own.IsSet(cpu) {
			last = cpu
		}
	}
	for _, cpus := range [][]int{{last}, nil} {
		want := strconv.Itoa(own.Count())
		if cpus != nil {
			want = "1"
		}
		var told strings.Builder
		command := exec.Command("nproc")
		command.Stdout = &told
		c, err := Start(command, Options{CPUs: cpus})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(); err != nil || strings.TrimSpace(told.String()) != want {
			t.Errorf("CPUs %v: nproc says %q, want %s: %v", cpus, told.String(), want, err)
		}
	}
	if _, err := Start(exec.Command("true"), Options{CPUs: []int{1023}}); err == nil {
		t.Error("a CPU that is not there was taken")
	}
}
