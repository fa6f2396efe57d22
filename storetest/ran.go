package storetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/base/memfile"
	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// running is a phase under way.
type running struct {
	bench       *bench
	script      *script
	number      int
	file        *trace.File
	counters    *counters.File
	history     *counters.History // nil: the script has no recorded entries
	historyFile *os.File
	pending     *conductor.Pending
	second      *conductor.Pending // of the bench's second worker
	startNS     int64              // of both
}

// ran is a phase that has ended, well or not.
type ran struct {
	script    *script
	number    int
	file      *trace.File
	sample    counters.Sample
	messages  []counters.Message
	observed  []uint64
	elapsedNS int64
	clock     uint64
	runtime   map[string]float64

	history [][]counters.Recorded // of each thread; nil: none was recorded
	dropped []uint64
	endedNS []uint64 // of each thread: its clock at the end of its last operation

	// Of each thread, the outcomes of each operation, and what they gave.
	outcomesOf []map[trace.Operation][counters.Outcomes]uint64
	foundBy    []map[trace.Operation]readings
}

// readings are what a thread's operations of a kind gave.
type readings struct{ items, bytes, sortSum uint64 }

// poolBytes is small: the kit looks for wrong bytes, not for compressibility.
const poolBytes = 1 << 16

// prepare prepares a script as the store's next phase. The caller ends it with begin and wait, or
// with counters.Unmap.
func (b *bench) prepare(s *script) (*running, error) {
	file, err := s.file()
	if err != nil {
		return nil, err
	}
	b.phases++
	b.lengthMax, b.short = max(b.lengthMax, s.lengthMax()), b.short|s.short()
	short := b.short
	if s.longOnly {
		short = 0
	}
	r := &running{bench: b, script: s, number: b.phases, file: file}
	traceFile, err := memfile.Create("storetest-trace")
	if err != nil {
		return nil, err
	}
	defer traceFile.Close()
	if err := errors.Join(file.WriteIn(traceFile), memfile.SealAll(traceFile)); err != nil {
		return nil, err
	}
	countersFile, err := memfile.Create("storetest-counters")
	if err != nil {
		return nil, err
	}
	defer countersFile.Close()
	if r.counters, err = counters.CreateIn(countersFile, file, b.processes()); err != nil {
		return nil, err
	}
	if err := memfile.SealSize(countersFile); err != nil {
		return nil, errors.Join(err, r.unmap())
	}
	historyName, err := r.createHistory()
	if err != nil {
		return nil, errors.Join(err, r.unmap())
	}
	livesName := ""
	if s.lives != nil {
		livesName = s.lives.file.Name()
	}
	err = b.prepareIn(control.Prepare{
		Lives: livesName,
		Phase: "storetest", Number: r.number, Trace: traceFile.Name(), Counters: countersFile.Name(), History: historyName, Keys: s.keys,
		Values: keyval.ValueShape{PoolBytes: poolBytes, PoolSeed: s.poolSeed, LengthMax: b.lengthMax,
			ShortLengths: short, TrialTag: s.tag},
		ZeroVersions: s.zeroVersions, Verify: !s.unverified, LoadedRecords: s.loaded, MustHitBelow: s.mustHitBelow,
		DeadlineNS: int64(s.deadline), Clock: s.clock,
	}, len(file.Threads))
	if err != nil {
		return nil, errors.Join(err, r.unmap())
	}
	return r, nil
}

// createHistory makes the file for recorded entries, where the script has them, and returns its
// name. It stays open until unmap.
func (r *running) createHistory() (name string, err error) {
	if r.file.Flags&trace.FlagHistory == 0 {
		return "", nil
	}
	if r.historyFile, err = memfile.Create("storetest-history"); err != nil {
		return "", err
	}
	each := r.script.historyEach
	if each == 0 {
		each = historyEach
	}
	if r.history, err = counters.CreateHistory(r.historyFile, len(r.file.Threads), each); err != nil {
		return "", err
	}
	return r.historyFile.Name(), memfile.SealSize(r.historyFile)
}

// unmap gives the phase's files back.
func (r *running) unmap() error {
	err := r.counters.Unmap()
	if r.history != nil {
		err = errors.Join(err, r.history.Unmap())
	}
	if r.historyFile != nil {
		err = errors.Join(err, r.historyFile.Close())
	}
	return err
}

