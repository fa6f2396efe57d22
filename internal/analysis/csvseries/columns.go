package csvseries

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/analysis/stat"
	"assay/internal/base/format"
)

// Columns say which columns of a file hold what, where its names don't.
type Columns struct {
	Time string // "": time_s
	Rate string // "": rate
	// Differences says that the column of the rate holds what was done since the start: as a Count,
	// or as a Mean.
	Differences string
	// Every is the length of each sample, seconds; then no column of times is read. 0: read one.
	Every float64
}

// What a column holds that counts since the start.
const (
	Count = "count" // it only grows
	Mean  = "mean"  // of all until then
)

func (c Columns) time() string {
	if c.Time != "" {
		return c.Time
	}
	return "time_s"
}

func (c Columns) rate() string {
	if c.Rate != "" {
		return c.Rate
	}
	return "rate"
}

// meanings are the columns with a meaning of their own, and parts of names that may stand for them.
var meanings = []struct {
	name  string
	parts []string
}{
	{"time_s", []string{"time", "sec", "elapsed", "date"}},
	{"rate", []string{"ops/s", "op/s", "rate", "qps", "tps", "ops", "throughput", "/s", "per_s", "req"}},
	{"records", []string{"record", "rows", "keys"}},
	{"bytes", nil},
}

// noRates are words in names of what is no rate of operations, whatever stands beside them.
var noRates = []string{"hit", "miss", "err", "fail", "unit"}

const (
	// judgedMin is the fewest lines in which a column of what was done since the start is recognised.
	judgedMin = 10
	// meanSettles: over the second half of a file, the steps of a mean since the start are a third
	// as large as in the first half; of a rate they are alike.
	meanSettles = 0.6
)

// held is what the values of a column say that it holds.
type held int

const (
	words     held = iota // no numbers
	numbers               // nothing special
	aCount                // it only grows
	aMean                 // a mean since the start
	aShare                // between 0 and 1
	unchanged             // one value
)

// heldBy looks at a column's values and, for means, at the times beside them.
func heldBy(values, times []float64) held {
	if len(values) == 0 {
		return words
	}
	low, high := slices.Min(values), slices.Max(values)
	grows, rises := true, 0
	for i := 1; i < len(values); i++ {
		grows = grows && values[i] >= values[i-1]
		if values[i] > values[i-1] {
			rises++
		}
	}
	switch {
	case len(values) < judgedMin:
	case low == high:
		return unchanged
	case low >= 0 && high <= 1:
		return aShare
	case grows && 2*rises >= len(values):
		return aCount
	case isMean(values, times):
		return aMean
	}
	return numbers
}

// isMean reports whether values are means since the start: their steps shrink as one over the time,
// and what they say was done in each sample is as restless at the end as at the beginning.
func isMean(values, times []float64) bool {
	n := len(values)
	if len(times) != n || n < 2*judgedMin {
		return false
	}
	begin := times[0] - (times[1] - times[0])
	each := make([]float64, n)
	before, at := 0.0, begin
	for i, mean := range values {
		done := mean * (times[i] - begin)
		if !(times[i] > at) || done < before*(1-1e-6) {
			return false
		}
		each[i] = (done - before) / (times[i] - at)
		before, at = done, times[i]
	}
	settles := restless(values[n/2:]) / restless(values[:n/2])
	evenly := restless(each[n/2:]) / restless(each[:n/2])
	return settles < meanSettles && math.Abs(math.Log(evenly)) < math.Abs(math.Log(settles))
}

// restless is the median of third differences: neither a slope nor a bend counts.
func restless(values []float64) float64 {
	steps := make([]float64, len(values)-3)
	for i := range steps {
		steps[i] = math.Abs(values[i+3] - 3*values[i+2] + 3*values[i+1] - values[i])
	}
	return max(stat.Median(steps), math.SmallestNonzeroFloat64)
}

// guessed are what the first lines say of the columns.
type guessed struct {
	names   []string
	numbers numberForm
	head    [][]string
}

