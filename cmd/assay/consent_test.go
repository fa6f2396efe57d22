package main

import (
	"slices"
	"strings"
	"testing"

	"assay/drivers"
	"assay/internal/execution/control"
	"assay/store"
)

// Whatever a conductor with the token asks: an agent opens no file, variable or host of its machine that it
// did not allow, and no store that would write into its folder.
//
// Fault (agents): a conductor gives an agent options that name a file, variable, user or host of
// its machine
// Assay: an agent that was started by hand refuses all but the options of a list
func TestAgentsConsentByField(t *testing.T) {
	refuses, textual := consentTo(nil), 0
	for _, driver := range drivers.All() {
		d := driver.Describe()
		err := refuses(&control.Open{Driver: d.Name})
		if d.Kind == store.Embedded {
			if err == nil || !strings.Contains(err.Error(), "the agent's own folder") {
				t.Errorf("%s without a directory: %v", d.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		for _, o := range d.Options {
			open := &control.Open{Driver: d.Name, Options: map[string]string{o.Name: "/etc/passwd"}}
			err := refuses(open)
			local := o.Type == store.String && !slices.Contains(travelling, o.Name)
			if local {
				textual++
			}
			if (err != nil) != local || local && !strings.Contains(err.Error(), "--allow "+o.Name) {
				t.Errorf("%s, %s: %v", d.Name, o.Name, err)
			}
			if err := consentTo([]string{o.Name})(open); err != nil {
				t.Errorf("%s, %s, which is allowed: %v", d.Name, o.Name, err)
			}
			open.Options[o.Name] = o.Default
			if err := refuses(open); err != nil {
				t.Errorf("%s, %s by default: %v", d.Name, o.Name, err)
			}
		}
	}
	if err := refuses(&control.Open{Driver: "no such"}); err == nil || textual < 8 {
		t.Errorf("a driver that is not there: %v; %d options of the machine's", err, textual)
	}
}
