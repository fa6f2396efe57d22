package worker

import (
	"runtime"
	"testing"
)

var kept []byte

// What earlier phases left is collected before a phase, and nothing where they left almost nothing.
func TestGarbageIsCollectedWhereThereIsSome(t *testing.T) {
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumGC
	}
	runtime.GC()
	before := collections()
	kept = make([]byte, garbageBytesMin+1)
	kept = nil
	collectGarbage()
	if got := collections(); got != before+1 {
		t.Errorf("%d collections of %d bytes, expected 1", got-before, garbageBytesMin+1)
	}
	before = collections()
	collectGarbage()
	if got := collections(); got != before {
		t.Errorf("%d collections of nothing", got-before)
	}
}
