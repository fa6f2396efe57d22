package record

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
)

// What is read is held against what can be. Digests tell of damage and of edits; these checks tell
// of what bears right digests and still can't be true, so that whatever reads a Run may rely on
// it.

// checkPlanned returns why a trial can't be one of the experiment's, in a plan of so many. Each block
// has a trial at least.
func (r *Run) checkPlanned(t plan.Trial, of int) error {
	if err := checkTrialID(t.ID); err != nil {
		return err
	}
	switch e := &r.Experiment; {
	case t.Cell < 0 || t.Cell >= len(e.Cells):
		return fmt.Errorf("the experiment has no cell %d", t.Cell)
	case t.Store < -1 || t.Store >= len(e.Stores):
		return fmt.Errorf("the experiment has no store %d", t.Store)
	case t.Role != plan.Measured && t.Role != plan.AA && t.Role != plan.Ceiling:
		return fmt.Errorf("a trial has no role %q", t.Role)
	case t.Store < 0 && t.Role != plan.Ceiling:
		return fmt.Errorf("a trial that is %s has a store", t.Role)
	case t.Store >= 0 && t.Role != plan.AA && t.Arm != e.Stores[t.Store].Name:
		return fmt.Errorf("arm %q is not store %d of the experiment, %q", t.Arm, t.Store, e.Stores[t.Store].Name)
	case t.Arm == "":
		return errors.New("it has no arm")
	case t.Block < 1 || t.Block > of:
		return fmt.Errorf("there is no block %d in a plan of %s", t.Block, format.Plural(of, "trial", ""))
	case t.Again < 0 || t.Again >= of:
		return fmt.Errorf("a trial is not run again %d times in a plan of %s", t.Again, format.Plural(of, "trial", ""))
	}
	return nil
}

// checkTrial returns why a result can't be one.
func (r *Run) checkTrial(t *Trial) error {
	switch t.State {
	case OK, Marked, Failed, Refused, Interrupted:
	default:
		return fmt.Errorf("a trial has no state %q", t.State)
	}
	if !sensible(t.Seconds) {
		return fmt.Errorf("it took %g s", t.Seconds)
	}
	names := map[string]bool{}
	for i := range t.Phases {
		p := &t.Phases[i]
		if names[p.Name] {
			return fmt.Errorf("phase %q stands there twice", p.Name)
		}
		names[p.Name] = true
		if err := r.checkPlace(p); err != nil {
			return err
		}
		if err := checkPhase(p, t.has(finding.FaultCounts)); err != nil {
			return fmt.Errorf("phase %q: %w", p.Name, err)
		}
		for _, part := range append([]Phase{*p}, p.Groups...) {
			if err := checkQuestions(&part, len(r.Experiment.Values.Queries)); err != nil {
				return fmt.Errorf("phase %q: %w", p.Name, err)
			}
		}
	}
	for _, q := range t.Plans {
		if q.Position < 0 || q.Position >= len(r.Experiment.Values.Queries) {
			return fmt.Errorf("the experiment has no query %d", q.Position)
		}
	}
	if f := t.Final; f != nil && f.Foreign > f.Wrong {
		return errors.New("of the final check's wrong values, more than all are of another trial")
	}
	if f := t.Final; f != nil && f.Fits > 0 && (f.Records > f.Fits || f.Fits >= f.Of) {
		return errors.New("the final check has read more records than memory had room for, or all of them")
	}
	if f := t.Final; f != nil && (f.Records > f.Of || f.NotRead > f.Of-f.Records ||
		f.Right+f.Lost+f.Evicted+f.Stale+f.Wrong+f.Late+f.Errors+f.Unknown != f.Records || f.Expired > f.Right) {
		return errors.New("the outcomes of the final check do not add up")
	}
	return nil
}

