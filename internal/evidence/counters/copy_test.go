package counters

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/experiment/trace"
)

// A copy of every thread makes a file equal to the one that it is of, whatever was in it.
func TestCopiesOfThreadsAreExact(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tr := traceOf(3, readAndUpdate, rapid.SampledFrom([]uint32{0, trace.FlagDue}).Draw(r, "flags"))
		of, into := inMemory(tr), inMemory(tr)
		for range 3 { // later copies go over earlier ones
			for i := range 3 {
				for _, at := range rapid.SliceOfN(rapid.IntRange(0, of.threadBytes/8-1), 0, 40).Draw(r, "words") {
					of.words[of.threadAt(i)/8+at] += rapid.Uint64Range(1, 1<<50).Draw(r, "word")
				}
				before := slices.Clone(into.words)
				copied := of.AppendThread(nil, i, true)
				if len(copied) > of.CopyBytesMax() {
					r.Fatalf("a copy of %d bytes, at most %d were promised", len(copied), of.CopyBytesMax())
				}
				if err := into.SetThread(i, copied); err != nil {
					r.Fatal(err)
				}
				from, until := of.threadAt(i)/8, of.threadAt(i)/8+of.threadBytes/8
				copy(before[from:until], of.words[from:until])
				if !slices.Equal(before, into.words) {
					r.Fatal("the copy differs, or another thread's words changed")
				}
			}
		}
	})
}

// A copy without histograms has all else.
func TestCopyWithoutHistograms(t *testing.T) {
	tr := traceOf(1, readAndUpdate, trace.FlagDue)
	of, into := inMemory(tr), inMemory(tr)
	for i := range of.threadBytes / 8 {
		of.words[of.threadAt(0)/8+i] = uint64(i) + 1
	}
	if err := into.SetThread(0, of.AppendThread(nil, 0, false)); err != nil {
		t.Fatal(err)
	}
	for k := range readAndUpdate {
		if into.Slot(0, k).Service[7] != 0 || into.Response(0, k)[7] != 0 {
			t.Error("it has histograms")
		}
		if into.Slot(0, k).Outcomes != of.Slot(0, k).Outcomes || into.Slot(0, k).SortSum != of.Slot(0, k).SortSum {
			t.Error("a slot's counts are not in it")
		}
	}
	if *into.Thread(0) != *of.Thread(0) || !bytes.Equal(into.errorPlace(0, 7), of.errorPlace(0, 7)) {
		t.Error("the thread's head or its messages are not in it")
	}
}

// What is no copy is refused, and changes nothing.
func TestDamagedCopyOfCountersIsRefused(t *testing.T) {
	tr := traceOf(2, readAndUpdate, 0)
	of := inMemory(tr)
	of.Thread(0).Attempted, of.Slot(0, 1).Items = 7, 9
	good := of.AppendThread(nil, 0, true)
	rapid.Check(t, func(r *rapid.T) {
		into := inMemory(tr)
		before := slices.Clone(into.words)
		bad := append(slices.Clone(good), rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(r, "more")...)
		thread := rapid.IntRange(-1, 2).Draw(r, "thread")
		err := into.SetThread(thread, bad)
		from := into.threadAt(max(thread, 0)) / 8
		for i, word := range into.words {
			within := i >= from && i < from+into.threadBytes/8
			if word != before[i] && (err != nil || !within) {
				r.Fatalf("word %d changed (%v)", i, err)
			}
		}
		if (thread < 0 || thread > 1) && err == nil {
			r.Fatal("a thread that there is not was written")
		}
	})
	if err := inMemory(tr).SetThread(0, good[:len(good)-1]); err == nil {
		t.Error("a cut copy was taken")
	}
}

func TestProcessWords(t *testing.T) {
	of, into := inMemory(traceOf(1, readAndUpdate, 0)), inMemory(traceOf(1, readAndUpdate, 0))
	of.SetState(Ended)
	of.SetStartNS(5)
	of.SetEndNS(6)
	of.SetClock(ClockMonotonic)
	of.SetClockDriftNS(7)
	of.SetStats([]float64{1, 2, 3})
	into.SetProcessWords(of.ProcessWords(2))
	rounds, values := into.Stats(3)
	if into.State() != Ended || into.StartNS() != 5 || into.EndNS() != 6 || into.Clock() != ClockMonotonic ||
		into.ClockDriftNS() != 7 ||
		rounds != 1 || !slices.Equal(values, []float64{1, 2, 0}) {
		t.Errorf("%+v, %d %v", into.ProcessWords(3), rounds, values)
	}
}
