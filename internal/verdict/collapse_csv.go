package verdict

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/internal/stat"
)

const (
	// csvSamplesMax bounds what is held: two hours of seconds. Longer files are thinned out while they are read, two
	// samples to one, as often as it takes.
	csvSamplesMax = 7200
	csvColumnsMax = 256
	// csvLineBytesMax bounds a line, so that a file without line ends is refused and not read into memory.
	csvLineBytesMax = 1 << 20
	// csvNumberMax leaves room for sums and squares of what is read: beyond it no time series was ever measured.
	csvNumberMax = 1e100
	// csvEarlyShare is the share of the first interval within which a first line comes too early to be the end of a sample.
	csvEarlyShare = 0.1
	// csvWholeWithin allows for the digits that a rate over another time than a second was written with.
	csvWholeWithin = 0.01
	// csvEpochMin is September 2001 in seconds since 1970: no time since a start is as long.
	csvEpochMin = 1e9
	// csvMillisecondsWithin allows for a clock that is a little late.
	csvMillisecondsWithin = 0.02
)

// csvMilliseconds are lengths that programs which write milliseconds sample at; of those who write seconds, next to none does.
var csvMilliseconds = []float64{100, 200, 250, 500, 1000, 2000, 5000, 10_000}

// The columns that have a meaning of their own. Any other is a resource.
var csvColumns = []string{"time_s", "rate", "records", "bytes"}

// csvMissing are the marks for "not measured" that other programs write, in lower case. C writes 0/0 as -nan.
var csvMissing = []string{"", "-", "nan", "-nan", "null", "na", "n/a", "none"}

// ReadSeries reads a time series as CSV (RFC 4180). The first line names the columns: time_s (seconds, increasing, at the end
// of each sample), rate (per second), and optionally records, bytes (stored at that time) and any number of resources, of
// which one that begins with "engine." is a counter of the store. An empty cell is not measured, nor is one with a mark for that
// (csvMissing); a line without a rate is left out; a resource that holds anything but numbers is left out. Fields may be
// separated by commas, semicolons or tabs.
//
// Where the first line stands at 0, or nearly so, no sample can have ended there: if its rate is 0, it is left out, else the
// times are taken for the beginnings of samples.
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
	table, err := newCSVTable(header)
	if err != nil {
		return s, nil, err
	}
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := reader.FieldPos(0)
			return s, nil, fmt.Errorf("line %d: the line has another number of fields (%d) than the first line has columns (%d)", line, len(fields), len(header))
		}
		if err != nil {
			return s, nil, lineOf(err)
		}
		if err := table.add(reader, fields); err != nil {
			return s, nil, err
		}
	}
	s = table.series()
	return s, table.notes, nil
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
