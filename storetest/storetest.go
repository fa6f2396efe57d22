// Package storetest is the conformance kit: it holds a worker process, in whatever language, and
// one of its drivers to the worker contract (docs/worker-contract.md) and the driver contract
// (package store). A figure of a store whose driver does not pass means nothing: it may stand for
// work that was not done.
//
// The kit talks to the worker as Assay does, through its control messages, trace files and counters
// files, and never calls driver code. Each rule starts in a fresh store, explains what it guards,
// and reports every fault that it finds. A worker that is found at fault, dies or hangs fails the
// rule at hand; the next rule gets a fresh one. Any other worker closes its store and goes on to the
// next rule, as it goes on from phase to phase of a trial.
//
//	storetest.go  the target, and running the rules against it
//	report.go     what was found
//	bench.go      a worker process and a store for one rule
//	script.go     traces made by hand
//	ran.go        a phase that has run: its counts held against the trace, what it read back
//	conflicts.go  what it read back where writes may have been refused
//	lateness.go   how late its operations began, held against its times
//	queries.go    queries of records with columns, and what they must find
//	rules.go      the list of rules
//	rule_*.go     the rules themselves
package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"assay/internal/base/owned"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/store"
)

// Target is what is to be tested.
type Target struct {
	// Command is the worker program with its arguments. It inherits the environment of this
	// process.
	Command []string
	// Driver is the name of one of its drivers.
	Driver string
	// Options are set at each open; the driver's defaults hold for the rest.
	Options map[string]string
	// Endpoints are host:port addresses of a server that the kit may fill with records; none for
	// embedded engines.
	Endpoints []string
	// Durability are the classes that the server at the endpoints gives, weakest first. All others
	// must be refused, those that the driver claims of other servers too. None: all that it claims.
	Durability []store.Durability
	// Cut kills the servers at the endpoints with all of their processes (kill −9), and runs them again
	// on the same files. It calls halted while none of them runs, before the first is killed. nil: the
	// servers are somebody else's, and are not killed.
	Cut func(halted func()) error
	// Handles is how threads share handles where a rule leaves that open; "": the simplest way that
	// the driver has. Pipeline goes with async handles.
	Handles  string
	Pipeline int
	// TempDir is an existing directory for the stores' files; "": the system's. The kit removes
	// what it made there.
	TempDir string
	// Slow says that its operations take milliseconds, and those in each other's way seconds: rules
	// that do many ask for a fifth of them, and conditional writes of one key may time out.
	Slow bool
	// Brief says that rules which do many operations do a fifth of them, where that still shows each
	// misbehaviour that the kit's own tests know.
	Brief bool
	// StepTimeout is how long one request may take before the worker counts as hung and is killed;
	// 0: 10 minutes.
	StepTimeout time.Duration
	// Rules are the names of the rules to be checked; none: all.
	Rules []string
	// Changes are the aspects in which it differs from a target that [Test] holds to all rules: this
	// one is then held to those that they can break, and to all with ASSAY_LONG=1.
	Changes Aspect
}

// stepTimeoutDefault is for a machine that others keep busy: only a worker that hangs takes it all.
const stepTimeoutDefault = 10 * time.Minute

// Check holds the target to each rule. The error says why the kit itself could not go on (no
// directory, an unknown rule, a context that ended); whatever is wrong with the worker or the
// driver is in the report.
func Check(ctx context.Context, target Target) (Report, error) {
	report := Report{Driver: target.Driver}
	kit, err := newKit(ctx, target)
	if err != nil {
		return report, err
	}
	defer kit.remove()
	for _, r := range kit.chosen {
		if err := ctx.Err(); err != nil {
			return report, fmt.Errorf("conformance of %s: %w", target.Driver, err)
		}
		report.Results = append(report.Results, kit.check(r))
	}
	return report, nil
}

// Test makes each rule a subtest. A rule that does not apply to the driver is a skipped subtest.
func Test(t *testing.T, target Target) {
	t.Helper()
	target.Rules = rulesOf(target)
	kit, err := newKit(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer kit.remove()
	for _, r := range kit.chosen {
		t.Run(r.name, func(t *testing.T) {
			result := kit.check(r)
			switch result.State {
			case Failed:
				t.Errorf("%s\nThis rule guards: %s", result.Detail, result.Guards)
			case Skipped:
				t.Skip(result.Detail)
			}
		})
	}
}

// rulesOf returns those that Test holds the target to.
func rulesOf(target Target) []string {
	switch {
	case len(target.Rules) > 0:
		return target.Rules
	case os.Getenv("ASSAY_LONG") == "1":
		return RuleNames()
	}
	return rulesFor(target.Changes)
}

// kit is a target being tested.
type kit struct {
	ctx     context.Context
	target  Target
	chosen  []rule
	root    string       // for the stores' directories
	place   *owned.Place // root
	ordinal int          // of the rule under way: rules on one server must not meet each other's records

	worker    *conductor.Worker // nil: none is running
	stopWatch func() bool
	log       tail // of what workers have written in the rule under way
	keepsNone bool // no worker goes on to the next rule

	asked       bool
	claimed     store.Description // as told
	description store.Description // with the target's options
	describeErr error
}

func newKit(ctx context.Context, target Target) (*kit, error) {
	k := &kit{ctx: ctx, target: target}
	if k.target.StepTimeout == 0 {
		k.target.StepTimeout = stepTimeoutDefault
	}
	for _, name := range target.Rules {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.name == name }) {
			return nil, fmt.Errorf("conformance: no rule %q: expected one of %v", name, RuleNames())
		}
	}
	for _, r := range rules {
		if len(target.Rules) == 0 || slices.Contains(target.Rules, r.name) {
			k.chosen = append(k.chosen, r)
		}
	}
	var err error
	if k.place, err = owned.NewDirectory(cmp.Or(target.TempDir, os.TempDir()), "storetest"); err != nil {
		return nil, fmt.Errorf("conformance: a directory for the stores: %w", err)
	}
	k.root = k.place.Path
	return k, nil
}

