package trace

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
)

// Spec says what a phase, or a group of clients in it, does. Generate turns it into a trace.
type Spec struct {
	// Load stores the records 0 … Records−1 once each, as inserts, in the order sequential or
	// shuffled; Mix is then empty. Otherwise the operations of Mix are drawn by their weights.
	Load bool
	Mix  []Share
	// Request: in place of Mix, operations come as requests of these steps, on one key each. Limit
	// and Rate then count requests.
	Request []Step
	// Replay: in place of drawing operations, those of a recording are done; Mix then only names them.
	// Of a load, it tells the lengths of values. nil: none.
	Replay *Replay `json:",omitempty"`

	Records uint64 // keys that exist when the phase begins (of a load: that it writes): indexes 0 … Records−1
	Fresh   uint64 // the first index that no key has had: inserts begin there; at least Records
	Deleted bool   // earlier phases may have deleted some of Records

	Order Order
	Sizes []Size // lengths of values; at least one where something is written
	// TTLs are for how long the values of inserts, updates and upserts are to live; none: without an end.
	TTLs []TTL `json:",omitempty"`
	// Fill: reads that find nothing put a value, BackendUS µs later: MultiRead is then 0.
	Fill      bool   `json:",omitempty"`
	BackendUS uint32 `json:",omitempty"`
	// Expires: values of this group or of a phase before it have a TTL, and reads are held against it. It
	// is so for all groups of a trace.
	Expires bool `json:",omitempty"`
	// Batch: insert, update, upsert and delete go in batches of so many; 0 or 1: one by one.
	// Weights in Mix stay those of records: of a mix of 1 read and 1 update in batches of 100, half
	// of the records that are touched are read.
	Batch int
	// MultiRead: reads go in calls of so many different keys; 0 or 1: one by one. Weights in Mix stay those
	// of records, as with Batch. The orders shuffled, latest and counting have none.
	MultiRead int `json:",omitempty"`
	// Append is what appends add.
	Append AppendSpec `json:",omitzero"`
	Scan   ScanLengths
	// Queries are what queries, counts and deletes by query ask; at least one for each that is in Mix.
	Queries []QueryShare

	Threads   int
	Endpoints int    // thread t starts with endpoint t mod Endpoints; 0: none
	Seed      uint64 // traces of the same seed, threads and spec are the same, bit for bit, on every machine

	// Limit is how many operations are done in all, over the threads; a batch is one operation. 0:
	// until the deadline, and of a load, all records.
	Limit uint64

	// Rate is the number of operations a second over all threads in open load: each has a due time.
	// 0: closed load. Each thread's own arrivals are a process of Rate ÷ Threads, evenly spread or
	// Poisson. The times of a lap are scaled so that its rate is exactly that.
	Rate     float64
	Arrivals Arrivals
	// Segments are a rate that changes over time, from the group's begin on; Rate is then their mean.
	// They end the group's operations, and no thread laps.
	Segments []Segment `json:",omitempty"`
	// open load: operations due so long after the group's begin, or later, are not done; 0: no such
	// end
	EndNS uint64

	// ThinkNS is for how long a thread of closed load pauses before each operation, on average; 0: not at all.
	// Exponential: as long as independent users think, and otherwise always as long.
	ThinkNS          uint64 `json:",omitempty"`
	ThinkExponential bool   `json:",omitempty"`

	// Spans are when each of the threads works, since the group's begin; none: all do, all the time.
	Spans []WorkSpan `json:",omitempty"`

	HandleTimes bool   // how long each take of a handle takes is counted, for all groups
	TimedEvery  uint64 // one operation in so many is timed, for all groups; 0: every operation
	// Finds, of a phase's first group, say which scans, queries and counts of all of its groups are recorded; nil:
	// none. See File.MarkFinds.
	Finds *FindSample `json:",omitempty"`

	FromNS  uint64 // the threads begin so long after the phase's start
	UntilNS uint64 // and end at this moment after it; 0: the phase's deadline alone ends them

	// ThreadEntries and Entries bound the length of a lap, of one thread and over all; 0:
	// DefaultThreadEntries and DefaultEntries, or as many entries as there are Records if that is
	// more, up to DefaultSpreadEntries. The last is because a lap that reaches fewer records than
	// there are lets a store's cache look better than it is.
	ThreadEntries, Entries int
	// ForNS is for how long operations of closed load are begun, 0: not known. A lap of a short phase that
	// is not reached in it costs each side several looks at every entry, before and after.
	ForNS uint64 `json:",omitempty"`
	// EntriesMax bounds what a shuffled load and orders that visit every record need; 0:
	// DefaultEntriesMax. An entry takes 8 bytes of shared memory, 16 in open load.
	EntriesMax uint64
	// Disk makes an empty file for the trace of a replay, which then stands there and not in memory. nil: it
	// is made in memory.
	Disk func() (*os.File, error) `json:"-"`
	// Stopped is asked now and then while the trace is made; its error ends that. nil: nothing ends
	// it.
	Stopped func() error `json:"-"`
}

