// Package csvseries reads a rate over time that another program wrote as CSV, for `assay analyze`.
package csvseries

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/format"
)

const (
	columnsMax = 256
	// samplesMax and cellsMax bound memory: of longer files, neighbouring lines are joined,
	// and it is said, for what lasts less than a joined sample is lost. They leave six days of
	// seconds with 16 columns, and a day with 180, as they are.
	samplesMax = 1 << 19
	cellsMax   = 16 << 20
	// lineBytesMax bounds a line, so that a file without line ends is not read into memory.
	lineBytesMax = 1 << 20
	// numberMax leaves room for sums of squares.
	numberMax = 1e100
	// earlyShare is the share of the first interval within which a first line can't end a
	// sample.
	earlyShare = 0.1
	// epochMin is September 2001 in seconds since 1970: no time since a start is as long.
	epochMin = 1e9
	// millisecondsWithin allows for a clock that is a little late.
	millisecondsWithin = 0.02
)

// milliseconds are lengths that programs which write milliseconds sample at.
var milliseconds = []float64{100, 200, 250, 500, 1000, 2000, 5000, 10_000}

// missing are the marks for "not measured", in lower case. C writes 0/0 as -nan.
var missing = []string{"", "-", "nan", "-nan", "null", "na", "n/a", "none"}

// meanings are the columns with a meaning of their own, and parts of names that may stand for them.
var meanings = []struct {
	name  string
	parts []string
}{
	{"time_s", []string{"time", "sec", "elapsed"}},
	{"rate", []string{"rate", "qps", "tps", "ops", "throughput"}},
	{"records", []string{"record", "rows", "keys"}},
	{"bytes", nil},
}

// table gathers the lines of a file as samples.
type table struct {
	names   []string // of the columns that are kept: time_s, rate, others
	at      []int    // position of each in a line
	columns [][]float64
	notes   []string

	line  []float64 // the one that is read
	lines int
	first float64   // the time of the first line
	last  float64   // the time of the last line
	step  float64   // between the last two
	begin float64   // of the first sample, as far as the first two lines show it
	early bool      // the first line stands where no sample can have ended
	held  []float64 // of times that are beginnings, the line whose end is not known yet

	samplesMax int
	join       int // so many lines are a sample
	part       int // so many of them are in the last one
}

// Read reads a time series. The first line names the columns: time_s (seconds, increasing, at
// the end of each sample), rate (per second), and optionally records, bytes (stored at that time)
// and any resources; one that begins with "engine." is a counter of the store. Fields are separated
// by commas, semicolons or tabs. An empty cell, or a mark for "not measured", is NaN.
//
// notes say what was left out or guessed. An error names line and column.
func Read(r io.Reader) (s series.Series, notes []string, err error) { return readAtMost(r, samplesMax) }

func readAtMost(r io.Reader, atMost int) (s series.Series, notes []string, err error) {
	buffered := bufio.NewReaderSize(&lineBound{from: r}, 64<<10)
	if head, err := buffered.Peek(3); err == nil && string(head) == "\uFEFF" {
		_, _ = buffered.Discard(3) // it was peeked at
	}
	first, _ := buffered.Peek(4096)
	reader := csv.NewReader(buffered)
	reader.Comma, reader.ReuseRecord = separator(string(first)), true
	reader.TrimLeadingSpace = reader.Comma != '\t'
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return s, nil, errors.New("line 1: the file is empty; expected a line with the names of the columns: time_s,rate,…")
	}
	if err != nil {
		return s, nil, placeOf(err)
	}
	t, err := newTable(header)
	if err != nil {
		return s, nil, err
	}
	t.samplesMax = atMost
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := reader.FieldPos(0)
			return s, nil, fmt.Errorf("line %d: %d fields; the first line has %d", line, len(fields), len(header))
		}
		if err != nil {
			return s, nil, placeOf(err)
		}
		if err := t.add(reader, fields); err != nil {
			return s, nil, err
		}
	}
	return t.series(), t.notes, nil
}

// separator guesses from the first line.
func separator(text string) rune {
	line, _, _ := strings.Cut(text, "\n")
	for _, other := range []string{";", "\t"} {
		if !strings.Contains(line, ",") && strings.Contains(line, other) {
			return rune(other[0])
		}
	}
	return ','
}

// placeOf puts encoding/csv's place in front, as all other errors have it.
func placeOf(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("read the file: %w", err)
	}
	return fmt.Errorf("line %d, column %d: %w", parse.Line, parse.Column, parse.Err)
}

// lineBound fails where a line is too long.
type lineBound struct {
	from   io.Reader
	length int
}

func (l *lineBound) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	for _, b := range p[:n] {
		if l.length++; b == '\n' {
			l.length = 0
		}
		if l.length > lineBytesMax {
			return 0, fmt.Errorf("a line is longer than %d bytes: this is not a time series as CSV", lineBytesMax)
		}
	}
	return n, err
}

