package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"assay/internal/plan"
	"assay/store"
)

// Open reads a run directory, which may be read-only, still be written to, or have been left in any state by a kill or a
// full disk. It writes nothing and reads nothing outside the directory. It fails only if the directory is not a run of Assay's,
// or one of a newer format; everything else that is missing or damaged is told in Run.Missing, and the rest is there.
func Open(directory string) (*Run, error) {
	header, err := readHeader(directory)
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(directory); statErr != nil {
			return nil, fmt.Errorf("open a run: %w", statErr)
		}
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", directory, headerFile)
	}
	if err != nil {
		return nil, fmt.Errorf("open a run: %w", err)
	}
	run := &Run{Directory: directory, Header: header, Trials: map[string]*Trial{}, Series: map[string][]Sample{}}
	if run.Source, err = os.ReadFile(filepath.Join(directory, SourceFile)); err != nil {
		run.missing("the experiment as it was given", err)
	}
	if err := readJSON(filepath.Join(directory, environmentFile), &run.Environment); err != nil {
		run.missing("the environment", err)
	}
	run.readPlan()
	run.Events = readLines[Event](run, eventsFile)
	for _, trial := range run.Plan {
		run.readTrial(trial)
	}
	if ended := len(run.Trials); ended < len(run.Plan) {
		run.Missing = append(run.Missing, fmt.Sprintf("%d of %d trials have no result", len(run.Plan)-ended, len(run.Plan)))
	}
	return run, nil
}

func (r *Run) missing(what string, err error) {
	var path *fs.PathError
	if errors.As(err, &path) && errors.Is(err, fs.ErrNotExist) {
		r.Missing = append(r.Missing, fmt.Sprintf("%s is not there: there is no %s", what, r.relative(path.Path)))
		return
	}
	r.Missing = append(r.Missing, fmt.Sprintf("%s could not be read: %v", what, err))
}

// relative shortens a path for a message.
func (r *Run) relative(path string) string {
	if short, err := filepath.Rel(r.Directory, path); err == nil {
		return short
	}
	return path
}

// readPlan reads the experiment and the plan. Trials that refer to what the experiment does not have are left out, so that a
// reader of the Run can follow each reference.
func (r *Run) readPlan() {
	if err := readJSON(filepath.Join(r.Directory, experimentFile), &r.Experiment); err != nil {
		r.missing("the experiment", err)
	}
	var planned []plan.Trial
	if err := readJSON(filepath.Join(r.Directory, planFile), &planned); err != nil {
		r.missing("the plan", err)
	}
	seen := map[string]bool{}
	for i, trial := range planned {
		fault := checkTrialID(trial.ID)
		switch {
		case fault != nil:
		case seen[trial.ID]:
			fault = errors.New("its ID stands there twice")
		case trial.Cell < 0 || trial.Cell >= len(r.Experiment.Cells):
			fault = fmt.Errorf("the experiment has no cell %d", trial.Cell)
		case trial.Store < -1 || trial.Store >= len(r.Experiment.Stores):
			fault = fmt.Errorf("the experiment has no store %d", trial.Store)
		}
		if fault != nil {
			r.Missing = append(r.Missing, fmt.Sprintf("trial %d of %s (%q) is left out: %v", i+1, planFile, trial.ID, fault))
			continue
		}
		seen[trial.ID] = true
		r.Plan = append(r.Plan, trial)
	}
}

