package verdict

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

	"assay/internal/spec"
	"assay/internal/stat"
)

const (
	// csvSamplesMax bounds what is held: two hours of seconds. Longer files are thinned out while they are read, two
	// samples to one, as often as it takes.
	csvSamplesMax = 7200
	csvColumnsMax = 256
	// csvLineBytesMax bounds a line, so that a file without line ends is refused and not read into memory.
	csvLineBytesMax = 1 << 20
)

// The columns that have a meaning of their own. Any other is a resource.
var csvColumns = []string{"time_s", "rate", "records", "bytes"}

// ReadSeries reads a time series as CSV (RFC 4180). The first line names the columns: time_s (seconds, increasing, at the end
// of each sample), rate (per second), and optionally records, bytes (stored at that time) and any number of resources, of
// which one that begins with "engine." is a counter of the store. An empty cell is not measured; a line without a rate is left
// out. Fields may be separated by commas, semicolons or tabs.
//
// notes say what was left out, merged or guessed. An error names line and column.
func ReadSeries(r io.Reader) (s stat.Series, notes []string, err error) {
	buffered := bufio.NewReaderSize(&lineBound{from: r}, 64<<10)
	head, err := buffered.Peek(3)
	if err == nil && string(head) == "\uFEFF" {
		_, _ = buffered.Discard(3) // they were peeked at: it can't fail
	}
	first, _ := buffered.Peek(4096)
	reader := csv.NewReader(buffered)
	reader.Comma = separator(string(first))
	reader.ReuseRecord = true
	reader.TrimLeadingSpace = reader.Comma != '\t'

	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return s, nil, errors.New("line 1: the file is empty; expected a line with the names of the columns: time_s,rate,…")
	}
	if err != nil {
		return s, nil, lineOf(err)
	}
	table, notes, err := newCSVTable(header)
	if err != nil {
		return s, nil, err
	}
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, nil, lineOf(err)
		}
		if err := table.add(reader, fields); err != nil {
			return s, nil, err
		}
	}
	s, more := table.series()
	return s, append(notes, more...), nil
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

// lineOf puts encoding/csv's place in front, as all other errors have it.
func lineOf(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("read the file: %w", err)
	}
	if errors.Is(parse.Err, csv.ErrFieldCount) {
		return fmt.Errorf("line %d: the line has another number of fields than the first line has columns", parse.Line)
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
		if l.length > csvLineBytesMax {
			return 0, fmt.Errorf("a line is longer than %d bytes: this is not a time series as CSV", csvLineBytesMax)
		}
	}
	return n, err
}

// csvTable gathers samples. Column 0 is the time, 1 the rate.
type csvTable struct {
	names    []string // of the columns below
	at       []int    // position of each in a line
	columns  [][]float64
	last     float64 // time of the last line, with a rate or without
	begun    bool
	skipped  int // lines without a rate
	merged   int // lines to a sample
	pending  []float64
	weights  []float64
	gathered int
}

func newCSVTable(header []string) (*csvTable, []string, error) {
	if len(header) > csvColumnsMax {
		return nil, nil, fmt.Errorf("line 1: %d columns; at most %d can be read", len(header), csvColumnsMax)
	}
	t := &csvTable{names: []string{"time_s", "rate"}, at: []int{-1, -1}, merged: 1}
	var notes, names []string
	for i, cell := range header {
		name := strings.TrimSpace(cell)
		if slices.Contains(csvColumns, strings.ToLower(name)) {
			name = strings.ToLower(name)
		}
		if name == "" {
			return nil, nil, fmt.Errorf("line 1, field %d: a column without a name", i+1)
		}
		if slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("line 1, field %d: a second column %q", i+1, name)
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
		return nil, nil, fmt.Errorf("line 1: there is no column %q; the columns are %s%s", required, list(quoted(names)), hint)
	}
	for _, name := range t.names[2:] {
		if meant := spec.Nearest(name, csvColumns); meant != "" && meant != name && !slices.Contains(names, meant) {
			notes = append(notes, fmt.Sprintf("column %q is taken for a resource; if it is %s, rename it", name, meant))
		}
	}
	t.columns = make([][]float64, len(t.names))
	t.pending, t.weights = make([]float64, len(t.names)), make([]float64, len(t.names))
	return t, notes, nil
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
	for i, at := range t.at {
		text := strings.TrimSpace(fields[at])
		if values[i] = math.NaN(); text == "" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
			values[i] = value
			if value >= 0 || i == 0 || i > 1 && t.names[i] != "records" && t.names[i] != "bytes" {
				continue
			}
		}
		line, column := reader.FieldPos(at)
		expected := "a number"
		if i > 0 && (i == 1 || t.names[i] == "records" || t.names[i] == "bytes") {
			expected = "a number of 0 or more"
		}
		return fmt.Errorf("line %d, column %d: %s is %q; expected %s, or nothing where it was not measured", line, column, t.names[i], clipped(text), expected)
	}
	line, column := reader.FieldPos(t.at[0])
	if math.IsNaN(values[0]) {
		return fmt.Errorf("line %d, column %d: time_s is empty; expected the time in seconds", line, column)
	}
	if t.begun && values[0] <= t.last {
		return fmt.Errorf("line %d, column %d: time_s is %v, and was %v on the line before; expected it to increase", line, column, values[0], t.last)
	}
	t.begun, t.last = true, values[0]
	if math.IsNaN(values[1]) {
		t.skipped++
		return nil
	}
	t.gather(values)
	return nil
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
	for i := range t.columns {
		value := math.NaN()
		if t.weights[i] > 0 {
			value = t.pending[i] / t.weights[i]
		}
		t.columns[i] = append(t.columns[i], value)
		t.pending[i], t.weights[i] = 0, 0
	}
	t.gathered = 0
	if len(t.columns[0]) == csvSamplesMax {
		t.halve()
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

func (t *csvTable) series() (s stat.Series, notes []string) {
	if t.skipped > 0 {
		notes = append(notes, fmt.Sprintf("%s without a rate left out", plural(t.skipped, "line", "lines")))
	}
	if t.merged > 1 {
		notes = append(notes, fmt.Sprintf("the file is long: %d lines were merged into each sample", t.merged))
	}
	s.Ends, s.Rates = t.columns[0], t.columns[1]
	for i, name := range t.names[2:] {
		values := t.columns[i+2]
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
		s.Begin = s.Ends[0] - stat.Median(lengths)
	} else if len(s.Ends) > 0 {
		s.Begin = s.Ends[0] - 1
	}
	if s.Begin < 0 && len(s.Ends) > 0 && s.Ends[0] > 0 {
		s.Begin = 0
	}
	return s, notes
}
