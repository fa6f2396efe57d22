// Package finds holds what recorded scans, queries and counts gave against what was there: section 3.5
// of docs/worker-contract.md. A find says how far each thread was when it began and when it had ended.
//
//  1. Gather reads the finds of a phase (gather.go).
//  2. candidates lists for each which records its question is about (candidates.go).
//  3. Check judges each find (judge.go).
//
// A record is owed to a find if it was there when the phase began, or its write was acknowledged before
// the find began; and if nothing that deletes or replaces it was under way meanwhile. Of threads in other
// agents' processes it is not known how far they were: nothing of theirs is owed, and all that they began in
// the phase may have been done. A delete by query may have deleted each record that the query finds. A record that the
// find gave without a write of it that had begun is beyond what was there. So no clock is compared, and
// a store is accused of no order of events that the counters leave open.
package finds

import (
	"assay/internal/evidence/answers"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// Known is what is known of a phase besides its trace.
type Known struct {
	Keys    keyval.KeyShape
	Columns *keyval.RecordShape // nil: values are plain
	Queries []*keyval.QueryShape
	Before  audit.Presence // which records are there when the phase begins
	Doubt   []uint32       // of each thread, a bit for each operation code: see audit.Phase
	// Process is of each thread the process that does it, where processes can't see how far threads of others
	// are, as those of agents; nil: all see all.
	Process []int
}

// Result is what the scans, queries and counts of a phase showed: docs/consistency.md.
type Result struct {
	Finds     uint64 `json:"finds"`                // that were judged
	NotJudged uint64 `json:"not_judged,omitempty"` // failed, or too much to look at
	Owed      uint64 `json:"owed"`                 // records that they had to give or count
	Missing   uint64 `json:"missing,omitempty"`    // of the owed ones, those that they did not give or count
	MissingIn uint64 `json:"missing_in,omitempty"` // in how many finds records were missing
	Beyond    uint64 `json:"beyond,omitempty"`     // records that they gave or counted, and that were not there
	BeyondIn  uint64 `json:"beyond_in,omitempty"`  // in how many finds there were such records
}

// find is a recorded find with what its trace says of it.
type find struct {
	counters.Find
	entry  trace.Entry
	thread int
	about  []uint64 // indexes of records that its question is about
	given  map[uint64]bool
}

// checker is what judging the finds of a phase needs.
type checker struct {
	Known
	file     *trace.File
	all      []*find
	universe []uint64           // the records that may be there at some moment of the phase; nil: they are too many
	answers  []*answers.Answers // by query; nil: not asked
	writes   map[uint64][]write // to records that a find is about
	begun    []uint64           // entries that each thread began
	result   Result
}

// Check judges the finds that a phase has recorded: recorded returns what a thread has. begun are the
// entries that each thread began. It returns nil where there are none.
func Check(file *trace.File, recorded func(thread int) []counters.Recorded, begun []uint64, know Known) *Result {
	c := &checker{Known: know, file: file, answers: make([]*answers.Answers, len(know.Queries)), begun: begun}
	c.gather(recorded)
	if len(c.all) == 0 && c.result.NotJudged == 0 {
		return nil
	}
	c.candidates()
	if !c.listWrites() {
		c.giveUp()
	}
	for _, f := range c.all {
		c.judge(f)
	}
	return &c.result
}

// giveUp judges none of the finds that are left: what they are about is too much to look at.
func (c *checker) giveUp() {
	c.result.NotJudged += uint64(len(c.all))
	c.all = nil
}
