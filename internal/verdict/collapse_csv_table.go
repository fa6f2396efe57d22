package verdict

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/spec"
	"assay/internal/stat"
)

// csvTable gathers samples. Column 0 is the time, 1 the rate.
type csvTable struct {
	names   []string // of the columns below
	at      []int    // position of each in a line
	columns [][]float64
	notes   []string

	first, last float64   // times of the first and the last line, with a rate or without
	before      float64   // time of the last line but one
	lines       int       // that were read
	held        []float64 // a line that waits for the next one's time; nil: none
	beginnings  bool      // times are those at which samples began
	skipped     int       // lines without a rate

	merged   int       // lines to a sample
	pending  []float64 // sums of the lines of the next sample
	weights  []float64 // how many lines each sum is of
	gathered int       // lines of the next sample
	lastOne  int       // lines in the last sample, where it has another number
}

func newCSVTable(header []string) (*csvTable, error) {
	if len(header) > csvColumnsMax {
		return nil, fmt.Errorf("line 1: %d columns; at most %d can be read", len(header), csvColumnsMax)
	}
	t := &csvTable{names: []string{"time_s", "rate"}, at: []int{-1, -1}, merged: 1}
	var names []string
	for i, cell := range header {
		name := strings.TrimSpace(cell)
		if slices.Contains(csvColumns, strings.ToLower(name)) {
			name = strings.ToLower(name)
		}
		switch {
		case name == "":
			t.note("line 1, field %d: a column without a name is left out", i+1)
			continue
		case slices.Contains(names, name) && slices.Contains(csvColumns, name):
			return nil, fmt.Errorf("line 1, field %d: a second column %q", i+1, name)
		case slices.Contains(names, name):
			t.note("line 1, field %d: a second column %q is left out", i+1, name)
			continue
		}
		names = append(names, name)
		switch name {
		case "time_s":
			t.at[0] = i
		case "rate":
			t.at[1] = i
		default:
			t.names, t.at = append(t.names, name), append(t.at, i)
		}
	}
	for i, required := range t.names[:2] {
		if t.at[i] >= 0 {
			continue
		}
		hint := ""
		if near := spec.Nearest(required, names); near != "" {
			hint = fmt.Sprintf("; rename %q, if that is it", near)
		}
		return nil, fmt.Errorf("line 1: there is no column %q; the columns are %s%s", required, list(quoted(names)), hint)
	}
	for _, name := range t.names[2:] {
		if meant := spec.Nearest(name, csvColumns); meant != "" && meant != name && !slices.Contains(names, meant) {
			t.note("column %q is taken for a resource; if it is %s, rename it", name, meant)
		}
	}
	t.columns = make([][]float64, len(t.names))
	t.pending, t.weights = make([]float64, len(t.names)), make([]float64, len(t.names))
	return t, nil
}

func (t *csvTable) note(format string, a ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, a...))
}

func quoted(names []string) (all []string) {
	for _, name := range names {
		all = append(all, strconv.Quote(name))
	}
	return all
}