// begin prepares a script and lets it run.
func (b *bench) begin(s *script) (*running, error) {
	r, err := b.prepare(s)
	if err != nil {
		return nil, err
	}
	if err := r.startPhase(); err != nil {
		return nil, errors.Join(err, r.unmap())
	}
	return r, nil
}

// run runs a script to its end and holds the counts against it.
func (b *bench) run(s *script) (*ran, error) {
	r, err := b.begin(s)
	if err != nil {
		return nil, err
	}
	return r.wait()
}

// wait waits for the end of the phase and holds the counts against the trace.
func (r *running) wait() (*ran, error) {
	var result control.Ran
	done, err := r.pending.Wait(r.bench.target.StepTimeout, &result)
	if !done {
		err = r.bench.worker.Hung(fmt.Sprintf("a phase had not ended after %v", r.bench.target.StepTimeout))
	}
	if err == nil {
		err = r.waitForSecond()
	}
	if err != nil {
		return nil, errors.Join(err, r.unmap())
	}
	ended := r.take()
	ended.runtime = result.Runtime
	r.bench.audit(r.counters, ended)
	return ended, r.unmap()
}

// take copies what the counters hold.
func (r *running) take() *ran {
	c := r.counters
	taken := &ran{
		script: r.script, number: r.number, file: r.file, sample: c.Sample(true), messages: c.Messages(),
		observed: slices.Clone(c.Observed()), elapsedNS: int64(c.EndNS() - c.StartNS()), clock: c.Clock(),
	}
	for thread := range r.file.Threads {
		taken.endedNS = append(taken.endedNS, c.Thread(thread).NowNS)
		if r.history != nil {
			records, dropped := r.history.Records(thread)
			taken.history, taken.dropped = append(taken.history, slices.Clone(records)), append(taken.dropped, dropped)
		}
		outcomes, found := map[trace.Operation][counters.Outcomes]uint64{}, map[trace.Operation]readings{}
		for slot, o := range r.file.Operations {
			counted := c.Slot(thread, slot)
			sum, read := outcomes[o], found[o]
			for outcome, n := range counted.Outcomes {
				sum[outcome] += n
			}
			outcomes[o], found[o] = sum, readings{read.items + counted.Items, read.bytes + counted.BytesRead,
				read.sortSum + counted.SortSum}
		}
		taken.outcomesOf, taken.foundBy = append(taken.outcomesOf, outcomes), append(taken.foundBy, found)
	}
	return taken
}

