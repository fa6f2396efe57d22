package csvseries

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// rows are the lines of a file after its names, whatever its form.
type rows interface {
	names() []string
	// next returns the fields of the next line, which are valid until the next call.
	next() ([]string, error)
	// place is where a field of the last line stands.
	place(field int) string
}

// rowsOf opens a text as JSON or as CSV.
func rowsOf(from io.Reader, head []byte) (rows, error) {
	if isJSON(head) {
		return jsonRowsOf(from)
	}
	return csvRowsOf(from, separator(head))
}

// headOf are the first lines again, as far as they were looked at.
func headOf(head []byte, whole bool) (fields [][]string) {
	if !whole && !isJSON(head) {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	all, err := rowsOf(bytes.NewReader(head), head)
	if err != nil {
		return nil // told where the file itself is read
	}
	for len(fields) < headRowsMax {
		row, err := all.next()
		if err != nil {
			break
		}
		fields = append(fields, append([]string(nil), row...))
	}
	return fields
}

// csvRows are lines of CSV.
type csvRows struct {
	reader *csv.Reader
	header []string
}

func csvRowsOf(from io.Reader, comma rune) (*csvRows, error) {
	c := &csvRows{reader: csv.NewReader(from)}
	c.reader.Comma, c.reader.ReuseRecord = comma, true
	c.reader.TrimLeadingSpace = comma != '\t'
	header, err := c.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("line 1: the file is empty; expected a line with the names of the columns: time_s,rate,…")
	}
	if err != nil {
		return nil, placeOf(err)
	}
	c.header = append(c.header, header...)
	return c, nil
}

func (c *csvRows) names() []string { return c.header }

func (c *csvRows) next() ([]string, error) {
	fields, err := c.reader.Read()
	if errors.Is(err, csv.ErrFieldCount) {
		line, _ := c.reader.FieldPos(0)
		hint := ""
		if c.reader.Comma == ',' && len(fields) > len(c.header) {
			hint = `; if a comma is the decimal sign, separate fields by ";"`
		}
		return nil, fmt.Errorf("line %d: %d fields; the first line has %d%s", line, len(fields), len(c.header), hint)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, placeOf(err)
	}
	return fields, err
}

func (c *csvRows) place(field int) string {
	line, column := c.reader.FieldPos(field)
	return fmt.Sprintf("line %d, column %d", line, column)
}

// separator guesses from the first line.
func separator(head []byte) rune {
	line, _, _ := strings.Cut(string(head), "\n")
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

// documentBytesMax bounds a document of JSON, which is read whole; lines of JSON are not.
const documentBytesMax = 64 << 20

func isJSON(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && (head[0] == '{' || head[0] == '[')
}

// jsonRows are the elements of a list of JSON: objects, or lists of fields. They are those of lines
// of JSON, of a list, or of the longest list within a document, as Prometheus answers one.
type jsonRows struct {
	header []string
	more   *json.Decoder     // lines that are not read yet
	list   []json.RawMessage // elements that are not read yet
	at     int
	fields []string
}

func jsonRowsOf(from io.Reader) (*jsonRows, error) {
	limited := &io.LimitedReader{R: bufio.NewReader(from), N: documentBytesMax}
	decoder := json.NewDecoder(limited)
	var first json.RawMessage
	if err := decoder.Decode(&first); err != nil {
		if limited.N == 0 {
			return nil, fmt.Errorf("line 1: a document of JSON of more than %d MiB is not read; give one object a line, or CSV", documentBytesMax>>20)
		}
		return nil, fmt.Errorf("line 1: JSON that can't be read: %w", err)
	}
	limited.N = 1 << 62
	j := &jsonRows{}
	if decoder.More() {
		j.more, j.list = decoder, []json.RawMessage{first}
	} else if j.list = longestList(first); j.list == nil {
		if j.header, j.list = columnsAsLists(first); j.header != nil {
			return j, nil
		}
		j.list = []json.RawMessage{first}
	}
	names, values, err := membersOf(j.list[0])
	if err == nil && names == nil && (len(values) < 2 || longestList(first) == nil && j.more == nil) {
		err = errors.New("it has no object and no pair of values")
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("line 1: this JSON is no time series; expected objects with time_s and rate: %w", err)
	case names != nil:
		j.header = names
	case len(values) == 2:
		j.header = []string{"time_s", "rate"}
	default:
		return nil, fmt.Errorf("line 1: lists of %d values have no names; expected objects with time_s and rate", len(values))
	}
	return j, nil
}

func (j *jsonRows) names() []string { return j.header }

func (j *jsonRows) place(int) string { return fmt.Sprintf("line of JSON %d", j.at) }

func (j *jsonRows) next() ([]string, error) {
	if len(j.list) == 0 && j.more != nil {
		var element json.RawMessage
		if err := j.more.Decode(&element); errors.Is(err, io.EOF) {
			return nil, io.EOF
		} else if err != nil {
			return nil, fmt.Errorf("line of JSON %d: %w", j.at+1, err)
		}
		j.list = append(j.list, element)
	}
	if len(j.list) == 0 {
		return nil, io.EOF
	}
	j.at++
	names, values, err := membersOf(j.list[0])
	j.list = j.list[1:]
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.place(0), err)
	}
	if names == nil && len(values) != len(j.header) {
		return nil, fmt.Errorf("%s: %d values; the first has %d", j.place(0), len(values), len(j.header))
	}
	j.fields = append(j.fields[:0], make([]string, len(j.header))...)
	for i, value := range values {
		at := i
		if names != nil {
			at = position(j.header, names[i], i)
		}
		if at >= 0 {
			j.fields[at] = value
		}
	}
	return j.fields, nil
}

