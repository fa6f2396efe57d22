package experiment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// Refusal is why a store can't run in a cell at all.
type Refusal struct {
	Field  string // the field of the file that asks too much: "durability", "phases.scans.mix"
	Reason string // a sentence
}

// Refusal says why a store can't run in a cell, by what its driver says of itself; nil if it can.
func (e *Experiment) Refusal(storeIndex, cellIndex int) *Refusal {
	return e.RefusalOf(e.Stores[storeIndex], cellIndex)
}

// Refusals are those of a store, one for each cell.
func (e *Experiment) Refusals(storeIndex int) (all []*Refusal) {
	for cell := range e.Cells {
		all = append(all, e.Refusal(storeIndex, cell))
	}
	return all
}

// RefusalOf is Refusal of a store that need not be one of Stores: a ceiling is none.
func (e *Experiment) RefusalOf(s Store, cellIndex int) *Refusal {
	cell, d := e.Cells[cellIndex], s.Description
	if s.Missing != "" {
		return &Refusal{"stores." + s.Name, s.Missing}
	}
	if !s.Reaches(cell.Durability) {
		return &Refusal{"durability", fmt.Sprintf("%s can't reach %s: its driver reaches %s", s.Name, cell.Durability, classList(d))}
	}
	if len(e.ProcessThreads(cell)) > 1 && !d.Processes {
		return &Refusal{"threads", fmt.Sprintf("%s can't be opened by several processes: its driver does not claim that, "+
			"or its worker can't do a part of a trace: use threads: NUMBER", s.Name)}
	}
	if e.TimedEvery > 0 && !d.LatencySampled {
		return &Refusal{"latency", fmt.Sprintf("%s can't leave operations untimed: its worker times all of them", s.Name)}
	}
	if r := refuseEntry(s, cell); r != nil {
		return r
	}
	if r := e.refuseHandles(s, cell); r != nil {
		return r
	}
	if r := e.refuseSizes(s, cell); r != nil {
		return r
	}
	if r := e.refuseColumns(s); r != nil {
		return r
	}
	for _, p := range e.Phases {
		if r := p.RefusalOf(s, e.RecordBytesMax(cell)); r != nil && !p.Optional {
			return r
		}
	}
	return nil
}

// Reaches reports whether a store's driver claims a durability class.
func (s Store) Reaches(class store.Durability) bool {
	_, ok := s.Description.Claim(class)
	return ok
}

// refuseEntry: of stores with one server, or none, there is nothing to choose, and each entry is the
// same.
func refuseEntry(s Store, cell Cell) *Refusal {
	if cell.Entry == "" || s.Description.Kind != store.Server || s.Servers() < 2 {
		return nil
	}
	own, set := s.Options[entryOption]
	o := s.entry()
	switch {
	case o == nil:
		return &Refusal{"entry", fmt.Sprintf("%s has no entry to choose: its clients go to the server that has the key", s.Name)}
	case set:
		return &Refusal{"entry", fmt.Sprintf("%s has an entry of its own, options: {entry: %s}: leave out one of both", s.Name, own)}
	case !slices.Contains(o.Choices, cell.Entry):
		return &Refusal{"entry", fmt.Sprintf("%s can't enter by %s: its driver knows %s", s.Name, cell.Entry, strings.Join(o.Choices, ", "))}
	}
	return nil
}

// entryOption is the name of the driver's option that [Cell.Entry] sets.
const entryOption = "entry"

// entry returns the driver's option that says which server requests enter by; nil: it has none.
func (s Store) entry() *store.Option {
	i := slices.IndexFunc(s.Description.Options, func(o store.Option) bool { return o.Name == entryOption })
	if i < 0 {
		return nil
	}
	return &s.Description.Options[i]
}

