package record

import (
	"strings"

	"assay/store"
)

// Said is what a store said, of the error that its worker gives back: without what the worker puts
// before it, and without the class of the error.
func Said(text string) string {
	text = WithoutClass(text)
	if _, said, opened := strings.Cut(text, ": "); opened && strings.HasPrefix(text, "opening ") {
		text = said
	}
	return strings.TrimRight(text, ".")
}

// WithoutClass is an error's text without the class that ends it.
func WithoutClass(text string) string { return strings.TrimSuffix(text, ": "+store.ErrRefused.Error()) }