// add takes one line.
func (t *csvTable) add(reader *csv.Reader, fields []string) error {
	values := make([]float64, len(t.names))
	for i := 0; i < len(t.names); i++ {
		text := strings.TrimSpace(fields[t.at[i]])
		if values[i] = math.NaN(); i > 0 && slices.Contains(csvMissing, strings.ToLower(text)) {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		isNumber := err == nil && math.Abs(value) <= csvNumberMax // false for NaN
		line, column := reader.FieldPos(t.at[i])
		switch {
		case isNumber && (value >= 0 || !t.isAmount(i)):
			values[i] = value
		case i == 0 && text == "":
			return fmt.Errorf("line %d, column %d: time_s is empty; expected the time in seconds", line, column)
		case i == 0:
			return fmt.Errorf("line %d, column %d: time_s is %q; expected the time in seconds", line, column, clipped(text))
		case t.isAmount(i):
			return fmt.Errorf("line %d, column %d: %s is %q; expected a number of 0 or more, or nothing where it was not measured", line, column, t.names[i], clipped(text))
		default:
			t.note("column %q is left out: on line %d it is %q, which is no number", t.names[i], line, clipped(text))
			values = slices.Delete(values, i, i+1)
			t.drop(i)
			i--
		}
	}
	if t.lines > 0 && values[0] <= t.last {
		line, column := reader.FieldPos(t.at[0])
		return fmt.Errorf("line %d, column %d: time_s is %v, and was %v on the line before; expected it to increase", line, column, values[0], t.last)
	}
	t.take(values)
	return nil
}

// isAmount says whether a column's values can't be below zero.
func (t *csvTable) isAmount(i int) bool {
	return t.names[i] == "rate" || t.names[i] == "records" || t.names[i] == "bytes"
}

// drop leaves out a resource, with all that was gathered of it.
func (t *csvTable) drop(i int) {
	t.names, t.at, t.columns = slices.Delete(t.names, i, i+1), slices.Delete(t.at, i, i+1), slices.Delete(t.columns, i, i+1)
	t.pending, t.weights = slices.Delete(t.pending, i, i+1), slices.Delete(t.weights, i, i+1)
	if t.held != nil {
		t.held = slices.Delete(t.held, i, i+1)
	}
}

// take passes on the lines with a rate, once it is known when their samples ended.
func (t *csvTable) take(values []float64) {
	at := values[0]
	switch {
	case t.lines == 0:
		t.first = at
	case t.lines == 1 && t.held != nil && t.first >= 0 && t.first < csvEarlyShare*(at-t.first):
		t.startEarly()
	}
	t.release(at)
	t.last, t.before = at, t.last
	t.lines++
	switch {
	case math.IsNaN(values[1]):
		t.skipped++
	case t.lines == 1 || t.beginnings:
		t.held = values
	default:
		t.gather(values)
	}
}

// startEarly decides what a first line means that stands where no sample can have ended.
func (t *csvTable) startEarly() {
	if t.held[1] == 0 {
		t.held = nil
		t.note("the first line is left out: it stands at %v s, with a rate of 0, and no sample can have ended there", t.first)
		return
	}
	t.beginnings = true
	t.note("the first line stands at %v s, where no sample can have ended: the times are taken for the beginnings of samples", t.first)
}

// release passes on the line that was held; end is the time of the next one.
func (t *csvTable) release(end float64) {
	if t.held == nil {
		return
	}
	if t.beginnings {
		t.held[0] = end
	}
	t.gather(t.held)
	t.held = nil
}

func clipped(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}

// gather joins lines to samples: the time, records and bytes of the last one, the mean of all else.
func (t *csvTable) gather(values []float64) {
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		t.pending[i] += v
		t.weights[i]++
		if t.lasting(i) {
			t.pending[i], t.weights[i] = v, 1
		}
	}
	if t.gathered++; t.gathered < t.merged {
		return
	}
	t.join()
	if len(t.columns[0]) == csvSamplesMax {
		t.halve()
	}
}

// join makes a sample of the lines that were gathered.
func (t *csvTable) join() {
	for i := range t.columns {
		value := math.NaN()
		if t.weights[i] > 0 {
			value = t.pending[i] / t.weights[i]
		}
		t.columns[i] = append(t.columns[i], value)
		t.pending[i], t.weights[i] = 0, 0
	}
	t.gathered = 0
}

// finish takes in the lines after the last whole sample: as a sample of their own, or, if they are few, as part of the last one.
func (t *csvTable) finish() {
	t.release(t.last + (t.last - t.before)) // the last sample is taken to be as long as the one before
	switch {
	case t.gathered == 0:
	case 2*t.gathered >= t.merged:
		t.lastOne = t.gathered
		t.join()
	default:
		t.lastOne = t.merged + t.gathered
		for i, column := range t.columns {
			last := len(column) - 1
			switch {
			case t.weights[i] == 0:
			case t.lasting(i) || math.IsNaN(column[last]):
				column[last] = t.pending[i] / t.weights[i]
			default:
				column[last] = (column[last]*float64(t.merged) + t.pending[i]) / (float64(t.merged) + t.weights[i])
			}
		}
		t.gathered = 0
	}
}

