package read

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/store"
)

// options checks the options that a file gives to what has declared some, and writes their values
// as every reader expects them.
func (r within) options(of string, declared []store.Option, values map[string]string) *Error {
	names := optionNames(declared)
	for _, name := range slices.Sorted(maps.Keys(values)) { // so that the same file has the same first mistake
		i := slices.Index(names, name)
		if i < 0 {
			e := r.fail(r.in(name), "%s has no option %q", of, name).near(name, names)
			e = r.atKey(e, r.path, name)
			if len(names) == 0 {
				return e.hint("it has no options")
			}
			return e.hint("expected one of %s", strings.Join(names, ", "))
		}
		values[name] = plainOption(declared[i].Type, values[name])
		if err := declared[i].Check(values[name]); err != nil {
			e := r.fail(r.in(name), "option %s of %s: %v", name, of, err).near(values[name], declared[i].Choices)
			if declared[i].Help != "" {
				return e.hint("%s: %s", name, declared[i].Help)
			}
			return e
		}
	}
	return nil
}

// plainOption writes an option's value as drivers in every language read it: 64mib becomes 64MiB,
// 10k becomes 10000.
func plainOption(t store.OptionType, text string) string {
	switch t {
	case store.Bytes:
		return withByteUnit(text)
	case store.Int:
		if number, ok := parseWhole(text); ok {
			return fmt.Sprint(number)
		}
	case store.Duration:
		if duration, ok := parseDuration(text); ok {
			return duration.String()
		}
	}
	return text
}

func optionNames(options []store.Option) (names []string) {
	for _, o := range options {
		names = append(names, o.Name)
	}
	return names
}
