// Package csvseries reads a rate over time that another program wrote, as CSV or in a form of its own
// (tools.go), for `assay analyze`.
//
//  1. text.go       a file → lines of UTF-8, or JSON
//  2. forms.go      how it writes numbers, and where its names stand
//  3. rows.go       lines after the names
//  4. columns.go    what each column holds
//  5. csvseries.go  columns → a series
package csvseries

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/format"
)

const (
	columnsMax = 256
	// samplesMax and cellsMax bound memory: of longer files, neighbouring lines are joined, with
	// a note, for what lasts less than a joined sample is lost. They leave six days of seconds
	// with 16 columns, and a day with 180, as they are.
	samplesMax = 1 << 19
	cellsMax   = 16 << 20
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

	as      Columns
	numbers numberForm
	times   timeForm
	origin  float64   // what is taken from times that are dates
	dated   bool      // they are
	read    int       // lines
	now     float64   // the time of the last line that was read
	same    []float64 // the lines of that time
	count   int       // how many they are
	repeats bool      // most times stand on several lines
	again   int       // lines that repeat a time
	done    float64   // since the start, until the last line that told it
	counted float64   // the time of that line
	resets  int       // lines at which that fell

	samplesMax int
	join       int // so many lines are a sample
	part       int // so many of them are in the last one
}

// Read reads a time series. The first line names the columns: time_s (seconds, increasing, at
// the end of each sample), rate (per second), and optionally records, bytes (stored at that time)
// and any resources; one that begins with "engine." is a counter of the store. Fields are separated
// by commas, semicolons or tabs; or it is JSON, or what a known tool prints. An empty cell, or a
// mark for "not measured", is NaN.
//
// notes say what was left out or guessed. An error names line and column.
func Read(r io.Reader, as Columns) (s series.Series, notes []string, err error) {
	return readAtMost(r, as, samplesMax)
}

func readAtMost(r io.Reader, as Columns, atMost int) (s series.Series, notes []string, err error) {
	if as.Differences != "" && as.Differences != Count && as.Differences != Mean {
		return s, nil, fmt.Errorf("differences of %q: expected %s or %s", as.Differences, Count, Mean)
	}
	from, err := text(r)
	if err != nil {
		return s, nil, placeOf(err)
	}
	from, whose, err := translated(from)
	if err != nil {
		return s, nil, placeOf(err)
	}
	first, end := from.Peek(headBytes)
	head := slices.Clone(first)
	all, err := rowsOf(from, head)
	if err != nil {
		return s, nil, err
	}
	g := guessed{names: trimmed(all.names()), head: headOf(head, errors.Is(end, io.EOF))}
	comma := ','
	if c, is := all.(*csvRows); is {
		comma = c.reader.Comma
	}
	var doubt string
	g.numbers, doubt = numbersOf(g.head, comma)
	t, err := newTable(&g, as)
	if err != nil {
		return s, nil, err
	}
	if whose != "" {
		t.note("read as %s", whose)
	}
	if doubt != "" {
		t.note("%s", doubt)
	}
	t.samplesMax = atMost
	for {
		fields, err := all.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = t.add(all, fields)
		}
		if err != nil {
			return s, nil, err
		}
	}
	return t.series(), t.notes, nil
}

func trimmed(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.TrimSpace(name)
	}
	return all
}