// checkPlace returns why a phase, or a group of it, is not the experiment's: a reader looks there for
// what it was to do.
func (r *Run) checkPlace(p *Phase) error {
	phases := r.Experiment.Phases
	at := slices.IndexFunc(phases, func(of experiment.Phase) bool { return of.Name == p.Name })
	if at < 0 {
		return fmt.Errorf("the experiment has no phase %q", p.Name)
	}
	if len(p.Groups) == 0 {
		return nil
	}
	parts := phases[at].Parts()
	if len(phases[at].Groups) == 0 || len(parts) != len(p.Groups) {
		return fmt.Errorf("phase %q has %d groups, the experiment's has %d", p.Name, len(p.Groups), len(phases[at].Groups))
	}
	for i := range p.Groups {
		if p.Groups[i].Name != parts[i].Name {
			return fmt.Errorf("group %d of phase %q is not %q but %q", i+1, p.Name, parts[i].Name, p.Groups[i].Name)
		}
		if err := checkPhase(&p.Groups[i], true); err != nil {
			return fmt.Errorf("group %q: %w", p.Groups[i].Name, err)
		}
	}
	return nil
}

func (t *Trial) has(fault finding.Code) bool {
	return slices.ContainsFunc(t.Marks, func(m finding.Mark) bool { return m.Fault() == fault })
}

// countMax bounds counts, so that sums of them stay sums.
const countMax = 1 << 56

// checkPhase holds the outcomes against each other. Of a phase whose counts are marked as wrong,
// they are not.
func checkPhase(p *Phase, disagree bool) error {
	if p.Threads > trace.ThreadsMax || p.Processes < 0 || p.Processes > trace.ProcessesMax {
		return fmt.Errorf("it has %d threads in %d processes", p.Threads, p.Processes)
	}
	if p.ElapsedNS < 0 || p.SampleNS < 0 || p.Threads < 0 || p.Number < 0 {
		return errors.New("a length of time or a number of threads is negative")
	}
	var done uint64
	for i, o := range slices.Concat(p.Operations, p.Steps) {
		if _, known := trace.ParseOperation(o.Name); !known {
			return fmt.Errorf("there is no operation %q", o.Name)
		}
		for _, n := range []uint64{o.OK, o.Miss, o.Lost, o.Conflict, o.Wrong, o.Errors, o.Timeout, o.BytesRead,
			o.BytesWritten, o.Items, o.Absent, o.Calls} {
			if n > countMax {
				return fmt.Errorf("%s counted %d", o.Name, n)
			}
		}
		if i < len(p.Operations) {
			done += o.Done()
		}
		if disagree || o.Service == nil {
			continue
		}
		if timed := o.Service.Count(); timed > o.Done() || p.TimedEvery == 0 && timed < o.Done() {
			return fmt.Errorf("%s has %d outcomes, and %d of them were timed", o.Name, o.Done(), timed)
		}
	}
	if !disagree && p.Attempted != done+p.Unfinished {
		return fmt.Errorf("%d operations were begun, and %d have an outcome or are unfinished", p.Attempted, done+p.Unfinished)
	}
	for name, seconds := range map[string]*float64{"cpu_seconds": p.Process.CPUSeconds, "server_cpu_seconds": p.Process.ServerCPUSeconds, "data_to_memory": p.Sizes.DataToMemory} {
		if seconds != nil && !sensible(*seconds) {
			return fmt.Errorf("%s is %g", name, *seconds)
		}
	}
	return nil
}

// checkQuestions returns why what a phase's operations say of each query, of so many, can't be.
func checkQuestions(p *Phase, queries int) error {
	for _, o := range p.Operations {
		var done uint64
		for _, q := range o.Questions {
			if q.Query < 0 || q.Query >= queries {
				return fmt.Errorf("the experiment has no query %d", q.Query)
			}
			done += q.Done()
		}
		if len(o.Questions) > 0 && done != o.Done() {
			return fmt.Errorf("%s has %d outcomes, and its queries %d", o.Name, o.Done(), done)
		}
	}
	return nil
}

// sensible passes numbers that arithmetic can be done with.
func sensible(v float64) bool { return v >= 0 && v < 1e15 }

// timeSlack is what rounding may lose of times in seconds.
const timeSlack = 1e-6

