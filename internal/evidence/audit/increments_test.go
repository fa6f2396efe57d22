package audit

import (
	"testing"

	"assay/internal/experiment/trace"
)

// A thread's increments are counted one by one over all laps, and its other operations are not.
func TestIncrementsAreThoseOfTheSample(t *testing.T) {
	entries := []trace.Entry{
		trace.MakeEntry(trace.Increment, 5, 0, false),
		trace.MakeEntry(trace.Increment, 6, 0, false),
		trace.MakeEntry(trace.Read, 5, 0, false),
		trace.MakeEntry(trace.Increment, 100, 0, true), // 100, 110, 120 …
		trace.MakeEntry(trace.Increment, 5, 0, false),
	}
	file := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Read, trace.Increment},
		Threads: []trace.Thread{{Entries: entries, Stride: 10}}}
	for attempted := range uint64(40) {
		for _, underway := range []uint64{0, 1, 3} {
			acknowledged := attempted - min(underway, attempted)
			least, most := uint64(0), uint64(0)
			for sequence := range attempted {
				e, index := file.Threads[0].EntryAt(sequence)
				if e.Operation() != trace.Increment || index != 5 && index != 120 {
					continue
				}
				if most++; sequence < acknowledged {
					least++
				}
			}
			for _, failed := range []uint64{0, 1, 50} {
				phase := Phase{Trace: file, Attempted: []uint64{attempted}, Acknowledged: []uint64{acknowledged},
					NotIncremented: []uint64{failed}}
				gotLeast, gotMost := Increments([]Phase{phase, phase}, []uint64{5, 120})
				if want := 2 * (least - min(failed, least)); gotLeast != want || gotMost != 2*most {
					t.Errorf("%d attempted, %d acknowledged, %d failed: %d to %d, want %d to %d", attempted, acknowledged, failed, gotLeast, gotMost, want, 2*most)
				}
			}
		}
	}
}