// OptionsIn returns the options with which a driver opens a store in a cell: the arm's own, and the
// entry that the cell sets.
func (s Store) OptionsIn(cell Cell) map[string]string {
	if cell.Entry == "" || s.entry() == nil {
		return s.Options
	}
	options := maps.Clone(s.Options)
	if options == nil {
		options = map[string]string{}
	}
	options[entryOption] = cell.Entry
	return options
}

// Skips returns the optional phases that a store can't do in a cell, and why; nil if there are none.
func (e *Experiment) Skips(storeIndex, cellIndex int) map[string]string {
	return e.SkipsOf(e.Stores[storeIndex], cellIndex)
}

// SkipsOf is Skips of a store that need not be one of Stores.
func (e *Experiment) SkipsOf(s Store, cellIndex int) map[string]string {
	var skips map[string]string
	for _, p := range e.Phases {
		if !p.Optional || s.Missing != "" {
			continue
		}
		if r := p.RefusalOf(s, e.RecordBytesMax(e.Cells[cellIndex])); r != nil {
			if skips == nil {
				skips = map[string]string{}
			}
			skips[p.Name] = r.Reason
		}
	}
	return skips
}

func classList(d store.Description) string {
	if len(d.Durability) == 0 {
		return "no class"
	}
	var names []string
	for _, c := range d.Durability {
		names = append(names, string(c.Class))
	}
	return strings.Join(names, ", ")
}

// HandlesOf returns how many handles a process of so many threads has open at once.
func (c Cell) HandlesOf(threads int) int {
	switch c.Handles {
	case Shared:
		return 1
	case Pool:
		return min(c.PoolHandles, threads)
	}
	return threads
}

// ConnectionsMax returns how many connections a server's store may hold in a cell: as many to each
// of its servers.
func (e *Experiment) ConnectionsMax(s Store, cell Cell) int {
	d, most := s.Description, 0
	phases := e.ProcessThreads(cell)
	if len(e.Agents) > 0 {
		phases = append(phases, e.HereThreads(cell))
	}
	for _, layout := range [][]int{phases, {max(e.LoadThreads(cell), 1)}} {
		connections := 0
		for _, threads := range layout {
			each := max(d.ConnectionsEach, 1)
			if cell.Handles == Shared && d.HandlePools {
				each += threads - 1
			}
			connections += cell.HandlesOf(threads)*each + d.ConnectionsOwn
		}
		most = max(most, connections)
	}
	return most * s.Servers()
}

func (e *Experiment) refuseHandles(s Store, cell Cell) *Refusal {
	d := s.Description
	// A limit is of an open store, which each process has for itself.
	threads := slices.Max(append(e.ProcessThreads(cell), e.LoadThreads(cell)))
	handles := cell.HandlesOf(threads)
	if cell.Handles == Shared && threads > 1 && !d.HandlesShareable {
		return &Refusal{"handles", fmt.Sprintf("%s can't share one handle between %d threads: its handles are for one thread each", s.Name, threads)}
	}
	if cell.Handles == Async {
		if !d.Abilities.Async {
			return &Refusal{"handles", fmt.Sprintf("%s has no asynchronous handles: set handles: per_thread", s.Name)}
		}
		for _, p := range e.Phases {
			if slices.ContainsFunc(p.Parts(), func(part Phase) bool { return part.Think.Mean > 0 }) && !p.Optional {
				return &Refusal{"handles", fmt.Sprintf("asynchronous handles have no think time (phase %s): their operations overlap. Set handles: per_thread", p.Name)}
			}
			if slices.ContainsFunc(p.Parts(), func(part Phase) bool { return part.MultiRead > 1 }) && !p.Optional {
				return &Refusal{"handles", fmt.Sprintf("asynchronous handles have no multi_read (phase %s): set handles: per_thread", p.Name)}
			}
			if slices.ContainsFunc(p.Parts(), func(part Phase) bool { return part.Fill }) && !p.Optional {
				return &Refusal{"handles", fmt.Sprintf("asynchronous handles fill nothing (phase %s): set handles: per_thread", p.Name)}
			}
			if p.HasRequests() && !p.Optional {
				return &Refusal{"handles", fmt.Sprintf("asynchronous handles do no requests (phase %s): set handles: per_thread", p.Name)}
			}
			for _, o := range []trace.Operation{trace.Scan, trace.Query, trace.Count, trace.Modify, trace.DeleteQuery,
				trace.Increment, trace.Touch, trace.Append, trace.GetAndSet} {
				if p.Does(o) && !p.Optional {
					return &Refusal{"handles", fmt.Sprintf("asynchronous handles have no %s (phase %s): set handles: per_thread", o, p.Name)}
				}
			}
		}
	}
	if d.HandlesMax > 0 && handles > d.HandlesMax {
		return &Refusal{"handles", fmt.Sprintf("%s can't open %d handles at once: its driver allows %d", s.Name, handles, d.HandlesMax)}
	}
	return nil
}

