package format

import (
	"reflect"
)

// Shown returns a copy of what is to be shown in which every text has gone through [Clean]: names,
// errors and settings come from stores, files and the user. The writer of each format begins with it,
// so that no field can be forgotten. What bears no text is shared with the original.
func Shown[T any](v *T) *T {
	return cleanedValue(reflect.ValueOf(v)).Interface().(*T)
}

func cleanedValue(v reflect.Value) reflect.Value {
	if !v.IsValid() || !bearsText(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(Clean(v.String())).Convert(v.Type())
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		clean := reflect.New(v.Type().Elem())
		clean.Elem().Set(cleanedValue(v.Elem()))
		return clean
	case reflect.Interface:
		return cleanedValue(v.Elem())
	case reflect.Slice:
		clean := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			if c := cleanedValue(v.Index(i)); c.IsValid() {
				clean.Index(i).Set(c)
			}
		}
		return clean
	case reflect.Map:
		clean := reflect.MakeMap(v.Type())
		for entry := v.MapRange(); entry.Next(); {
			value := cleanedValue(entry.Value())
			if !value.IsValid() {
				value = reflect.Zero(v.Type().Elem())
			}
			clean.SetMapIndex(cleanedValue(entry.Key()), value)
		}
		return clean
	case reflect.Struct:
		clean := reflect.New(v.Type()).Elem()
		clean.Set(v)
		for i := range v.NumField() {
			if !clean.Field(i).CanSet() {
				continue // unexported: it stays as it is, and nothing shows it
			}
			if c := cleanedValue(v.Field(i)); c.IsValid() {
				clean.Field(i).Set(c)
			}
		}
		return clean
	}
	return v
}

// bearsText reports whether values of a type may hold a text: those that can't are not copied.
func bearsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Interface, reflect.Map:
		return true
	case reflect.Struct:
		return t.PkgPath() != "time"
	case reflect.Slice, reflect.Pointer:
		return bearsText(t.Elem())
	}
	return false
}
