package record

// FinalCheck is what the last phase found when it read records back.
type FinalCheck struct {
	// Records that were read back, drawn at random: docs/statistics.md, section 10, tells what a sample
	// misses.
	Records uint64 `json:"records"`
	// Records left when the check was given up, as the store did not answer.
	NotRead uint64 `json:"not_read,omitempty"`
	// Of how many they were drawn: loaded, inserted, updated or upserted, deleted since or not.
	Of uint64 `json:"of"`
	// Records that memory had room to check (half of what is available, 250 bytes each), where more were to
	// be. 0: all of them.
	Fits  uint64 `json:"fits,omitempty"`
	Right uint64 `json:"right"` // held a value that the acknowledged writes allow
	// Absent, though a write was acknowledged and no delete could have come after it.
	Lost uint64 `json:"lost"`
	// Absent, as the store says that it removed so many by itself. They are not in lost.
	Evicted uint64 `json:"evicted,omitempty"`
	// Of the right ones: absent, and their TTL was over or about to be.
	Expired uint64 `json:"expired,omitempty"`
	// There, although their TTL was over with the store's tick.
	Late  uint64 `json:"late,omitempty"`
	Stale uint64 `json:"stale"` // older than any value that the last acknowledged writes allow
	Wrong uint64 `json:"wrong"` // not a value of this trial
	// Of the wrong ones: values that another trial wrote.
	Foreign uint64 `json:"foreign,omitempty"`
	Errors  uint64 `json:"errors"` // could not be read
	// Values too short to prove their version, and records some of whose writes ended in an error or a
	// conflict.
	Unknown  uint64   `json:"unknown"`
	Examples []string `json:"examples,omitempty"` // a few sentences that name records
	// A server was killed on purpose in a class that keeps nothing then: lost and stale are no fault.
	Forgot bool `json:"forgot,omitempty"`

	// Records that the store says it removed by itself since the trial began. Nil: it does not count them,
	// or none was absent.
	StoreEvicted *uint64 `json:"store_evicted,omitempty"`

	// What the counters of these records add up to. Nil: records have no counter, or some could not be read.
	Increments *Increments `json:"increments,omitempty"`
	// What came of adds of the same keys by all threads. Nil: no phase adds, the store is eventual or
	// evicted, or an add failed.
	Adds *Adds `json:"adds,omitempty"`
}

// Adds is what came of adds that all threads did with the same keys, after the phases.
type Adds struct {
	Existing    uint64 `json:"existing"`    // keys whose records were there
	Overwritten uint64 `json:"overwritten"` // adds of these that were acknowledged: 0 is right
	Contested   uint64 `json:"contested"`   // keys that were not there
	Stored      uint64 `json:"stored"`      // adds of these that were acknowledged: one each is right
}

// Increments is what the counters of the records that were read back add up to.
type Increments struct {
	Counted uint64 `json:"counted"` // the sum
	Least   uint64 `json:"least"`   // increments that were acknowledged
	Most    uint64 `json:"most"`    // increments that were tried
}
