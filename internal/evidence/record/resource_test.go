package record

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"assay/internal/evidence/host"
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

// docs/run-directory.md has each series of the catalogue, with its unit and meaning.
func TestEachSeriesIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/run-directory.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			name, _, _ := strings.Cut(strings.Trim(cells[1], " `"), "`")
			rows[name] = strings.TrimSpace(cells[2]) + ": " + strings.TrimSpace(cells[3])
		}
	}
	for _, series := range host.Catalogue {
		unit := series.Unit
		if unit == "" {
			unit = "–"
		}
		if want := unit + ": " + series.Meaning; rows[series.Name] != want {
			t.Errorf("%s is documented as %q, and is %q", series.Name, rows[series.Name], want)
		}
	}
}

func TestEachEndingIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/run-directory.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, ending := range []Ending{EndedDuration, EndedOperations, EndedQuota, EndedDiskFull, EndedMemory,
		EndedInterrupted, EndedFailed} {
		if !strings.Contains(string(page), "`"+string(ending)+"`") {
			t.Errorf("the page does not name the ending `%s`", ending)
		}
	}
}