func (e *Experiment) refuseSizes(s Store, cell Cell) *Refusal {
	d := s.Description
	if d.KeyText && e.Keys.Format == keyval.Binary {
		return &Refusal{"keys", fmt.Sprintf("%s can't store binary keys: set keys: {format: decimal}", s.Name)}
	}
	if len(e.Keys.Lengths) > 0 && !d.KeyLengths {
		return &Refusal{"keys", fmt.Sprintf("%s can't store keys of several lengths: its worker makes none", s.Name)}
	}
	if d.KeyNumbers && (e.Keys.Format != keyval.Binary || e.Keys.Scatter || len(e.Keys.Lengths) > 0) {
		return &Refusal{"keys", fmt.Sprintf("%s takes keys that count from 0 on, as positions in an array: set keys: {format: binary, bytes: 8}, without scatter", s.Name)}
	}
	if why := refuseKeyBytes(d, &e.Keys); why != "" {
		return &Refusal{"keys", fmt.Sprintf("%s can't store %s", s.Name, why)}
	}
	longest := e.Keys.BytesMax()
	if d.KeyBytesMax > 0 && longest > d.KeyBytesMax {
		return &Refusal{"keys", fmt.Sprintf("%s can't store keys of %d bytes: its driver takes at most %d", s.Name, longest, d.KeyBytesMax)}
	}
	if shortest := e.Keys.BytesMin(); e.Keys.Format == keyval.Binary && shortest < d.KeyBytesMin {
		return &Refusal{"keys", fmt.Sprintf("%s can't store keys of %d bytes: its driver needs at least %d", s.Name, shortest, d.KeyBytesMin)}
	}
	if shortest := e.ValueBytesMin(cell); shortest < d.ValueBytesMin {
		return &Refusal{"values", fmt.Sprintf("%s can't store values of %d bytes: its driver needs at least %d", s.Name, shortest, d.ValueBytesMin)}
	}
	value := e.ValueBytesMax(cell)
	if d.ValueBytesMax > 0 && value > d.ValueBytesMax {
		reason := fmt.Sprintf("%s can't store values of %d bytes: its driver takes at most %d", s.Name, value, d.ValueBytesMax)
		if d.ValueBytesOption != "" {
			reason += fmt.Sprintf(", which its option %s sets", d.ValueBytesOption)
		}
		return &Refusal{"values", reason}
	}
	return nil
}

// refuseKeyBytes says what stands against an experiment's keys, by one of them; "": nothing. They differ in
// their digits alone, and those of several lengths in what follows these.
func refuseKeyBytes(d store.Description, keys *keyval.KeyShape) string {
	if !d.KeyText && d.KeyPattern == "" {
		return ""
	}
	key := keys.Append(nil, 0)
	for _, stretch := range keys.Lengths {
		if stretch.Bytes > len(key) {
			key = keys.Append(nil, stretch.From)
		}
	}
	if i := slices.IndexFunc(key, func(b byte) bool { return b <= ' ' || b == 0x7f }); d.KeyText && i >= 0 {
		return fmt.Sprintf("keys such as %q: its keys are text without spaces and control characters, and this has %q", key, key[i])
	}
	if d.KeyPattern == "" {
		return ""
	}
	if whole, err := regexp.Compile(`^(?:` + d.KeyPattern + `)$`); err == nil && !whole.Match(key) {
		return fmt.Sprintf("keys such as %q: its driver takes those that match %s", key, d.KeyPattern)
	}
	return ""
}