// WorkSpan is when a thread works. UntilNS 0: to the group's end.
type WorkSpan struct{ FromNS, UntilNS uint64 }

// Same reports whether two lists of specs make the same trace, bit for bit. Where inserts begin is no
// matter to groups that insert nothing.
func Same(a, b []Spec) bool {
	bare := func(s Spec) Spec {
		s.Stopped, s.Disk = nil, nil
		if !s.takesFresh() {
			s.Fresh = 0
		}
		return s
	}
	return slices.EqualFunc(a, b, func(x, y Spec) bool { return reflect.DeepEqual(bare(x), bare(y)) })
}

// Bounds of a trace's length, in entries.
const (
	DefaultThreadEntries = 1 << 18
	DefaultEntries       = 1 << 22
	DefaultSpreadEntries = 1 << 24 // 128 MiB
	DefaultEntriesMax    = 1 << 27 // 1 GiB

	// entriesASecond is what a lap has for each second of a phase: several times what servers do, and so
	// much that a store which laps has not learnt it. entriesLeast is what it has at least.
	entriesASecond = 1 << 19
	entriesLeast   = 1 << 18
)

// Share is an operation of a mix and its weight, relative to the others.
type Share struct {
	Operation Operation
	Weight    float64
}

// Step is an operation of a request.
type Step struct {
	Operation Operation
	Bytes     int // length of the value that it writes; 0: one of Sizes
}

// Size is a length of values in bytes and its weight, relative to the others.
type Size struct {
	Bytes  int
	Weight float64
}

// TTL is for how many ms a value is to live, and its weight relative to the others. 0 ms: without an end.
type TTL struct {
	MS     uint32
	Weight float64
}

// ScanLengths is how many records scans read: Min to Max. Zipfian: short ones more often, with
// exponent 0.99 as in YCSB; otherwise uniform. A range of more than scanClasses lengths is rounded
// to so many that lie evenly in it, both ends among them.
type ScanLengths struct {
	Min, Max int
	Zipfian  bool
}

const scanClasses = 128

// MultiReadMax bounds the keys of one multi-read.
const MultiReadMax = 1000

// QueryShare is a query by its number, asked by an operation, and its weight relative to the others
// of that operation.
type QueryShare struct {
	Operation Operation // one that asks
	Query     int
	Weight    float64
}

// Arrivals is how operations of open load are spread in time.
type Arrivals string

const (
	Poisson  Arrivals = "poisson"  // memoryless, as independent users are: the default
	Constant Arrivals = "constant" // evenly, threads in turn
)

// indexEnd bounds indexes at the start, half of what an entry holds, so that laps have room to
// grow.
const indexEnd = 1 << 47

