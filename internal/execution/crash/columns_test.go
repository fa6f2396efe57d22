package crash

import "testing"

func TestByColumns(t *testing.T) {
	const found = 3
	same := ByColumns{Found: found, Sum: 9, Read: 9, Counted: found, All: found}
	if why := same.differs(found); why != "" {
		t.Errorf("what agrees differs: %s", why)
	}
	for name, change := range map[string]func(*ByColumns){
		"an index that lacks a record":                     func(b *ByColumns) { b.Found-- },
		"an index with one record in the place of another": func(b *ByColumns) { b.Sum++ },
		"counts by a column":                               func(b *ByColumns) { b.Counted++ },
		"a count of all":                                   func(b *ByColumns) { b.All-- },
	} {
		b := same
		change(&b)
		if b.differs(found) == "" {
			t.Errorf("%s is not seen", name)
		}
	}
}
