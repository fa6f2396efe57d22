package storetest

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// A limit that follows an option must be what that option's default gives.
func TestOptionsLimitIsHeldToItsDefault(t *testing.T) {
	d := store.Description{
		Name: "x", Summary: "x", Licence: "MIT", Kind: store.Embedded, Durability: []store.DurabilityClaim{{Class: store.D1, How: "x"}},
		Options:       []store.Option{{Name: "width_bytes", Type: store.Int, Default: "255", Help: "x"}},
		ValueBytesMax: 255, ValueBytesOption: "width_bytes",
	}
	for _, c := range []struct {
		change func(*store.Description)
		want   string
	}{
		{func(*store.Description) {}, ""},
		{func(d *store.Description) { d.ValueBytesMax = 65536 }, "value_bytes_max is 65536, but the default of option width_bytes"},
		{func(d *store.Description) { d.ValueBytesOption = "width" }, "not declared"},
		{func(d *store.Description) { d.KeyText, d.KeyNumbers = true, true }, "leaves no keys"},
	} {
		claimed := d
		c.change(&claimed)
		b := &bench{kit: &kit{claimed: claimed}, description: claimed}
		if err := describeRule(b); err != nil {
			t.Fatal(err)
		}
		if faults := b.describeFaults(); (faults == "") != (c.want == "") || !strings.Contains(faults, c.want) {
			t.Errorf("faults %q, want %q", faults, c.want)
		}
	}
}

// Rules write no value that is longer than the driver claims to take, but values of different
// lengths.
func TestScriptsKeepToTheClaimedLength(t *testing.T) {
	b := &bench{kit: &kit{}, description: store.Description{ValueBytesMax: 100}}
	s := b.script(1)
	for _, length := range []int{50, 100, 700, 1000, 3000} {
		s.do(0, trace.Upsert, 1, length)
	}
	s.do(0, trace.Scan, 1, 5000)
	file, err := s.file()
	if err != nil {
		t.Fatal(err)
	}
	var amounts []uint32
	for _, e := range file.Threads[0].Entries {
		amounts = append(amounts, file.Amounts[e.SizeClass()])
	}
	for i, a := range amounts[:5] {
		if a > 100 || i < 2 && a != []uint32{50, 100}[i] || i >= 2 && a < 50 {
			t.Errorf("lengths %v: beyond 100, or not in the upper half", amounts)
		}
	}
	if amounts[2] == amounts[3] || amounts[5] != 5000 {
		t.Errorf("lengths %v: alike, or a scan was cut", amounts)
	}
}

// The lengths that rules count are those that scripts write: both keep to the claimed limits.
func TestLengthsKeepToTheClaimedLimits(t *testing.T) {
	for _, c := range []struct{ least, most, first, last int }{
		{0, 0, 0, 1 << 20},
		{1, 0, 1, 1 << 20},
		{10, 1000, 10, 1000},
		{0, 100, 0, 100},
	} {
		b := &bench{kit: &kit{}, description: store.Description{ValueBytesMin: c.least, ValueBytesMax: c.most}}
		possible := b.lengthsFor()
		if possible[0] != c.first || possible[len(possible)-1] != c.last {
			t.Errorf("of %d to %d bytes: %v", c.least, c.most, possible)
		}
		s := b.script(1)
		for i, length := range possible {
			s.do(0, trace.Insert, uint64(i), length)
			if written := s.amounts[s.threads[0].Entries[i].SizeClass()]; int(written) != length {
				t.Errorf("of %d to %d bytes: %d written as %d", c.least, c.most, length, written)
			}
		}
	}
}

// An array of 1 MiB holds all the numbers that rules use, and records that are longer than it takes
// are not given to it.
func TestRulesKeepToAnArraysLimits(t *testing.T) {
	b := &bench{kit: &kit{}, description: store.Description{Name: "x", KeyNumbers: true, KeyBytesMin: 8, KeyBytesMax: 8, ValueBytesMax: 100}}
	s := b.script(4)
	b.mixed(s, 60)
	for _, thread := range s.threads {
		for _, e := range thread.Entries {
			if e.Index() >= 4000 {
				t.Fatalf("a rule uses the number %d", e.Index())
			}
		}
	}
	var skip *skipped
	if err := recordColumnsRule(b); !errors.As(err, &skip) || !strings.Contains(skip.reason, "at most 100 bytes") {
		t.Errorf("records of more bytes than a value may have: %v", err)
	}
}

// Keys of an array are tried neither scattered nor as text.
func TestArrayTakesNumbers(t *testing.T) {
	b := &bench{kit: &kit{}, description: store.Description{KeyNumbers: true, KeyBytesMin: 8, KeyBytesMax: 8}}
	for _, c := range []struct {
		shape keyval.KeyShape
		want  bool
	}{
		{keyval.KeyShape{Format: keyval.Binary, Bytes: 8}, true},
		{keyval.KeyShape{Format: keyval.Binary, Bytes: 8, Scatter: true}, false},
		{keyval.KeyShape{Format: keyval.Decimal, Digits: 8}, false},
	} {
		if got := b.takes(c.shape); got != c.want {
			t.Errorf("%+v: %v", c.shape, got)
		}
	}
}
