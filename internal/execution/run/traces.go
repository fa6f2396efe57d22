package run

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// traces makes what the phases of a trial do. It knows the trial by what that stores, by what its
// phases did before, and by what its store can do.
type traces struct {
	*content
	past      *past
	seed      uint64                   // of the trial's cell and block
	endpoints int                      // that keys are spread over
	batches   bool                     // the store has them
	entries   int                      // of a lap; 0: as package trace chooses
	disk      func() (*os.File, error) // makes a file for a trace that is too large for memory
	stopped   func() error             // the user's Ctrl-C, as an error
	kept      *keptTraces              // of other trials of the block; nil: none are
}

// traceInMemoryMax bounds the trace of a replay that is in memory, and not on the run directory's disk.
const traceInMemoryMax = 256 << 20

// phaseTrace is what a phase does. Once it is made it does not change.
type phaseTrace struct {
	specs    []trace.Spec // that it was made of
	file     *trace.File
	keys     []uint64         // whose history is recorded
	room     int              // of the history, records for each thread; 0: the trace has no recorded entries
	recorded *recording.Shape // of what it replays; nil: nothing
	written  *os.File         // for workers of this machine; nil: it is to be written for the phase alone
}

// make makes a phase's operations. All arms of a cell in a block have the same seed, so that
// they do the same.
func (t *traces) make(p *experiment.Phase, at place) (phaseTrace, error) {
	specs, err := t.specs(p, at)
	if err != nil {
		return phaseTrace{}, err
	}
	if made, found := t.kept.find(specs); found {
		return made, nil
	}
	made := phaseTrace{specs: specs}
	if made.file, err = trace.Generate(specs...); err != nil {
		return phaseTrace{}, err
	}
	if r := p.Replay; r != nil {
		if made.recorded, err = r.ShapeOf(r.Summary.Keys, r.Speed, t.stopped); err != nil {
			return phaseTrace{}, err
		}
	}
	made.keys = t.recordKeys(p, made.file, at.number-1)
	made.room = historyRoom(made.file) + made.file.MarkFinds(specs[0].Finds)
	return t.kept.keep(made)
}

// specs returns what the groups of a phase do.
func (t *traces) specs(p *experiment.Phase, at place) (groups []trace.Spec, err error) {
	for i, part := range p.Parts() {
		s, err := t.spec(&part, len(p.Groups) > 0)
		if err != nil {
			return nil, err
		}
		s.Expires = t.experiment.ExpiresBy(at.position)
		s.Deleted = t.deletedBefore(at.position) || at.step && deletes(*p) || len(p.Groups) > 0 && deletes(*p)
		s.Seed = keyval.Mix(t.seed ^ uint64(at.number-1)<<32 ^ uint64(i)<<48)
		groups = append(groups, s)
	}
	if !p.Load && t.recordsFinds() {
		groups[0].Finds = &trace.FindSample{Seed: keyval.Mix(t.seed ^ uint64(at.number)<<48)}
		for _, q := range t.experiment.Values.QueryShapes() {
			groups[0].Finds.Limits = append(groups[0].Finds.Limits, uint64(q.Query.Limit))
		}
	}
	return groups, nil
}

// spec returns what a phase without groups, or a group, does.
func (t *traces) spec(p *experiment.Phase, group bool) (trace.Spec, error) {
	s := trace.Spec{
		Load: p.Load, Records: t.cell.Records, Fresh: max(t.past.fresh, t.cell.Records),
		Order: trace.Order{
			Distribution: p.Order.Distribution, Theta: p.Order.Theta, HotRecords: p.Order.HotRecords,
			HotOperations: p.Order.HotOps, Buckets: p.Order.Buckets,
			Shift: p.Order.Shift,
		},
		Sizes: t.sizes(), Batch: p.Batch, MultiRead: p.MultiRead, Scan: trace.ScanLengths{Min: p.Scan.Min, Max: p.Scan.Max, Zipfian: p.Scan.Distribution == "zipfian"},
		Threads: p.ThreadsIn(t.cell), Endpoints: t.endpoints,
		Limit: p.Operations, Rate: p.Rate, Segments: p.Segments, Arrivals: p.Arrivals, ThreadEntries: t.entries,
		Stopped: t.stopped,
		FromNS:  uint64(p.From), HandleTimes: t.takesHandles(p.Load), TimedEvery: t.experiment.TimedEvery,
	}
	if p.Order.Shift.Every > 0 && len(s.Segments) == 0 { // without laps each operation is due once
		s.Segments = []trace.Segment{{Form: trace.FormStep, To: p.Rate, Duration: p.Lasts()}}
	}
	if len(p.Staircase) > 0 {
		s.Spans = experiment.Spans(p.Staircase, group)
	}
	s.Append = trace.AppendSpec(p.Append)
	s.Fill, s.BackendUS = p.Fill, uint32(p.Backend.Microseconds())
	s.ThinkNS, s.ThinkExponential = uint64(p.Think.Mean), p.Think.Exponential
	for _, ttl := range p.TTL {
		s.TTLs = append(s.TTLs, trace.TTL{MS: uint32(ttl.Life.Milliseconds()), Weight: ttl.Weight})
	}
	if p.Replay != nil {
		s.Replay = p.Replay.ForTrace()
		if s.Replay.TraceBytes() > traceInMemoryMax {
			s.Disk = t.disk
		}
	} else if r := t.experiment.ReplayOfValues(); r != nil && p.Load {
		s.Replay = r.ForTrace()
	}
	if s.Replay != nil {
		s.Replay.KeyLengths = t.experiment.Keys.Lengths
	}
	if p.Rate > 0 && p.Duration > 0 {
		s.EndNS = uint64(p.Duration)
	}
	if group {
		s.UntilNS = uint64(p.End())
	}
	if p.Rate == 0 && p.Replay == nil {
		s.ForNS = uint64(p.Duration)
	}
	if p.Load {
		s.Limit, s.Threads = 0, int(min(uint64(s.Threads), t.cell.Records))
		s.Batch = 0 // a load goes in batches where the store has them
		if t.batches {
			s.Batch = p.BatchFor(t.store.Description, t.experiment.RecordBytesMax(t.cell))
		}
	}
	for _, a := range p.Asked {
		o, known := trace.ParseOperation(a.Operation)
		if !known {
			return s, fmt.Errorf("unknown operation %q asks a query", a.Operation) // as below
		}
		s.Queries = append(s.Queries, trace.QueryShare{Operation: o, Query: a.Query, Weight: a.Weight})
	}
	if len(p.Request) > 0 {
		s.Request = steps(p)
		return s, nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Mix)) {
		o, known := trace.ParseOperation(name)
		if !known {
			return s, fmt.Errorf("unknown operation %q in the mix", name) // package read has checked it: a mistake of Assay's
		}
		s.Mix = append(s.Mix, trace.Share{Operation: o, Weight: p.Mix[name]})
	}
	return s, nil
}