func newTable(header []string) (*table, error) {
	if len(header) > columnsMax {
		return nil, fmt.Errorf("line 1: %d columns; at most %d can be read", len(header), columnsMax)
	}
	t := &table{names: []string{"time_s", "rate"}, at: []int{-1, -1}, join: 1}
	var names []string
	for i, cell := range header {
		name := strings.TrimSpace(cell)
		known := t.known(strings.ToLower(name))
		if known {
			name = strings.ToLower(name)
		}
		switch again := slices.Contains(names, name); {
		case name == "":
			t.note("line 1, field %d: a column without a name is left out", i+1)
			continue
		case again && known:
			return nil, fmt.Errorf("line 1, field %d: a second column %q", i+1, name)
		case again:
			t.note("line 1, field %d: a second column %q is left out", i+1, format.Clean(name))
			continue
		}
		names = append(names, name)
		if at := slices.Index(t.names[:2], name); at >= 0 {
			t.at[at] = i
		} else {
			t.names, t.at = append(t.names, name), append(t.at, i)
		}
	}
	for _, known := range meanings {
		i := slices.Index(t.names, known.name)
		found, hint := i >= 0 && t.at[i] >= 0, ""
		if near := nearest(names, known.parts); !found && near != "" {
			hint = fmt.Sprintf("; rename %q, if that is it", format.Clean(near))
		}
		if required := slices.Index(t.names[:2], known.name) >= 0; !found && required {
			if hint == "" {
				hint = "; a CSV file begins with a line such as time_s,rate: docs/analyze.md makes one of what YCSB, db_bench or sysbench print"
			}
			return nil, fmt.Errorf("line 1: there is no column %q; the columns are %s%s", known.name,
				format.List(quoted(names)), hint)
		} else if !found && hint != "" {
			t.note("there is no column %q%s", known.name, hint)
		}
	}
	t.columns = make([][]float64, len(t.names))
	return t, nil
}

func (t *table) known(name string) bool {
	for _, known := range meanings {
		if known.name == name {
			return true
		}
	}
	return false
}

// nameMax is how many bytes a column's name has at most: what is longer is no name, but a line of
// another kind of file.
const nameMax = 40

// nearest returns the first name that has one of some parts in it.
func nearest(names, parts []string) string {
	for _, part := range parts {
		for _, name := range names {
			if len(name) <= nameMax && strings.Contains(strings.ToLower(name), part) {
				return name
			}
		}
	}
	return ""
}

func quoted(names []string) (all []string) {
	for _, name := range names {
		if len(name) > nameMax {
			name = strings.ToValidUTF8(name[:nameMax], "") + "…"
		}
		all = append(all, strconv.Quote(format.Clean(name)))
	}
	return all
}

func (t *table) note(text string, a ...any) { t.notes = append(t.notes, fmt.Sprintf(text, a...)) }

// add reads one line.
func (t *table) add(reader *csv.Reader, fields []string) error {
	t.line = t.line[:0]
	for i := 0; i < len(t.names); i++ {
		text := strings.TrimSpace(fields[t.at[i]])
		value, err := strconv.ParseFloat(text, 64)
		amount := i == 1 || t.names[i] == "records" || t.names[i] == "bytes"
		line, column := reader.FieldPos(t.at[i])
		switch isNumber := err == nil && math.Abs(value) <= numberMax; { // false for NaN
		case i > 0 && slices.Contains(missing, strings.ToLower(text)):
			value = math.NaN()
		case isNumber && (value >= 0 || !amount):
		case i == 0:
			return fmt.Errorf("line %d, column %d: time_s is %q; expected the time in seconds", line,
				column, clipped(text))
		case amount:
			return fmt.Errorf("line %d, column %d: %s is %q; expected a number of 0 or more, or nothing if it was not measured",
				line, column, t.names[i], clipped(text))
		default:
			t.note("column %q is left out: on line %d it is %q, which is no number",
				format.Clean(t.names[i]), line, clipped(text))
			t.names, t.at, t.columns = slices.Delete(t.names, i, i+1), slices.Delete(t.at, i,
				i+1), slices.Delete(t.columns, i, i+1)
			if len(t.held) > 0 {
				t.held = slices.Delete(t.held, i, i+1)
			}
			i--
			continue
		}
		if i == 0 && t.lines > 0 && value <= t.last {
			return fmt.Errorf("line %d, column %d: time_s is %v, and was %v on the line before; expected it to increase",
				line, column, value, t.last)
		}
		t.line = append(t.line, value)
	}
	t.take(t.line)
	return nil
}

// take adds a line to the samples. Of the second one, it decides what the first line's time means.
func (t *table) take(line []float64) {
	time := line[0]
	switch t.lines++; t.lines {
	case 1:
		t.first, t.begin = time, time-1
	case 2:
		t.begin = t.first - (time - t.first)
		if t.early = t.first >= 0 && t.first < earlyShare*(time-t.first); t.early {
			t.startEarly()
		}
	}
	t.step, t.last = time-t.last, time
	if len(t.held) == 0 {
		t.push(line)
		return
	}
	t.held[0] = time
	t.push(t.held)
	t.held = append(t.held[:0], line...)
}

