package run

import (
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// What a phase had to do without: the mark that it gets, and what must be said not to be known. The
// bounds of 200 ms are those that host's TestBoundsOfAShortPhase gets from the counters of 4 CPUs.
func TestPhaseWithASmallerShareOfTheMachine(t *testing.T) {
	quiet := func() (host.Interval, host.Throttled) {
		return host.Interval{Seconds: 0.2, ForeignWithin: &host.Bounds{Least: 0, Most: 0.1525},
				StealWithin: &host.Bounds{Least: 0, Most: 0.0325}},
			host.Throttled{QuotaSeconds: new(float64), QuotaPeriods: new(uint64), HeatEvents: new(uint64),
				HeatSeconds: new(float64)}
	}
	seconds := func(s float64) *float64 { return &s }
	periods := func(n uint64) *uint64 { return &n }
	for _, c := range []struct {
		name    string
		change  func(i *host.Interval, d *host.Throttled)
		mark    finding.Code   // "": none
		params  finding.Params // of the mark
		unknown []string
	}{
		{name: "quiet", change: func(*host.Interval, *host.Throttled) {}},
		{name: "others took half", change: func(i *host.Interval, _ *host.Throttled) { i.ForeignWithin = &host.Bounds{Least: 0.3475, Most: 0.6525} },
			mark: finding.MarkForeign, params: finding.Params{"least": 0.3475, "most": 0.6525}},
		{name: "others took 30 %, which ticks can't tell", change: func(i *host.Interval, _ *host.Throttled) { i.ForeignWithin = &host.Bounds{Least: 0.1475, Most: 0.4525} },
			unknown: []string{"foreign"}},
		{name: "the hypervisor took three tenths", change: func(i *host.Interval, _ *host.Throttled) { i.StealWithin = &host.Bounds{Least: 0.3, Most: 0.3} },
			mark: finding.MarkSteal, params: finding.Params{"least": 0.3, "most": 0.3}},
		{name: "the hypervisor took a fifth", change: func(i *host.Interval, _ *host.Throttled) { i.StealWithin = &host.Bounds{Least: 0.2, Most: 0.2} }},
		{name: "too short for anything", change: func(i *host.Interval, _ *host.Throttled) {
			i.Seconds, i.ForeignWithin, i.StealWithin = 0.02, &host.Bounds{Least: 0, Most: 1},
				&host.Bounds{Least: 0, Most: 0.4}
		}, unknown: []string{"foreign", "steal"}},
		{name: "not to be read", change: func(i *host.Interval, _ *host.Throttled) { i.ForeignWithin, i.StealWithin = nil, nil },
			unknown: []string{"foreign", "steal"}},
		{name: "a quota, long", change: func(_ *host.Interval, d *host.Throttled) {
			d.QuotaSeconds, d.QuotaPeriods, d.QuotaGroup = seconds(0.1), periods(2), "/box"
		}, mark: finding.MarkQuota, params: finding.Params{"group": "/box", "periods": uint64(2), "held_s": 0.1, "seconds": 0.2}},
		{name: "a quota, hardly", change: func(_ *host.Interval, d *host.Throttled) {
			d.QuotaSeconds, d.QuotaPeriods, d.QuotaGroup = seconds(0.001), periods(1), "/box"
		}},
		{name: "heat", change: func(_ *host.Interval, d *host.Throttled) { d.HeatSeconds = seconds(0.05) },
			mark: finding.MarkHeat, params: finding.Params{"held_s": 0.05, "seconds": 0.2}},
		{name: "no file tells", change: func(_ *host.Interval, d *host.Throttled) {
			*d = host.Throttled{QuotaWhy: "not mounted", HeatWhy: "a virtual machine"}
		}, unknown: []string{"heat", "quota"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			interval, throttled := quiet()
			c.change(&interval, &throttled)
			phase := record.Phase{Name: "p", Measured: true, Machine: machine(interval, throttled)}
			marks := phase.Marks()
			if c.mark == "" && len(marks) > 0 || c.mark != "" && (len(marks) != 1 || marks[0].Code != c.mark || marks[0].Phase != "p" || !maps.Equal(marks[0].Params, c.params)) {
				t.Errorf("marks %+v, want %q: %v", marks, c.mark, c.params)
			}
			if unknown := slices.Sorted(maps.Keys(phase.Machine.NotMeasured)); !slices.Equal(unknown, c.unknown) {
				t.Errorf("not measured: %v, want %v", phase.Machine.NotMeasured, c.unknown)
			}
			if m := phase.Machine; m.Foreign != nil && m.Foreign.Most >= 1 && m.Foreign.Least <= 0 {
				t.Error("bounds that say nothing are in the record")
			}
			phase.Measured = false
			if marks := phase.Marks(); marks != nil {
				t.Errorf("a phase that is not measured has marks %v", marks)
			}
		})
	}
}

// One operation each 10 ms and thread, 100 in a lap; thread 1's are due 5 ms later.
func TestBehindIsTheOldestThatWasNotBegun(t *testing.T) {
	const ms = 1_000_000
	file := &trace.File{Threads: make([]trace.Thread, 2)}
	for i := range file.Threads {
		thread := &file.Threads[i]
		thread.Entries, thread.LapNS, thread.Limit = make([]trace.Entry, 100), 1000*ms, 300
		for k := range uint64(100) {
			thread.Due = append(thread.Due, 10*ms*k+5*ms*uint64(i))
		}
	}
	if err := file.ListSlots(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		begun []uint64
		endMS uint64
		last  uint64 // ms
		want  uint64 // ms
		left  uint64
	}{
		{"all in time", []uint64{300, 300}, 2996, 2996, 1, 0},
		{"all, but late", []uint64{300, 300}, 4000, 4000, 4000 - 2995, 0},
		{"one thread stuck in its second lap", []uint64{120, 300}, 3000, 2999, 3000 - 1200, 180},
		{"both behind", []uint64{250, 210}, 3000, 2999, 3000 - 2105, 50 + 90},
		{"stopped early, on time", []uint64{50, 50}, 500, 496, 0, 0},
		{"a group that had done all in time before the phase ended", []uint64{300, 300}, 3600, 2996, 1, 0},
	} {
		if left, got := behind(file, c.begun, c.endMS*ms, c.last*ms); got != c.want*ms || left != c.left {
			t.Errorf("%s: %d not begun, %d ns behind; want %d and %d ms", c.name, left, got, c.left, c.want)
		}
	}
}

func TestOneUnfinishedOperation(t *testing.T) {
	marks := marksOf(&record.Phase{Name: "put", Attempted: 1, Unfinished: 1}, nil)
	if len(marks) != 1 || marks[0].Code != finding.MarkUnfinished || marks[0].Params["count"] != uint64(1) {
		t.Errorf("%+v", marks)
	}
}

// What is counted at a phase's end is looked at once for each thread: eight times the threads are not
// 64 times the work. The ratio is that of the CPU time of this thread, which other load leaves alone.
func TestBalance_grows_with_threads(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	takes := func(threads int) time.Duration {
		file := &trace.File{Groups: 1, Flags: trace.FlagDue, Operations: []trace.Operation{trace.Read},
			Threads: make([]trace.Thread, threads)}
		for i := range file.Threads {
			file.Threads[i] = trace.Thread{Entries: []trace.Entry{trace.MakeEntry(trace.Read, 0, 0, false)},
				Due: []uint64{1}}
		}
		files, err := mapFiles(phaseTrace{file: file}, 1)
		if err != nil {
			t.Fatal(err)
		}
		files.Forget()
		defer func() {
			if err := files.Unmap(); err != nil {
				t.Error(err)
			}
		}()
		now := files.Counters.Sample(false)
		least := time.Hour
		for range 3 {
			began := host.ThreadCPU()
			balance(file, files.Counters, now, nil, func(slot int) string { return file.Operations[slot].String() })
			behind(file, now.Attempted, 10, 10)
			least = min(least, host.ThreadCPU()-began)
		}
		return least
	}
	few, many := takes(1000), takes(8000)
	if ratio := float64(many) / float64(few); ratio > 24 {
		t.Errorf("8 times the threads took %.0f times as long (%v, %v)", ratio, few, many)
	}
}