func (k *kit) remove() {
	k.end()
	_ = k.place.Remove() // what stays is noted, and told by the next cleaning
}

// check holds the target to one rule.
func (k *kit) check(r rule) Result {
	result := Result{Rule: r.name, Guards: r.guards, State: OK}
	k.ordinal++
	k.log.clear()
	b := &bench{kit: k}
	err := k.describe(b)
	if err == nil {
		b.description = k.description
		err = r.run(b)
	}
	var skip *skipped
	if skips := errors.As(err, &skip); len(b.faults) == 0 && (err == nil || skips) && !k.keepsNone {
		b.handOn()
	} else {
		k.end()
	}
	switch {
	case len(b.faults) == 0 && errors.As(err, &skip):
		result.State, result.Detail = Skipped, skip.reason
		return result
	case err != nil && !errors.As(err, &skip):
		b.fault("%v", err)
		if tail := b.log.text(); tail != "" {
			b.fault("the worker's last words on standard error: %s", tail)
		}
	}
	if len(b.faults) > 0 {
		result.State, result.Detail = Failed, b.describeFaults()
	}
	return result
}

// describe asks the worker for the driver's description, once: without it no rule can be checked.
func (k *kit) describe(b *bench) error {
	if k.asked {
		return k.describeErr
	}
	k.asked = true
	k.describeErr = func() error {
		described, err := b.describe()
		if err != nil {
			return err
		}
		if described.Contract != control.Contract {
			return fmt.Errorf("the worker speaks contract %d, this kit %d", described.Contract, control.Contract)
		}
		for _, d := range described.Drivers {
			if d.Name == k.target.Driver {
				if k.description, err = d.WithOptions(k.target.Options); err != nil {
					return fmt.Errorf("describe: %w", err)
				}
				k.claimed = d
				if a := &k.description.Abilities; k.target.Handles == handlesAsync { // which find nothing
					a.Scan, a.Query, a.Count = false, false, false
					a.Modify, a.Increment, a.DeleteQuery, a.Explain, a.MultiGet = false, false, false, false, false
					a.Touch, a.Append, a.GetAndSet = false, false, false
				}
				if err := checkUsable(d); err != nil {
					return err
				}
				if given := k.target.Durability; len(given) > 0 {
					k.description.Durability = slices.DeleteFunc(slices.Clone(k.description.Durability),
						func(c store.DurabilityClaim) bool { return !slices.Contains(given, c.Class) })
					return checkUsable(k.description)
				}
				if !d.ServerSetsClass {
					return nil
				}
				return k.findClasses(b)
			}
		}
		return fmt.Errorf("the worker has no driver %q", k.target.Driver)
	}()
	return k.describeErr
}

// findClasses keeps, of the classes that a server may be set to, those in which this one is opened.
func (k *kit) findClasses(b *bench) error {
	claimed := k.description.Durability
	k.description.Durability = nil
	b.description = k.description
	defer func() { b.opened = nil }() // no trial has begun
	var refusals []error
	for _, claim := range claimed {
		_, err := b.open(opening{durability: claim.Class})
		var no *control.Error
		switch {
		case err == nil:
			k.description.Durability = append(k.description.Durability, claim)
			if err := b.close(); err != nil {
				return err
			}
		case errors.As(err, &no) && no.Class == control.ClassRefused:
			refusals = append(refusals, err)
		default:
			return err
		}
	}
	if len(k.description.Durability) == 0 {
		return fmt.Errorf("the server is opened in none of its classes: %w", errors.Join(refusals...))
	}
	return nil
}

// checkUsable holds what all rules rely on.
func checkUsable(d store.Description) error {
	if len(d.Durability) == 0 {
		return fmt.Errorf("%s claims no durability class, so it can't be opened at all", d.Name)
	}
	switch d.Kind {
	case store.Embedded, store.Memory, store.Server, store.None:
		return nil
	}
	return fmt.Errorf("%s is of kind %q, expected embedded, memory, server or none", d.Name, d.Kind)
}
