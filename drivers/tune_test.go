package drivers_test

import (
	"slices"
	"strings"
	"testing"

	"assay/drivers"
	"assay/store"
)

// weakening are words in the names of options by which less is kept than the class says, or may be.
var weakening = []string{"sync", "wal", "fsync", "flush_log", "full_page", "appendonly", "save", "checkpoint_every"}

// tunedThough are names with such a word that change no class.
var tunedThough = []string{"wal_autocheckpoint_pages"}

func TestTunedOptions(t *testing.T) {
	tuned := 0
	check := func(of string, options []store.Option) {
		for _, o := range options {
			levels, err := o.TuneLevels()
			if err != nil {
				t.Errorf("%s: %v", of, err)
			}
			if len(levels) == 0 {
				continue
			}
			tuned++
			weakens := func(word string) bool { return strings.Contains(o.Name, word) }
			if slices.ContainsFunc(weakening, weakens) && !slices.Contains(tunedThough, o.Name) {
				t.Errorf("%s tunes %s, which may weaken its class", of, o.Name)
			}
		}
	}
	for _, d := range drivers.All() {
		check(d.Describe().Name, d.Describe().Options)
		if program, ok := drivers.Program(d.Describe().Name); ok {
			check(d.Describe().Name+"'s server", program.Options)
		}
	}
	if tuned < 20 {
		t.Errorf("only %d options are tuned", tuned)
	}
}
