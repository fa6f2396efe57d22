package capacity

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/base/format"
)

// Metric is what an objective bounds.
type Metric string

// The metrics. Errors are all operations that did not end well; misses are of reads.
const (
	Percentile Metric = "percentile"
	Mean       Metric = "mean"
	Errors     Metric = "errors"
	Misses     Metric = "misses"
)

// Objective is what must hold at a rate. Latencies count from the due time.
type Objective struct {
	Metric   Metric  `json:"metric"`
	Quantile float64 `json:"q,omitempty"` // of a percentile: above 0 and below 1
	Limit    float64 `json:"limit"`       // ns of a latency, otherwise a share of operations
}

// Asked is the search for a capacity that a phase is.
type Asked struct {
	Objectives []Objective   `json:"objectives"`
	From       float64       `json:"from"`    // operations a second: below it nothing is tried
	To         float64       `json:"to"`      // and above it
	Step       time.Duration `json:"step_ns"` // the least length of a step
	Hold       time.Duration `json:"hold_ns"` // length of the last step, which confirms

	Wanted *Wanted `json:"wanted,omitempty"` // what a store is to do; nil: nothing is to be chosen
}

// Wanted is what a store is to do, and with what. 0: no limit.
type Wanted struct {
	Rate        float64 `json:"rate"` // operations a second
	MemoryBytes int64   `json:"memory_bytes,omitempty"`
	DiskBytes   int64   `json:"disk_bytes,omitempty"`
	PerHour     float64 `json:"price_per_hour,omitempty"` // of the machine, in whatever money; 0: not said
}

// ObjectiveForms are examples of each form of objective.
const ObjectiveForms = "'p99 < 5ms', 'mean < 800us', 'errors < 0.1%' or 'misses < 1%'"

var objectiveForm = regexp.MustCompile(`^\s*([a-z]+)([0-9.]*)\s*<=?\s*([0-9.]+)\s*([a-zµ%]*)\s*$`)

// percentileMax is the highest percentile that a step of bearable length shows.
const percentileMax = 99.99

// Parse reads an objective: "p99.9 < 5ms", "mean < 1ms", "errors < 0.1%", "misses < 0.01".
func Parse(text string) (o Objective, err error) {
	parts := objectiveForm.FindStringSubmatch(text)
	if parts == nil {
		return o, fmt.Errorf("objective %q has not the form METRIC < LIMIT: expected %s", text, ObjectiveForms)
	}
	name, digits, number, unit := parts[1], parts[2], parts[3], parts[4]
	switch o.Metric = Metric(name); {
	case name == "p" && digits != "":
		percent, parseErr := strconv.ParseFloat(digits, 64)
		if parseErr != nil || percent < 1 || percent > percentileMax {
			return o, fmt.Errorf("objective %q: a percentile is p1 to p%v", text, percentileMax)
		}
		o.Metric, o.Quantile = Percentile, percent/100
	case digits == "" && (o.Metric == Mean || o.Metric == Errors || o.Metric == Misses):
	default:
		return o, fmt.Errorf("objective %q has no metric %s%s: expected %s", text, name, digits, ObjectiveForms)
	}
	if o.Metric == Percentile || o.Metric == Mean {
		limit, parseErr := time.ParseDuration(number + unit)
		if parseErr != nil || limit <= 0 {
			return o, fmt.Errorf("objective %q needs a time above 0, such as 5ms", text)
		}
		o.Limit = float64(limit)
		return o, nil
	}
	share, parseErr := strconv.ParseFloat(number, 64)
	if unit == "%" {
		share /= 100
	}
	if parseErr != nil || unit != "" && unit != "%" || share <= 0 || share >= 1 {
		return o, fmt.Errorf("objective %q needs a share of operations above 0 and below 1, such as 0.1%%", text)
	}
	o.Limit = share
	return o, nil
}

// String is the objective as reports have it: "p99 < 5 ms".
func (o Objective) String() string {
	switch o.Metric {
	case Percentile:
		return fmt.Sprintf("%s < %s", format.Quantile(o.Quantile), timeText(o.Limit))
	case Mean:
		return "mean < " + timeText(o.Limit)
	}
	return fmt.Sprintf("%s < %s", o.Metric, shareText(o.Limit))
}

// Text is the objective as files have it, which [Parse] reads: "p99 < 5ms".
func (o Objective) Text() string {
	switch o.Metric {
	case Percentile:
		return fmt.Sprintf("p%s < %s", strconv.FormatFloat(o.Quantile*100, 'g', 6, 64), time.Duration(o.Limit))
	case Mean:
		return "mean < " + time.Duration(o.Limit).String()
	}
	return fmt.Sprintf("%s < %s", o.Metric, shareText(o.Limit))
}

