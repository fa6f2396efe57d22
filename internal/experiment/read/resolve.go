package read

import (
	"cmp"
	"strings"
	"time"

	"assay/internal/experiment"
)

func (r *resolver) resolve(scale string) (*experiment.Experiment, *Error) {
	f := r.file
	r.e = &experiment.Experiment{
		Name: f.Name, About: strings.TrimSpace(f.About), Scale: scale,
		Seed: uint64(orCount64(f.Seed, defaultSeed)), TimedEvery: f.Latency.Every,
		Verify: f.Verify == nil || *f.Verify, Clock: orText(string(f.Clock), "auto"), Cache: orText(string(f.Cache), experiment.CacheWarm),
		DiskQuotaBy: orText(string(f.DiskQuotaBy), experiment.QuotaByStop),
		BusyMachine: orText(string(f.BusyMachine), experiment.BusyMachineMark),
		Sample:      time.Duration(f.Sample), StepTimeout: orDuration(f.StepTimeout, defaultStepTimeout),
	}
	if r.e.Verify {
		r.e.VerifyRecords = defaultVerifyRecords
	}
	if f.VerifyRecords != nil {
		r.e.VerifyRecords = uint64(*f.VerifyRecords)
	}
	for _, step := range []func() *Error{
		r.general, r.schedule, r.recordings, r.keys, r.values, r.columns, r.queries, r.stores, r.crash,
		r.followStores, r.namespace, r.keyLengths, r.phases, r.cells, r.takeCPUs, r.agents,
		whole{r}.quotaWay, whole{r}.keySpace, whole{r}.multiReads,
		whole{r}.appends, whole{r}.traceLengths, whole{r}.sampled,
		whole{r}.abilities, whole{r}.optionalPhases, whole{r}.baseline, whole{r}.size,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.e, nil
}

func (r *resolver) general() *Error {
	e := r.e
	if e.Name == "" {
		return r.fail([]string{"name"}, "the experiment has no name").hint("expected name: NAME")
	}
	if len(e.Name) > nameBytesMax || !plainName(e.Name) {
		return r.fail([]string{"name"}, "the name %q can't be part of a file name", e.Name).hint(plainNameRule)
	}
	if e.StepTimeout < stepTimeoutMin {
		return r.fail([]string{"step_timeout"}, "a step_timeout of %s ends healthy stores: opening and syncing take longer", e.StepTimeout).
			hint("expected at least %s", stepTimeoutMin)
	}
	return nil
}

// schedule resolves how much is run. Where no number of blocks is given, fields that only auto has
// mean auto.
func (r *resolver) schedule() *Error {
	f, s := r.file, experiment.Schedule{Time: time.Duration(r.file.Time), Repeats: orCount(r.file.Repeats,
		defaultRepeats)}
	if s.Repeats > repeatsMax {
		return r.fail([]string{"repeats"}, "repeats must be 0 to %d, not %d", repeatsMax, s.Repeats)
	}
	if f.Detect != nil {
		return r.detect(s)
	}
	automatic := f.Blocks.Auto || f.Blocks.Number == 0 && (s.Time > 0 || f.BlocksMax != nil || f.Smallest != nil)
	if !automatic {
		s.Blocks = cmp.Or(f.Blocks.Number, defaultBlocks)
		if f.BlocksMax != nil && s.Time > 0 && int(*f.BlocksMax) > s.Blocks { // what time is left over is used
			s.BlocksMax = min(int(*f.BlocksMax), blocksMax)
		}
		r.e.Schedule = s
		return nil
	}
	s.Blocks, s.BlocksMax, s.Smallest = defaultBlocks, orCount(f.BlocksMax, defaultBlocksMax), defaultSmallest
	if f.Smallest != nil {
		s.Smallest = float64(*f.Smallest)
	}
	if s.BlocksMax < s.Blocks || s.BlocksMax > blocksMax {
		return r.fail([]string{"blocks_max"}, "blocks_max must be %d to %d, not %d", s.Blocks, blocksMax, s.BlocksMax)
	}
	r.e.Schedule = s
	return nil
}

// detect resolves a number of blocks that the noise of the first ones decides. What they show is not
// looked at, so that smallest has no place beside it.
func (r *resolver) detect(s experiment.Schedule) *Error {
	f := r.file
	if f.Smallest != nil || f.Blocks.Auto {
		return r.fail([]string{"detect"}, "detect chooses the number of blocks by the noise, blocks: auto and smallest by what was measured").
			hint("remove one of them")
	}
	s.Detect, s.Blocks = float64(*f.Detect), cmp.Or(f.Blocks.Number, defaultDetectBlocks)
	s.BlocksMax = orCount(f.BlocksMax, max(defaultDetectMax, s.Blocks))
	if s.Blocks < defaultDetectBlocks {
		return r.fail([]string{"blocks"}, "detect measures the noise in the first blocks: at least %d, not %d", defaultDetectBlocks, s.Blocks)
	}
	if s.BlocksMax < s.Blocks || s.BlocksMax > blocksMax {
		return r.fail([]string{"blocks_max"}, "blocks_max must be %d to %d, not %d", s.Blocks, blocksMax, s.BlocksMax)
	}
	r.e.Schedule = s
	return nil
}
