package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Open reads a run directory, which may be read-only, still be written to, or have been left in any
// state by a kill or a full disk, or have been damaged or edited since. It writes nothing and reads
// nothing outside the directory: links, pipes and devices are not followed. It fails only if the
// directory is not a run of Assay's, or one of a newer format; everything else that is missing or
// not as it was written is in Run.Faults, and the rest is there. What is there has been checked:
// references lead somewhere, counts add up, times go on.
func Open(directory string) (*Run, error) {
	files, err := openReader(directory)
	if err != nil {
		return nil, fmt.Errorf("open a run: %w", err)
	}
	defer files.close()
	header, err := files.readHeader()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", directory, headerFile)
	}
	if err != nil {
		return nil, fmt.Errorf("open a run: %s: %w", directory, err)
	}
	run := &Run{Directory: directory, Header: header, Trials: map[string]*Trial{}, stretches: map[string][]stretch{}}
	if run.Source, err = files.read(SourceFile, plainBytesMax); err != nil {
		run.unread(SourceFile, "", err)
	}
	if header.changed {
		run.fault(FaultChanged, headerFile, "", "it is not as Assay wrote it: its SHA-256 is another than the one in it")
	}
	isIts := func(sum string) bool { return header.Environment == "" || sum == header.Environment } // "": of an older version
	if !run.readSealed(files, environmentFile, &run.Environment, "so nothing of it is shown", isIts) {
		run.Environment = Environment{}
	}
	run.readPlan(files)
	run.Events, _ = readLines[Event](run, files, eventsFile, "")
	for _, trial := range run.Plan {
		run.readTrial(files, trial)
	}
	run.markFaults()
	if ended := len(run.Trials); ended < len(run.Plan) {
		run.Missing = append(run.Missing, fmt.Sprintf("%d of %d trials have no result", len(run.Plan)-ended, len(run.Plan)))
	}
	return run, nil
}

// unread tells of a file that is not there or can't be read.
func (r *Run) unread(file, trial string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		r.fault(FaultMissing, file, trial, "it is not there")
		return
	}
	r.fault(FaultUnreadable, file, trial, "it can't be read: "+err.Error())
}

// readPlan reads the experiment and the plan. If either is not the one that the run began with, its
// trials mean something else than what was measured, and there are none. Trials that can't be are
// left out.
func (r *Run) readPlan(files reader) {
	if !r.readSealed(files, experimentFile, &r.Experiment, noTrials,
		func(sum string) bool { return sum == r.Header.Hash }) {
		r.Experiment = experiment.Experiment{}
		return
	}
	r.Experiment.Renew()
	var planned []plan.Trial
	if !r.readSealed(files, planFile, &planned, noTrials,
		func(sum string) bool { return slices.Contains(r.Header.Plans, sum) }) {
		return
	}
	seen, stores := map[string]bool{}, map[int]bool{}
	for i, trial := range planned {
		fault := r.checkPlanned(trial, len(planned))
		if fault == nil && seen[trial.ID] {
			fault = errors.New("its ID stands there twice")
		}
		if fault != nil {
			r.fault(FaultImpossible, planFile, "", fmt.Sprintf("trial %d (%q) is left out: %v", i+1, trial.ID, fault))
			continue
		}
		seen[trial.ID], stores[trial.Store] = true, true
		r.Plan = append(r.Plan, trial)
	}
	for i, s := range r.Experiment.Stores {
		if !stores[i] && len(planned) > 0 {
			r.fault(FaultImpossible, planFile, "", fmt.Sprintf("store %q has no trial: it is not the experiment's plan", s.Name))
			r.Plan = nil
		}
	}
}

// noTrials is what follows from another experiment or plan.
const noTrials = "so no trial is shown"

