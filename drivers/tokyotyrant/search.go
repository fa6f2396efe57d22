package tokyotyrant

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"assay/store"
)

// search is the function of that name, and metasearch where any of several conjunctions will do. Its
// buffers are reused.
type search struct {
	*layout
	found []byte // elements, one after the other
	ends  []int  // of each
	hint  []byte // how the server searched, in its words: a part of found
}

// What a search gives of the records that it finds.
const (
	keys    = ""
	columns = "get"
	count   = "count"
	out     = "out" // nothing: it deletes them
)

var errCondition = errors.New("tokyotyrant: a condition ends at a zero byte, so that no query has it")

// ask searches, and reads what was found.
func (s *search) ask(c *connection, q *store.Query, values [][]byte, give string) error {
	for _, value := range values {
		if bytes.IndexByte(value, 0) >= 0 {
			return errCondition
		}
	}
	if err := c.Begin(); err != nil {
		return err
	}
	function := "search"
	if len(q.Where) > 1 {
		function = "metasearch" // a union, if no other type is named
	}
	flags := noUpdateLog
	if give == out {
		flags = 0
	}
	r := arguments{request: appendMisc(c.Request[:0], function, flags, 0)}
	for i, all := range q.Where {
		if i > 0 {
			r.append("next")
		}
		for _, condition := range all {
			s.appendCondition(&r, condition, values)
			values = values[condition.Is.Values():]
		}
		if i == 0 {
			s.appendOrder(&r, q, give)
		}
	}
	if len(q.Where) == 0 {
		s.appendOrder(&r, q, give)
	}
	switch give {
	case columns:
		r.append("get", nil) // the key has the empty name
		for _, column := range q.Columns {
			r.word(s.names[column])
		}
	case count:
		if len(q.Where) < 2 { // of a union the server would count the last search
			r.append("count")
		}
	case out:
		r.append("out")
	}
	r.append("hint")
	c.Request = r.request
	binary.BigEndian.PutUint32(c.Request[10:], uint32(r.n))
	if err := c.Send(); err != nil {
		return err
	}
	if give == count || give == out {
		return s.read(c, math.MaxInt32)
	}
	return s.read(c, q.Limit)
}

// appendOrder appends what belongs to the first search: order and limit are those of a union, too.
func (s *search) appendOrder(r *arguments, q *store.Query, give string) {
	if give == count || give == out {
		return
	}
	if q.Sort >= 0 {
		r.append("setorder", s.names[q.Sort])
		if q.Descending {
			r.text("NUMDESC")
		} else {
			r.text("NUMASC")
		}
	}
	r.append("setlimit")
	r.number(int64(q.Limit))
}

// appendCondition appends what the server compares a column by. An index of words gives the records
// that have all of a text's words; a second condition keeps those that have just this text.
func (s *search) appendCondition(r *arguments, c store.Condition, values [][]byte) {
	condition := func(operation string, value []byte) {
		r.append("addcond", s.names[c.Column])
		r.text(operation)
		r.word(value)
	}
	value := values[0]
	switch {
	case c.Is == store.Range:
		s.appendRange(r, c.Column, value, values[1])
	case c.Is == store.Prefix:
		condition("STRBW", value)
	case c.Is == store.Has:
		condition("STRAND", value)
	case s.columns[c.Column].Type == store.IntegerColumn:
		condition("NUMEQ", value)
	default:
		if s.token[c.Column] && hasWords(value) {
			condition("STRAND", value)
		}
		condition("STREQ", value)
	}
}

// appendRange appends one condition, which one walk along an index answers. It is about the last
// number, and takes its numbers in either order, so that a range without any has two.
func (s *search) appendRange(r *arguments, column int, from, below []byte) {
	first, errFirst := strconv.ParseInt(string(from), 10, 64)
	past, errPast := strconv.ParseInt(string(below), 10, 64)
	if errFirst != nil || errPast != nil || first >= past {
		for _, c := range []struct {
			operation string
			value     []byte
		}{{"NUMGE", from}, {"NUMLT", below}} {
			r.append("addcond", s.names[column])
			r.text(c.operation)
			r.word(c.value)
		}
		return
	}
	r.append("addcond", s.names[column])
	r.text("NUMBT")
	r.number(first)
	r.more(' ', past-1)
}

// hasWords reports whether a text has a word of an index: what stands between spaces and commas.
func hasWords(text []byte) bool {
	return bytes.ContainsFunc(text, func(r rune) bool { return r > ' ' && r != ',' })
}

// hintMark begins the element in which the server reports how it searched.
var hintMark = []byte("\x00\x00[[HINT]]\n")

// The server says so where it looked at each record, or at each entry of an index.
var (
	wholeTable = []byte("scanning the whole table")
	wholeIndex = []byte(" (all)")
)

// read reads what was found, at most so many elements, and takes the hint away.
func (s *search) read(c *connection, most int) error {
	s.found, s.ends = s.found[:0], s.ends[:0]
	n, done, err := c.elements("search")
	if err != nil {
		return err
	}
	if !done {
		return errRefused("search")
	}
	if n-1 > most {
		return c.GiveUp("search", errMore)
	}
	for range n {
		if s.found, err = c.element("search", s.found); err != nil {
			return err
		}
		s.ends = append(s.ends, len(s.found))
	}
	if n == 0 || !bytes.HasPrefix(s.element(n-1), hintMark) {
		return c.GiveUp("search", errors.New("the answer does not end in how the server searched"))
	}
	s.hint = s.element(n - 1)[len(hintMark):]
	if bytes.Contains(s.hint, wholeTable) || bytes.Contains(s.hint, wholeIndex) {
		s.scanned.Add(1)
	} else {
		s.indexed.Add(1)
	}
	s.ends = s.ends[:n-1]
	return nil
}

func (s *search) element(i int) []byte {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.found[from:s.ends[i]]
}
