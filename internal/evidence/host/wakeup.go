package host

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// WakeUp is what it takes until a thread that sleeps in a read runs again after another thread has
// written to it: half of the median round trip of a byte over a socket pair, system calls included. Each
// request to a server on this machine takes two where both ends sleep in between.
type WakeUp struct {
	SameCPU float64 `json:"same_cpu_ns"` // both threads on one CPU, which never idles
	// A CPU each, which may idle. 0: this process may use one CPU alone.
	OtherCPU float64 `json:"other_cpu_ns,omitempty"`
}

// wakeUpsARequest is how often a thread is woken for a request and its answer: the server's, and
// the client's.
const wakeUpsARequest = 2

// WakeUpShareMax is how much of a median latency may be wake-ups before that has to be said.
const WakeUpShareMax = 1.0 / 3

// ShareOf is how much of a request's latency wake-ups are at least: where client and server run is
// up to the kernel, so that the cheaper of the two counts.
func (w *WakeUp) ShareOf(latencyNS float64) float64 {
	if w == nil || latencyNS <= 0 {
		return 0
	}
	return min(wakeUpsARequest*w.CheapestNS()/latencyNS, 1)
}

// CheapestNS is the cheaper of the two.
func (w *WakeUp) CheapestNS() float64 {
	if w.OtherCPU > 0 {
		return min(w.SameCPU, w.OtherCPU)
	}
	return w.SameCPU
}

// A measurement ends after so many round trips, or so long. The first ones are not counted. Medians
// of 100 scatter as those of 500 do, for a quarter of the CPU time, which every run takes.
const (
	wakeUpRounds  = 100 // their median is the figure
	wakeUpWarmup  = wakeUpRounds / 10
	wakeUpPatient = 150 * time.Millisecond
)

// wakeUpHere is that of this machine, measured once for all runs of this process.
var wakeUpHere = sync.OnceValues(MeasureWakeUp)

// MeasureWakeUp sends a byte back and forth between two threads, on one CPU and across two.
func MeasureWakeUp() (*WakeUp, error) {
	var allowed linux.CPUSet
	if err := linux.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("asking on which CPUs this process may run: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < allowed.Count(); cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	same, err := pingPong(cpus[0], cpus[0])
	if err != nil || len(cpus) == 1 {
		return &WakeUp{SameCPU: same}, err
	}
	other, err := pingPong(cpus[0], cpus[len(cpus)-1])
	return &WakeUp{SameCPU: same, OtherCPU: other}, err
}

// pingPong returns half the median round trip in ns.
func pingPong(here, there int) (ns float64, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|linux.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("making a socket pair: %w", err)
	}
	answered := make(chan error, 1)
	go func() { answered <- onCPU(there, func() error { return echo(ends[1]) }) }()
	asked := make(chan error, 1)
	var rounds []float64
	go func() {
		asked <- onCPU(here, func() (err error) {
			rounds, err = ask(ends[0])
			return err
		})
	}()
	err = <-asked
	unix.Shutdown(ends[0], unix.SHUT_RDWR) // which ends the echo, whatever it does
	if echoErr := <-answered; err == nil {
		err = echoErr
	}
	unix.Close(ends[0])
	unix.Close(ends[1])
	if err != nil {
		return 0, err
	}
	slices.Sort(rounds)
	return rounds[len(rounds)/2] / 2, nil
}

// onCPU does something on a thread of its own, which runs on one CPU alone meanwhile.
func onCPU(cpu int, do func() error) (err error) {
	runtime.LockOSThread()
	var only, before linux.CPUSet
	only.Set(cpu)
	if err := errors.Join(linux.SchedGetaffinity(0, &before), linux.SchedSetaffinity(0, &only)); err != nil {
		return fmt.Errorf("running on CPU %d alone: %w", cpu, err)
	}
	defer func() {
		if restoreErr := linux.SchedSetaffinity(0, &before); restoreErr != nil {
			err = errors.Join(err, fmt.Errorf("leaving CPU %d: %w", cpu, restoreErr)) // the thread ends with its goroutine
			return
		}
		runtime.UnlockOSThread()
	}()
	return do()
}

func ask(end int) (rounds []float64, err error) {
	text := []byte{1}
	begun := time.Now()
	for round := 0; round < wakeUpWarmup+wakeUpRounds; round++ {
		if round > wakeUpWarmup && time.Since(begun) > wakeUpPatient {
			break
		}
		sent := time.Now()
		if _, err = unix.Write(end, text); err == nil {
			_, err = readAgain(end, text)
		}
		if err != nil {
			return nil, fmt.Errorf("measuring a wake-up: %w", err)
		}
		if round >= wakeUpWarmup {
			rounds = append(rounds, float64(time.Since(sent)))
		}
	}
	return rounds, nil
}

func echo(end int) error {
	text := make([]byte, 1)
	for {
		n, err := readAgain(end, text)
		if n == 0 || err != nil {
			return err
		}
		if _, err := unix.Write(end, text); err != nil {
			return nil // the other end is gone: it says why
		}
	}
}

// readAgain reads, again where a signal ended the read.
func readAgain(end int, text []byte) (n int, err error) {
	for {
		if n, err = unix.Read(end, text); err != unix.EINTR {
			return n, err
		}
	}
}
