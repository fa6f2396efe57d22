package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/trace"
	"assay/store"
)

// Estimate is what `--dry-run` says of time and space. Only the durations in the file are known;
// the rest is guessed from both sides, and loads are left out, because a store may take a second or
// an hour for one.
type Estimate struct {
	Trials, Refused int

	// SecondsLow is the sum of all durations; phases that end by a number of operations count a
	// microsecond each.
	SecondsLow float64
	// SecondsHigh adds start, drain and final check of each trial, and counts such operations at a
	// slow store's rate.
	SecondsHigh float64
	// LoadSeconds is a guess at what all loads take.
	LoadSeconds float64
	// LoadRecords and LoadBytes are what all loads together store: their time is in neither figure
	// above.
	LoadRecords, LoadBytes uint64
	// Starts are the servers that are started, each for its trial: what that takes is in no figure.
	Starts int
	// DataBytes is the most that one trial may hold at once of data: its records, what it inserts,
	// and as much again twice for logs and compaction. Trials delete their data, so that it is not
	// a sum.
	DataBytes uint64
	// FixedBytes is the most that one of the stores keeps on disk besides, however small its data,
	// and FixedBy which one does; Unsaid are those that don't say how much they do
	// ([store.Description].FixedDiskBytes).
	FixedBytes uint64
	FixedBy    string
	Unsaid     []string
	// DiskBytes is the most that one trial may need of the disk, as far as stores say what they
	// need: data and the rest, and no more than its quota.
	DiskBytes uint64
}

// The guesses behind an estimate, all on the slow side but the first.
const (
	fastOperation      = time.Microsecond
	slowOperation      = 20 * time.Microsecond
	embeddedRecord     = 5 * time.Microsecond   // without a server: to load one in a batch, or read it back
	slowSync           = 5 * time.Millisecond   // an operation that waits for the device
	trialOverhead      = 700 * time.Millisecond // process, open, close, sync
	processOverhead    = 100 * time.Millisecond // of each of several workers: to start, open and close
	phaseOverhead      = 100 * time.Millisecond
	insertsPerSecond   = 200_000
	spaceAmplification = 3
)

// EstimateOf estimates what the trials of an experiment take.
func EstimateOf(e *experiment.Experiment, trials []Trial) Estimate {
	var sum Estimate
	for _, t := range trials {
		sum.Trials++
		if t.Refuse != "" {
			sum.Refused++
			continue
		}
		cell := e.Cells[t.Cell]
		low, high, load, inserted := trialSeconds(e, t)
		sum.SecondsLow += low
		sum.SecondsHigh += high
		sum.LoadSeconds += load
		record := float64(e.Keys.BytesMax() + cell.ValueBytes)
		loaded := uint64(0)
		if e.Phases[0].Load {
			loaded = cell.Records
			sum.LoadRecords += loaded
			sum.LoadBytes = whole(float64(sum.LoadBytes) + float64(loaded)*record)
		}
		if t.Store >= 0 && e.Stores[t.Store].Server != nil {
			sum.Starts += e.Stores[t.Store].Servers()
		}
		if t.Store >= 0 && e.Stores[t.Store].KeepsFiles() {
			sum.addDisk(e.Stores[t.Store], cell.DiskQuota, whole((float64(loaded)+inserted)*record*spaceAmplification))
		}
	}
	return sum
}

// addDisk counts in a trial that may hold so much data.
func (e *Estimate) addDisk(s experiment.Store, quotaBytes int64, dataBytes uint64) {
	quota := uint64(math.MaxUint64)
	if quotaBytes > 0 {
		quota = uint64(quotaBytes)
	}
	fixed := uint64(max(s.Description.FixedDiskBytes, 0)) // another program's word
	e.DataBytes = max(e.DataBytes, min(dataBytes, quota))
	e.DiskBytes = max(e.DiskBytes, min(whole(float64(dataBytes)+float64(fixed)), quota))
	switch {
	case fixed > e.FixedBytes:
		e.FixedBytes, e.FixedBy = fixed, s.Name
	case fixed == 0 && !slices.Contains(e.Unsaid, s.Name):
		e.Unsaid = append(e.Unsaid, s.Name)
	}
}