func (s *Spec) check() error {
	if s.Threads < 1 || s.Threads > ThreadsMax {
		return fmt.Errorf("a trace has 1 to %d threads, not %d", ThreadsMax, s.Threads)
	}
	if s.Records > indexEnd || s.Fresh > indexEnd || s.Fresh < s.Records {
		return fmt.Errorf("records %d and first fresh index %d: expected records ≤ fresh ≤ 2^47", s.Records, s.Fresh)
	}
	if s.Batch < 0 || s.Batch > math.MaxInt32 {
		return fmt.Errorf("batches of %d", s.Batch)
	}
	if s.MultiRead < 0 || s.MultiRead > MultiReadMax {
		return fmt.Errorf("multi-reads of %d keys: expected at most %d", s.MultiRead, MultiReadMax)
	}
	if s.ThreadEntries < 0 || s.Entries < 0 || s.Endpoints < 0 {
		return errors.New("thread entries, entries and endpoints can't be negative")
	}
	if !(s.Rate >= 0 && s.Rate <= 1e9) {
		return fmt.Errorf("rate %v: expected 0 to 1e9 operations a second", s.Rate)
	}
	if s.Arrivals != "" && s.Arrivals != Poisson && s.Arrivals != Constant {
		return fmt.Errorf("arrivals %q: expected poisson or constant", s.Arrivals)
	}
	if len(s.Spans) > 0 && (len(s.Spans) != s.Threads || s.Rate > 0) {
		return fmt.Errorf("%d spans of %d threads: each thread of closed load has one", len(s.Spans), s.Threads)
	}
	if s.ThinkNS > 0 && (s.Rate > 0 || s.Load || s.TimedEvery > 0) {
		return errors.New("threads that think before their operations have no rate, load nothing, and each operation is timed")
	}
	if len(s.Segments) > 0 && s.Rate == 0 {
		return errors.New("segments of a rate without their mean")
	}
	if s.EndNS != 0 && s.Rate == 0 {
		return errors.New("an end without a rate: closed load ends at the deadline that the worker is given")
	}
	if s.Replay != nil {
		if err := s.Replay.check(s); err != nil {
			return err
		}
		if !s.Load {
			return checkWeights("sizes", s.Sizes, func(z Size) float64 { return z.Weight })
		}
	}
	if err := s.Order.check(); err != nil {
		return err
	}
	if err := s.checkTTLs(); err != nil {
		return err
	}
	if err := s.checkShift(); err != nil {
		return err
	}
	if s.Load {
		return s.checkLoad()
	}
	return s.checkMix()
}

func (s *Spec) checkTTLs() error {
	switch {
	case len(s.TTLs) == 0:
		return nil
	case !s.Expires:
		return errors.New("values have a TTL, and reads are not held against it")
	case s.Batch > 1 || len(s.Request) > 0:
		return errors.New("values of batches and requests have no TTL")
	}
	return checkWeights("TTLs", s.TTLs, func(t TTL) float64 { return t.Weight })
}

func (s *Spec) checkLoad() error {
	switch {
	case len(s.Mix) > 0 || len(s.Request) > 0:
		return errors.New("a load has no mix")
	case s.Records == 0:
		return errors.New("a load of no records")
	case !s.Order.visitsAll():
		return fmt.Errorf("a load stores each record once: its order is sequential or shuffled, not %s", s.Order.Distribution)
	case s.Limit != 0 || s.Rate != 0:
		return errors.New("a load stores all records as fast as it can: it has no limit and no rate")
	}
	return checkWeights("sizes", s.Sizes, func(z Size) float64 { return z.Weight })
}

func (s *Spec) checkMix() error {
	if err := s.checkRequest(); err != nil {
		return err
	}
	if err := checkWeights("mix", s.mix(), func(m Share) float64 { return m.Weight }); err != nil {
		return err
	}
	for i, m := range s.mix() {
		if !m.Operation.Known() || m.Operation.HasMembers() {
			return fmt.Errorf("%s is no operation of a mix (it comes from how many records go in one)", m.Operation)
		}
		if slices.ContainsFunc(s.mix()[:i], func(o Share) bool { return o.Operation == m.Operation }) {
			return fmt.Errorf("%s is twice in the mix", m.Operation)
		}
	}
	return s.checkOperations()
}

