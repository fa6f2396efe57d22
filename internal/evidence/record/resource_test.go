package record

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestResourceReadsFieldsAndSeries(t *testing.T) {
	cpu, bytes, share := 0.5, uint64(1000), 0.25
	s := Sample{Seconds: 2, CPUSeconds: &cpu, WriteBytes: &bytes, RSSBytes: &bytes, Steal: &share, Resources: ValuesOf(map[string]float64{"machine.dirty": 7, "device.reads": 0})}
	for name, want := range map[string]float64{
		"worker.cpu": 0.25, "worker.write": 500, "worker.rss": 1000, "machine.steal": 0.25, "machine.dirty": 7, "device.reads": 0,
	} {
		if value, measured := s.Resource(name); !measured || value != want {
			t.Errorf("%s: %v (measured: %v), want %v", name, value, measured, want)
		}
	}
	for _, name := range []string{"worker.read", "data.bytes", "machine.foreign", "machine.writeback", "nothing"} {
		if value, measured := s.Resource(name); measured {
			t.Errorf("%s was not measured, and is %v", name, value)
		}
	}
	if _, measured := (Sample{CPUSeconds: &cpu}).Resource("worker.cpu"); measured {
		t.Error("a rate over no time")
	}
	var names []string
	for _, series := range ResourcesOf([]Sample{{}, s}) {
		names = append(names, series.Name)
	}
	if got := strings.Join(names, " "); got != "worker.cpu worker.rss worker.write device.reads machine.steal machine.dirty" {
		t.Errorf("series %s", got)
	}
}

func TestResourcesSurviveTheFile(t *testing.T) {
	text, err := json.Marshal(Sample{Resources: ValuesOf(map[string]float64{"machine.dirty": 0})})
	if err != nil {
		t.Fatal(err)
	}
	var back Sample
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if value, measured := back.Resource("machine.dirty"); !measured || value != 0 {
		t.Errorf("a zero that was measured came back as %v, %v", value, measured)
	}
	if text, _ = json.Marshal(Sample{}); strings.Contains(string(text), "res") {
		t.Errorf("nothing was measured: %s", text)
	}
}
