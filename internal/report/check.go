package report

import (
	"fmt"
	"slices"
	"strings"
)

// sum adds up what final checks found. trials counts the checks.
type sum struct {
	Final
	trials int
}

func (s *sum) add(f *Final) {
	if f == nil {
		return
	}
	s.trials++
	s.Records += f.Records
	s.Of += f.Of
	s.Right += f.Right
	s.Lost += f.Lost
	s.Stale += f.Stale
	s.Wrong += f.Wrong
	s.Errors += f.Errors
	s.Unknown += f.Unknown
}

func (s sum) bad() bool { return s.Lost+s.Stale+s.Wrong+s.Errors > 0 }

// text says what was found: "12,000 of 1,200,000 read back, all right"; of how many only where it was not all.
func (s sum) text() string {
	if s.trials == 0 {
		return ""
	}
	if s.Records == 0 {
		return "nothing to read back"
	}
	read := count(s.Records)
	if s.Of > s.Records {
		read += " of " + count(s.Of)
	}
	if s.Right == s.Records {
		return read + " read back, all right"
	}
	var parts []string
	for _, found := range []struct {
		n    uint64
		what string
	}{{s.Lost, "lost"}, {s.Stale, "stale"}, {s.Wrong, "wrong"}, {s.Errors, "unreadable"}, {s.Unknown, "can't be told"}} {
		if found.n > 0 {
			parts = append(parts, count(found.n)+" "+found.what)
		}
	}
	return fmt.Sprintf("%s read back: %s right, %s", read, count(s.Right), strings.Join(parts, ", "))
}

// checkLines says in a line what all checks found, and in one each of the arms that lost something.
func checkLines(v View) []string {
	var all sum
	var order []string
	arms := map[string]*sum{}
	for _, t := range v.Trials {
		all.add(t.Final)
		key := t.Arm + " at " + t.Class
		if t.Final != nil && !slices.Contains(order, key) {
			order = append(order, key)
			arms[key] = &sum{}
		}
		if t.Final != nil {
			arms[key].add(t.Final)
		}
	}
	if all.trials == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("In %s: %s.", plural(all.trials, "trial"), all.text())}
	for _, key := range order {
		if arms[key].bad() {
			lines = append(lines, key+": "+arms[key].text()+".")
		}
	}
	return lines
}