// ValueBytesMin returns the length of the shortest value of a cell, and ValueBytesMax that of the
// longest.
func (e *Experiment) ValueBytesMin(cell Cell) int {
	if record := e.Values.Record(); record != nil {
		return record.BytesMin()
	}
	return slices.Min(e.valueLengths(cell))
}

// ValueBytesMax returns the longest value of a cell, in bytes, with what is appended to it.
func (e *Experiment) ValueBytesMax(cell Cell) int {
	if record := e.Values.Record(); record != nil {
		return record.BytesMax()
	}
	return slices.Max(e.valueLengths(cell)) + e.AppendedBytes(cell)
}

// AppendedBytes returns how much longer than it was put a value of a cell becomes at most by appends, of all
// threads of a phase. Each thread puts a value before it appends to it, so phases do not add up.
func (e *Experiment) AppendedBytes(cell Cell) (most int) {
	for _, p := range e.Phases {
		bytes := 0
		for _, part := range p.Parts() {
			if part.Mix[trace.Append.String()] > 0 {
				bytes += part.ThreadsIn(cell) * part.Append.Parts * part.Append.Bytes
			}
		}
		most = max(most, bytes)
	}
	return most
}

// replayedLengths are those of values that a replay writes, where they are not the experiment's.
func (p Phase) replayedLengths() []int {
	if p.Replay == nil {
		return nil
	}
	return p.Replay.ForTrace().Bytes
}

// valueLengths returns the lengths of a cell's values: of the experiment, and of steps of requests
// that have one of their own.
func (e *Experiment) valueLengths(cell Cell) (lengths []int) {
	for _, size := range e.Values.Sizes {
		if size.Weight > 0 {
			lengths = append(lengths, size.Bytes)
		}
	}
	if len(lengths) == 0 {
		lengths = append(lengths, cell.ValueBytes)
	}
	for _, p := range e.Phases {
		lengths = append(lengths, p.replayedLengths()...)
		for _, part := range p.Parts() {
			for _, s := range part.Request {
				if s.Bytes > 0 {
					lengths = append(lengths, s.Bytes)
				}
			}
		}
	}
	return lengths
}

// RefusalOf says why a store can't do a phase of records of so many bytes at most, by the first of its
// parts that it can't do; nil if it can.
func (p Phase) RefusalOf(s Store, recordBytes int) *Refusal {
	if r := refuseFaults(s, p); r != nil {
		return r
	}
	for _, part := range p.Parts() {
		if refusal := refusePart(s, part, recordBytes); refusal != nil {
			return refusal
		}
	}
	return nil
}

