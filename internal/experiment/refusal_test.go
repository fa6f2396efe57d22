package experiment_test

import (
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/store"
)

// Keys that a store would refuse each time are refused before anything runs, by what its driver says.
//
// Fault (servers): keys hold what the store can't keep: control characters in a text protocol, a
// wildcard in a subject
// Assay: refused when the experiment is read
func TestKeysThatAStoreCantKeepAreRefused(t *testing.T) {
	text := store.Description{KeyText: true}
	subject := store.Description{KeyText: true, KeyPattern: `[a-z0-9]+(\.[a-z0-9]+)*`}
	for _, c := range []struct {
		d       store.Description
		prefix  string
		refused string
	}{
		{text, "user:", ""},
		{text, "a b", "this has ' '"},
		{text, "a\tb", `this has '\t'`},
		{text, "a\x7f", "control characters"},
		{subject, "user.", ""},
		{subject, "user..", "those that match"},
		{subject, "*.", "those that match"},
		{store.Description{}, "a\tb *", ""},
	} {
		e := &experiment.Experiment{
			Stores: []experiment.Store{{Name: "s", Driver: "s", Description: c.d}},
			Keys:   keyval.KeyShape{Format: keyval.Decimal, Prefix: c.prefix},
			Cells:  []experiment.Cell{{Durability: store.D0, Records: 10, Threads: 1, ValueBytes: 10}},
		}
		e.Stores[0].Description.Durability = []store.DurabilityClaim{{Class: store.D0}}
		got := ""
		if r := e.Refusal(0, 0); r != nil {
			got = r.Reason
		}
		if (got == "") != (c.refused == "") || !strings.Contains(got, c.refused) {
			t.Errorf("prefix %q: %q; expected %q", c.prefix, got, c.refused)
		}
	}
}

// A measured phase's batch that a store can't take is refused where it must be done, and left out where
// it may be: a longer record makes fewer of them.
func TestBatchOfTooManyBytesIsRefused(t *testing.T) {
	d := store.Description{BatchMax: 128, BatchBytesMax: 1 << 20, Abilities: store.Abilities{Batch: true},
		Durability: []store.DurabilityClaim{{Class: store.D0}}}
	for _, c := range []struct {
		value int
		batch int
		why   string
	}{
		{100, 128, ""},
		{100, 129, "batches of 129: its driver takes at most 128"},
		{20000, 52, ""},
		{20000, 60, "batches of 60 records of 20016 bytes: its driver takes at most 52"},
	} {
		e := &experiment.Experiment{
			Stores: []experiment.Store{{Name: "s", Driver: "s", Description: d}},
			Keys:   keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
			Cells:  []experiment.Cell{{Durability: store.D0, Records: 1000, Threads: 1, ValueBytes: c.value}},
			Phases: []experiment.Phase{{Name: "b", Mix: map[string]float64{"update": 1}, Batch: c.batch}},
		}
		for _, optional := range []bool{false, true} {
			e.Phases[0].Optional = optional
			got := e.Skips(0, 0)["b"]
			if r := e.Refusal(0, 0); r != nil {
				got = r.Reason
			}
			if (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
				t.Errorf("%+v, optional %v: %q", c, optional, got)
			}
		}
	}
}
