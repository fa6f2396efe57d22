package tyrantstandin

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// doTable is what a table does where it is not as the other kinds are. The lock is held.
func (s *Server) doTable(asked request) answer {
	if asked.what == "out" {
		_, there := s.rows[string(asked.key)]
		delete(s.rows, string(asked.key))
		return answer{done: there}
	}
	if asked.what == "putnr" { // names and columns, separated by zeros
		s.rows[string(asked.key)] = columnsOf(bytes.Split(asked.value, []byte{0}))
		return answer{done: true}
	}
	if asked.what == "misc search" || asked.what == "misc metasearch" {
		return s.search(asked.arguments)
	}
	if asked.what == "misc setindex" && len(asked.arguments) == 2 {
		return s.setIndex(string(asked.arguments[0]), string(asked.arguments[1]))
	}
	if len(asked.arguments) == 0 {
		return answer{}
	}
	key := string(asked.arguments[0])
	row, there := s.rows[key]
	switch asked.what {
	case "misc putkeep":
		if there {
			return answer{}
		}
		fallthrough
	case "misc put":
		s.rows[key] = columnsOf(asked.arguments[1:])
		return answer{done: true}
	case "misc get":
		found := answer{done: there}
		for _, name := range slices.Sorted(maps.Keys(row)) {
			found.elements = append(found.elements, []byte(name), []byte(row[name]))
		}
		return found
	}
	return answer{}
}

func columnsOf(pairs [][]byte) map[string]string {
	row := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		row[string(pairs[i])] = string(pairs[i+1])
	}
	return row
}

// setIndex makes an index; with "+" it leaves one that is there as it is, and fails.
func (s *Server) setIndex(column, kind string) answer {
	kind, keep := strings.CutPrefix(kind, "+")
	if keep && s.indexes[column] != "" {
		return answer{}
	}
	s.indexes[column] = kind
	return answer{done: true}
}

// condition is one of a search. Each word of its argument ends at a zero byte.
type condition struct{ column, operation, text string }

// conjunction is a search: of several, a metasearch gives the union.
type conjunction struct {
	conditions   []condition
	order        string // column
	limit        int    // −1: none
	descending   bool
	matchingKeys []string
}

// indexOf is the kind of index that a condition can use.
var indexOf = map[string]string{"STREQ": "LEXICAL", "STRBW": "LEXICAL", "NUMEQ": "DECIMAL",
	"NUMBT": "DECIMAL", "NUMGE": "DECIMAL",
	"NUMLT": "DECIMAL", "STRAND": "TOKEN"}

func (s *Server) search(arguments [][]byte) answer {
	searches := []*conjunction{{limit: -1}}
	var columns []string
	var gives, count, out bool
	for _, argument := range arguments {
		words := strings.Split(string(argument), "\x00")
		last := searches[len(searches)-1]
		switch {
		case words[0] == "addcond" && len(words) > 3:
			last.conditions = append(last.conditions, condition{words[1], words[2], words[3]})
		case words[0] == "setlimit" && len(words) > 1:
			last.limit, _ = strconv.Atoi(words[1])
		case words[0] == "setorder" && len(words) > 2:
			last.order, last.descending = words[1], words[2] == "NUMDESC"
		case words[0] == "next":
			searches = append(searches, &conjunction{limit: -1})
		case words[0] == "get":
			gives, columns = true, words[1:]
		case words[0] == "count":
			count = true
		case words[0] == "out":
			out = true
		}
	}
	keys, hint := s.union(searches)
	found := answer{done: true}
	if out { // as the server: what the last search finds
		keys = searches[len(searches)-1].matchingKeys
		for _, key := range keys {
			delete(s.rows, key)
		}
		hint += fmt.Sprintf("post treatment: get=%d, put=0, out=%d\n", len(keys), len(keys))
		keys = nil
	}
	for _, key := range keys {
		text := key
		if gives {
			text = s.row(key, columns)
		}
		found.elements = append(found.elements, []byte(text))
	}
	if count { // as the server: of the last search
		found.elements = [][]byte{strconv.AppendInt(nil, int64(len(searches[len(searches)-1].matchingKeys)), 10)}
	}
	found.elements = append(found.elements, []byte("\x00\x00[[HINT]]\n"+hint))
	return found
}

// union finds the keys of records that one of the searches finds, in the first one's order.
func (s *Server) union(searches []*conjunction) (keys []string, hint string) {
	for _, one := range searches {
		for _, key := range slices.Sorted(maps.Keys(s.rows)) {
			if !slices.ContainsFunc(one.conditions, func(c condition) bool { return !c.holds(s.rows[key]) }) {
				one.matchingKeys = append(one.matchingKeys, key)
			}
		}
		keys = append(keys, one.matchingKeys...)
		used := "scanning the whole table\n"
		for _, c := range one.conditions {
			if kind := indexOf[c.operation]; kind != "" && s.indexes[c.column] == kind {
				used = fmt.Sprintf("using an index: %q asc (%s)\n", c.column, c.operation)
				break
			}
		}
		hint += used
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	first := searches[0]
	if first.order != "" {
		slices.SortStableFunc(keys, func(a, b string) int {
			if first.descending {
				a, b = b, a
			}
			return cmp.Compare(decimal(s.rows[a][first.order]), decimal(s.rows[b][first.order]))
		})
	}
	if first.limit >= 0 {
		keys = keys[:min(first.limit, len(keys))]
	}
	return keys, hint
}

// row is a record as a search gives it: names and columns, the key under the empty name.
func (s *Server) row(key string, columns []string) string {
	row := maps.Clone(s.rows[key])
	row[""] = key
	if len(columns) == 0 {
		columns = slices.Sorted(maps.Keys(row))
	}
	var words []string
	for _, name := range columns {
		if column, there := row[name]; there {
			words = append(words, name, column)
		}
	}
	return strings.Join(words, "\x00")
}

func decimal(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func (c condition) holds(row map[string]string) bool {
	text, there := row[c.column]
	if !there {
		return false
	}
	switch c.operation {
	case "STREQ":
		return text == c.text
	case "STRBW":
		return strings.HasPrefix(text, c.text)
	case "NUMEQ":
		return decimal(text) == decimal(c.text)
	case "NUMGE":
		return decimal(text) >= decimal(c.text)
	case "NUMLT":
		return decimal(text) < decimal(c.text)
	case "NUMBT":
		first, last, _ := strings.Cut(c.text, " ")
		return decimal(text) >= decimal(first) && decimal(text) <= decimal(last)
	case "STRAND":
		words := strings.FieldsFunc(text, separates)
		return !slices.ContainsFunc(strings.FieldsFunc(c.text, separates),
			func(w string) bool { return !slices.Contains(words, w) })
	}
	return false
}

func separates(r rune) bool { return r <= ' ' || r == ',' }
