// Package clock tells the time inside the measured loop: by the processor's time-stamp counter
// where that can be trusted (11 ns a look), and by the monotonic clock otherwise (29 ns). The two
// are compared all through a run. An [Alarm] wakes at a time.
package clock

import (
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
)

// Clock gives ns since its origin. Its fields do not change once it is made, so all threads may
// share it.
type Clock struct {
	tsc      bool
	originNS int64  // CLOCK_MONOTONIC at the origin
	ticks    uint64 // time-stamp counter at the origin
	scale    uint64 // ns a tick, times 2^32
	base     time.Time
	stands   bool  // the clock of [Still]
	at       int64 // its time
}

// Still returns a clock that stands at 0, until it is set.
func Still() *Clock { return &Clock{stands: true} }

// Set sets a clock of [Still].
func (c *Clock) Set(ns int64) { c.at = ns }

// Source names a way to tell time.
type Source string

const (
	Auto      Source = "auto"
	TSC       Source = "tsc"
	Monotonic Source = "monotonic"
)

// New makes a clock. Auto takes the TSC where it is trusted. Calibrating the TSC takes about 20 ms, less
// what has passed since [Begin].
func New(source Source) (*Clock, error) {
	c := &Clock{}
	c.base, c.originNS = origin()
	reason := whyNoTSC()
	switch {
	case source == Monotonic || source == Auto && reason != "":
		return c, nil
	case source == TSC && reason != "":
		return nil, fmt.Errorf("the time-stamp counter can't be used: %s", reason)
	case source != TSC && source != Auto:
		return nil, fmt.Errorf("unknown clock %q: expected auto, tsc or monotonic", source)
	}
	c.tsc = true
	c.calibrate()
	return c, nil
}

// Source says which one is in use: TSC or Monotonic.
func (c *Clock) Source() Source {
	if c.tsc {
		return TSC
	}
	return Monotonic
}

// NowNS returns ns since the origin.
func (c *Clock) NowNS() int64 {
	if c.tsc {
		high, low := bits.Mul64(ticks()-c.ticks, c.scale)
		return int64(high<<32 | low>>32)
	}
	return c.slowNS()
}

func (c *Clock) slowNS() int64 {
	if c.stands {
		return c.at
	}
	return int64(time.Since(c.base))
}

// OriginNS returns the origin on CLOCK_MONOTONIC, so that readings of several processes can be laid
// side by side.
func (c *Clock) OriginNS() int64 { return c.originNS }

// DifferenceNS returns how far the clock has gone from CLOCK_MONOTONIC, in ns: positive if it is
// ahead. It looks several times and takes the closest, since a look may be interrupted.
func (c *Clock) DifferenceNS() int64 {
	best, difference := int64(1<<62), int64(0)
	for range 5 {
		before := MonotonicNS()
		now := c.NowNS()
		after := MonotonicNS()
		if width := after - before; width < best {
			best, difference = width, now-(before+width/2-c.originNS)
		}
	}
	return difference
}

// MonotonicNS reads CLOCK_MONOTONIC.
func MonotonicNS() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("clock: CLOCK_MONOTONIC: " + err.Error()) // POSIX has it: without it nothing can be measured
	}
	return t.Nano()
}

// SleepUntil returns once CLOCK_MONOTONIC has come to a moment, in ns.
func SleepUntil(ns int64) {
	moment := unix.NsecToTimespec(ns)
	for {
		err := linux.ClockNanosleep(unix.CLOCK_MONOTONIC, linux.TIMER_ABSTIME, &moment, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// origin reads the runtime's clock and CLOCK_MONOTONIC at nearly one moment: several processes lay
// their readings side by side by it.
func origin() (base time.Time, ns int64) {
	narrowest := int64(1 << 62)
	for range 10 {
		before := MonotonicNS()
		now := time.Now()
		after := MonotonicNS()
		if after-before < narrowest {
			narrowest, base, ns = after-before, now, before+(after-before)/2
		}
	}
	return base, ns
}

// looks are of both clocks at nearly one moment.
type looks struct {
	ticks uint64
	ns    int64
}

// earlier are the looks of the last calibration, or of Begin.
var earlier struct {
	lock sync.Mutex
	at   looks
}

// Begin takes the first looks of a calibration, so that the first [New] need not wait for the second.
func Begin() {
	earlier.lock.Lock()
	defer earlier.lock.Unlock()
	earlier.at = pair()
}

const (
	calibrateLeast = 20 * time.Millisecond
	// calibrateMost bounds how old the first looks may be. The machine may have slept since, which
	// CLOCK_MONOTONIC does not count.
	calibrateMost = time.Minute
	// scaleApart is by which part the length of a tick may differ from that of a calibration of its own.
	scaleApart = 2000
)

// calibrate finds the length of a tick from two close pairs of looks at least 20 ms apart, then the
// origin. The first pair is that of the calibration before, so that a phase after another waits for
// nothing.
func (c *Clock) calibrate() {
	earlier.lock.Lock()
	defer earlier.lock.Unlock()
	now, before := pair(), earlier.at
	age := time.Duration(now.ns - before.ns)
	if before == (looks{}) || age > calibrateMost || now.ticks <= before.ticks || !plausible(before, now) {
		before, age = now, 0
	}
	if age < calibrateLeast {
		time.Sleep(calibrateLeast - age)
		now = pair()
	}
	c.scale = scaleOf(before, now)
	c.ticks, c.originNS = now.ticks, now.ns
	earlier.at, known = now, c.scale
}

// known is the length of a tick as it was found last; 0: it was not.
var known uint64

// plausible reports whether nothing but time has passed between looks: a tick is as long as it was.
func plausible(before, now looks) bool {
	if known == 0 {
		return true
	}
	scale := scaleOf(before, now)
	return max(scale, known)-min(scale, known) <= known/scaleApart
}

// scaleOf is (ns << 32) / ticks without losing bits.
func scaleOf(before, now looks) uint64 {
	ns := uint64(now.ns - before.ns)
	if ticks := now.ticks - before.ticks; ns>>32 < ticks {
		scale, _ := bits.Div64(ns>>32, ns<<32, ticks)
		return scale
	}
	return 0
}

// pair reads both clocks at nearly one moment: the narrowest of many tries.
func pair() (at looks) {
	narrowest := int64(1 << 62)
	for range 50 {
		before := MonotonicNS()
		now := ticks()
		after := MonotonicNS()
		if after-before < narrowest {
			narrowest, at = after-before, looks{now, before + (after-before)/2}
		}
	}
	return at
}

// whyNoTSC returns why the time-stamp counter is not trusted, or "". The kernel's own choice of
// clock source is the strictest judge: it watches the TSC against other timers and gives it up when
// they part.
func whyNoTSC() string {
	if !haveTicks {
		return "Assay reads it on amd64 only, this is " + runtime.GOARCH
	}
	source, err := bounded.Kernel("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return "the kernel's clock source can't be read: " + err.Error()
	}
	if name := strings.TrimSpace(string(source)); name != "tsc" && name != "kvm-clock" {
		return "the kernel uses " + name + " as its clock source"
	}
	info, err := bounded.Kernel("/proc/cpuinfo")
	if err != nil {
		return "the processor's flags can't be read: " + err.Error()
	}
	for _, flag := range []string{"constant_tsc", "nonstop_tsc"} {
		if !strings.Contains(string(info), flag) {
			return "the processor does not promise " + flag
		}
	}
	return ""
}