func refusePart(s Store, p Phase, recordBytes int) *Refusal {
	d, field := s.Description, "phases."+p.Name
	for _, ability := range []struct {
		operation trace.Operation
		has       bool
		what      string
	}{
		{trace.Scan, d.Abilities.Scan, "scan: its keys are unordered, or its driver has no scan"},
		{trace.Add, d.Abilities.Add, "add a record if absent in one atomic step"},
		{trace.CompareAndSwap, d.Abilities.CompareAndSwap, "compare and swap in one atomic step"},
		{trace.Query, d.Abilities.Query, "query records by a column"},
		{trace.Count, d.Abilities.Count, "count records by a column"},
		{trace.Modify, d.Abilities.Modify, "update some columns of a record in one step"},
		{trace.DeleteQuery, d.Abilities.DeleteQuery, "delete what a query finds in one step"},
		{trace.Increment, d.Abilities.Increment, "increment a column in one step"},
		{trace.Touch, d.Abilities.Touch, "give a record another TTL in one step"},
		{trace.Append, d.Abilities.Append, "append to a value in one step"},
		{trace.GetAndSet, d.Abilities.GetAndSet, "replace a value and return the old one in one step"},
	} {
		if p.Mix[ability.operation.String()] > 0 && !ability.has {
			return &Refusal{field + ".mix", fmt.Sprintf("%s can't %s (phase %s)", s.Name, ability.what, p.Name)}
		}
	}
	if p.Mix[trace.DeleteQuery.String()] > 0 && s.Outlives() {
		return &Refusal{field + ".mix", fmt.Sprintf("%s would delete what a query finds of other trials' records too, on a server that outlives the trial (phase %s): let Assay start it", s.Name, p.Name)}
	}
	if p.Fill && !d.Fills {
		return &Refusal{field + ".on_miss", fmt.Sprintf("%s can't fill what a read misses (phase %s): its worker does not", s.Name, p.Name)}
	}
	if p.Think.Mean > 0 && !d.Pauses {
		return &Refusal{field + ".think", fmt.Sprintf("%s can't pause between operations (phase %s): its worker does not", s.Name, p.Name)}
	}
	if r := refuseTTL(s, p); r != nil {
		return r
	}
	if r := refuseMultiRead(s, p, field); r != nil {
		return r
	}
	if p.Load || p.Batch <= 1 {
		return nil
	}
	if !d.Abilities.Batch {
		return &Refusal{field + ".batch", fmt.Sprintf("%s can't write batches (phase %s)", s.Name, p.Name)}
	}
	most := d.BatchFits(recordBytes)
	if most == 0 || p.Batch <= most {
		return nil
	}
	of := ""
	if most != d.BatchMax {
		of = fmt.Sprintf(" records of %d bytes", recordBytes)
	}
	return &Refusal{field + ".batch", fmt.Sprintf("%s can't write batches of %d%s: its driver takes at most %d (phase %s)", s.Name, p.Batch, of, most, p.Name)}
}

// refuseMultiRead refuses what a store can't read in one call.
func refuseMultiRead(s Store, p Phase, field string) *Refusal {
	if p.MultiRead <= 1 {
		return nil
	}
	if !s.Description.Abilities.MultiGet {
		return &Refusal{field + ".multi_read", fmt.Sprintf("%s can't read several records in one call (phase %s)", s.Name, p.Name)}
	}
	if most := s.Description.MultiGetMax; most > 0 && p.MultiRead > most {
		return &Refusal{field + ".multi_read", fmt.Sprintf("%s can't read %d records in one call: its driver takes at most %d (phase %s)",
			s.Name, p.MultiRead, most, p.Name)}
	}
	return nil
}

// RecordBytesMax returns the length of a cell's longest record: its key and its value.
func (e *Experiment) RecordBytesMax(cell Cell) int { return e.Keys.BytesMax() + e.ValueBytesMax(cell) }

// loadBatchBytesMax bounds what a load holds of one batch in memory, whatever the store would take.
const loadBatchBytesMax = 64 << 20

// BatchFor returns how many records of a phase, of so many bytes at most, a store gets at once. A
// load takes what the store can: one by one where there are no batches, and no more than its limits.
// A measured phase is refused instead of changed.
func (p Phase) BatchFor(d store.Description, recordBytes int) int {
	batch := max(p.Batch, 1)
	if !p.Load {
		return batch
	}
	if !d.Abilities.Batch || p.HasTTL() {
		return 1
	}
	if most := d.BatchFits(recordBytes); most > 0 {
		batch = min(batch, most)
	}
	return min(batch, max(loadBatchBytesMax/max(recordBytes, 1), 1))
}