// whole is the whole part of n, and the largest number that there is where that is too small.
func whole(n float64) uint64 {
	if n >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(n)
}

// Seconds is what time: is held against.
func (e Estimate) Seconds() float64 { return e.SecondsHigh + e.LoadSeconds }

// trialSeconds returns the least and most that a trial may take but its load, what that may take,
// and the most records that its phases insert.
func trialSeconds(e *experiment.Experiment, t Trial) (low, high, load, inserted float64) {
	cell, record := e.Cells[t.Cell], slowOperation
	if t.Store < 0 || e.Stores[t.Store].Description.Kind != store.Server {
		record = embeddedRecord
	}
	high = trialOverhead.Seconds() + float64(min(e.VerifyRecords, cell.Records))*record.Seconds()
	high += float64(len(e.ProcessThreads(cell))-1) * processOverhead.Seconds()
	for _, p := range e.Phases {
		if _, skipped := t.Skip[p.Name]; skipped {
			continue
		}
		high += phaseOverhead.Seconds()
		if p.Load {
			load = float64(cell.Records) * record.Seconds()
			continue
		}
		slow := slowOperation
		if cell.Durability == store.D3 || cell.Durability == store.D4 {
			slow = slowSync
		}
		fastest, slowest := 0.0, 0.0
		if search := p.Capacity; search != nil {
			fastest, slowest = searchSeconds(search, t.Role == Ceiling, float64(p.MostThreadsIn(cell)), slow)
			p.Capacity, p.Duration = nil, time.Duration(slowest*float64(time.Second))
			_, _, records := partSeconds(p, cell, slow)
			inserted += records
			low, high = low+fastest, high+slowest
			continue
		}
		for _, part := range t.Phase(p.In(cell)).Parts() {
			partLow, partHigh, records := partSeconds(part, cell, slow)
			from := part.From.Seconds()
			fastest, slowest = max(fastest, from+partLow), max(slowest, from+partHigh)
			inserted += records
		}
		low, high = low+fastest, high+slowest
	}
	return low, high, load, inserted
}

// searchSeconds are how long the steps of a search for a capacity take: of a store that does all that is
// tried, if it is fast enough for that, and of a slow one, on which an operation of a thread takes so long. No
// store is so fast that it may not break an objective below the highest rate, and need a whole search.
func searchSeconds(search *capacity.Asked, ceiling bool, threads float64,
	slow time.Duration) (fastest, slowest float64) {
	each := func(rate float64) float64 {
		steps, seconds := search.Takes(rate, ceiling)
		return seconds + float64(steps)*phaseOverhead.Seconds()
	}
	fast := threads / fastOperation.Seconds()
	if ceiling {
		return each(fast), each(fast)
	}
	fastest, slowest = each(fast), each(min(threads/slow.Seconds(), belowHighest*search.To))
	return min(fastest, slowest), max(fastest, slowest)
}

// belowHighest is a share of the highest rate that a search tries, at which a store still breaks within it.
const belowHighest = 0.5

