package read

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Change is a change that was asked for on the command line.
type Change struct {
	Flag string // "--set", or a flag for one field, such as "--threads"
	// Path is the field: "phases.read.for". "phases.*.for" changes every measured phase. Empty: the
	// value is PATH=VALUE.
	Path  string
	Value string // YAML; of an axis, 1,8 means [1, 8]
}

// groupedThousands are numbers such as 1,000,000: the members of a list are not 000.
var groupedThousands = regexp.MustCompile(`^[1-9][0-9]{0,2}(,000)+$`)

func (a Change) parse() (change, *Error) {
	if a.Path == "" {
		return parseSet(a.Flag, a.Value)
	}
	value := a.Value
	if groupedThousands.MatchString(value) {
		value = strings.ReplaceAll(value, ",", "")
	}
	if isAxis(a.Path) && strings.Contains(value, ",") && !strings.HasPrefix(strings.TrimSpace(value), "[") {
		value = "[" + value + "]"
	}
	in := newSource(a.Flag+" "+quoteForShell(a.Value), value, true)
	at := place{in: in, line: 1, column: 1, width: utf8.RuneCountInString(value)}
	parsed, err := parse([]byte(value), in, 0)
	if err != nil {
		return change{}, err.(*Error)
	}
	if parsed.kind == null {
		return change{}, at.fail(a.Path, "expected a value")
	}
	return change{path: a.Path, at: at, value: parsed}, nil
}

// each returns the changes that a path with a * stands for: one for every measured phase.
func (c change) each(root *node) []change {
	rest, all := strings.CutPrefix(c.path, "phases.*.")
	phases := root.field("phases")
	if !all || phases == nil {
		return []change{c}
	}
	var changes []change
	for i, phase := range phases.items {
		if phase.textOf("load") != "true" && phase.textOf("unmeasured") != "true" {
			changes = append(changes, change{path: fmt.Sprintf("phases.%d.%s", i, rest), at: c.at, value: c.value.clone()})
		}
	}
	return changes
}

// parseSet reads "path=value" as --set gives it; the value is YAML, best in its one-line form.
func parseSet(flag, text string) (change, *Error) {
	in := newSource(flag+" "+quoteForShell(text), text, true)
	path, value, ok := strings.Cut(text, "=")
	at := place{in: in, line: 1, column: 1, width: utf8.RuneCountInString(path)}
	if !ok || strings.TrimSpace(path) == "" {
		return change{}, at.fail("", "expected PATH=VALUE").
			hint("such as records=1000, phases.read.for=2s, stores.pebble.options.cache_bytes=8MiB")
	}
	parsed, err := parse([]byte(value), in, utf8.RuneCountInString(path)+1)
	if err != nil {
		mistake := err.(*Error)
		mistake.Path = path
		if mistake.Line == 0 {
			mistake.Line, mistake.Column = 1, 1
		}
		return change{}, mistake
	}
	if parsed.kind == null && parsed.text == "" { // a shell's variable that is not set must not take the file's field away
		after := at.shifted(utf8.RuneCountInString(path)+1, 1)
		return change{}, after.fail(path, "expected a value after %s=", path).hint("write null to take the field away: %s=null", path)
	}
	if path == "stores" && parsed.kind == scalar { // one store, or several with commas between
		return parseSet(flag, "stores=["+value+"]")
	}
	return change{path: path, at: at, value: parsed}, nil
}

// apply makes the change to a file's tree. A null value takes the field, or the member of a list,
// away.
func (c change) apply(root *node) *Error {
	return c.walk(root, reflect.TypeFor[File](), c.path)
}

// place returns where the last part of the path stands, of which rest is what is still to be
// walked.
func (c change) place(rest, part string) place {
	return c.at.shifted(utf8.RuneCountInString(c.path)-utf8.RuneCountInString(rest), utf8.RuneCountInString(part))
}

// walk follows the rest of the path from a node, which holds a value of type t.
func (c change) walk(n *node, t reflect.Type, rest string) *Error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	zero := reflect.Zero(t).Interface()
	if short, ok := zero.(shortForm); ok && n.kind == scalar {
		alone := *n
		*n = node{kind: table, at: n.at, entries: []entry{{short.shortForm(), n.at, &alone}}}
	}
	part, after, deeper := strings.Cut(rest, ".")
	walked := strings.TrimSuffix(strings.TrimSuffix(c.path, rest), ".")
	switch {
	case t == reflect.TypeFor[CaseFile](), t == reflect.TypeFor[Changes](), t.Kind() == reflect.Map &&
		t.Elem().Kind() != reflect.Slice:
		return c.put(n, rest, walked) // the rest is one key, dots and all
	case t.Kind() == reflect.Map:
		if !deeper {
			return c.put(n, part, walked)
		}
		return c.descend(n, t.Elem(), part, after)
	case t.Kind() == reflect.Struct && len(fieldNames(t)) > 0:
		name := canonical(t, part)
		field, ok := fieldOf(t, name)
		if !ok {
			return unknownField(part, c.place(rest, part), t, walked)
		}
		if !deeper {
			if err := rename(c.value, field.Type, c.path); err != nil {
				return err
			}
			return c.put(n, name, walked)
		}
		return c.descend(n, field.Type, name, after)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && implementsNamed(t.Elem()):
		return c.walkMember(n, t.Elem(), rest, walked)
	}
	return c.place(rest, rest).fail(c.path, "%s has no fields", walked).
		hint("expected %s=VALUE", walked)
}

