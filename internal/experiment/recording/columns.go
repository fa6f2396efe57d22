package recording

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/format"
)

// parser appends the requests of a line, with absolute times. why says what is wrong with the line, or,
// beginning with leftWord, what it is that can't be replayed.
type parser func(line []byte, out []Request) (requests []Request, why string)

// leftWord begins the reason of a line that is right, and of which nothing can be replayed.
const leftWord = "left: "

// What may be wrong with a line.
const (
	whyColumns   = "another number of columns"
	whyTime      = "no time"
	whyNegative  = "a negative time"
	whyFar       = "a time beyond a century"
	whySize      = "no length of a value"
	whyTTL       = "no TTL"
	whyOperation = "an unknown operation"
	whyKey       = "no key"
	whyForm      = "not of the form"
	whyLong      = "longer than 1 MiB"
	whyCount     = "no number of requests"
)

// repeatsMax bounds the requests that one line may stand for.
const repeatsMax = 1 << 20

// number reads a whole number without a sign.
func number(field []byte) (n uint64, ok bool) {
	if len(field) == 0 || len(field) > 19 {
		return 0, false
	}
	for _, c := range field {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// timeMax is the largest time, in ns.
const timeMax = math.MaxInt64 / 4

// timeOf reads a time in a unit of so many ns, with or without a fraction.
func timeOf(field []byte, unit int64) (ns int64, why string) {
	if len(field) > 0 && field[0] == '-' {
		return 0, whyNegative
	}
	whole, fraction, has := field, []byte(nil), false
	if dot := bytes.IndexByte(field, '.'); dot >= 0 {
		whole, fraction, has = field[:dot], field[dot+1:], true
	}
	n, ok := number(whole)
	if !ok {
		return 0, whyTime
	}
	if n > uint64(timeMax/unit) {
		return 0, whyFar
	}
	ns = int64(n) * unit
	if has {
		each := unit
		for i, c := range fraction {
			if c < '0' || c > '9' || i > 18 {
				return 0, whyTime
			}
			each /= 10
			ns += int64(c-'0') * each
		}
	}
	return ns, ""
}

// split cuts a line into columns; more says that it has more than there is room for. Columns are short: a
// loop over their bytes takes less time than a search for the end of each.
func split(line []byte, by byte, into [][]byte) (n int, more bool) {
	from := 0
	for at, c := range line {
		if c != by {
			continue
		}
		if n == len(into) {
			return n, true
		}
		into[n] = line[from:at]
		n, from = n+1, at+1
	}
	if n == len(into) {
		return n, true
	}
	into[n] = line[from:]
	return n + 1, false
}

// twitterLine reads a line of Twitter's cache traces: time, key, key size, value size, client,
// operation, TTL. Keys hold no commas; those that do are cut at the sixth column from the end.
func twitterLine(line []byte, out []Request) ([]Request, string) {
	var fields [7][]byte
	n, more := split(line, ',', fields[:])
	if n != len(fields) {
		return out, whyColumns
	}
	if more && !fromEnd(line, &fields) {
		return out, whyColumns
	}
	r := Request{Key: hash(fields[1])}
	var why string
	if r.AtNS, why = timeOf(fields[0], 1e9); why != "" {
		return out, why
	}
	if why = r.lengths(fields[2], fields[3]); why != "" {
		return out, why
	}
	var ok bool
	if r.Operation, ok = operationOf(fields[5]); !ok {
		return out, whyOperation
	}
	if why = r.ttl(fields[6]); why != "" {
		return out, why
	}
	if len(fields[1]) == 0 {
		return out, whyKey
	}
	r.unknownWhereMissed()
	return append(out, r), ""
}

// fromEnd parts a line of which the key holds commas.
func fromEnd(line []byte, fields *[7][]byte) bool {
	for at := 6; at >= 2; at-- {
		comma := bytes.LastIndexByte(line, ',')
		if comma < 0 {
			return false
		}
		fields[at], line = line[comma+1:], line[:comma]
	}
	comma := bytes.IndexByte(line, ',')
	if comma < 0 {
		return false
	}
	fields[0], fields[1] = line[:comma], line[comma+1:]
	return true
}

// lengths reads those of key and value. An empty field, or none, tells none.
func (r *Request) lengths(key, value []byte) string {
	if n, ok := number(key); ok {
		r.KeyBytes = uint16(min(n, math.MaxUint16))
	} else if len(key) > 0 {
		return "no length of a key"
	}
	if len(value) == 0 {
		r.ValueBytes = Unknown
		return ""
	}
	n, ok := number(value)
	if !ok {
		return whySize
	}
	r.ValueBytes = int64(min(n, math.MaxInt64))
	return ""
}

func (r *Request) ttl(field []byte) string {
	if len(field) == 0 {
		return ""
	}
	n, ok := number(field)
	if !ok {
		return whyTTL
	}
	r.TTLSeconds = uint32(min(n, math.MaxUint32))
	return ""
}

// unknownWhereMissed: a read of no bytes found nothing, and tells no length. Neither does a delete.
func (r *Request) unknownWhereMissed() {
	if r.Operation == Get && r.ValueBytes == 0 || r.Operation == Delete {
		r.ValueBytes = Unknown
	}
}

// The usual names of columns, in lower case.
var usualColumns = struct{ time, operation, key, keyBytes, bytes, ttl, count []string }{
	time:      []string{"op_time", "time", "timestamp", "ts", "time_s", "time_ms", "time_us", "time_ns"},
	operation: []string{"op", "operation", "command", "cmd", "verb", "method", "type"},
	key:       []string{"key", "object", "obj_id", "id", "object_id"},
	keyBytes:  []string{"key_size", "key_bytes", "keysize", "key_length"},
	bytes:     []string{"size", "value_size", "value_bytes", "bytes", "valuesize", "value_length", "obj_size"},
	ttl:       []string{"ttl", "ttl_s"},
	count:     []string{"op_count", "count"},
}

// mapped says in which column each thing stands; −1: in none.
type mapped struct {
	time, operation, key, keyBytes, bytes, ttl, count int
	columns                                           int
	unit                                              int64
	// fraction becomes true with the first time that has one: times are then finer than their unit.
	fraction *bool
}

// mapping finds the columns that are asked for, and those that are usual, in a header.
func mapping(header []string, c Columns) (mapped, error) {
	m := mapped{columns: len(header), unit: 1e9, fraction: new(bool)}
	for _, part := range []struct {
		what  string
		asked string
		usual []string
		at    *int
	}{
		{"time", c.Time, usualColumns.time, &m.time}, {"op", c.Operation, usualColumns.operation, &m.operation},
		{"key", c.Key, usualColumns.key, &m.key}, {"key_bytes", c.KeyBytes, usualColumns.keyBytes, &m.keyBytes},
		{"bytes", c.Bytes, usualColumns.bytes, &m.bytes}, {"ttl", c.TTL, usualColumns.ttl, &m.ttl},
		{"count", c.Count, usualColumns.count, &m.count},
	} {
		*part.at = -1
		if part.asked != "" {
			at := slices.Index(header, strings.ToLower(part.asked))
			if at < 0 {
				return m, fmt.Errorf("it has no column %q for %s, but %s", part.asked, part.what, format.List(header))
			}
			*part.at = at
			continue
		}
		for _, name := range part.usual {
			if at := slices.Index(header, name); at >= 0 {
				*part.at = at
				break
			}
		}
	}
	if m.time < 0 || m.key < 0 {
		return m, fmt.Errorf("its columns tell no time and key: %s", format.List(header))
	}
	if unit := units[c.Unit]; unit > 0 {
		m.unit = unit
	} else if _, unit, ok := strings.Cut(header[m.time], "_"); ok && units[unit] > 0 {
		m.unit = units[unit]
	}
	return m, nil
}

// numbered is the mapping of a file without a header, whose columns are given by number.
func numbered(c Columns) (m mapped, ok bool) {
	m = mapped{unit: 1e9, fraction: new(bool)}
	if unit := units[c.Unit]; unit > 0 {
		m.unit = unit
	}
	for _, part := range []struct {
		asked string
		at    *int
	}{{c.Time, &m.time}, {c.Operation, &m.operation}, {c.Key, &m.key}, {c.KeyBytes, &m.keyBytes}, {c.Bytes,
		&m.bytes}, {c.TTL, &m.ttl}, {c.Count, &m.count}} {
		*part.at = -1
		if part.asked == "" {
			continue
		}
		n, err := strconv.Atoi(part.asked)
		if err != nil || n < 1 || n > columnsMax {
			return m, false
		}
		*part.at = n - 1
	}
	return m, m.time >= 0 && m.key >= 0
}

// columnsMax bounds the columns of a line.
const columnsMax = 64

// parser reads lines of these columns. A file without operations is one of reads.
func (m mapped) parser() parser {
	fields := make([][]byte, columnsMax)
	field := func(at int) []byte {
		if at < 0 {
			return nil
		}
		return bytes.Trim(fields[at], `" `)
	}
	least := max(m.time, m.operation, m.key, m.keyBytes, m.bytes, m.ttl, m.count) + 1
	return func(line []byte, out []Request) ([]Request, string) {
		n, more := split(line, ',', fields)
		if more || n < least || m.columns > 0 && n != m.columns {
			return out, whyColumns
		}
		key := field(m.key)
		r := Request{Key: hash(key), Operation: Get}
		if len(key) == 0 {
			return out, whyKey
		}
		var why string
		at := field(m.time)
		if r.AtNS, why = timeOf(at, m.unit); why != "" {
			return out, why
		}
		if !*m.fraction && bytes.IndexByte(at, '.') >= 0 {
			*m.fraction = true
		}
		if why = r.lengths(field(m.keyBytes), field(m.bytes)); why != "" {
			return out, why
		}
		if m.keyBytes < 0 {
			r.KeyBytes = uint16(min(len(key), math.MaxUint16))
		}
		if m.operation >= 0 {
			var ok bool
			if r.Operation, ok = operationOf(field(m.operation)); !ok {
				return out, whyOperation
			}
		}
		if why = r.ttl(field(m.ttl)); why != "" {
			return out, why
		}
		r.unknownWhereMissed()
		count := uint64(1)
		if m.count >= 0 {
			var ok bool
			if count, ok = number(field(m.count)); !ok || count > repeatsMax {
				return out, whyCount
			}
		}
		for range count {
			out = append(out, r)
		}
		return out, ""
	}
}
