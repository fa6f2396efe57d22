package record

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/experiment"
)

// stretch is where samples of one phase stand in series.jsonl, one line after the other.
type stretch struct {
	place
	phase string
}

// readSeries reads and checks the samples of a trial, and remembers where they stand. They are not
// kept: those of a thousand trials take 40 to 100 MB, and no caller needs two of them at a time.
func (r *Run) readSeries(files reader, id string) []Sample {
	file := seriesOf(id)
	samples, places := readLines[Sample](r, files, file, id)
	samples, kept, err := checkSamples(samples)
	if err != nil {
		r.fault(FaultImpossible, file, id, err.Error())
	}
	var all []stretch
	for i, s := range samples {
		at := places[kept[i]]
		if n := len(all); n > 0 && all[n-1].phase == s.Phase && all[n-1].until == at.from {
			all[n-1].until = at.until
			continue
		}
		all = append(all, stretch{at, s.Phase})
	}
	if len(all) > 0 {
		r.stretches[id] = slices.Clip(all)
	}
	return samples
}

func seriesOf(id string) string { return filepath.Join(trialsDirectory, id, seriesFile) }

// Sampled returns how many trials have samples: also those that did not end.
func (r *Run) Sampled() int {
	if r.whole != nil {
		return r.whole.Sampled()
	}
	return len(r.InMemory) + len(r.stretches)
}

// HasSamples reports whether a trial has any.
func (r *Run) HasSamples(id string) bool {
	if r.whole != nil {
		return r.whole.HasSamples(id)
	}
	return len(r.InMemory[id]) > 0 || len(r.stretches[id]) > 0
}

// Samples returns the samples of one phase of a trial ("": of all), in their order, also of a trial
// that did not end. They are read from the directory anew each time: keep what is made of them,
// and not them. There are none where the directory is gone.
func (r *Run) Samples(id, phase string) []Sample {
	if r.whole != nil {
		whole, _, _ := strings.Cut(phase, experiment.GroupSeparator)
		samples := samplesByGroup(r.whole.Samples(id, whole), r.whole.Experiment.Phases, r.whole.Trials[id])
		return slices.DeleteFunc(samples, func(s Sample) bool { return phase != "" && s.Phase != phase })
	}
	of := func(name string) bool { return phase == "" || name == phase }
	if samples, there := r.InMemory[id]; there {
		return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return !of(s.Phase) })
	}
	if !slices.ContainsFunc(r.stretches[id], func(s stretch) bool { return of(s.phase) }) {
		return nil
	}
	files, err := openReader(r.Directory)
	if err != nil {
		return nil
	}
	defer files.close()
	file, _, err := files.open(seriesOf(id))
	if err != nil {
		return nil
	}
	defer file.Close()
	var samples []Sample
	for _, s := range r.stretches[id] {
		if !of(s.phase) {
			continue
		}
		data := make([]byte, s.until-s.from)
		if _, err := file.ReadAt(data, s.from); err != nil && err != io.EOF {
			return samples
		}
		for line := range bytes.Lines(data) {
			var sample Sample
			if err := json.Unmarshal(line, &sample); err == nil { // it was one when the run was opened
				samples = append(samples, sample)
			}
		}
	}
	return samples
}
