package host

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// cpuTicks writes /proc/stat and the worker's of a machine with some CPUs, in clock ticks since
// boot.
func (m machineTree) cpuTicks(cpus, busy, idle, steal, worker int) {
	text := fmt.Sprintf("cpu  %d 0 0 %d 0 0 0 %d 0 0\n", busy, idle, steal)
	for i := range cpus {
		text += fmt.Sprintf("cpu%d 0 0 0 0 0 0 0 0 0 0\n", i)
	}
	m.write("stat", text+"ctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n")
	fields := strings.Fields(strings.Repeat("0 ", 50))
	fields[0], fields[11] = "S", fmt.Sprint(worker)
	m.write("77/stat", "77 (worker) "+strings.Join(fields, " ")+"\n")
}

// A phase on 4 CPUs with 4 ms kernel ticks, between two looks at a machine that is written by hand.
func TestBoundsOfAShortPhase(t *testing.T) {
	for _, c := range []struct {
		name                     string
		milliseconds             int
		busy, idle, steal, trial int // clock ticks
		foreign, foreignOff      float64
		stolen, stolenOff        float64
	}{
		{"quiet, 200 ms", 200, 40, 40, 0, 40, 0, 0.1525, 0, 0.0325},
		{"half is others', 200 ms", 200, 80, 0, 0, 40, 0.5, 0.1525, 0, 0.0325},
		{"all is others', 200 ms", 200, 80, 0, 0, 0, 1, 0.1525, 0, 0.0325},
		{"half is stolen, 200 ms", 200, 40, 0, 40, 40, 0, 0.1525, 0.5, 0.0325},
		{"half is others', 10 s", 10000, 4000, 0, 0, 2000, 0.5, 0.00305, 0, 0.00065},
		{"half is others', 20 ms", 20, 8, 0, 0, 4, 0.5, 1.525, 0, 0.325},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			s := m.sampler()
			s.kernelTick = 0.004
			m.cpuTicks(4, 1000, 1000, 1000, 500)
			before := s.Sample()
			m.cpuTicks(4, 1000+c.busy, 1000+c.idle, 1000+c.steal, 500+c.trial)
			after := s.Sample()
			after.At = before.At.Add(time.Duration(c.milliseconds) * time.Millisecond)
			if before.machine.took <= 0 || after.machine.took <= 0 {
				t.Fatal("what the readings took is not known")
			}
			before.machine.took, after.machine.took = 0, 0
			i := after.Since(before)
			want := func(what string, b *Bounds, value, off float64) {
				t.Helper()
				least, most := max(value-off, 0), min(value+off, 1)
				if b == nil || math.Abs(b.Least-least) > 1e-9 || math.Abs(b.Most-most) > 1e-9 {
					t.Errorf("%s: %+v, want %v to %v", what, b, least, most)
				}
			}
			want("foreign", i.ForeignWithin, c.foreign, c.foreignOff)
			want("steal", i.StealWithin, c.stolen, c.stolenOff)
		})
	}
}

// A trial that may use CPUs 1 and 3 of four is not disturbed by what others do on 0 and 2.
func TestForeignLoadIsOfTheCPUsThatTheTrialMayUse(t *testing.T) {
	for _, c := range []struct {
		name    string
		cpus    []int
		foreign float64
		of      int
	}{{"all", nil, 0.5, 4}, {"its own", []int{1, 3}, 0, 2}, {"the others'", []int{0, 2}, 1, 2}, {"more than there are", []int{0, 1, 2, 3, 4}, 0.5, 4}} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			s := m.sampler()
			s.cpus = c.cpus
			tick := func(n int) { // CPUs 0 and 2 are busy, 1 and 3 idle
				m.cpuTicks(0, 2*n, 2*n, 0, 0)
				m.write("stat", fmt.Sprintf("cpu  %d 0 0 %d 0 0 0 0 0 0\ncpu0 %d 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 %d 0 0 0 0 0 0\n"+
					"cpu2 %d 0 0 0 0 0 0 0 0 0\ncpu3 0 0 0 %d 0 0 0 0 0 0\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
					2*n, 2*n, n, n, n, n))
			}
			tick(1000)
			before := s.Sample()
			tick(2000)
			after := s.Sample()
			after.At = before.At.Add(10 * time.Second)
			before.machine.took, after.machine.took = 0, 0
			i := after.Since(before)
			if i.CPUs != c.of || i.Foreign == nil || math.Abs(*i.Foreign-c.foreign) > 1e-9 {
				t.Fatalf("%d CPUs, foreign %v, want %d and %v", i.CPUs, i.Foreign, c.of, c.foreign)
			}
			if b := i.ForeignWithin; b.Least > c.foreign || b.Most < c.foreign || b.Most-b.Least > 0.05 {
				t.Errorf("bounds %+v do not hold %v closely", b, c.foreign)
			}
		})
	}
}

