package archive

import (
	"fmt"
	"math"
	"testing"
)

// A history tells how far two runs differ although nothing was changed: by runs of one commit, or of a long
// series without a change between them. Where the store's program, Assay or the code is another one, the pair
// says nothing of that, nor do the runs that are to be compared.
func TestEarlierRunsShowHowFarTwoDiffer(t *testing.T) {
	near := func(v float64) Figure {
		low, high := v*0.999, v*1.001
		f := rate(v)
		f.Low, f.High = &low, &high
		return f
	}
	const moved = 0.05
	pair := func(change func(a, b *Entry)) []Entry {
		a, b := entry(1, "a", near(100)), entry(2, "a", near(100*math.Exp(moved)))
		a.Assay, b.Assay = "v1", "v1"
		change(&a, &b)
		return []Entry{a, b}
	}
	for name, c := range map[string]struct {
		change  func(a, b *Entry)
		without string
		pairs   int
	}{
		"one commit":           {func(_, _ *Entry) {}, "", 1},
		"a changed tree":       {func(a, b *Entry) { a.Code, b.Code = "a"+Changed, "a"+Changed }, "", 0},
		"two commits":          {func(_, b *Entry) { b.Code = "b" }, "", 0},
		"another Assay":        {func(_, b *Entry) { b.Assay = "v2" }, "", 0},
		"an unknown Assay":     {func(a, b *Entry) { a.Assay, b.Assay = "", "" }, "", 0},
		"another store":        {func(_, b *Entry) { b.Figures[0].Version = "v3" }, "", 0},
		"without an interval":  {func(_, b *Entry) { b.Figures[0].Low = nil }, "", 0},
		"another machine":      {func(_, b *Entry) { b.Machine = "m2" }, "", 0},
		"it is to be compared": {func(_, _ *Entry) {}, "0002", 0},
	} {
		a := opened(t)
		add(t, a, pair(c.change)...)
		groups, err := a.Groups()
		if err != nil {
			t.Fatal(err)
		}
		squares := Earlier(groups, "m1", c.without)
		if len(squares) != c.pairs {
			t.Errorf("%s: %d pairs, expected %d", name, len(squares), c.pairs)
		}
		for _, square := range squares {
			if got := math.Sqrt(square); math.Abs(got-moved) > 0.001 {
				t.Errorf("%s: moved by %.4f, expected %.4f", name, got, moved)
			}
		}
	}
	a := opened(t)
	for i := range 24 { // commits, of which the thirteenth made it slower
		v := 100 * (1 + 0.01*float64(i%2))
		if i >= 12 {
			v *= 0.8
		}
		e := entry(i+1, fmt.Sprint("c", i), near(v))
		e.Assay = "v1"
		add(t, a, e)
	}
	groups, err := a.Groups()
	if err != nil {
		t.Fatal(err)
	}
	squares := Earlier(groups, "m1")
	if len(squares) != earlierMax {
		t.Errorf("%d pairs of 24 commits, expected the newest %d", len(squares), earlierMax)
	}
	for i, square := range squares {
		if math.Sqrt(square) > 0.011 {
			t.Errorf("pair %d moved by %.3f: a change of the store is among them", i, math.Sqrt(square))
		}
	}
}

// A change between two versions of Assay may be the harness's, and is reported as that.
func TestChangeOfAssayIsNoChangeOfTheStore(t *testing.T) {
	for name, versions := range map[string][2]string{"one Assay": {"v1", "v1"}, "another Assay": {"v1", "v2"}, "unknown": {"", "v2"}} {
		a := opened(t)
		for i := range 24 {
			v, version := 100+float64(i%2), versions[0]
			if i >= 12 {
				v, version = v*0.8, versions[1]
			}
			e := entry(i+1, fmt.Sprint("c", i), rate(v))
			e.Assay = version
			add(t, a, e)
		}
		groups, err := a.Groups()
		if err != nil {
			t.Fatal(err)
		}
		changes := groups[0].Series[0].Changes
		if len(changes) != 1 {
			t.Fatalf("%s: %d changes", name, len(changes))
		}
		if told := changes[0].Assay != nil; told != (name == "another Assay") {
			t.Errorf("%s: Assay's versions at the change: %v", name, changes[0].Assay)
		}
	}
}