// await polls the counters until the condition holds or the step's time is over.
func (r *running) await(what string, condition func(counters.Sample) bool) error {
	for end := time.Now().Add(r.bench.target.StepTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if condition(r.counters.Sample(false)) {
			return nil
		}
		if done, err := r.pending.Wait(0, nil); done {
			if err == nil {
				err = errors.New("the phase ended by itself")
			}
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
	return r.bench.worker.Hung(fmt.Sprintf("no %s within %v", what, r.bench.target.StepTimeout))
}

// audit holds the counts of a phase that ended against the trace: section 3.2 of the contract.
func (b *bench) audit(c *counters.File, r *ran) {
	if c.State() != counters.Ended {
		b.fault("counts: the phase's state is %d after run was answered, expected 2 (ended)", c.State())
	}
	if c.StartNS() == 0 || c.EndNS() < c.StartNS() {
		b.fault("counts: the phase starts at %d ns and ends at %d ns", c.StartNS(), c.EndNS())
	}
	if clock := c.Clock(); clock != counters.ClockTSC && clock != counters.ClockMonotonic {
		b.fault("counts: the clock in use is %d, expected 1 or 2", clock)
	}
	for i := range r.file.Threads {
		head, limit := c.Thread(i), r.file.Threads[i].Limit
		if head.State != counters.Ended && (head.State != counters.NotBegun || len(r.file.Threads[i].Entries) > 0) {
			b.fault("counts: a thread's state is %d after the phase, expected 2 (ended)", head.State)
		}
		if head.Attempted != head.Acknowledged {
			b.fault("counts: thread %d ended with %d entries attempted and %d acknowledged", i, head.Attempted, head.Acknowledged)
		}
		if limit != 0 && (head.Attempted > limit || head.Attempted < limit && r.script.deadline == 0) {
			b.fault("counts: thread %d did %d entries, its limit is %d", i, head.Attempted, limit)
		}
		counts := r.file.Count(i, head.Attempted)
		timed := counts
		if r.file.TimedEvery > 0 {
			operations := uint64(0)
			for _, n := range counts {
				operations += n
			}
			timed = r.file.Timed(i, operations)
		}
		for k := range r.file.Operations {
			b.auditSlot(c, r.file, i, k, counts[k], timed[k])
		}
		b.auditLateness(c, r, i)
	}
}

func (b *bench) auditSlot(c *counters.File, file *trace.File, thread, k int, expected, timed uint64) {
	slot, o := c.Slot(thread, k), file.Operations[k].String()
	if file.Operations[k].Asks() {
		o += fmt.Sprintf(" by query %d", file.Query(k))
	}
	var outcomes uint64
	for _, n := range slot.Outcomes {
		outcomes += n
	}
	if outcomes != expected {
		b.fault("counts: thread %d, %s: %d outcomes, but the trace has %d of it among the entries attempted", thread, o, outcomes, expected)
	}
	service := histogram.Histogram{Counts: slot.Service[:]}
	if n := service.Count(); n != timed {
		b.fault("counts: thread %d, %s: %d service times for %d outcomes, of which %d are to be timed", thread, o, n, outcomes, timed)
	}
	for bucket := histogram.Buckets - 1; bucket >= 0; bucket-- {
		if slot.Service[bucket] == 0 {
			continue
		}
		if histogram.Bucket(slot.ServiceMaxNS) != bucket {
			b.fault("counts: thread %d, %s: the longest service time is reported as %d ns, but the histogram's last bucket begins at %d ns",
				thread, o, slot.ServiceMaxNS, histogram.Lowest(bucket))
		}
		break
	}
	if c.HasResponse() {
		response := histogram.Histogram{Counts: c.Response(thread, k)[:]}
		if n := response.Count(); n != outcomes {
			b.fault("counts: thread %d, %s: %d response times for %d outcomes", thread, o, n, outcomes)
		}
	}
}

// total returns what all threads counted for an operation.
func (r *ran) total(o trace.Operation) counters.Total {
	total := counters.Total{Operation: o}
	for i := range r.sample.Totals {
		if r.sample.Totals[i].Operation == o {
			total.Add(&r.sample.Totals[i])
		}
	}
	return total
}

// expect holds an operation's outcomes: all of them must be the one expected, and so many.
func (b *bench) expect(r *ran, what string, o trace.Operation, outcome counters.Outcome, n int) {
	total := r.total(o)
	if total.Outcomes[outcome] == uint64(n) && total.Operations() == uint64(n) {
		return
	}
	b.fault("%s: %s: expected %d %s, counted %s", what, o, n, outcome, r.outcomes(o))
}

// outcomes says how an operation's outcomes were counted, with the messages.
func (r *ran) outcomes(o trace.Operation) string {
	var parts []string
	for outcome, n := range r.total(o).Outcomes {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, counters.Outcome(outcome)))
		}
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		text = "nothing"
	}
	for _, m := range r.messages {
		if m.Operation == o {
			text += fmt.Sprintf(" (%d × %q)", m.Count, m.Text)
		}
	}
	return text
}

// allOK holds every operation of the phase to be ok.
func (b *bench) allOK(r *ran, what string) {
	for _, t := range r.sample.Totals {
		if t.Outcomes[counters.OK] != t.Operations() {
			b.fault("%s: %s: expected ok only, counted %s", what, t.Operation, r.outcomes(t.Operation))
		}
	}
}

// version returns what the write at a sequence number of a thread has put.
func (r *ran) version(thread int, sequence uint64) uint64 {
	if r.script.zeroVersions {
		return 0
	}
	return keyval.Version(r.number, thread, sequence)
}

// model is what a store must hold, by index.
type model map[uint64]held

// held is a value that must be there. version is an Observed… word of package counters where it is
// no version.
type held struct {
	version uint64
	length  int

	// Where writes of this one's kind ended in conflict: which it was, and what stands if it was
	// one of them.
	from   *origin
	before *held
}