func newTable(g *guessed, as Columns) (*table, error) {
	if len(g.names) > columnsMax {
		return nil, fmt.Errorf("line 1: %d columns; at most %d can be read", len(g.names), columnsMax)
	}
	t := &table{names: []string{"time_s", "rate"}, at: []int{-1, -1}, join: 1, numbers: g.numbers, as: as}
	var seen []string
	for i, name := range g.names {
		name = as.meaning(name)
		switch again := slices.Contains(seen, name); {
		case name == "":
			t.note("line 1, field %d: a column without a name is left out", i+1)
			continue
		case again && isKnown(name):
			return nil, fmt.Errorf("line 1, field %d: a second column %q", i+1, name)
		case again:
			t.note("line 1, field %d: a second column %q is left out", i+1, format.Clean(name))
			continue
		}
		seen = append(seen, name)
		if at := slices.Index(t.names[:2], name); at >= 0 {
			t.at[at] = i
		} else {
			t.names, t.at = append(t.names, name), append(t.at, i)
		}
	}
	if noTime, noRate := t.at[0] < 0 && as.Every == 0, t.at[1] < 0; noTime || noRate {
		return nil, g.lacking(as, noTime, noRate)
	}
	for _, known := range meanings[2:] {
		if near := g.nearest(known.parts, func(int) bool { return true }); near >= 0 && !slices.Contains(t.names,
			known.name) && near != t.at[1] {
			t.note("there is no column %q; rename %q, if that is it", known.name, format.Clean(g.names[near]))
		}
	}
	t.times = timeForm{unit: 1}
	if as.Every == 0 {
		t.times = timesOf(g.cells(t.at[0]), g.numbers)
		known := g.times(t.at[0])
		t.repeats = repeats(known)
		if later := slices.IndexFunc(known, func(at float64) bool { return at > known[0] }); later > 0 {
			t.step = known[later] - known[0]
		}
		t.doubtRate(g)
	}
	t.columns = make([][]float64, len(t.names))
	return t, nil
}

// meaning is the name that a column has here: those with a meaning of their own may be written in
// capitals, and time_s and rate may have other names.
func (c Columns) meaning(name string) string {
	switch lower := strings.ToLower(name); {
	case name == c.time():
		return "time_s"
	case name == c.rate():
		return "rate"
	case lower == "time_s" && c.Time != "" || lower == "rate" && c.Rate != "":
		return "file." + name // another column has this meaning
	case isKnown(lower):
		return lower
	}
	return name
}

func isKnown(name string) bool {
	for _, known := range meanings {
		if known.name == name {
			return true
		}
	}
	return false
}

// doubtRate notes what a rate looks like that is none.
func (t *table) doubtRate(g *guessed) {
	if t.as.Differences != "" {
		return
	}
	name := format.Clean(g.names[t.at[1]])
	switch heldBy(g.values(t.at[1]), g.times(t.at[0])) {
	case aCount:
		t.note("column %q only grows: if it counts since the start, --differences count takes its differences", name)
	case aMean:
		t.note("column %q looks like a mean since the start: if it is one, --differences mean takes it apart", name)
	}
}

// repeats reports whether most times stand on several lines: the clock is coarser than the samples.
func repeats(times []float64) bool {
	same := 0
	for i := 1; i < len(times); i++ {
		if times[i] == times[i-1] {
			same++
		}
	}
	return 3*same > len(times)
}

func (t *table) note(text string, a ...any) { t.notes = append(t.notes, fmt.Sprintf(text, a...)) }

// add reads one line.
func (t *table) add(from rows, fields []string) error {
	t.line = t.line[:0]
	for i := 0; i < len(t.names); i++ {
		if i == 0 && t.as.Every > 0 {
			t.line = append(t.line, t.as.Every*float64(t.read+1))
			continue
		}
		cell := strings.TrimSpace(fields[t.at[i]])
		value, isNumber := t.cell(i, cell)
		amount := i == 1 || t.names[i] == "records" || t.names[i] == "bytes"
		switch place := t.at[i]; {
		case i > 0 && slices.Contains(missing, strings.ToLower(cell)):
			value = math.NaN()
		case isNumber && (value >= 0 || !amount):
		case i == 0:
			return fmt.Errorf("%s: %s is %q; expected %s", from.place(place), t.as.time(), clipped(cell), t.times.expected())
		case amount:
			return fmt.Errorf("%s: %s is %q; expected a number of 0 or more, or nothing if it was not measured",
				from.place(place), t.called(i), clipped(cell))
		default:
			line, _, _ := strings.Cut(from.place(place), ",")
			t.note("column %q is left out: on %s it is %q, which is no number",
				format.Clean(t.names[i]), line, clipped(cell))
			t.names, t.at, t.columns = slices.Delete(t.names, i, i+1), slices.Delete(t.at, i,
				i+1), slices.Delete(t.columns, i, i+1)
			if len(t.held) > 0 {
				t.held = slices.Delete(t.held, i, i+1)
			}
			if len(t.same) > 0 {
				t.same = slices.Delete(t.same, i, i+1)
			}
			i--
			continue
		}
		if i == 0 && t.read > 0 && value < t.now {
			return fmt.Errorf("%s: %s goes back, from %v to %v: %s", from.place(t.at[0]), t.as.time(),
				t.now, value, "where a clock was set or a second run begins, cut the file; --interval SECONDS goes by lines alone")
		}
		t.line = append(t.line, value)
	}
	t.read++
	t.gather(t.line)
	return nil
}

