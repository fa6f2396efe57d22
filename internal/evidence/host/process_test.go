package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is its own child: the environment says what to do, and a line on standard input
// when.
const roleVariable = "ASSAY_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(role string) error {
	lines := bufio.NewReader(os.Stdin)
	if _, err := lines.ReadString('\n'); err != nil {
		return err
	}
	what, size, _ := strings.Cut(role, " ")
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	switch what {
	case "allocate":
		memory := make([]byte, n)
		for i := 0; i < n; i += 4096 {
			memory[i] = 1
		}
	case "write":
		if err := writeFile(os.Getenv("ASSAY_TEST_FILE"), n); err != nil {
			return err
		}
	case "direct":
		if err := writeDirect(os.Getenv("ASSAY_TEST_FILE"), n); err != nil {
			return err
		}
	case "compute":
		compute(time.Duration(n))
	}
	fmt.Println("done")
	_, err = lines.ReadString('\n')
	if err == io.EOF {
		return nil
	}
	return err
}

// compute uses so much CPU time, however long that takes.
func compute(cpu time.Duration) {
	for begin := cpuTime(); cpuTime()-begin < cpu; {
	}
}

func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func writeFile(path string, n int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i)
	}
	for range n >> 20 {
		if _, err := file.Write(block); err != nil {
			return err
		}
	}
	return errors.Join(file.Sync(), file.Close())
}

type child struct {
	*exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

// start starts a child that waits for begin.
func start(t *testing.T, role string, environment ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(append(os.Environ(), roleVariable+"="+role), environment...)
	var err error
	if c.input, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.output = bufio.NewReader(output)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c
}

// work lets it do its part and tells whether it lived to say so.
func (c *child) work() bool {
	if _, err := io.WriteString(c.input, "\n"); err != nil {
		return false
	}
	line, err := c.output.ReadString('\n')
	return err == nil && line == "done\n"
}

func TestProcessAlive(t *testing.T) {
	c := start(t, "compute 1")
	if !ProcessAlive(c.Process.Pid) || !ProcessAlive(os.Getpid()) || !ProcessAlive(1) {
		t.Error("a running process is reported as ended")
	}
	begun, err := ProcessStart(c.Process.Pid)
	if err != nil || begun == 0 {
		t.Errorf("began at %d, %v", begun, err)
	}
	c.Process.Kill()
	for deadline := time.Now().Add(10 * time.Second); ProcessAlive(c.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a zombie is reported as alive")
		}
	}
	c.Wait()
	if ProcessAlive(c.Process.Pid) || ProcessAlive(0) || ProcessAlive(-1) {
		t.Error("a process that has ended is reported as alive")
	}
	if _, err := ProcessStart(c.Process.Pid); err == nil {
		t.Error("a process that has ended has a start")
	}
}

func TestSamplerSeesTheWorker(t *testing.T) {
	const bytes = 8 << 20
	directory := t.TempDir()
	file := filepath.Join(directory, "file")
	c := start(t, fmt.Sprint("write ", bytes), "ASSAY_TEST_FILE="+file)
	s := NewSampler(directory, c.Process.Pid)
	before := s.Sample()
	if !c.work() {
		t.Fatal("the child failed")
	}
	s.walkNext = time.Time{} // on a busy machine even the walk of an empty directory may have been slow
	after := s.Sample()
	if after.RSSBytes == nil || *after.RSSBytes == 0 || after.MajorFaults == nil || after.CPUSeconds == nil {
		t.Errorf("the worker was not measured: %+v", after)
	}
	if after.DiskBytes == nil || *after.DiskBytes < bytes || *after.Files != 1 || *before.Files != 0 {
		t.Errorf("disk: %v bytes", after.DiskBytes)
	}
	i := after.Since(before)
	if i.HostWriteBytes == nil {
		t.Skip("/proc/PID/io can't be read here")
	}
	if *i.HostWriteBytes < bytes {
		t.Errorf("the worker wrote %d bytes, /proc says %d", bytes, *i.HostWriteBytes)
	}
}

