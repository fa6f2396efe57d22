package run

import (
	"errors"
	"fmt"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/clients"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/server"
	"assay/store"
)

func TestTrialsStateAndCauseFollowItsError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refuse string
		err    error
		state  record.State
		cause  finding.Code
	}{
		{"no class of it", nil, record.Refused, finding.CauseRefused},
		{"", nil, record.OK, ""},
		{"", clients.ErrInterrupted, record.Interrupted, finding.CauseInterrupted},
		{"", &control.Error{Class: control.ClassRefused, Message: "no"}, record.Refused, finding.CauseRefused},
		{"", fmt.Errorf("opening: %w", store.ErrRefused), record.Refused, finding.CauseRefused},
		{"", &control.Error{Message: "no"}, record.Failed, finding.CauseStore},
		{"", fmt.Errorf("%w; then: %w", server.ErrDied, conductor.ErrDied), record.Failed, finding.CauseServerDied},
		{"", agents.ErrLost, record.Failed, finding.CauseAgentLost},
		{"", conductor.ErrHung, record.Failed, finding.CauseHung},
		{"", conductor.ErrDied, record.Failed, finding.CauseDied},
		{"", errors.New("an unknown error"), record.Failed, finding.CauseOther},
	} {
		var o outcome
		o.end(c.refuse, c.err)
		if o.State != c.state || o.Cause != c.cause || (o.Error == "") != (c.state == record.OK) {
			t.Errorf("%q, %v: %s, %s, %q", c.refuse, c.err, o.State, o.Cause, o.Error)
		}
	}
}

// What was known of the cause before it failed stays; one that is marked says why.
func TestMarkedTrialSaysWhy(t *testing.T) {
	t.Parallel()
	var o outcome
	o.mark("look", finding.Bare(finding.MarkNotBegun))
	o.end("", nil)
	if want := "look: " + finding.Text(o.Marks[0].Message); o.State != record.Marked || o.why() != want {
		t.Errorf("%s: %q, want %q", o.State, o.why(), want)
	}
	o.Cause = finding.CauseDiskFull
	o.end("", conductor.ErrDied)
	if o.State != record.Failed || o.Cause != finding.CauseDiskFull || o.why() != conductor.ErrDied.Error() {
		t.Errorf("%s, %s: %q", o.State, o.Cause, o.why())
	}
}
