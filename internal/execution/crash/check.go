package crash

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// Check is what a store holds after it was opened again, against what it had acknowledged.
type Check struct {
	Opened       bool    `json:"opened"`
	OpenNS       int64   `json:"open_ns,omitempty"`        // how long opening took: recovery is in it
	Refused      string  `json:"refused,omitempty"`        // why it did not open, or could not be read; "": it did, and was
	NoFileSystem string  `json:"no_file_system,omitempty"` // why the file system did not recover: the store was not looked at
	Records      uint64  `json:"records"`                  // that were read back: all that were ever put
	Right        uint64  `json:"right"`
	Lost         uint64  `json:"lost"`              // absent, though a write was acknowledged
	Stale        uint64  `json:"stale"`             // older than the last acknowledged write
	Back         uint64  `json:"back,omitempty"`    // of Stale: deleted, and there again
	Wrong        uint64  `json:"wrong"`             // values that were never written there: torn ones and ghosts
	Errors       uint64  `json:"errors"`            // reads that failed
	Failure      string  `json:"failure,omitempty"` // what one of them said
	Unknown      uint64  `json:"unknown,omitempty"`
	Batches      uint64  `json:"batches,omitempty"` // atomic ones that were looked at
	Torn         uint64  `json:"torn,omitempty"`    // of Batches: there in part
	Scanned      *uint64 `json:"scanned,omitempty"` // records that a scan of everything found; nil: none was made
	Found        uint64  `json:"found"`             // records that reads found
	// ByColumns is what queries and counts said; nil: the records had no columns.
	ByColumns *ByColumns `json:"by_columns,omitempty"`

	// LossNS is how long before the cut the first write was acknowledged that is missing, to within a
	// millisecond; 0: none is.
	LossNS int64 `json:"loss_ns,omitempty"`
	// LostAll: nothing that was acknowledged is there, so that a longer load would have lost more.
	LostAll  bool     `json:"lost_all,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

// Missing is how many records lack their last acknowledged write.
func (c *Check) Missing() uint64 { return c.Lost + c.Stale }

// Damage says what is wrong with the store whatever its class promises: what it does not hold it may
// have lost, but what it gives must have been written. "": nothing.
func (c *Check) Damage() string {
	switch {
	case c.Refused != "":
		return c.Refused
	case c.Wrong > 0:
		return fmt.Sprintf("%d values are not what was written there", c.Wrong)
	case c.Errors > 0:
		return strings.TrimSuffix(fmt.Sprintf("%d reads failed: %s", c.Errors, c.Failure), ": ")
	case c.Torn > 0:
		return fmt.Sprintf("%d of %d atomic batches are there in part", c.Torn, c.Batches)
	case c.Scanned != nil && *c.Scanned != c.Found:
		return fmt.Sprintf("a scan finds %d records, reads find %d", *c.Scanned, c.Found)
	case c.ByColumns != nil:
		return c.ByColumns.differs(c.Found)
	}
	return ""
}

// recordsMax bounds what is read back of one life of a store.
const recordsMax = 1 << 20

// check opens the store in a fresh worker, reads everything back and holds it against the phases as
// they were at the cut. stamps are the moments before it, ascending; at is the cut's own.
func (s *session) check(cut []audit.Phase, at Stamp, stamps []Stamp) (c Check, err error) {
	err = s.openAgain(&c)
	if c.Opened = err == nil; !c.Opened {
		c.Refused, err = blame("does not open", err)
		return c, err
	}
	indexes, of := audit.Sample(cut, recordsMax, 0)
	if uint64(len(indexes)) < of {
		return c, fmt.Errorf("%d records are too many to be read back: expected at most %d", of, recordsMax)
	}
	observed, failure, err := s.readBack(indexes)
	if err != nil {
		c.Refused, err = blame("can't be read", err)
		return c, err
	}
	c.judge(cut, indexes, observed)
	c.Failure = failure
	if s.target.Store.Description.BatchAtomic {
		c.holdBatches(cut, indexes, observed)
	}
	if s.abilities.Abilities.Scan && !s.target.Keys.Scatter && c.Errors == 0 {
		scanned, err := s.scan(c.Found)
		if err != nil {
			c.Refused, err = blame("can't be scanned", err)
			return c, err
		}
		c.Scanned = &scanned
	}
	if s.columns && c.Errors == 0 && c.Wrong == 0 {
		if c.ByColumns, err = s.askColumns(indexes, observed); err != nil {
			c.Refused, err = blame("can't be queried", err)
			return c, err
		}
	}
	if c.Missing() > 0 {
		c.LossNS, c.LostAll = lossOf(cut, at, stamps, indexes, observed)
	}
	if err := s.close(); err != nil {
		c.Refused, err = blame("does not close", err)
		return c, err
	}
	return c, nil
}

// openAgain opens the store in a fresh worker, and takes the time: of a server, it is that of its start
// too.
func (s *session) openAgain(c *Check) error {
	timed := func(open func() error) error {
		began := time.Now()
		err := open()
		c.OpenNS += time.Since(began).Nanoseconds()
		return err
	}
	if err := timed(s.startServer); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	return timed(s.open)
}

// blame says what a store did not do, or returns an error that is not the store's.
func blame(what string, err error) (refused string, own error) {
	var told *control.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "", err
	case errors.As(err, &told) && told.Class == control.ClassBadRequest:
		return "", err // what was asked was wrong
	case errors.As(err, &told), errors.Is(err, conductor.ErrDied), errors.Is(err, conductor.ErrHung), errors.Is(err,
		errServer), errors.Is(err, errOthers):
		return what + ": " + err.Error(), nil
	}
	return "", err
}

// The phases that read back have numbers of their own.
const (
	numberRead     = 255
	numberScan     = 254
	numberFind     = 253
	numberCount    = 252
	numberCountAll = 251
)

// readBack reads the records of the indexes, and returns what section 5 of the worker contract says
// of each, and the first words of a read that failed.
func (s *session) readBack(indexes []uint64) (observed []uint64, failure string, err error) {
	if len(indexes) == 0 {
		return nil, "", nil
	}
	p, err := s.do("read back", numberRead, audit.VerifyTrace(indexes, min(s.target.Cell.Threads, len(indexes))))
	if err != nil {
		return nil, "", err
	}
	if messages := p.counters.Messages(); len(messages) > 0 {
		failure = messages[0].Text
	}
	observed = slices.Clone(p.counters.Observed())
	return observed, failure, p.release()
}

// scan reads all records in the order of their keys, and counts them.
func (s *session) scan(expected uint64) (found uint64, err error) {
	file := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Scan}, Threads: []trace.Thread{
		{Entries: []trace.Entry{trace.MakeEntry(trace.Scan, 0, 0, false)}, Limit: 1}}}
	file.Amounts[0] = uint32(min(expected+1000, math.MaxInt32)) // room for those that no read finds
	p, err := s.do("scan", numberScan, file)
	if err != nil {
		return 0, err
	}
	total, messages := p.counters.Sample(false).Totals[0], p.counters.Messages()
	if err := p.release(); err != nil {
		return 0, err
	}
	if total.Outcomes[counters.OK] != 1 {
		failed := &control.Error{Class: control.ClassFailed, Message: "the scan did not end well"}
		if len(messages) > 0 {
			failed.Message = messages[0].Text
		}
		return 0, failed
	}
	return total.Items, nil
}

// do does a phase to its end. The caller releases it.
func (s *session) do(name string, number int, file *trace.File) (*phase, error) {
	p, err := s.prepare(name, number, false, file)
	if err != nil {
		return nil, err
	}
	var stamps []Stamp
	if err = s.startPhase(p); err == nil {
		_, err = s.watch(p, 0, time.Now(), &stamps)
	}
	if err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

// judge counts what the observations mean.
func (c *Check) judge(cut []audit.Phase, indexes, observed []uint64) {
	const examplesMax = 3
	x := audit.Expect(cut, indexes)
	c.Records = uint64(len(indexes))
	for i, word := range observed {
		j := x.Judge(i, word)
		*[...]*uint64{&c.Right, &c.Lost, &c.Stale, &c.Wrong, &c.Errors, &c.Unknown}[j]++
		if isFound(word) {
			c.Found++
		}
		back := j == audit.Stale && !x.MayBeThere(i)
		if back {
			c.Back++
		}
		if (j == audit.Lost || j == audit.Stale || j == audit.Wrong) && len(c.Examples) < examplesMax {
			text := fmt.Sprintf("record %d: %s", indexes[i], j)
			if back {
				text = fmt.Sprintf("record %d: deleted, and there again", indexes[i])
			}
			c.Examples = append(c.Examples, text)
		}
	}
}

// isFound reports whether a read found a record, right or not.
func isFound(word uint64) bool {
	return word < counters.ObservedLowest || word == counters.ObservedShort || word == counters.ObservedWrong ||
		word == counters.ObservedForeign
}

// holdBatches looks for batches of which a part is there. Records in batches are new ones, and
// nothing changes them afterwards: see workload.
func (c *Check) holdBatches(cut []audit.Phase, indexes, observed []uint64) {
	there := func(index uint64) bool {
		i := sort.Search(len(indexes), func(i int) bool { return indexes[i] >= index })
		return i < len(indexes) && indexes[i] == index && observed[i] != counters.ObservedMiss
	}
	for n := range cut {
		p := &cut[n]
		if n == phaseLoad && len(cut) > 1 {
			continue // what it put was deleted since
		}
		for i := range p.Trace.Threads {
			t := &p.Trace.Threads[i]
			for sequence := uint64(0); sequence < p.Attempted[i]; {
				entry, _ := t.EntryAt(sequence)
				if sequence++; entry.Operation() != trace.Batch {
					continue
				}
				members, found := uint64(p.Trace.Amounts[entry.SizeClass()]), uint64(0)
				for range members {
					_, index := t.EntryAt(sequence)
					sequence++
					if there(index) {
						found++
					}
				}
				c.Batches++
				if found > 0 && found < members {
					c.Torn++
				}
			}
		}
	}
}

// phasesAt returns the phases as they were at a moment: those after it had not begun.
func phasesAt(all []audit.Phase, at Stamp) []audit.Phase {
	if at.Phase >= len(all) {
		return all
	}
	cut := slices.Clone(all[:at.Phase+1])
	cut[at.Phase].Attempted, cut[at.Phase].Acknowledged = at.Attempted, at.Acknowledged
	return cut
}

// lossOf returns how long before the cut the first write was acknowledged that is missing: had
// nothing been acknowledged after that moment, nothing would be missing.
func lossOf(cut []audit.Phase, at Stamp, stamps []Stamp, indexes, observed []uint64) (ns int64, all bool) {
	missing := func(since Stamp) bool {
		phases := slices.Clone(cut)
		for i := range phases {
			switch p := &phases[i]; {
			case i == since.Phase:
				p.Acknowledged = since.Acknowledged
			case i > since.Phase:
				p.Acknowledged = make([]uint64, len(p.Attempted))
			}
		}
		x := audit.Expect(phases, indexes)
		for i, word := range observed {
			if j := x.Judge(i, word); j == audit.Lost || j == audit.Stale {
				return true
			}
		}
		return false
	}
	earlier := stamps[:sort.Search(len(stamps), func(i int) bool { return stamps[i].NS >= at.NS })]
	first := sort.Search(len(earlier), func(i int) bool { return missing(earlier[i]) })
	if len(earlier) == 0 {
		return 1, true
	}
	return max(at.NS-earlier[max(first-1, 0)].NS, 1), first <= 1 // acknowledged after that stamp
}