func implementsNamed(t reflect.Type) bool {
	_, ok := reflect.Zero(t).Interface().(namedMember)
	return ok
}

func (c change) put(n *node, key, walked string) *Error {
	if n.kind == null {
		*n = node{kind: table, at: n.at}
	}
	if n.kind != table {
		return c.at.fail(c.path, "%s is %s, it has no field %q", walked, n.kind, key)
	}
	n.set(key, c.place(key, key), c.value)
	return nil
}

func (c change) descend(n *node, t reflect.Type, key, rest string) *Error {
	child := n.field(key)
	if child == nil {
		child = &node{kind: table, at: c.at}
		for elem := t; ; elem = elem.Elem() {
			if elem.Kind() == reflect.Slice && t != reflect.TypeFor[Changes]() {
				child.kind = list
			}
			if elem.Kind() != reflect.Pointer {
				break
			}
		}
		if n.kind == null {
			*n = node{kind: table, at: n.at}
		}
		if n.kind != table {
			return c.at.fail(c.path, "there is no %s to change: it is %s", c.path, n.kind)
		}
		n.entries = append(n.entries, entry{key, c.at, child})
	}
	return c.walk(child, t, rest)
}

// walkMember finds the member of a list that the path names, by its name or its position from 0.
// Names may have dots: the longest name that fits wins.
func (c change) walkMember(n *node, t reflect.Type, rest, walked string) *Error {
	named := reflect.Zero(t).Interface().(namedMember)
	position, name := -1, ""
	var names []string
	for i, item := range n.items {
		candidate := named.memberName(item)
		names = append(names, candidate)
		if (rest == candidate || strings.HasPrefix(rest, candidate+".")) && len(candidate) > len(name) {
			position, name = i, candidate
		}
	}
	if position < 0 {
		first, _, _ := strings.Cut(rest, ".")
		if number, err := strconv.Atoi(first); err == nil && number >= 0 && number < len(n.items) {
			position, name = number, first
		} else {
			e := c.place(rest, first).fail(c.path, "%s has no %q", walked, first).near(first, names)
			if len(names) > 0 {
				return e.hint("expected one of %s", strings.Join(names, ", "))
			}
			return e.hint("%s is empty", walked)
		}
	}
	if rest != name {
		return c.walk(n.items[position], t, rest[len(name)+1:])
	}
	if c.value.kind == null {
		n.items = slices.Delete(n.items, position, position+1)
		return nil
	}
	if err := rename(c.value, t, c.path); err != nil {
		return err
	}
	n.items[position] = c.value
	return nil
}

// applyScale applies the scale that the file or a --set chooses, and returns its name.
func applyScale(root *node, sets []change) (string, *Error) {
	scales := root.field("scales")
	var names []string
	if scales != nil && scales.kind == table {
		for _, e := range scales.entries {
			names = append(names, e.key)
		}
	}
	chosen := root.field("scale")
	for _, set := range sets {
		if set.path == "scale" {
			chosen = set.value
		}
	}
	if chosen == nil || chosen.kind == null {
		return "", nil
	}
	if chosen.kind != scalar {
		return "", chosen.expected("scale", "the name of a scale")
	}
	if !slices.Contains(names, chosen.text) {
		e := chosen.at.fail("scale", "unknown scale %q", chosen.text).near(chosen.text, names)
		if len(names) == 0 {
			return "", e.hint("the file has no scales")
		}
		return "", e.hint("expected one of %s", strings.Join(names, ", "))
	}
	return chosen.text, applyChanges(root, scales.field(chosen.text), fmt.Sprintf("scales.%s", chosen.text))
}

func applyChanges(root, of *node, path string) *Error {
	var changes Changes
	if err := changes.fromNode(of, path); err != nil {
		return err
	}
	for _, c := range changes {
		if err := c.apply(root); err != nil {
			return err
		}
	}
	return nil
}

// overCases takes a parameter that is changed from outside out of the cases, which would win over
// it, and says so. Cases that then differ by their name alone become one.
func (c change) overCases(root *node) (note string) {
	cases := root.field("cases")
	if cases == nil || cases.kind != list || !isAxis(c.path) || c.value.kind == null {
		return ""
	}
	var replaced, same []string
	seen := map[string]string{} // what a case sets, and the first case that does
	kept := cases.items[:0:0]
	for _, item := range cases.items {
		name := item.textOf("name")
		rest := slices.DeleteFunc(slices.Clone(item.entries), func(e entry) bool { return e.key == c.path })
		if len(rest) == len(item.entries) {
			kept = append(kept, item)
			continue
		}
		replaced = append(replaced, name)
		item.entries = rest
		var sets []string
		for _, e := range rest {
			if e.key != "name" {
				sets = append(sets, e.key+"="+flow(e.value))
			}
		}
		slices.Sort(sets)
		all := strings.Join(sets, ", ")
		if _, twice := seen[all]; twice {
			same = append(same, name)
			continue
		}
		seen[all] = name
		kept = append(kept, item)
	}
	if len(replaced) == 0 {
		return ""
	}
	cases.items = kept
	note = fmt.Sprintf("%s is used in place of what the cases have: %s", c.at.in.name, strings.Join(replaced, ", "))
	if len(same) > 0 {
		note += fmt.Sprintf("; without it %s would repeat another case", strings.Join(same, ", "))
	}
	return note
}