// partSeconds is how long a phase without groups, or a group, takes, and how many records it inserts
// at most. slow is how long an operation takes at most, beside what a rate or pauses leave between two.
func partSeconds(p experiment.Phase, cell experiment.Cell, slow time.Duration) (fastest, slowest, inserted float64) {
	each := float64(max(p.Batch, p.MultiRead, len(p.Request), 1)) // records an operation
	fastest = p.Duration.Seconds()
	slowest = fastest
	if p.Operations > 0 {
		byCount := float64(p.Operations)
		pauses := byCount * p.Think.Mean.Seconds() / float64(max(p.MostThreadsIn(cell), 1))
		paced := pauses
		if p.Rate > 0 {
			paced = byCount / p.Rate
		}
		quick := max(byCount*each*fastOperation.Seconds(), paced)
		if p.Duration == 0 {
			fastest = quick
			slowest = max(byCount*(slow.Seconds()+(each-1)*slowOperation.Seconds())+pauses, paced)
		} else {
			fastest = min(fastest, quick)
		}
	}
	if p.Replay != nil && !p.Replay.Closed && p.Duration == 0 {
		fastest = p.Replay.Lasts().Seconds()
		slowest = max(slowest, fastest)
	}
	share, weights := 0.0, 0.0
	for name, weight := range p.Mix {
		weights += weight
		if name == "insert" || name == "add" || name == "upsert" {
			share += weight
		}
	}
	if weights > 0 {
		records := slowest * insertsPerSecond
		if p.Operations > 0 {
			records = min(records, float64(p.Operations)*each)
		}
		if p.Rate > 0 {
			records = min(records, slowest*p.Rate*each)
		}
		inserted = share / weights * records
	}
	return fastest, slowest, inserted
}

// String says the estimate in sentences, and what is not included.
func (e Estimate) String() string {
	text := format.Plural(e.Trials-e.Refused, "trial", "")
	if e.Refused > 0 {
		text += fmt.Sprintf(" (%s not supported, shown with the reason)", format.Count(uint64(e.Refused)))
	}
	text += fmt.Sprintf(", about %s to %s", lengthText(e.SecondsLow), lengthText(e.SecondsHigh))
	var beside []string
	if e.LoadRecords > 0 {
		beside = append(beside, fmt.Sprintf("loads (%s records, %s in all)",
			format.Count(e.LoadRecords), format.Bytes(float64(e.LoadBytes))))
	}
	if e.Starts > 0 {
		beside = append(beside, fmt.Sprintf("the start of %s (some take half a minute)",
			format.Plural(e.Starts, "server", "")))
	}
	if len(beside) > 0 {
		text += "; not included: " + format.List(beside)
	}
	text += "."
	if e.DataBytes > 0 {
		text += fmt.Sprintf("\nDisk: up to about %s of data for a trial, three times what it loads and inserts. %s", format.Bytes(float64(e.DataBytes)), e.fixedText())
	}
	return text
}

// fixedText says what comes on top of the data. Logs grow as long as a phase overwrites, and when
// they are dropped is each store's own matter: no figure would hold.
func (e Estimate) fixedText() string {
	var known []string
	if e.FixedBy != "" {
		known = append(known, fmt.Sprintf("up to about %s: %s", format.Bytes(float64(e.FixedBytes)), e.FixedBy))
	}
	if len(e.Unsaid) > 0 {
		known = append(known, "unknown for "+format.List(e.Unsaid)+", hundreds of MB for some stores")
	}
	return fmt.Sprintf("Not included: files that stores preallocate (%s), and logs.", strings.Join(known, "; "))
}

// TooLittle says that a disk with so many free bytes may not hold a trial; "" if, as far as is
// known, it does.
func (e Estimate) TooLittle(freeBytes uint64) string {
	if e.DiskBytes <= freeBytes {
		return ""
	}
	return fmt.Sprintf("one trial may need up to about %s of disk, %s are free; a trial that fills the disk is not ranked\n"+
		"use fewer records, shorter phases or a disk_quota", format.Bytes(float64(e.DiskBytes)), format.Bytes(float64(freeBytes)))
}

// BeyondMemory says which memory limits of an experiment bound nothing on a machine with so many
// bytes of memory, 0 for not known; "" if all do.
func BeyondMemory(e *experiment.Experiment, memoryBytes uint64) string {
	least := int64(0)
	for _, c := range e.Cells {
		if memoryBytes > 0 && uint64(c.MemoryLimit) > memoryBytes && (least == 0 || c.MemoryLimit < least) {
			least = c.MemoryLimit
		}
	}
	if least == 0 {
		return ""
	}
	return fmt.Sprintf("a memory_limit of %s has no effect: this machine has %s", format.Limit(uint64(least)), format.Bytes(float64(memoryBytes)))
}

