package read

import (
	"strings"
	"testing"
)

// A synonym that is a field itself would never be looked up, and one of a chain would lead to no
// field.
func TestSynonymsAreNoFields(t *testing.T) {
	for table, names := range synonyms {
		for name, meant := range names {
			if _, isField := fieldOf(table, name); isField {
				t.Errorf("%s: %q is a field", table.Name(), name)
			}
			if _, chained := names[meant]; chained {
				t.Errorf("%s: %q leads to %q, which is a synonym too", table.Name(), name, meant)
			}
			if _, isField := fieldOf(table, meant); !isField && !strings.ContainsAny(meant, " .:") {
				t.Errorf("%s: %q leads to %q, which is no field", table.Name(), name, meant)
			}
		}
	}
}

// No text makes the readers of numbers panic, run long, or disagree with each other.
func FuzzNumbers(f *testing.F) {
	for _, text := range []string{"10k", "1_000", "1e99999", "512mb", "4k", "10 s", "1h30min", "", "k", "0x1p-2", "99999999999999999999g"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, isWhole := parseWhole(text)
		number, isNumber := parseNumber(text)
		if isWhole && (!isNumber || number < float64(whole)*0.999999 || number > float64(whole)*1.000001) {
			t.Errorf("%q is %d, and %v (%t)", text, whole, number, isNumber)
		}
		if unit := withByteUnit(text); withByteUnit(unit) != unit {
			t.Errorf("%q becomes %q, which becomes %q", text, unit, withByteUnit(unit))
		}
		if d, ok := parseDuration(text); ok {
			if again, ok := parseDuration(d.String()); !ok || again != d {
				t.Errorf("%q is %v, which is read as %v", text, d, again)
			}
		}
	})
}
