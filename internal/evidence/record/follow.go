package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Progress is how far a run has come, read without its trials' samples.
type Progress struct {
	Header     Header
	Experiment experiment.Experiment
	Plan       []plan.Trial
	Events     []Event
	Trial      string // the ID of the one under way; "": none
	Writing    bool   // a process writes into the directory
}

// States returns the state of each trial that has ended, by ID.
func (p *Progress) States() map[string]State {
	states := map[string]State{}
	for _, e := range p.Events {
		switch e.Kind {
		case EventTrialStarted:
			delete(states, e.Trial)
		case EventTrialEnded:
			states[e.Trial] = State(e.Text)
		}
	}
	return states
}

// Follow reads how far a run directory has come, which may still be written to. It writes nothing
// and follows no links. Where [Open] tells what is damaged, it is an error here.
func Follow(directory string) (*Progress, error) {
	files, err := openReader(directory)
	if err != nil {
		return nil, fmt.Errorf("follow a run: %w", err)
	}
	defer files.close()
	p := &Progress{}
	if p.Header, err = files.readHeader(); err != nil {
		return nil, fmt.Errorf("follow a run: %s: %w", directory, err)
	}
	run := &Run{Directory: directory, Header: p.Header}
	run.readPlan(files)
	run.Events, _ = readLines[Event](run, files, eventsFile, "")
	p.Experiment, p.Plan, p.Events = run.Experiment, run.Plan, run.Events
	for _, e := range p.Events {
		switch e.Kind {
		case EventTrialStarted:
			p.Trial = e.Trial
		case EventTrialEnded, EventInterrupted, EventEnded:
			p.Trial = ""
		}
	}
	p.Writing, err = files.locked()
	if err != nil {
		return nil, fmt.Errorf("follow a run: %s: %w", directory, err)
	}
	return p, nil
}

// locked says if a process writes into the directory. It holds a shared lock for a moment, which a
// run that begins then waits for.
func (r reader) locked() (bool, error) {
	info, err := r.root.Lstat(lockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	file, err := r.root.OpenFile(lockFile, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// followBytesMax bounds what one call of [FollowSamples] reads.
const followBytesMax = 4 << 20

// FollowSamples returns the samples of a trial whose lines begin at byte from of its series or
// after it, and where the next ones will begin. Of a long series it returns a part; it is all there
// once next does not move. A trial that has no series yet has no samples.
func FollowSamples(directory, trial string, from int64) (samples []Sample, next int64, err error) {
	files, err := openTrial(directory, trial)
	if err != nil {
		return nil, from, err
	}
	defer files.close()
	data, err := files.readFrom(filepath.Join(trialsDirectory, trial, seriesFile), from, followBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, fmt.Errorf("follow a trial: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(data) {
		var s Sample
		if json.Unmarshal(line, &s) == nil && checkSample(&s) == nil { // Open tells of those that are damaged
			samples = append(samples, s)
		}
	}
	return samples, from + int64(len(data)), nil
}

// readFrom returns a part of a file.
func (r reader) readFrom(name string, from, bytesMax int64) ([]byte, error) {
	file, _, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bounded.Read(io.NewSectionReader(file, max(from, 0), bytesMax), bytesMax)
}

// FollowTrial returns the result of a trial that has ended.
func FollowTrial(directory, id string) (*Trial, error) {
	data, err := TrialFile(directory, id, trialFile)
	if err != nil {
		return nil, err
	}
	var trial *Trial
	if err = json.Unmarshal(data, &trial); err == nil && trial == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, fmt.Errorf("follow a trial: %w", damaged(trialFile, data, 1, err))
	}
	return trial, nil
}

// TrialFile returns a file of a trial: its result, its samples, its log or their digests. It
// follows no links.
func TrialFile(directory, id, name string) ([]byte, error) {
	if !slices.Contains([]string{trialFile, seriesFile, logFile, digestsFile}, name) {
		return nil, fmt.Errorf("%s is no file of a trial: %w", name, fs.ErrNotExist)
	}
	files, err := openTrial(directory, id)
	if err != nil {
		return nil, err
	}
	defer files.close()
	return files.read(filepath.Join(trialsDirectory, id, name), linesBytesMax)
}

func openTrial(directory, id string) (reader, error) {
	if !filepath.IsLocal(id) || filepath.Base(id) != id {
		return reader{}, fmt.Errorf("%q is no trial's ID: %w", id, fs.ErrNotExist)
	}
	files, err := openReader(directory)
	if err != nil {
		return reader{}, fmt.Errorf("open a run: %w", err)
	}
	return files, nil
}