// called is what the file calls a column.
func (t *table) called(i int) string {
	if i == 1 {
		return t.as.rate()
	}
	return t.names[i]
}

// cell reads one cell of a column.
func (t *table) cell(i int, cell string) (float64, bool) {
	if i > 0 {
		return t.numbers.number(cell)
	}
	value, is := t.times.seconds(cell, t.numbers)
	if is && t.read == 0 && t.times.absolute(value) {
		t.origin, t.dated = value-t.step, true
	}
	return value - t.origin, is
}

// gather keeps the lines of one time: their mean, where the clock is coarser than the samples;
// otherwise the first, as of a log whose last line stands within the second of the one before.
func (t *table) gather(line []float64) {
	if len(t.same) > 0 && line[0] == t.now {
		t.again++
		if t.count++; t.repeats {
			for i, value := range line {
				t.same[i] += (value - t.same[i]) / float64(t.count)
			}
		}
		return
	}
	t.flush()
	t.now, t.count = line[0], 1
	t.same = append(t.same[:0], line...)
}

func (t *table) flush() {
	if len(t.same) == 0 {
		return
	}
	t.difference(t.same)
	t.take(t.same)
	t.same = t.same[:0]
}

// difference replaces what was done since the start by what was done in the sample. A count may have
// begun before the first line, so that nothing is known of that.
func (t *table) difference(line []float64) {
	if t.as.Differences == "" {
		return
	}
	since, at := line[1], line[0]
	if t.as.Differences == Mean {
		since *= at
	}
	switch {
	case math.IsNaN(since):
		return
	case t.lines == 0 && t.as.Differences == Count:
		line[1] = math.NaN()
	case since < t.done:
		line[1] = math.NaN()
		t.resets++
	default:
		line[1] = (since - t.done) / (at - t.counted)
	}
	t.done, t.counted = since, at
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
// after a. For a column that describes a sample's end the later value holds; for one of its length,
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
	t.flush()
	t.tell()
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
		t.doubtTimes(step)
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

// tell notes what was made of the times, and of a count.
func (t *table) tell() {
	if t.dated {
		t.note("%s is a date, or counts from a day: times are from the beginning of the first sample on", t.as.time())
	}
	switch {
	case t.again > 0 && t.repeats:
		t.note("%s repeat the time of the line before: each time is one sample, with their mean", format.Plural(t.again, "line", "lines"))
	case t.again > 0:
		t.note("%s the time of the line before: left out", format.Plural(t.again, "line repeats", "lines repeat"))
	}
	if t.resets > 0 {
		t.note("what was done since the start fell at %s: taken as not measured", format.Plural(t.resets, "line", "lines"))
	}
}

// doubtTimes notes what time_s looks like where that is not seconds since a start.
func (t *table) doubtTimes(step float64) {
	for _, round := range milliseconds {
		if !t.dated && math.Abs(step-round) <= millisecondsWithin*round {
			t.note("samples are %v s long: if time_s is in milliseconds, divide it by 1000", step)
		}
	}
}