// push adds a line that ends at its time.
func (t *table) push(line []float64) {
	samples := len(t.columns[0])
	if t.part == t.join && samples >= min(t.samplesMax, cellsMax/len(t.names))&^1 {
		t.halve()
		samples = len(t.columns[0])
	}
	for i, value := range line {
		t.columns[i] = append(t.columns[i], value)
	}
	if t.part++; t.part <= t.join && samples > 0 {
		t.merge(samples-1, samples, samples-1)
		t.cut(samples)
		return
	}
	t.part = 1
}

// halve joins each two samples.
func (t *table) halve() {
	samples := len(t.columns[0])
	for i := 0; i < samples; i += 2 {
		t.merge(i, i+1, i/2)
	}
	t.cut(samples / 2)
	t.join *= 2
	t.part = t.join
}

func (t *table) cut(samples int) {
	for i := range t.columns {
		t.columns[i] = t.columns[i][:samples]
	}
}

// merge joins sample a and the one after it, b, and puts them where there is room, which is not
// after a. Of what is told of a sample's end the later value holds; of what is told of its length,
// the mean of what was measured.
func (t *table) merge(a, b, into int) {
	times := t.columns[0]
	before := t.begin
	if into > 0 {
		before = times[into-1] // where the sample before a was put
	}
	share := (times[b] - times[a]) / (times[b] - before)
	for i, values := range t.columns {
		switch name := t.names[i]; {
		case i == 0 || name == "records" || name == "bytes" || strings.HasPrefix(name, "engine.") || math.IsNaN(values[a]):
			values[into] = values[b]
		case math.IsNaN(values[b]):
			values[into] = values[a]
		default:
			values[into] = values[a] + (values[b]-values[a])*share
		}
	}
}

func clipped(text string) string { return format.CleanMax(text, 40) }

// series makes the series, and adds the last notes.
func (t *table) series() (s series.Series) {
	if len(t.held) > 0 {
		t.held[0] += t.step
		t.push(t.held)
	}
	times := t.columns[0]
	if len(times) == 0 {
		return s
	}
	s.Begin = t.begin
	if t.lines > 1 {
		step := t.step
		if len(times) > 1 {
			step = width(times) / float64(t.join)
		}
		switch {
		case t.early:
		case t.first > 0:
			s.Begin = max(t.first-step, 0)
		default:
			s.Begin = t.first - step
		}
		t.doubtTimes(t.first, step)
	}
	s.Ends, s.Rates, s.Points = t.columns[0], t.columns[1], true
	missing := 0
	for _, rate := range s.Rates {
		if math.IsNaN(rate) {
			missing++
		}
	}
	if t.join > 1 {
		t.note("%d lines: each %d are joined to one sample, so that what lasts less than %s is not seen; leave columns out, or cut the file",
			t.lines, t.join, format.Seconds(2*width(times)))
	}
	if missing > 0 {
		t.note("%s without a rate: taken as not measured", format.Plural(missing, "line", "lines"))
	}
	for i, name := range t.names[2:] {
		values := t.columns[i+2]
		engine, is := strings.CutPrefix(name, "engine.")
		switch {
		case !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }):
			t.note("column %q holds no number", format.Clean(name))
		case name == "records":
			s.Records = values
		case name == "bytes":
			s.Bytes = values
		default:
			s.Resources = append(s.Resources, series.Resource{Name: engine, Engine: is, Values: values})
		}
	}
	return s
}

// width is the median length of samples.
func width(ends []float64) float64 {
	lengths := make([]float64, len(ends)-1)
	for i := range lengths {
		lengths[i] = ends[i+1] - ends[i]
	}
	return stat.Median(lengths)
}

// startEarly decides what a first line means that stands where no sample can have ended: nothing if
// its rate is 0, else that all times are those of beginnings.
func (t *table) startEarly() {
	t.begin = t.first
	if rate := t.columns[1][0]; rate == 0 || math.IsNaN(rate) {
		t.note("the first line is left out: at %v s no sample can have ended, and it has no rate", t.first)
	} else {
		for _, values := range t.columns {
			t.held = append(t.held, values[0])
		}
		t.note("the first line stands at %v s, where no sample can have ended: the times are taken for the beginnings of samples", t.first)
	}
	t.cut(0)
}

// doubtTimes notes what time_s looks like where that is not seconds since a start.
func (t *table) doubtTimes(first, step float64) {
	for _, unit := range []struct {
		name      string
		perSecond float64
	}{{"nanoseconds", 1e9}, {"microseconds", 1e6}, {"milliseconds", 1e3}} {
		if first >= epochMin*unit.perSecond {
			t.note("time_s begins at %.4g, which looks like %s since 1970: taken for seconds; divide by %.0f", first, unit.name, unit.perSecond)
			return
		}
	}
	if first >= epochMin {
		t.note("time_s begins at %.0f, which looks like seconds since 1970; subtract the first one to count from the start", first)
	}
	for _, round := range milliseconds {
		if math.Abs(step-round) <= millisecondsWithin*round {
			t.note("samples are %v s long: if time_s is in milliseconds, divide it by 1000", step)
		}
	}
}
