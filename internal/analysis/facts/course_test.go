package facts

import (
	"slices"
	"testing"
)

// What moved first comes first, of what moved together the largest; what only goes along comes last.
func TestCourse_names_first_what_moved_first_and_most(t *testing.T) {
	c := Course{With: []string{"busy", "disk", "faults", "free", "wait"}, Moved: []Moved{
		{Resource: "busy", AfterS: 0.2, Before: 0.3, After: 0.9},
		{Resource: "faults", AfterS: 0.9, Before: 20, After: 9000, PerSecond: true},
		{Resource: "free", AfterS: 1, Before: 1e6, After: 0},
		{Resource: "wait", AfterS: -8, Before: 0, After: 5},
	}}
	c.sortMoves()
	if want := []string{"wait", "free", "faults", "busy", "disk"}; !slices.Equal(c.With, want) {
		t.Errorf("with %q, want %q", c.With, want)
	}
}