// cells are the first cells of a column.
func (g *guessed) cells(column int) (cells []string) {
	for _, row := range g.head {
		if column < len(row) {
			if cell := strings.TrimSpace(row[column]); cell != "" {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// values are the first values of a column; nil: it holds something else.
func (g *guessed) values(column int) (values []float64) {
	for _, cell := range g.cells(column) {
		if value, is := g.numbers.number(cell); is {
			values = append(values, value)
		} else if !slices.Contains(missing, strings.ToLower(cell)) {
			return nil
		}
	}
	return values
}

// times are the first times of a column; nil: it holds none, or they go back.
func (g *guessed) times(column int) (times []float64) {
	cells := g.cells(column)
	form := timesOf(cells, g.numbers)
	for _, cell := range cells {
		at, is := form.seconds(cell, g.numbers)
		if !is || len(times) > 0 && at < times[len(times)-1] {
			return nil
		}
		times = append(times, at)
	}
	return times
}

// holds are what the columns hold.
func (g *guessed) holds(timeColumn int) []held {
	var times []float64
	if timeColumn >= 0 {
		times = g.times(timeColumn)
	}
	all := make([]held, len(g.names))
	for i := range g.names {
		all[i] = heldBy(g.values(i), times)
	}
	return all
}

// timeColumn proposes a column of times; -1: none looks like one.
func (g *guessed) timeColumn() int {
	return g.nearest(meanings[0].parts, func(i int) bool { return len(g.head) == 0 || len(g.times(i)) > 0 })
}

// nearest returns the first column that has one of some parts in its name, and is one.
func (g *guessed) nearest(parts []string, is func(column int) bool) int {
	for _, part := range parts {
		for i, name := range g.names {
			if len(name) <= nameMax && strings.Contains(strings.ToLower(name), part) && is(i) {
				return i
			}
		}
	}
	return -1
}

// lacking says which of time_s and rate a file lacks, what may stand for them, and what only looks as
// if it did.
func (g *guessed) lacking(want Columns, noTime, noRate bool) error {
	var lack, flags []string
	at := g.timeColumn()
	if noTime {
		lack = append(lack, strconv.Quote(want.time()))
		if at >= 0 {
			flags = append(flags, flag("--time-column", g.names[at]))
		} else {
			at = slices.Index(g.names, "time_s")
		}
	} else {
		at = slices.Index(g.names, want.time())
	}
	hold := g.holds(at)
	others := ""
	if noRate {
		lack = append(lack, strconv.Quote(want.rate()))
		rate := func(i int) bool {
			return i != at && (len(g.head) == 0 || hold[i] == numbers || hold[i] == unchanged) && !isNoRate(g.names[i])
		}
		counts := func(i int) bool { return i != at && (hold[i] == aCount || hold[i] == aMean) }
		others = g.sinceStart(hold, at)
		if i := g.nearest(meanings[1].parts, rate); i >= 0 {
			flags = append(flags, flag("--rate-column", g.names[i]))
		} else if i := g.nearest(append(slices.Clone(meanings[1].parts), "count", "total"), counts); i >= 0 {
			how := Count
			if hold[i] == aMean {
				how = Mean
			}
			flags = append(flags, flag("--rate-column", g.names[i])+" --differences "+how)
		}
	}
	is := "there is no column"
	if len(lack) > 1 {
		is = "there are no columns"
	}
	var known []string
	for _, name := range g.names {
		if name != "" {
			known = append(known, name)
		}
	}
	text := fmt.Sprintf("line 1: %s %s; the columns are %s%s", is, strings.Join(lack, " and "), format.List(quoted(known)), others)
	switch {
	case len(flags) == len(lack):
		text += "; if that is it: " + strings.Join(flags, " ")
	case len(flags) > 0:
		text += "; " + strings.Join(flags, " ") + ", and name the other with " + missingFlag(noTime && at < 0)
	default:
		text += "; a CSV file begins with a line such as time_s,rate: docs/analyze.md makes one of what YCSB, db_bench or sysbench print"
	}
	return fmt.Errorf("%s", text)
}

func missingFlag(time bool) string {
	if time {
		return "--time-column, or give --interval SECONDS"
	}
	return "--rate-column"
}

func isNoRate(name string) bool {
	return slices.ContainsFunc(noRates, func(word string) bool { return strings.Contains(strings.ToLower(name), word) })
}

// sinceStart names the columns that count since the start, if their names look like rates.
func (g *guessed) sinceStart(hold []held, timeColumn int) string {
	var counts, means []string
	for i, name := range g.names {
		looks := slices.ContainsFunc(append(slices.Clone(meanings[1].parts), "count", "total"), func(part string) bool {
			return strings.Contains(strings.ToLower(name), part)
		})
		switch {
		case i == timeColumn || !looks:
		case hold[i] == aCount:
			counts = append(counts, name)
		case hold[i] == aMean:
			means = append(means, name)
		}
	}
	text := ""
	if len(counts) > 0 {
		text += fmt.Sprintf("; %s only grows, as a count since the start does (--differences count)", format.List(quoted(counts)))
	}
	if len(means) > 0 {
		text += fmt.Sprintf("; %s looks like a mean since the start (--differences mean)", format.List(quoted(means)))
	}
	return text
}

// flag is a flag with a name, as a shell takes it.
func flag(option, name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./%:", r))
	}) {
		name = "'" + strings.ReplaceAll(format.Clean(name), "'", `'\''`) + "'"
	}
	return option + " " + name
}

// nameMax is how many bytes a column's name has at most: what is longer is no name, but a line of
// another kind of file.
const nameMax = 40

func quoted(names []string) (all []string) {
	for _, name := range names {
		if len(name) > nameMax {
			name = strings.ToValidUTF8(name[:nameMax], "") + "…"
		}
		all = append(all, strconv.Quote(format.Clean(name)))
	}
	return all
}