// recordsFinds says if what some scans, queries and counts find is recorded: where the worker can, and
// what they find tells its index.
func (t *traces) recordsFinds() bool {
	return t.store.Description.FindsRecorded && t.experiment.Verify && t.shortLengths() == 0
}

// takesHandles says if threads take a handle for each operation, and the worker reports how long that
// takes.
func (t *traces) takesHandles(load bool) bool {
	handles := t.cell.Handles
	if load {
		handles = unmeasuredHandles(t.cell, t.store.Description.Kind)
	}
	shared := handles == experiment.Pool || handles == experiment.PerOperation
	return shared && t.store.Description.HandleTimes
}

// steps returns what a phase's requests are made of. Package read has checked the names.
func steps(p *experiment.Phase) (all []trace.Step) {
	for _, s := range p.Request {
		o, _ := trace.ParseOperation(s.Operation)
		all = append(all, trace.Step{Operation: o, Bytes: s.Bytes})
	}
	return all
}

// deletedBefore says if earlier phases may have deleted records.
func (t *traces) deletedBefore(position int) bool {
	return slices.ContainsFunc(t.experiment.Phases[:position], deletes)
}

func deletes(p experiment.Phase) bool { return p.Does(trace.Delete) || p.Does(trace.DeleteQuery) }

func batchOf(f *trace.File) int {
	if !f.MayHave(trace.Batch) {
		return 0
	}
	for i := range f.Threads {
		for _, e := range f.Threads[i].Entries {
			if e.Operation() == trace.Batch {
				return int(f.Amounts[e.SizeClass()])
			}
		}
	}
	return 0
}

// The sample of keys whose history is recorded.
const (
	historyKeys = 256
	// historyRecordsMax bounds the records of a phase over all threads, 32 bytes each;
	// historyThreadMax those of one thread.
	historyRecordsMax = 1 << 19
	historyThreadMax  = 1 << 17

	// Of requests that read and write, all keys are recorded if they are no more than that, and so
	// many records at most: what became of each update is then known.
	requestKeysMax    = 2000
	requestRecordsMax = 1 << 20
)

// recordKeys chooses the keys whose history the phase records, and marks their entries. All arms of
// a cell have the same trace, so that recording costs them the same.
func (t *traces) recordKeys(p *experiment.Phase, file *trace.File, position int) []uint64 {
	if p.Load || !t.experiment.Verify || slices.Contains(file.Operations, trace.DeleteQuery) {
		return nil // which records a query deletes is in no key's history
	}
	var keys []uint64
	if slices.ContainsFunc(p.Parts(), readsAndWrites) {
		keys = file.AllKeys(requestKeysMax)
	}
	if keys == nil {
		keys = file.ChooseKeys(historyKeys, keyval.Mix(t.seed^uint64(position+1)<<40))
	}
	file.RecordKeys(keys)
	return keys
}

// readsAndWrites reports whether the requests of a part of a phase read a record that was there, and
// change it.
func readsAndWrites(p experiment.Phase) (both bool) {
	reads := false
	for _, step := range steps(&p) {
		o := step.Operation
		reads = reads || o == trace.Read || o == trace.ReadModifyWrite || o.Replaces()
		both = both || reads && o.Writes()
	}
	return both && len(p.Request) > 0
}

// historyRoom returns how many records each thread has room for; 0: the trace has no recorded
// entries.
func historyRoom(file *trace.File) int {
	if file.Flags&trace.FlagHistory == 0 {
		return 0
	}
	if file.HasRequests() {
		return max(requestRecordsMax/len(file.Threads)/4*4, 4)
	}
	return max(min(historyRecordsMax/len(file.Threads), historyThreadMax), 4)
}
