package record

import (
	"slices"

	"assay/internal/base/histogram"
	"assay/internal/experiment/trace"
)

// Operation is what one kind of operation did in a phase. Its outcomes are those of the worker contract.
type Operation struct {
	// As in the worker contract: read, insert …
	Name string `json:"name"`
	OK   uint64 `json:"ok"`   // operations that ended well
	Miss uint64 `json:"miss"` // that found no record
	Lost uint64 `json:"lost"` // that found no record where one had to be
	// compare_and_swap that was beaten, add of a key that was there, and what the store refused because of
	// other threads' writes.
	Conflict uint64 `json:"conflict"`
	Wrong    uint64 `json:"wrong"`             // that returned what was never written there
	Foreign  uint64 `json:"foreign,omitempty"` // of the wrong ones: values that another trial wrote
	Errors   uint64 `json:"errors"`            // that ended in an error
	Timeout  uint64 `json:"timeout"`           // that ended by their time limit

	BytesWritten uint64 `json:"bytes_written"` // keys and values that the store acknowledged
	BytesRead    uint64 `json:"bytes_read"`    // values that were read
	// Records scanned, members of batches, keys that multi-reads found.
	Items uint64 `json:"items,omitempty"`
	// Of multi-reads: keys that were not there.
	Absent uint64 `json:"absent,omitempty"`
	// Of multi-reads: the calls that they made. One each or, of keys that several servers or slots have, one
	// for each of these.
	Calls uint64 `json:"calls,omitempty"`
	// Of scans, queries and counts: the fewest records that those which ended ok can have had
	// (docs/statistics.md, section 15). It follows from the trace and from what was certainly there all
	// through the phase. Nil: not known.
	ItemsOwed *uint64 `json:"items_owed,omitempty"`
	// Where the trial deletes: how many of those that were ok or missed had nothing to do at least. Of
	// deletes by the trace or the store's word; of reads, misses; of scans, queries and counts, those that
	// found nothing. Nil: nothing was deleted in the trial.
	Vain *uint64 `json:"vain,omitempty"`

	// The longest service time in ns, exact.
	MaxNS uint64 `json:"max_ns"`

	// Service times of all outcomes.
	Service *histogram.Histogram `json:"service_ns"`
	// Open load: times from the due time.
	Response *histogram.Histogram `json:"response_ns,omitempty"`

	// Of query, count and delete_query: the same of each query that the phase asks.
	Questions []Question `json:"questions,omitempty"`
}

// Question is what an operation that asks did with one query.
type Question struct {
	Query int `json:"query"` // its position among the experiment's queries
	Operation
}

// Add adds what others did of the same kind. How many items both owe is known where each is.
func (o *Operation) Add(other *Operation) {
	o.OK, o.Miss, o.Lost, o.Conflict = o.OK+other.OK, o.Miss+other.Miss, o.Lost+other.Lost, o.Conflict+other.Conflict
	o.Wrong, o.Foreign, o.Errors, o.Timeout =
		o.Wrong+other.Wrong, o.Foreign+other.Foreign, o.Errors+other.Errors, o.Timeout+other.Timeout
	o.BytesWritten, o.BytesRead, o.Items =
		o.BytesWritten+other.BytesWritten, o.BytesRead+other.BytesRead, o.Items+other.Items
	o.Absent, o.Calls = o.Absent+other.Absent, o.Calls+other.Calls
	o.MaxNS = max(o.MaxNS, other.MaxNS)
	o.Service, o.Response = histogram.Sum(o.Service, other.Service), histogram.Sum(o.Response, other.Response)
	o.ItemsOwed, o.Vain = sumKnown(o.ItemsOwed, other.ItemsOwed), sumKnown(o.Vain, other.Vain)
	for _, q := range other.Questions {
		at := slices.IndexFunc(o.Questions, func(known Question) bool { return known.Query == q.Query })
		if at < 0 {
			o.Questions = append(o.Questions, q)
			continue
		}
		o.Questions[at].Add(&q.Operation)
	}
}

// Reads returns how many records a read, or a multi-read, asked for and found: of its calls that tell.
func (o *Operation) Reads() (found, asked uint64) {
	switch o.Name {
	case trace.Read.String(), trace.ReadOrFill.String(), trace.GetAndSet.String():
		return o.OK, o.OK + o.Miss + o.Lost
	case trace.MultiRead.String():
		return o.Items, o.Items + o.Absent
	}
	return 0, 0
}

// sumKnown adds two counts; nil where one is not known.
func sumKnown(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// Operations returns the results of slots by operation: those of one that asks are its questions.
func Operations(slots []Operation) (all []Operation) {
	for i := range slots {
		if n := len(all); n > 0 && all[n-1].Name == slots[i].Name {
			all[n-1].Add(&slots[i])
			continue
		}
		all = append(all, slots[i])
	}
	return all
}

// Calls returns the operations that called the store: in place of requests, their steps. A phase
// that is the sum of groups may have one by a name in each of both.
func (p *Phase) Calls() []Operation {
	isRequest := func(o Operation) bool { return o.Name == trace.Request.String() }
	return slices.Concat(slices.DeleteFunc(slices.Clone(p.Operations), isRequest), p.Steps)
}

// Done returns the operations that have an outcome.
func (o Operation) Done() uint64 {
	return o.OK + o.Miss + o.Lost + o.Conflict + o.Wrong + o.Errors + o.Timeout
}

// Good returns the operations that ended well: a rate counts them. A conflict is an answer to an
// operation that asks for one; any other that ends so was refused, and is work that was not done.
func (o Operation) Good() uint64 {
	if operation, _ := trace.ParseOperation(o.Name); operation.Conditional() {
		return o.OK + o.Miss + o.Conflict
	}
	return o.OK + o.Miss
}

// Message is a distinct error text, with how often it came.
type Message struct {
	Operation string `json:"operation"` // whose it is
	Outcome   string `json:"outcome"`   // likewise
	Text      string `json:"text"`      // what was said
	Count     uint64 `json:"count"`     // how often
}