// readSealed reads a JSON file whose digest stands in run.json, and says whether it is that one; where it
// isn't, the fault says what follows.
func (r *Run) readSealed(files reader, name string, value any, follows string, sealed func(digest string) bool) bool {
	data, err := files.read(name, plainBytesMax)
	if err == nil && !sealed(digestOf(data)) {
		r.fault(FaultChanged, name, "", "it is not what the run began with: its SHA-256 is not in "+headerFile+", "+follows)
		return false
	}
	if err == nil {
		if err = json.Unmarshal(data, value); err != nil {
			err = damaged(name, data, 1, err)
		}
	}
	if err != nil {
		r.unread(name, "", err)
	}
	return err == nil
}

func (r *Run) readTrial(files reader, planned plan.Trial) {
	directory := filepath.Join(trialsDirectory, planned.ID)
	if _, err := files.root.Lstat(directory); errors.Is(err, fs.ErrNotExist) {
		return // not begun
	}
	var trial *Trial
	name := filepath.Join(directory, trialFile)
	switch err := files.readJSON(name, &trial); {
	case errors.Is(err, fs.ErrNotExist): // begun and not ended: no fault of the directory
	case err != nil:
		r.unread(name, planned.ID, err)
		trial = nil
	case trial == nil || trial.Plan.ID != planned.ID:
		r.fault(FaultImpossible, name, planned.ID, "it is left out: it is not the result of this trial")
		trial = nil
	default:
		trial.Plan = planned
		r.takeTrial(files, name, trial)
	}
	series := r.readSeries(files, planned.ID)
	if r.Trials[planned.ID] != nil {
		r.holdSeries(trial, series)
	}
}

// takeTrial takes a result that can be one.
func (r *Run) takeTrial(files reader, name string, trial *Trial) {
	id := trial.Plan.ID
	r.holdDigests(files, id)
	if err := r.checkTrial(trial); err != nil {
		r.fault(FaultImpossible, name, id, fmt.Sprintf("it is left out: %v", err))
		return
	}
	for i := range trial.Phases {
		if m := trial.Phases[i].Machine; m != nil {
			m.Tolerate(r.Experiment.BusyMachine == experiment.BusyMachineTell)
		}
	}
	r.Trials[id] = trial
	if trial.SamplesMissing > 0 {
		r.fault(FaultNoRoom, filepath.Join(trialsDirectory, id, seriesFile), id, fmt.Sprintf("%d samples of trial %s could not be written: the disk was full", trial.SamplesMissing, id))
	}
	if trial.LogBytesMissing > 0 {
		r.fault(FaultNoRoom, filepath.Join(trialsDirectory, id, logFile), id, fmt.Sprintf("%d bytes of the worker's log of trial %s could not be written: the disk was full", trial.LogBytesMissing, id))
	}
}

// place is where a line stands in its file.
type place struct{ from, until int64 }

// readLines reads a file of JSON lines, and returns where each of them stands. Lines that are damaged
// are left out and told; a file that is not there is an empty one.
func readLines[T any](r *Run, files reader, name, trial string) (values []T, places []place) {
	data, err := files.read(name, linesBytesMax)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.unread(name, trial, err)
		}
		return nil, nil
	}
	if i := bytes.LastIndexByte(data, '\n'); i != len(data)-1 {
		r.fault(FaultCut, name, trial, "the last line was written by half and is left out")
		data = data[:i+1]
	}
	var first error
	faults, number, until := 0, 0, int64(0)
	for line := range bytes.Lines(data) {
		number++
		from := until
		until += int64(len(line))
		var value *T
		err := json.Unmarshal(line, &value)
		if err == nil && value == nil {
			err = errors.New("it is null")
		}
		if err != nil {
			if faults++; first == nil {
				first = damaged(name, line, number, err)
			}
			continue
		}
		values, places = append(values, *value), append(places, place{from, until})
	}
	if faults > 0 {
		r.fault(FaultUnreadable, name, trial, fmt.Sprintf("%d of %d lines are damaged and left out: %v", faults, number, first))
	}
	return slices.Clip(values), places
}

func (r reader) readJSON(name string, value any) error {
	data, err := r.read(name, plainBytesMax)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return damaged(name, data, 1, err)
	}
	return nil
}

// damaged adds the place to an error of encoding/json. line is the number of the first line of
// data.
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