// checkSamples leaves out samples that can't be, returns where the others stood in the list, and why
// the first one can't.
func checkSamples(samples []Sample) (good []Sample, kept []int, fault error) {
	at, phase := 0.0, ""
	over := map[string]bool{}
	for i, s := range samples {
		if i == 0 || s.Phase != phase {
			at = 0
		}
		err := checkSample(&s)
		switch {
		case err != nil:
		case s.Phase != phase && over[s.Phase]:
			err = fmt.Errorf("phase %q has begun twice", s.Phase)
		case math.Abs(at+s.Seconds-s.At) > timeSlack*(1+s.At):
			err = fmt.Errorf("it ends at %g s and has %g s, and the one before ended at %g s", s.At, s.Seconds, at)
		}
		if err != nil {
			if fault == nil {
				fault = fmt.Errorf("sample %d: %w", i+1, err)
			}
			if s.Seconds <= 0 || !sensible(s.At) || !sensible(s.Seconds) || s.Operations > countMax || s.At < at {
				continue
			}
		}
		over[phase] = true
		at, phase = s.At, s.Phase
		good, kept = append(good, s), append(kept, i)
	}
	return good, kept, fault
}

func checkSample(s *Sample) error {
	switch {
	case !(s.Seconds > 0) || !sensible(s.Seconds):
		return fmt.Errorf("it has %g s", s.Seconds)
	case !sensible(s.At):
		return fmt.Errorf("it ends at %g s", s.At)
	case s.Operations > countMax || s.Bad > s.Operations:
		return fmt.Errorf("it has %d operations, %d of them bad", s.Operations, s.Bad)
	}
	var sum uint64
	for _, n := range s.ByName {
		sum += n
	}
	if len(s.ByName) > 0 && sum != s.Operations {
		return fmt.Errorf("it has %d operations in all, and %d of them by name", s.Operations, sum)
	}
	for name, p := range map[string]*float64{"p50": s.P50NS, "p99": s.P99NS, "max": s.MaxNS, "cpu": s.CPUSeconds} {
		if p != nil && !sensible(*p) {
			return fmt.Errorf("%s is %g", name, *p)
		}
	}
	for name, values := range map[string]Values{"stats": s.Stats, "res": s.Resources} {
		for _, v := range values.All() {
			if math.Abs(v) >= 1e300 {
				return fmt.Errorf("%s has a value of %g", name, v)
			}
		}
	}
	return nil
}

// holdSeries holds the samples against the result: no more operations than the phase had, and,
// where nothing kept samples from being written, all of its time but half a sample.
func (r *Run) holdSeries(trial *Trial, samples []Sample) {
	id := trial.Plan.ID
	file := filepath.Join(trialsDirectory, id, seriesFile)
	sums, ends := map[string]uint64{}, map[string]float64{}
	for _, s := range samples {
		sums[s.Phase] += s.Operations
		ends[s.Phase] = s.At
	}
	for i := range trial.Phases {
		p := &trial.Phases[i]
		var done uint64
		for _, o := range p.Operations {
			done += o.Done()
		}
		if sums[p.Name] > done && !trial.has(finding.FaultCounts) {
			r.fault(FaultImpossible, file, id, fmt.Sprintf("phase %q has %d operations there, and %d in its result", p.Name, sums[p.Name], done))
		}
		elapsed := float64(p.ElapsedNS) / 1e9
		left := elapsed - ends[p.Name]
		least := float64(p.SampleNS) / 1e9
		if p.Capacity != nil { // each step may lack its last sample
			least *= float64(len(p.Capacity.Steps) + 1)
		}
		if trial.SamplesMissing == 0 && p.SampleNS > 0 && left >= least+timeSlack*(1+elapsed) &&
			!trial.has(finding.FaultClock) && !trial.has(finding.FaultDiskFull) {
			r.fault(FaultImpossible, file, id, fmt.Sprintf("the last %.3g s of phase %q are not there", left, p.Name))
		}
	}
}