// What the worker and the conductor compute is not foreign; what another process computes is.
func TestForeignLoad(t *testing.T) {
	const busy = 600 * time.Millisecond
	const most = 0.8 // of it must be seen: both ends of the interval are off by a tick, and the child starts before it
	role := fmt.Sprint("compute ", int64(busy))
	measure := func(worker int, work func()) (cpu, trial, foreign float64) {
		s := NewSampler("", worker)
		before := s.Sample()
		work()
		after := s.Sample()
		i := after.Since(before)
		if i.Foreign == nil || i.Steal == nil {
			t.Fatal("not measured")
		}
		return *i.CPUSeconds, after.machine.trial - before.machine.trial,
			*i.Foreign * (after.machine.all - before.machine.all)
	}
	works := func(c *child) func() {
		return func() {
			if !c.work() {
				t.Fatal("the child failed")
			}
		}
	}
	worker, other, idle := start(t, role), start(t, role), start(t, role)
	// Other work on the machine is foreign as well, so that foreign is bounded from below only.
	if cpu, trial, _ := measure(worker.Process.Pid, works(worker)); cpu < most*busy.Seconds() || trial < cpu-0.001 {
		t.Errorf("a worker that used %v: worker %.2f s, trial %.2f s", busy, cpu, trial)
	}
	if cpu, trial, foreign := measure(idle.Process.Pid, works(other)); cpu > 0.05 || trial > 0.2 ||
		foreign < most*busy.Seconds()/2 {
		t.Errorf("a foreign process used %v: worker %.2f s, trial %.2f s, foreign %.2f s", busy, cpu, trial, foreign)
	}
	if cpu, trial, _ := measure(idle.Process.Pid, func() { compute(busy) }); cpu > 0.05 || trial < most*busy.Seconds() {
		t.Errorf("the conductor used %v: worker %.2f s, trial %.2f s", busy, cpu, trial)
	}
	// Arithmetic, free of other load.
	was := Usage{machine: &machineTime{all: 100, busy: 10, steal: 1, trial: 5}}
	now := Usage{machine: &machineTime{all: 110, busy: 18, steal: 2, trial: 11}}
	if i := now.Since(was); *i.Foreign != 0.2 || *i.Steal != 0.1 {
		t.Errorf("foreign %v, steal %v", *i.Foreign, *i.Steal)
	}
}

func TestNotMeasured(t *testing.T) {
	c := start(t, "compute 1")
	c.Process.Kill()
	c.Wait()
	s := NewSampler(filepath.Join(t.TempDir(), "nowhere"), c.Process.Pid)
	u := s.Sample()
	if u.CPUSeconds != nil || u.RSSBytes != nil || u.HostReadBytes != nil || u.MajorFaults != nil ||
		u.DiskBytes != nil || u.Files != nil {
		t.Errorf("a process that has ended was measured: %+v", u)
	}
	if i := u.Since(u); i.CPUSeconds != nil || i.Foreign != nil || i.Steal != nil {
		t.Errorf("differences of nothing: %+v", i)
	}
	more, less := 2.0, 1.0
	if i := (Usage{CPUSeconds: &less}).Since(Usage{CPUSeconds: &more}); i.CPUSeconds != nil {
		t.Error("a counter that fell was taken for a measurement")
	}
}

func TestCostlyWalksAreMadeSeldom(t *testing.T) {
	s := NewSampler(t.TempDir(), os.Getpid())
	for range 2 {
		if s.Sample().DiskBytes == nil && s.walkCost <= walkCheap {
			t.Fatal("a cheap walk was left out")
		}
	}
	s.walkNext = time.Now().Add(time.Hour) // what walk sets after a costly one
	if s.Sample().DiskBytes != nil {
		t.Error("a costly walk was made again at once")
	}
}

func TestChildrenOfTheWorkerCount(t *testing.T) {
	shell := exec.Command("sh", "-c", "sleep 60 & wait")
	if err := shell.Start(); err != nil {
		t.Skipf("no shell: %v", err)
	}
	defer func() { shell.Process.Kill(); shell.Wait() }()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if pids := tree(kernelRoots, shell.Process.Pid); len(pids) == 2 {
			// Left to itself, it would outlive the test.
			process, _ := os.FindProcess(pids[1])
			process.Kill()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the tree is %v", tree(kernelRoots, shell.Process.Pid))
		}
	}
}

func BenchmarkSample(b *testing.B) {
	for _, files := range []int{0, 100, 1000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			directory := b.TempDir()
			for i := range files {
				if err := os.WriteFile(filepath.Join(directory, strconv.Itoa(i)), nil, 0o644); err != nil {
					b.Fatal(err)
				}
			}
			s := NewSampler(directory, os.Getpid())
			for b.Loop() {
				s.Sample()
			}
		})
	}
}
