package recording

import (
	"bytes"
	"math"
	"strings"
)

// rocksLine reads a line of the trace that RocksDB's trace_analyzer prints: key in hexadecimal digits,
// type, column family, length of the value, time in µs.
func rocksLine(line []byte, out []Request) ([]Request, string) {
	var fields [5][]byte
	if n, more := split(bytes.TrimSuffix(line, []byte(" ")), ' ', fields[:]); n != len(fields) || more {
		return out, whyColumns
	}
	key := fields[0]
	if len(key) == 0 || len(key)%2 != 0 {
		return out, whyKey
	}
	for _, c := range key {
		if (c < '0' || c > '9') && (c < 'A' || c > 'F') && (c < 'a' || c > 'f') {
			return out, whyKey
		}
	}
	kind, ok := number(fields[1])
	if !ok {
		return out, whyOperation
	}
	family, ok := number(fields[2])
	if !ok {
		return out, whyForm
	}
	size, ok := number(fields[3])
	if !ok {
		return out, whySize
	}
	r := Request{Key: hash(key) ^ mix(family), KeyBytes: uint16(min(len(key)/2, math.MaxUint16)),
		ValueBytes: int64(min(size, math.MaxInt64))}
	var why string
	if r.AtNS, why = timeOf(fields[4], 1e3); why != "" {
		return out, why
	}
	switch kind {
	case 0, 8: // a get, and each key of a multi-get
		r.Operation = Get
	case 1:
		r.Operation = Set
	case 2, 3:
		r.Operation = Delete
	case 4:
		return out, leftWord + "range deletes"
	case 5: // a merge adds to a value
		r.Operation = Append
	case 6, 7:
		return out, leftWord + "iterator seeks"
	default:
		return out, whyOperation
	}
	r.unknownWhereMissed()
	return append(out, r), ""
}

// redisCommand says how a command's arguments are keys and values.
type redisCommand struct {
	operation Operation
	value     int // argument that is the value, from 1 on; 0: none
	ttl       int // argument that is the TTL
	each      int // every so many arguments stand for a request of their own; 0: one request
	unitMS    bool
	size      int64 // of the value, where no argument is it
}

var redisCommands = map[string]redisCommand{
	"get": {operation: Get}, "getex": {operation: Get}, "mget": {operation: Get, each: 1}, "strlen": {operation: Get},
	"set": {operation: Set, value: 2}, "setnx": {operation: Add, value: 2}, "getset": {operation: Set, value: 2},
	"setex": {operation: Set, value: 3, ttl: 2}, "psetex": {operation: Set, value: 3, ttl: 2, unitMS: true}, "mset": {operation: Set, value: 2, each: 2},
	"del": {operation: Delete, each: 1}, "unlink": {operation: Delete, each: 1}, "getdel": {operation: Delete},
	"append": {operation: Append, value: 2}, "incr": {operation: Increment, size: counterBytes}, "incrby": {operation: Increment, size: counterBytes},
	"decr": {operation: Decrement, size: counterBytes}, "decrby": {operation: Decrement, size: counterBytes},
}

// counterBytes stands for the length of a number.
const counterBytes = 8

// monitorLine reads a line of Redis MONITOR: 1339518083.107412 [0 127.0.0.1:60866] "set" "x" "6".
// What scripts call follows their own line.
func monitorLine(line []byte, out []Request) ([]Request, string) {
	if len(line) > 0 && line[0] == '+' { // as the server sends it
		line = line[1:]
	}
	if string(line) == "OK" {
		return out, leftWord + "OK"
	}
	space := bytes.IndexByte(line, ' ')
	if space < 0 || len(line) < space+2 || line[space+1] != '[' {
		return out, whyForm
	}
	at, why := timeOf(line[:space], 1e9)
	if why != "" {
		return out, why
	}
	end := bytes.Index(line, []byte(`] "`))
	if end < 0 {
		return out, whyForm
	}
	rest := line[end+2:]
	name, _, rest, ok := argument(rest)
	if !ok {
		return out, whyForm
	}
	command, known := redisCommands[string(name)]
	if !known {
		if len(name) > operationWordMax {
			return out, whyForm
		}
		lower := strings.ToLower(string(name))
		if command, known = redisCommands[lower]; !known {
			return out, leftWord + "command " + lower
		}
	}
	return command.requests(at, rest, out)
}

// requests reads a command's arguments.
func (c redisCommand) requests(at int64, rest []byte, out []Request) ([]Request, string) {
	first := len(out)
	r := Request{AtNS: at, Operation: c.operation, ValueBytes: Unknown}
	if c.size > 0 {
		r.ValueBytes = c.size
	}
	place, whole := 0, false
	var option []byte
	for len(rest) > 0 {
		var raw []byte
		var length int
		var ok bool
		if raw, length, rest, ok = argument(rest); !ok {
			return out[:first], whyForm
		}
		place++
		at := place
		if c.each > 0 {
			at = (place-1)%c.each + 1
		}
		switch {
		case at == 1:
			r.Key, r.KeyBytes = hash(raw), uint16(min(length, math.MaxUint16))
		case at == c.value:
			r.ValueBytes = int64(length)
		case at == c.ttl:
			r.setTTL(raw, c.unitMS)
		case c.operation == Set && bytes.EqualFold(option, []byte("ex")):
			r.setTTL(raw, false)
		case c.operation == Set && bytes.EqualFold(option, []byte("px")):
			r.setTTL(raw, true)
		}
		option = raw
		whole = at >= max(1, c.value)
		if c.each > 0 && at == c.each {
			out = append(out, r)
		}
	}
	if !whole || c.each > 0 && place%c.each != 0 {
		return out[:first], whyForm
	}
	if c.each == 0 {
		out = append(out, r)
	}
	return out, ""
}

func (r *Request) setTTL(raw []byte, ms bool) {
	n, ok := number(raw)
	if !ok {
		return
	}
	if ms {
		n = (n + 999) / 1000
	}
	r.TTLSeconds = uint32(min(n, math.MaxUint32))
}

// argument reads one in quotation marks: what stands between them, and how many bytes it is.
func argument(text []byte) (raw []byte, length int, rest []byte, ok bool) {
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	if len(text) == 0 || text[0] != '"' {
		return nil, 0, nil, false
	}
	text = text[1:]
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return text[:i], length, text[i+1:], true
		case '\\':
			if i++; i < len(text) && text[i] == 'x' {
				i += 2
			}
		}
		length++
	}
	return nil, 0, nil, false
}