// scansFrom is how many records make it worth telling that each operation looks at all of them.
const scansFrom = 10_000

// Scanning says which stores of an experiment find no record by an index, and so look at all records
// in each query that they answer; "" if none does, or none has many records.
func Scanning(e *experiment.Experiment) string {
	var stores, phases []string
	for _, s := range e.Stores {
		if s.Description.IndexesIdle {
			stores = append(stores, s.Name)
		}
	}
	var most uint64
	for _, c := range e.Cells {
		most = max(most, c.Records)
	}
	for _, phase := range e.Phases {
		for _, part := range phase.Parts() {
			if len(part.Mix) > 0 && !onlyInserts(part.Mix) {
				phases = append(phases, part.Name)
			}
		}
	}
	if len(stores) == 0 || len(phases) == 0 || most < scansFrom {
		return ""
	}
	return fmt.Sprintf("%s will find no record by an index: each operation of %s that finds, reads or changes one looks at up to %s, "+
		"and phases may take many minutes; use fewer records, or leave the store out", format.List(stores), format.List(phases), format.Plural(int(min(most, math.MaxInt)), "record", ""))
}

// exampleRate is the rate at which the plan computes how soon a closed load empties a store: stores in
// memory reach it with one thread.
const exampleRate = 100_000

// Emptying says which measured phase deletes more than it puts, and goes on when the records are gone: what
// comes then is no work, and stores can't be compared by it. "": none does.
func Emptying(e *experiment.Experiment) string {
	records := uint64(math.MaxUint64)
	for _, c := range e.Cells {
		records = min(records, c.Records)
	}
	for _, phase := range e.Phases {
		if phase.Load || phase.Unmeasured {
			continue
		}
		for _, part := range phase.Parts() {
			net := netDeletes(part.Mix) * float64(max(part.Batch, 1))
			if net <= 0 {
				continue
			}
			last, rate := math.Floor(float64(records)/net), part.Rate
			planned := math.Inf(1)
			if part.Operations > 0 {
				planned = float64(part.Operations)
			} else if rate > 0 && part.Lasts() > 0 {
				planned = rate * part.Lasts().Seconds()
			}
			if planned <= last {
				continue
			}
			if rate == 0 {
				rate = exampleRate
			}
			return fmt.Sprintf("phase %s deletes more than it puts: %s last for %s operations, %s at %s/s. "+
				"What comes after that is no work; give operations: %d, or more records",
				part.Name, format.Plural(int(min(records, math.MaxInt)), "record", ""), format.Count(uint64(last)),
				format.Seconds(last/rate), format.Count(uint64(rate)), max(uint64(last), 1))
		}
	}
	return ""
}

// netDeletes is how many records an operation of a mix removes, less those that it puts.
func netDeletes(mix map[string]float64) float64 {
	all, net := 0.0, 0.0
	for operation, weight := range mix {
		all += weight
		switch o, _ := trace.ParseOperation(operation); o {
		case trace.Delete:
			net += weight
		case trace.Insert, trace.Upsert, trace.Add:
			net -= weight
		}
	}
	if all == 0 {
		return 0
	}
	return net / all
}

func onlyInserts(mix map[string]float64) bool {
	for operation, weight := range mix {
		if weight > 0 && operation != trace.Insert.String() {
			return false
		}
	}
	return true
}

// lengthText is a length of time; one that a file may ask for is longer than a time.Duration can
// be.
func lengthText(seconds float64) string {
	const day, year = 24 * 60 * 60, 365 * 24 * 60 * 60
	switch {
	case seconds >= 1000*year:
		return fmt.Sprintf("%.0f years", seconds/year)
	case seconds >= 2*year:
		return fmt.Sprintf("%.3g years", seconds/year)
	case seconds >= 2*day:
		return fmt.Sprintf("%.3g days", seconds/day)
	}
	return format.Seconds(seconds)
}