// timeText writes a limit as it was given: "5 ms", "1.5 s".
func timeText(ns float64) string {
	unit, name := 1e9, "s"
	switch {
	case ns < 1e3:
		unit, name = 1, "ns"
	case ns < 1e6:
		unit, name = 1e3, "µs"
	case ns < 1e9:
		unit, name = 1e6, "ms"
	}
	return strconv.FormatFloat(ns/unit, 'g', 6, 64) + " " + name
}

func shareText(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 6, 64) + "%"
}

// Texts are all objectives in one line: "p99 < 5 ms and errors < 0.1%".
func Texts(objectives []Objective) string {
	var all []string
	for _, o := range objectives {
		all = append(all, o.String())
	}
	return strings.Join(all, " and ")
}

// Counts is what a step saw of what an objective bounds.
type Counts struct {
	Due    uint64                  // operations that were due in the step, ended or not
	Ended  uint64                  // of them, those that ended before the step did
	Above  func(ns float64) uint64 // of those that ended, how many took longer
	MeanNS float64                 // of those that ended
	Bad    float64                 // share of operations that did not end well
	Missed float64                 // share of reads that found nothing; 0: there were no reads
	// Late is how many of those that ended the client began so late, at most, and LateMeanNS by how much it
	// was late on average, at most. Nil: it began all in time.
	Late       func(ns float64) uint64
	LateMeanNS float64
}

// UsedBy returns how much of the objective's limit a step used: at most 1 where it held. Of a
// percentile that is the share of operations above the limit over the share that may be: a mean of
// operations, and so without the bias of a quantile of few. What was due and did not end took longer
// than any limit.
func (o Objective) UsedBy(c Counts) float64 {
	if c.Due == 0 {
		return 0
	}
	late := c.Due - min(c.Ended, c.Due)
	switch o.Metric {
	case Percentile:
		return float64(c.Above(o.Limit)+late) / float64(c.Due) / (1 - o.Quantile)
	case Mean:
		return c.MeanNS / o.Limit
	case Errors:
		return c.Bad / o.Limit
	case Misses:
		return c.Missed / o.Limit
	}
	return 0
}

// inTimeShare is the share of a limit by which the client may be late, at its percentile, and be in time.
const inTimeShare = 0.2

// inTime reports whether the client began operations so early that what is slow is the store.
func (o Objective) inTime(c Counts) bool {
	switch o.Metric {
	case Percentile:
		return float64(c.Late(inTimeShare*o.Limit)) <= (1-o.Quantile)*float64(c.Ended)
	case Mean:
		return c.LateMeanNS <= inTimeShare*o.Limit
	}
	return true
}

// latenessFrom is the least lateness that is asked for, in ns, and latenessMost the greatest, in limits.
// Between them it doubles, as the classes do in which lateness is counted.
const (
	latenessFrom = 1 << 13
	latenessMost = 8
)

// byStore is how much of the limit a step used at least without what the client was late. Of operations
// above the limit and x more, as many are slow by themselves as did not begin later than x.
func (o Objective) byStore(c Counts) (most float64) {
	switch o.Metric {
	case Percentile:
		for x := float64(latenessFrom); x <= latenessMost*o.Limit; x *= 2 {
			slow := float64(c.Above(o.Limit+x)) - float64(c.Late(x))
			most = max(most, slow/float64(c.Due)/(1-o.Quantile))
		}
	case Mean:
		most = max(0, c.MeanNS-c.LateMeanNS) / o.Limit
	default:
		most = o.UsedBy(c)
	}
	return most
}

// ByClient is what a step used of its limits that may be by the client's own delay: 0 where it was in time.
// What did not end is then the client's too, as it may never have been begun.
func ByClient(objectives []Objective, c Counts) float64 {
	late := func(o Objective) bool { return !o.inTime(c) }
	if c.Late == nil || c.Due == 0 || !slices.ContainsFunc(objectives, late) {
		return 0
	}
	used, store := 0.0, 0.0
	for _, o := range objectives {
		used, store = max(used, o.UsedBy(c)), max(store, o.byStore(c))
	}
	return max(used, KeepsUp(c)) - min(store, used)
}

// unfinishedMax is the share of operations that may not have ended with a step: beyond it the store
// does not keep up, whatever the objectives say.
const unfinishedMax = 0.01

// KeepsUp is how much of unfinishedMax a step used.
func KeepsUp(c Counts) float64 {
	if c.Due == 0 {
		return 0
	}
	return float64(c.Due-min(c.Ended, c.Due)) / float64(c.Due) / unfinishedMax
}

// Used are what a step used of each objective, and last of what it may leave unfinished.
func Used(objectives []Objective, c Counts) (used []float64) {
	for _, o := range objectives {
		used = append(used, o.UsedBy(c))
	}
	return append(used, KeepsUp(c))
}