// checkOperations holds what the operations of a mix need of records, sizes, scans and queries.
func (s *Spec) checkOperations() error {
	has := s.operations()
	if (has[Delete] || has[DeleteQuery] || s.Deleted) && has[Update] {
		return errors.New("update says that the key exists, but keys are deleted here: say upsert instead")
	}
	if s.Order.Distribution == Counting && slices.ContainsFunc(s.Mix, func(m Share) bool {
		return m.Weight > 0 && m.Operation != Upsert
	}) {
		return errors.New("order counting writes the same new keys from all threads: its mix is upsert alone")
	}
	needsRecords := false
	for code := range has {
		o := Operation(code)
		needsRecords = needsRecords || has[code] && !o.isFresh() && s.Order.Distribution != Counting &&
			!s.isFreshRequest()
		if has[code] && (o.Puts() || o == Read && s.Fill) {
			if err := checkWeights("sizes", s.Sizes, func(z Size) float64 { return z.Weight }); err != nil {
				return err
			}
		}
	}
	if needsRecords && s.Records == 0 {
		return errors.New("the mix works on records that exist, and there are none: load some first")
	}
	if needsRecords && s.Order.visitsAll() && s.Records < uint64(s.Threads) {
		return fmt.Errorf("order %s parts %d records over %d threads: use fewer threads", s.Order.Distribution, s.Records, s.Threads)
	}
	if s.Fill && (s.MultiRead > 1 || s.TimedEvery > 0 || s.Load || s.Replay != nil) {
		return errors.New("reads that fill are done one by one, and timed, and are not recorded ones")
	}
	if err := s.checkMultiReads(); err != nil {
		return err
	}
	if err := s.checkAppends(); err != nil {
		return err
	}
	if has[Touch] && !slices.ContainsFunc(s.TTLs, func(t TTL) bool { return t.MS > 0 && t.Weight > 0 }) {
		return errors.New("touches give records a TTL, and there is none")
	}
	if has[Scan] && (s.Scan.Min < 1 || s.Scan.Max < s.Scan.Min || s.Scan.Max > math.MaxInt32) {
		return fmt.Errorf("scans of %d to %d records: expected 1 ≤ min ≤ max", s.Scan.Min, s.Scan.Max)
	}
	for _, o := range []Operation{Query, Count, DeleteQuery} {
		if !has[o] {
			continue
		}
		asked := slices.DeleteFunc(slices.Clone(s.Queries), func(q QueryShare) bool { return q.Operation != o })
		if err := checkWeights("queries of "+o.String(), asked, func(q QueryShare) float64 { return q.Weight }); err != nil {
			return err
		}
	}
	return nil
}

// multiReads says if reads go in calls of several keys.
func (s *Spec) multiReads() bool { return s.MultiRead > 1 && s.operations()[Read] }

// checkMultiReads holds that the keys of a call can differ.
func (s *Spec) checkMultiReads() error {
	if !s.multiReads() {
		return nil
	}
	records := s.Records
	switch s.Order.Distribution {
	case Shuffled, Latest, Counting:
		return fmt.Errorf("multi-reads have no order %s: keys of one call could be the same", s.Order.Distribution)
	case Sequential:
		records /= uint64(s.Threads)
	}
	if records < uint64(s.MultiRead) {
		return fmt.Errorf("multi-reads of %d keys, and a thread reads %d records", s.MultiRead, records)
	}
	return nil
}

// checkAppends holds what appends need.
func (s *Spec) checkAppends() error {
	if !s.operations()[Append] {
		return nil
	}
	switch a := s.Append; {
	case a.Parts < 1 || a.Parts > AppendPartsMax:
		return fmt.Errorf("%d parts are appended to a value: expected 1 to %d", a.Parts, AppendPartsMax)
	case a.Bytes < 1:
		return fmt.Errorf("parts of %d bytes", a.Bytes)
	case s.Batch > 1 || len(s.Request) > 0:
		return errors.New("appends go beside no batches and requests")
	case s.Expires:
		return errors.New("appends go beside no values with a TTL")
	case s.Order.Distribution == Latest || s.Order.Distribution == Counting:
		return fmt.Errorf("appends have no order %s", s.Order.Distribution)
	}
	return checkWeights("sizes", s.Sizes, func(z Size) float64 { return z.Weight })
}