// position is where a name stands; nearly always where it stood in the first object.
func position(header []string, name string, likely int) int {
	if likely < len(header) && header[likely] == name {
		return likely
	}
	for i, other := range header {
		if other == name {
			return i
		}
	}
	return -1
}

// membersOf reads an object as names and values, or a list as values without names.
func membersOf(element json.RawMessage) (names, values []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(element))
	open, err := decoder.Token()
	if err != nil {
		return nil, nil, err
	}
	if open != json.Delim('{') && open != json.Delim('[') {
		return nil, nil, fmt.Errorf("%.40q stands where an object should", element)
	}
	for decoder.More() {
		if open == json.Delim('{') {
			name, err := decoder.Token()
			if err != nil {
				return nil, nil, err
			}
			names = append(names, name.(string))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, err
		}
		cell := string(value)
		if len(value) > 0 && value[0] == '"' {
			if err := json.Unmarshal(value, &cell); err != nil {
				return nil, nil, err
			}
		}
		values = append(values, cell)
	}
	return names, values, nil
}

// columnsAsLists takes an object whose members are lists of the same length, one a column, as lists of
// one value a column. Nil: it is none.
func columnsAsLists(document json.RawMessage) (header []string, list []json.RawMessage) {
	names, values, err := membersOf(document)
	if err != nil || len(names) < 2 {
		return nil, nil
	}
	columns := make([][]json.RawMessage, len(names))
	for i, value := range values {
		if json.Unmarshal([]byte(value), &columns[i]) != nil || len(columns[i]) == 0 ||
			len(columns[i]) != len(columns[0]) {
			return nil, nil
		}
	}
	for row := range columns[0] {
		fields := make([][]byte, len(columns))
		for i := range columns {
			fields[i] = columns[i][row]
		}
		list = append(list, slices.Concat([]byte("["), bytes.Join(fields, []byte(",")), []byte("]")))
	}
	return names, list
}

// longestList finds the longest list of objects or lists in a document. Nil: it has none.
func longestList(document json.RawMessage) (longest []json.RawMessage) {
	document = bytes.TrimLeft(document, " \t\r\n")
	var inner []json.RawMessage
	switch {
	case len(document) == 0:
	case document[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(document, &list) != nil {
			return nil
		}
		if len(list) > 0 && (list[0][0] == '{' || list[0][0] == '[') {
			longest = list
		}
		inner = list
	case document[0] == '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(document, &members) != nil {
			return nil
		}
		for _, member := range members {
			inner = append(inner, member)
		}
	}
	for _, element := range inner {
		if other := longestList(element); len(other) > len(longest) {
			longest = other
		}
	}
	return longest
}
