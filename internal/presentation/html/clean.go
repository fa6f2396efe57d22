package html

import (
	"reflect"

	"assay/internal/analysis/model"
	"assay/internal/base/format"
)

// cleaned returns a copy of a result in which every text is one that may be shown: names, errors
// and settings come from stores and from the user. It goes over the whole result, so that a field
// that is added to the model can't be forgotten. Series of numbers are shared with the original.
func cleaned(r *model.Result) *model.Result {
	return cleanedValue(reflect.ValueOf(r)).Interface().(*model.Result)
}

func cleanedValue(v reflect.Value) reflect.Value {
	if !v.IsValid() || !bearsText(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(format.Clean(v.String())).Convert(v.Type())
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
			if c := cleanedValue(v.Field(i)); c.IsValid() && clean.Field(i).CanSet() {
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
