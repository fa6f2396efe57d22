package finding

// Parameters that several messages share: an arm and a place, and the families of codes whose
// parameters are alike. A family's Code says which of them is stated.

// At is an arm and where it was.
type At struct{ Arm, Place string }

// FaultParams are of the faults that marks make: Share is of the time or of the CPU.
type FaultParams struct {
	Code Code `param:"-"`
	At
	Trials       int
	Count, Share float64
	Said         string `param:"omitempty"` // by the store, of failed operations: the most frequent message
}

func (p FaultParams) code() Code { return p.Code }

// CauseParams are of [Causes]: Text is what the worker, the store or the system said.
type CauseParams struct {
	Code Code `param:"-"`
	Text string
}

func (p CauseParams) code() Code { return NoResult + " " + p.Code }

// CountParams are of the marks that count outcomes, with a message or an example of them.
type CountParams struct {
	Code             Code `param:"-"`
	Count, Of        uint64
	Message, Example string `param:"omitempty"`
	Evicted          uint64 `param:"omitempty"` // by the store itself, of all records
	NotRead          uint64 `param:"omitempty"` // records, because the check was given up
}

func (p CountParams) code() Code { return p.Code }

// StopParams are of what stopped a process, for how long and when first, on the machine of an agent or
// ("") of the conductor.
type StopParams struct {
	Code         Code   `param:"-"`
	Agent        string `param:"omitempty"`
	Seconds, AtS float64
}

func (p StopParams) code() Code { return p.Code }

// ClockParams are of a start or an end that can't be, and by how much.
type ClockParams struct {
	Code Code `param:"-"`
	ByNS int64
}

func (p ClockParams) code() Code { return p.Code }

// WorkParams are of what operations counted, and what they should have.
type WorkParams struct {
	Code           Code `param:"-"`
	Operation      string
	Operations     uint64 `param:"omitempty"`
	Counted, Least uint64
	Most           *uint64 // nil: no bound
}

func (p WorkParams) code() Code { return p.Code }

// TimesParams are of the time that operations took and that threads had.
type TimesParams struct {
	Code    Code `param:"-"`
	ServedS float64
	Threads int
	HadS    float64
}

func (p TimesParams) code() Code { return p.Code }

// ClassParams are of a durability class by its Level; Window is the most that D2 loses. It is Claimed
// where nothing checks the store's word.
type ClassParams struct {
	Level, Class, Window string
	Claimed              bool `param:"omitempty"`
}

func (ClassParams) code() Code { return "durability-class" }

// ClassEventualParams are of a table by its title, whose stores' reads may be old, for WithinS at most;
// 0: for as long as they like.
type ClassEventualParams struct {
	Title   string
	WithinS float64 `param:"omitempty"`
}

func (ClassEventualParams) code() Code { return "durability-class eventual" }

// PlanParams are of a query that some arms answer in a way that costs more than that of others: they
// look at every record or, where they Walk, at those that an index has in the query's order.
type PlanParams struct {
	Walks                  bool
	Arms                   []string
	Others                 []string `param:"omitempty"`
	Operation, Query, Asks string
}

func (PlanParams) code() Code { return QueryPlan }

// PlaceParams are of findings that say nothing but where.
type PlaceParams struct {
	Code Code `param:"-"`
	At
}

func (p PlaceParams) code() Code { return p.Code }

// InconsistencyParams are of what phases and histories show of an arm without a fault: of how many
// operations, and how late values were.
type InconsistencyParams struct {
	Code Code `param:"-"`
	At
	Count             uint64
	Of, Items         uint64 `param:"omitempty"`
	Share             *float64
	LateNS, LateMaxNS int64 `param:"omitempty"`
	CurrentAfterNS    int64 `param:"omitempty"` // after a write, from when on 99 % of reads are current
}

func (p InconsistencyParams) code() Code { return p.Code }

// FullDiskParams are of what was known when a disk was full: of a disk quota that is a mount its size,
// file system and usable bytes, and the records that were stored then. Others took bytes meanwhile.
type FullDiskParams struct {
	Code       Code    `param:"-"`
	Size       uint64  `param:"omitempty"`
	Filesystem string  `param:"omitempty"`
	Usable     uint64  `param:"omitempty"`
	Free       *uint64 // nil: not known
	Inodes     bool    `param:"omitempty"` // none was left
	Records    *uint64
	OthersTook uint64 `param:"omitempty"`
}

func (p FullDiskParams) code() Code { return p.Code }

// GroupBeside is a group of clients, and another that ran for some seconds.
type GroupBeside struct {
	At
	Group, Other string
	Seconds      float64
}

// example is the place of the examples.
var example = At{"bbolt", "put at D1"}

// Known is a value for a parameter that may be left out.
func Known[T any](v T) *T { return &v }
