package plan

import (
	"fmt"
	"time"

	"assay/internal/spec"
	"assay/store"
)

// Estimate is what `--dry-run` says of time and space. Only the durations in the file are known; the rest is guessed
// from both sides, and loads are left out, because a store may take a second or an hour for one.
type Estimate struct {
	Trials, Refused int

	// SecondsLow is the sum of all durations; phases that end by a number of operations count a microsecond each.
	SecondsLow float64
	// SecondsHigh adds start, drain and final check of each trial, and counts such operations at a slow store's rate.
	SecondsHigh float64
	// LoadRecords and LoadBytes are what all loads together store: their time is in neither figure.
	LoadRecords, LoadBytes uint64
	// DiskBytes is the most that one trial may hold at once: its records, what it inserts, and as much again twice
	// for logs and compaction. Trials delete their data, so that it is not a sum.
	DiskBytes uint64
}

// The guesses behind an estimate, all on the slow side but the first.
const (
	fastOperation      = time.Microsecond
	slowOperation      = 20 * time.Microsecond
	slowSync           = 5 * time.Millisecond    // an operation that waits for the device
	trialOverhead      = 1500 * time.Millisecond // process, open, close, sync
	phaseOverhead      = 250 * time.Millisecond
	insertsPerSecond   = 200_000
	spaceAmplification = 3
)

// EstimateOf estimates what the trials of an experiment take.
func EstimateOf(e *spec.Experiment, trials []Trial) Estimate {
	var sum Estimate
	for _, t := range trials {
		sum.Trials++
		if t.Refuse != "" {
			sum.Refused++
			continue
		}
		cell := e.Cells[t.Cell]
		low, high, inserted := phaseSeconds(e, t)
		sum.SecondsLow += low
		sum.SecondsHigh += high + trialOverhead.Seconds() +
			float64(min(e.VerifyRecords, cell.Records))*slowOperation.Seconds()
		record := float64(e.Keys.BytesMax() + cell.ValueBytes)
		loaded := uint64(0)
		if e.Phases[0].Load {
			loaded = cell.Records
			sum.LoadRecords += loaded
			sum.LoadBytes += uint64(float64(loaded) * record)
		}
		if t.Store >= 0 && e.Stores[t.Store].Description.Kind == store.Embedded {
			most := uint64((float64(loaded) + inserted) * record * spaceAmplification)
			if quota := uint64(cell.DiskQuota); quota > 0 {
				most = min(most, quota)
			}
			sum.DiskBytes = max(sum.DiskBytes, most)
		}
	}
	return sum
}

// phaseSeconds returns the least and most that a trial's phases may take but its load, and the most that they insert.
func phaseSeconds(e *spec.Experiment, t Trial) (low, high, inserted float64) {
	cell := e.Cells[t.Cell]
	for _, p := range e.Phases {
		if _, skipped := t.Skip[p.Name]; skipped {
			continue
		}
		high += phaseOverhead.Seconds()
		if p.Load {
			continue
		}
		slow := slowOperation
		if cell.Durability == store.D3 || cell.Durability == store.D4 {
			slow = slowSync
		}
		fastest, slowest := p.Duration.Seconds(), p.Duration.Seconds()
		if p.Operations > 0 {
			byCount := float64(p.Operations)
			if p.Duration == 0 {
				fastest, slowest = byCount*fastOperation.Seconds(), byCount*slow.Seconds()
			} else {
				fastest = min(fastest, byCount*fastOperation.Seconds())
			}
		}
		low, high = low+fastest, high+slowest
		share, weights := 0.0, 0.0
		for name, weight := range p.Mix {
			weights += weight
			if name == "insert" || name == "add" || name == "upsert" {
				share += weight
			}
		}
		if weights > 0 {
			operations := slowest * insertsPerSecond
			if p.Operations > 0 {
				operations = min(operations, float64(p.Operations))
			}
			if p.Rate > 0 {
				operations = min(operations, slowest*p.Rate)
			}
			inserted += share / weights * operations
		}
	}
	return low, high, inserted
}

// String says the estimate in sentences, and what it does not know.
func (e Estimate) String() string {
	text := fmt.Sprintf("%d trials", e.Trials-e.Refused)
	if e.Refused > 0 {
		text += fmt.Sprintf(" (and %d that can't run, shown with the reason)", e.Refused)
	}
	text += fmt.Sprintf(", about %s to %s", minutes(e.SecondsLow), minutes(e.SecondsHigh))
	if e.LoadRecords > 0 {
		text += fmt.Sprintf(", and the time of loading %d records (%s) in all: nobody knows it before, it depends on the stores",
			e.LoadRecords, byteText(e.LoadBytes))
	}
	text += "."
	if e.DiskBytes > 0 {
		text += fmt.Sprintf(" One trial may need up to about %s of disk.", byteText(e.DiskBytes))
	}
	return text
}

func minutes(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func byteText(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	value, unit := float64(n), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	return fmt.Sprintf("%.3g %s", value, units[unit])
}