func TestCoresOfCPUs(t *testing.T) {
	m := newMachine(t)
	for cpu, siblings := range []string{"0,2", "1,3", "0,2", "1,3"} {
		directory := filepath.Join(m.sys, fmt.Sprintf("devices/system/cpu/cpu%d/topology", cpu))
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, "thread_siblings_list"), []byte(siblings+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for want, cpus := range map[int][]int{0: nil, 1: {0, 2}, 2: {0, 1, 2, 3}, 3: {0, 1, 9}} {
		if got := cores(m.roots, cpus); got != want {
			t.Errorf("%v are threads of %d cores, want %d", cpus, got, want)
		}
	}
	if got := byCore(m.roots, []int{0, 2, 3, 1, 9}); !slices.Equal(got, []int{0, 3, 9, 2, 1}) {
		t.Errorf("by core: %v", got)
	}
	if got := byCore(m.roots, []int{8, 9}); !slices.Equal(got, []int{8, 9}) {
		t.Errorf("of unknown cores: %v", got)
	}
}

// What a slow reading took widens the bounds, and so do a server's processes.
func TestBoundsGrowWithUncertainty(t *testing.T) {
	of := func(cut int, took float64) *Bounds {
		return foreignBounds(&machineTime{cpus: 4, parts: 1, cut: cut, took: took}, &machineTime{cpus: 4, parts: 1,
			cut: cut, took: took, busy: 0.4, idle: 0.4}, 0.2, 0.004)
	}
	least := of(6, 0).Least
	if slow := of(6, 0.01).Least; math.Abs(least-slow-0.1) > 1e-9 {
		t.Errorf("readings of 10 ms move the lower bound from %v to %v", least, slow)
	}
	if many := of(26, 0).Least; math.Abs(least-many-0.25) > 1e-9 {
		t.Errorf("five more processes move the lower bound from %v to %v", least, many)
	}
}

func TestNoBoundsWhereCPUsChange(t *testing.T) {
	m := newMachine(t)
	s := m.sampler()
	m.cpuTicks(4, 1, 1, 1, 1)
	before := s.Sample()
	m.cpuTicks(2, 9, 9, 9, 9)
	after := s.Sample()
	after.At = before.At.Add(time.Second)
	if i := after.Since(before); i.ForeignWithin != nil || i.StealWithin != nil {
		t.Errorf("foreign %+v, steal %+v", i.ForeignWithin, i.StealWithin)
	}
}

// TestBoundsContainTheTrueValue lets a machine go on in stretches, counts as the kernel does, and asks
// whether what others really used lies within.
func TestBoundsContainTheTrueValue(t *testing.T) {
	const idle, worker, conductor, others = 0, 1, 2, 3
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.IntRange(1, 8).Draw(t, "cpus")
		kernelTick := rapid.SampledFrom([]int{1, 4, 10}).Draw(t, "kernel tick, ms") * 1000
		begin := rapid.IntRange(0, 50_000).Draw(t, "first reading, µs")
		length := rapid.IntRange(5_000, 400_000).Draw(t, "phase, µs")
		seen := make([][2][4]int, cpus) // µs by CPU, at either reading, and by who
		var truth int
		offset := make([][4]int, cpus) // what had been counted before
		for c := range cpus {
			for who := range 4 {
				offset[c][who] = rapid.IntRange(0, 30_000).Draw(t, "before, µs")
			}
			used := offset[c]
			var stale [4]int // as of the last kernel tick
			stale = used
			for at := 0; at < begin+length; {
				stretch := rapid.IntRange(100, 200_000).Draw(t, "stretch, µs")
				who := rapid.IntRange(idle, others).Draw(t, "who")
				for range stretch {
					if at == begin {
						seen[c][0] = stale
						seen[c][0][idle] = used[idle] // measured, not sampled
					}
					if at == begin+length {
						break
					}
					used[who]++
					if at++; at%kernelTick == 0 {
						stale = used
					}
					if who == others && at > begin {
						truth++
					}
				}
				stale = used // a switch brings it up to date
			}
			seen[c][1] = stale
			seen[c][1][idle] = used[idle]
		}
		reading := func(r int) *machineTime {
			var sums [4]int
			for c := range cpus {
				for who := range 4 {
					sums[who] += seen[c][r][who]
				}
			}
			tick := func(micros int) float64 { return float64(micros/10_000) / 100 }
			m := &machineTime{cpus: cpus, cut: 6, idle: tick(sums[idle]),
				trial: tick(sums[worker]) + tick(sums[conductor])}
			m.busy = tick(sums[worker] + sums[conductor] + sums[others])
			return m
		}
		seconds := float64(length) / 1e6
		b := foreignBounds(reading(0), reading(1), seconds, float64(kernelTick)/1e6)
		if share := float64(truth) / 1e6 / (seconds * float64(cpus)); share < b.Least-1e-9 || share > b.Most+1e-9 {
			t.Fatalf("others used %v, the bounds are %+v", share, *b)
		}
	})
}