// lasting says whether a column is a state at the end of a sample and not a mean over it.
func (t *csvTable) lasting(i int) bool {
	return i == 0 || t.names[i] == "records" || t.names[i] == "bytes"
}

func (t *csvTable) halve() {
	for i, column := range t.columns {
		for j := range len(column) / 2 {
			a, b := column[2*j], column[2*j+1]
			switch {
			case math.IsNaN(b):
				column[j] = a
			case math.IsNaN(a) || t.lasting(i):
				column[j] = b
			default:
				column[j] = a/2 + b/2
			}
		}
		t.columns[i] = column[:len(column)/2]
	}
	t.merged *= 2
}

// series returns what was read, and adds the last notes.
func (t *csvTable) series() (s stat.Series) {
	t.finish()
	if t.skipped > 0 {
		t.note("%s without a rate left out", plural(t.skipped, "line", "lines"))
	}
	if t.merged > 1 {
		last := ""
		if t.lastOne > 0 {
			last = fmt.Sprintf(", %d into the last one", t.lastOne)
		}
		t.note("the file is long: %d lines were merged into each sample%s", t.merged, last)
	}
	s.Ends, s.Rates = t.columns[0], t.columns[1]
	for i, name := range t.names[2:] {
		values := t.columns[i+2]
		if len(values) > 0 && !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
			t.note("column %q holds no number on any line with a rate", name)
			continue
		}
		switch engine, is := strings.CutPrefix(name, "engine."); {
		case name == "records":
			s.Records = values
		case name == "bytes":
			s.Bytes = values
		default:
			if !is {
				engine = name
			}
			s.Resources = append(s.Resources, stat.Resource{Name: engine, Engine: is, Values: values})
		}
	}
	// Nobody says when the first sample began: it is taken to be as long as most.
	var lengths []float64
	for i := 1; i < len(s.Ends); i++ {
		lengths = append(lengths, s.Ends[i]-s.Ends[i-1])
	}
	if len(lengths) > 0 {
		step := stat.Median(lengths)
		s.Begin = s.Ends[0] - step
		t.doubtTimes(step)
	} else if len(s.Ends) > 0 {
		s.Begin = s.Ends[0] - 1
	}
	switch {
	case t.beginnings:
		s.Begin = t.first
	case s.Begin < 0 && len(s.Ends) > 0 && s.Ends[0] > 0:
		s.Begin = 0
	}
	s.Sparse = countsFew(s)
	return s
}

// doubtTimes notes what time_s looks like where that is not seconds since a start. step is the length of most samples.
func (t *csvTable) doubtTimes(step float64) {
	for _, unit := range []struct {
		name      string
		perSecond float64
	}{{"nanoseconds", 1e9}, {"microseconds", 1e6}, {"milliseconds", 1e3}} {
		if t.first >= csvEpochMin*unit.perSecond {
			t.note("time_s begins at %.4g, which looks like %s since 1970: here they are taken for seconds; divide them by %.0f", t.first, unit.name, unit.perSecond)
			return
		}
	}
	if t.first >= csvEpochMin {
		t.note("time_s begins at %.0f, which looks like seconds since 1970: times are told on that clock; subtract the first one to count from the start", t.first)
	}
	for _, round := range csvMilliseconds {
		if math.Abs(step-round) <= csvMillisecondsWithin*round {
			t.note("samples are %v s long: if time_s is in milliseconds, divide it by 1000", step)
		}
	}
}

// countsFew says whether a rate, in whatever unit, is a count of few things a sample: of whole numbers below stallOperationsMin on average
// that vary at least half as much as a Poisson count of things that come independently.
func countsFew(s stat.Series) bool {
	var sum, squares, before float64
	for i, rate := range s.Rates {
		count := rate * (s.Ends[i] - beginning(s, i))
		if math.Abs(count-math.Round(count)) > csvWholeWithin {
			return false
		}
		if sum += count; i > 0 {
			squares += (count - before) * (count - before)
		}
		before = count
	}
	n := float64(len(s.Rates))
	return n > 1 && sum < stallOperationsMin*n && squares/(n-1)/2 >= sum/n/2
}