var absent = held{version: counters.ObservedMiss}

// remember applies the acknowledged writes of a phase to the model. Threads must have written
// different indexes.
func (m model) remember(r *ran) {
	for i := range r.file.Threads {
		m.rememberThread(r, i, r.sample.Acknowledged[i])
	}
}

func (m model) rememberThread(r *ran, thread int, acknowledged uint64) {
	batch := uint64(0) // sequence number of the last one's head
	for sequence := range acknowledged {
		entry, index := r.file.Threads[thread].EntryAt(sequence)
		length := int(r.file.Amounts[entry.SizeClass()])
		var written held
		switch o := entry.Operation(); {
		case o == trace.Batch:
			batch = sequence
			continue
		case o == trace.Delete:
			written = absent
		case o.Puts() && length < keyval.StampBytes:
			written = held{version: counters.ObservedShort, length: length}
		case o == trace.Append:
			written = held{version: r.version(thread, sequence), length: m[index].length + length}
		case o.Writes():
			written = held{version: r.version(thread, sequence), length: length}
		default:
			continue
		}
		if entry.IsMember() {
			written.from = r.origin(thread, batch, trace.Batch)
		} else {
			written.from = r.origin(thread, sequence, entry.Operation())
		}
		if written.from != nil {
			before, known := m[index]
			if !known {
				before = absent
			}
			written.before = &before
		}
		m[index] = written
	}
}

func (m model) indexes() []uint64 { return slices.Sorted(maps.Keys(m)) }

// holds reads every index of the model back and compares versions. The store must be open; keys and
// pool are the script's that wrote them. From then on the model knows what became of writes that
// may have been refused.
func (b *bench) holds(m model, writer *script, what string) error {
	if len(m) == 0 {
		return nil
	}
	indexes := m.indexes()
	r, err := b.readBack(indexes, writer, what)
	if err != nil {
		return err
	}
	bytesExpected, right, told := 0, true, newLedger()
	for position, index := range indexes {
		expected, got := m[index], r.observed[position]
		now, possible := told.stands(&expected, got)
		bytesExpected += now.length
		m[index] = now
		if !possible {
			right = false
			b.fault("%s: index %d (key %x, value of %d bytes) holds %s, expected %s", what, index,
				brief(keyval.NewKeyMaker(writer.keys).Key(index)), expected.length, observedText(got), expected.text())
		}
	}
	told.audit(b, what)
	if read := r.total(trace.Read).BytesRead; right && read != uint64(bytesExpected) {
		b.fault("%s: the values that were read have %d bytes in all, those written %d", what, read, bytesExpected)
	}
	return nil
}

// readBack reads indexes that a script has written. The store must be open.
func (b *bench) readBack(indexes []uint64, writer *script, what string) (*ran, error) {
	s := b.script(1)
	s.keys, s.poolSeed, s.tag, s.flags, s.unverified =
		writer.keys, writer.poolSeed, writer.tag, trace.FlagRecordVersions, true
	for _, index := range indexes {
		s.do(0, trace.Read, index, 0)
	}
	r, err := b.run(s)
	if err != nil {
		return nil, fmt.Errorf("%s: reading back: %w", what, err)
	}
	return r, nil
}

// text says what may be there.
func (h *held) text() string {
	text := observedText(h.version)
	for h = h.before; h != nil; h = h.before {
		text += ", or if that was refused " + observedText(h.version)
	}
	return text
}

func brief(key []byte) []byte { return key[:min(len(key), 24)] }

func observedText(word uint64) string {
	switch word {
	case counters.ObservedMiss:
		return "nothing"
	case counters.ObservedWrong:
		return "bytes that are not this index's value"
	case counters.ObservedError:
		return "an error"
	case counters.ObservedNotRead:
		return "a word that the worker never wrote (not read)"
	case counters.ObservedForeign:
		return "a value of another trial"
	case counters.ObservedShort:
		return "its short value"
	}
	phase, thread, sequence := keyval.SplitVersion(word)
	return fmt.Sprintf("the version of phase %d, thread %d, sequence %d", phase, thread, sequence)
}