func (r *Run) readTrial(planned plan.Trial) {
	directory := filepath.Join(trialsDirectory, planned.ID)
	if _, err := os.Stat(filepath.Join(r.Directory, directory)); errors.Is(err, fs.ErrNotExist) {
		return // not begun
	}
	var trial Trial
	err := readJSON(filepath.Join(r.Directory, directory, trialFile), &trial)
	switch {
	case errors.Is(err, fs.ErrNotExist): // begun and not ended: no fault of the directory
	case err != nil:
		r.missing("the result of trial "+planned.ID, err)
	case trial.Plan.ID != planned.ID:
		r.Missing = append(r.Missing, fmt.Sprintf("%s is left out: it is the result of another trial, %q", filepath.Join(directory, trialFile), trial.Plan.ID))
	default:
		trial.Plan = planned
		r.Trials[planned.ID] = &trial
		if trial.SamplesMissing > 0 {
			r.Missing = append(r.Missing, fmt.Sprintf("%d samples of trial %s could not be written: the disk was full", trial.SamplesMissing, planned.ID))
		}
		if trial.LogBytesMissing > 0 {
			r.Missing = append(r.Missing, fmt.Sprintf("%d bytes of the worker's log of trial %s could not be written: the disk was full", trial.LogBytesMissing, planned.ID))
		}
	}
	series := readLines[Sample](r, filepath.Join(directory, seriesFile))
	r.dropUncheckedWrites(r.Trials[planned.ID], series)
	dropClientsFigures(r.Trials[planned.ID], r.isServer(planned.Store))
	if len(series) > 0 {
		r.Series[planned.ID] = series
	}
}

// dropUncheckedWrites takes away what runs before the check of host writes recorded of them: on some kernels it is hundreds of times too much.
func (r *Run) dropUncheckedWrites(trial *Trial, series []Sample) {
	if trial != nil {
		for i := range trial.Phases {
			if p := &trial.Phases[i].Process; p.HostWriteBytes != nil && p.HostWriteSource == "" {
				p.HostWriteBytes, p.HostWriteWhy = nil, "the version of Assay that ran this did not check if /proc/PID/io counts right"
			}
		}
	}
	if r.Environment.WriteCount == nil {
		for i := range series {
			series[i].WriteBytes = nil
		}
	}
}

func (r *Run) isServer(storeIndex int) bool {
	return storeIndex >= 0 && storeIndex < len(r.Experiment.Stores) && r.Experiment.Stores[storeIndex].Description.Kind == store.Server
}

// dropClientsFigures keeps what runs before servers were looked at recorded of the client from being taken for the store's memory and CPU time.
func dropClientsFigures(trial *Trial, server bool) {
	if trial == nil || !server {
		return
	}
	for i := range trial.Phases {
		if p := &trial.Phases[i].Process; !p.ofServer() && (p.RSSMaxBytes != nil || p.CPUSeconds != nil) {
			p.ServerWhy = "the version of Assay that ran this did not look at the server"
		}
	}
}

// readLines reads a file of JSON lines. Lines that are damaged are left out and told; a file that is not there is an
// empty one.
func readLines[T any](r *Run, name string) []T {
	path := filepath.Join(r.Directory, name)
	data, err := os.ReadFile(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.missing(name, err)
		}
		return nil
	}
	if i := bytes.LastIndexByte(data, '\n'); i != len(data)-1 {
		r.Missing = append(r.Missing, fmt.Sprintf("the last line of %s was written by half and is left out", name))
		data = data[:i+1]
	}
	var values []T
	var first error
	faults, number := 0, 0
	for line := range bytes.Lines(data) {
		number++
		var value T
		if err := json.Unmarshal(line, &value); err != nil {
			if faults++; first == nil {
				first = damaged(name, line, number, err)
			}
			continue
		}
		values = append(values, value)
	}
	if faults > 0 {
		r.Missing = append(r.Missing, fmt.Sprintf("%d of %d lines of %s are damaged and left out: %v", faults, number, name, first))
	}
	return slices.Clip(values)
}

func readJSON(path string, value any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return damaged(path, data, 1, err)
	}
	return nil
}

// damaged adds the place to an error of encoding/json. line is the number of the first line of data.
func damaged(path string, data []byte, line int, err error) error {
	var offset int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	line += bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
	return fmt.Errorf("%s:%d: %w", path, line, err)
}
