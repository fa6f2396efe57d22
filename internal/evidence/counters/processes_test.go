package counters

import (
	"os"
	"path/filepath"
	"testing"

	"assay/internal/experiment/trace"
)

// Each process has a page of the header to itself; stop, threads and observed words are everybody's.
func TestProcessesHavePagesOfTheirOwn(t *testing.T) {
	tr := traceOf(3, readAndUpdate, trace.FlagRecordVersions)
	name := filepath.Join(t.TempDir(), "counters")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	made, err := CreateIn(file, tr, 3)
	if err != nil {
		t.Fatal(err)
	}
	opened := open(t, name, tr)
	if made.Processes() != 3 || opened.Processes() != 3 {
		t.Fatalf("%d and %d processes, expected 3", made.Processes(), opened.Processes())
	}
	for i := range 3 {
		own := opened.Process(i)
		own.SetState(Running)
		own.SetStartNS(uint64(100 + i))
		own.SetEndNS(uint64(200 + i))
		own.SetClockDriftNS(uint64(300 + i))
		own.SetStats([]float64{float64(400 + i)})
		own.Thread(i).Acknowledged = uint64(500 + i)
	}
	made.Stop()
	for i := range 3 {
		own := made.Process(i)
		rounds, stats := own.Stats(1)
		if own.State() != Running || own.StartNS() != uint64(100+i) || own.EndNS() != uint64(200+i) ||
			own.ClockDriftNS() != uint64(300+i) || rounds != 1 || stats[0] != float64(400+i) {
			t.Errorf("process %d: state %d, %d to %d, drift %d, %d rounds of %v", i, own.State(), own.StartNS(), own.EndNS(), own.ClockDriftNS(), rounds, stats)
		}
		if made.Thread(i).Acknowledged != uint64(500+i) || *opened.Process(i).StopWord() == 0 {
			t.Errorf("thread %d acknowledged %d; stop is %d", i, made.Thread(i).Acknowledged, *opened.Process(i).StopWord())
		}
	}
	if n := len(made.Observed()); n != 3 || made.Observed()[0] != ObservedNotRead {
		t.Errorf("%d observed words, the first %d", n, made.Observed()[0])
	}
	if made.StartNS() != 100 {
		t.Errorf("the file's own start is %d, expected that of the first process", made.StartNS())
	}
}
