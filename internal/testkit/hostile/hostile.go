// Package hostile puts texts that attack a terminal or a page where results have texts.
package hostile

import "reflect"

// Text begins an escape sequence, ends a script, and has characters that reorder others.
const Text = "\x1b[31m</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&\u2028\u202e"

// Poison appends a text to every text of what v points to, codes of findings included: a code without
// an entry is shown as it stands. Texts of types of Assay's own (states, severities) stay.
func Poison(v any, with string) { poison(reflect.ValueOf(v), with) }

func poison(v reflect.Value, with string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && (v.Type().PkgPath() == "" || v.Type().Name() == "Code") {
			v.SetString(v.String() + with)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), with)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), with)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "time" {
			return
		}
		for i := range v.NumField() {
			poison(v.Field(i), with)
		}
	}
}
