package record

import "testing"

// Runs of versions that did not check the kernel's count have figures that may be hundreds of times too high.
func TestUncheckedHostWritesAreNotRead(t *testing.T) {
	bytes, one := uint64(7), 1.0
	for _, c := range []struct {
		source string
		count  *float64
		kept   bool
	}{{"", nil, false}, {WritesOfProcess, &one, true}} {
		run := &Run{Environment: Environment{WriteCount: c.count}}
		trial := &Trial{Phases: []Phase{{Process: Process{HostWriteBytes: &bytes, HostWriteSource: c.source}}}}
		series := []Sample{{WriteBytes: &bytes}}
		run.dropUncheckedWrites(trial, series)
		p := trial.Phases[0].Process
		if kept := p.HostWriteBytes != nil; kept != c.kept || kept != (p.HostWriteWhy == "") || kept != (series[0].WriteBytes != nil) {
			t.Errorf("source %q: %+v, %+v", c.source, p, series[0])
		}
	}
	(&Run{}).dropUncheckedWrites(nil, nil) // a trial that did not end, without samples
	// A trial's own disk needs no check of the kernel's count.
	trial := &Trial{Phases: []Phase{{Process: Process{HostWriteBytes: &bytes, HostWriteSource: WritesOfDisk}}}}
	if (&Run{}).dropUncheckedWrites(trial, nil); trial.Phases[0].Process.HostWriteBytes == nil {
		t.Error("the figure of a trial's own disk is gone")
	}
}