// checkRequest holds what a request can be made of.
func (s *Spec) checkRequest() error {
	if len(s.Request) == 0 {
		return nil
	}
	if len(s.Mix) > 0 || s.Batch > 1 || s.MultiRead > 1 || s.Fill {
		return errors.New("requests go beside no mix, no batches, multi-reads and fills")
	}
	if s.Order.Distribution == Counting || s.Order.Distribution == Latest {
		return fmt.Errorf("requests have no order %s", s.Order.Distribution)
	}
	for i, step := range s.Request {
		if !step.Operation.OneKey() {
			return fmt.Errorf("%s is no step of a request", step.Operation)
		}
		if step.Operation.isFresh() && i > 0 {
			return fmt.Errorf("%s makes the key of a request: it is the first step or none", step.Operation)
		}
	}
	return nil
}

// isFreshRequest reports whether each request is about a key that was not there.
func (s *Spec) isFreshRequest() bool { return len(s.Request) > 0 && s.Request[0].Operation.isFresh() }

// mix returns the operations and how often they come: of requests, their steps.
func (s *Spec) mix() []Share {
	if len(s.Request) == 0 {
		return s.Mix
	}
	var mix []Share
	for _, step := range s.Request {
		at := slices.IndexFunc(mix, func(m Share) bool { return m.Operation == step.Operation })
		if at < 0 {
			at, mix = len(mix), append(mix, Share{Operation: step.Operation})
		}
		mix[at].Weight++
	}
	return mix
}

// takesFresh says if the group's threads take indexes that no key has had.
func (s *Spec) takesFresh() bool {
	has := s.operations()
	return has[Insert] || has[Add]
}

// operations says which operations have a weight above 0.
func (s *Spec) operations() (has [operationsMax]bool) {
	for _, m := range s.mix() {
		if m.Weight > 0 && m.Operation < operationsMax {
			has[m.Operation] = true
		}
	}
	return has
}

// isFresh says if the operation takes an index that no key has had.
func (o Operation) isFresh() bool { return o == Insert || o == Add }

// isBatchable says if the operation can be a member of a batch.
func (o Operation) isBatchable() bool {
	return o == Insert || o == Update || o == Upsert || o == Delete
}

func checkWeights[T any](what string, list []T, weight func(T) float64) error {
	sum := 0.0
	for _, item := range list {
		w := weight(item)
		if !(w >= 0 && w <= 1e12) {
			return fmt.Errorf("%s: weight %v: expected 0 to 1e12", what, w)
		}
		sum += w
	}
	if sum == 0 {
		return fmt.Errorf("%s: nothing with a weight above 0", what)
	}
	return nil
}

// lapEntries returns how many entries a thread's lap may have where the order does not need more.
func (s *Spec) lapEntries() int {
	perThread, all := s.ThreadEntries, s.Entries
	if perThread == 0 {
		perThread = DefaultThreadEntries
	}
	if all == 0 {
		all = DefaultEntries
	}
	if s.ThreadEntries == 0 && s.Entries == 0 {
		if s.ForNS > 0 {
			all = min(all, max(int(min(float64(s.ForNS)/1e9, DefaultEntries)*entriesASecond), entriesLeast))
		}
		spread := int(min(s.Records, DefaultSpreadEntries))
		all = max(all, spread)
		perThread = max(perThread, spread/s.Threads)
	}
	// A lap has room for a few batches, whatever the bounds say, or it could not show the mix.
	return max(min(perThread, all/s.Threads), lapBatches*(s.entriesEach()+1))
}

const lapBatches = 16

// entriesEach is how many entries the longest operation has beside its own.
func (s *Spec) entriesEach() int { return max(s.Batch, s.MultiRead, len(s.Request)) }

func (s *Spec) entriesMax() uint64 {
	if s.EntriesMax == 0 {
		return DefaultEntriesMax
	}
	return s.EntriesMax
}
