package report

import (
	"slices"
	"strings"
	"time"
)

// rateTitle is what a table's rates are called: a batch is one operation.
func (t Table) rateTitle() string {
	if t.Batch > 0 {
		return "batches/s"
	}
	return "ops/s"
}

// rateText writes one of the table's rates: "412 k/s", "1.20 k batches/s".
func (t Table) rateText(v float64) string {
	if t.Batch > 0 {
		return si(v, "") + " batches/s"
	}
	return rateText(v)
}

// counted is what a table's rates count.
func (t Table) counted() string {
	if t.Batch > 0 {
		return "batches"
	}
	return "operations"
}

// worstTitle names the width of the sample that the worst rate is of: "worst 1 s".
func (t Table) worstTitle() string {
	if t.SampleS == 0 {
		return "worst"
	}
	return "worst " + t.sampleText()
}

func (t Table) sampleText() string {
	return durationText(time.Duration(t.SampleS * float64(time.Second)).Round(time.Millisecond))
}

// pooled says if operations may have waited for a handle of a pool.
func (t Table) pooled() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.WaitNS != nil })
}

// cpuOf is the CPU time of an operation, where it is the store's: not under open load, where the worker waits for due times with it.
func (t Table) cpuOf(r Row) *float64 {
	if t.Open {
		return nil
	}
	return r.CPUNS
}

// missed says if any arm asked for records that were not there.
func (t Table) missed() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Misses > 0 })
}

func recordsOf(r Row) *float64 {
	if r.Records == nil {
		return nil
	}
	return &r.Records.Value
}

// operationText writes an operation's name for reading: "read modify write".
func operationText(name string) string { return strings.ReplaceAll(name, "_", " ") }
