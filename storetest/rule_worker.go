package storetest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// classes are all durability classes, weakest first.
var classes = []store.Durability{store.D0, store.D1, store.D2, store.D3, store.D4}

func describeRule(b *bench) error {
	d := b.description
	for _, field := range []struct{ name, text string }{
		{"name", d.Name}, {"summary", d.Summary}, {"licence", d.Licence},
	} {
		if field.text == "" {
			b.fault("%s is empty", field.name)
		}
	}
	previous := -1
	for _, claim := range b.claimed.Durability {
		strength := slices.Index(classes, claim.Class)
		switch {
		case strength < 0:
			b.fault("durability class %q is none of %v", claim.Class, classes)
		case strength <= previous:
			b.fault("durability classes must go from the weakest up, without repeats: %s comes after %s", claim.Class, classes[previous])
		default:
			previous = strength
		}
		if claim.How == "" {
			b.fault("durability class %s does not say how it is reached", claim.Class)
		}
	}
	names := map[string]bool{}
	for _, o := range d.Options {
		if o.Name == "" || names[o.Name] {
			b.fault("an option's name is empty or there twice: %q", o.Name)
		}
		if o.Name != strings.ToLower(o.Name) {
			b.fault("option %s has capitals in its name", o.Name)
		}
		if o.Type == store.Bytes && !strings.Contains(o.Name, "bytes") {
			b.fault("option %s is of bytes, which its name does not say", o.Name)
		}
		names[o.Name] = true
		if o.Help == "" {
			b.fault("option %s has no help", o.Name)
		}
		if _, err := o.TuneLevels(); err != nil {
			b.fault("what is tuned: %v", err)
		}
		switch o.Type {
		case store.Bool, store.Int, store.Bytes, store.Duration, store.Choice, store.String:
		default:
			b.fault("option %s has type %q, which is none of the contract's", o.Name, o.Type)
		}
		if err := o.Check(o.Default); err != nil {
			b.fault("option %s: its default is not valid: %v", o.Name, err)
		}
	}
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"handles_max", d.HandlesMax}, {"key_bytes_min", d.KeyBytesMin}, {"key_bytes_max", d.KeyBytesMax},
		{"value_bytes_min", d.ValueBytesMin}, {"value_bytes_max", d.ValueBytesMax}, {"batch_max", d.BatchMax},
		{"batch_bytes_max", int(d.BatchBytesMax)},
	} {
		if limit.value < 0 {
			b.fault("%s is %d, expected at least 0", limit.name, limit.value)
		}
	}
	if _, err := b.claimed.WithOptions(nil); err != nil {
		b.fault("the options of limits: %v", err)
	}
	if (d.BatchBytesMax > 0 || d.BatchBytesOption != "") && !d.Abilities.Batch {
		b.fault("a limit of bytes in a batch is claimed, but there are no batches")
	}
	if d.BatchBytesOption != "" && d.BatchBytesMax == 0 {
		b.fault("batch_bytes_option is claimed without batch_bytes_max")
	}
	if _, err := regexp.Compile(d.KeyPattern); err != nil {
		b.fault("key_pattern is no regular expression: %v", err)
	} else if shape := b.keys(); d.KeyPattern != "" && !regexp.MustCompile(`^(?:`+d.KeyPattern+`)$`).Match(shape.Append(nil, 1)) {
		b.fault("key_pattern, %s, does not let keys such as %q through", d.KeyPattern, shape.Append(nil, 1))
	}
	if d.ServerSetsClass && d.Kind != store.Server {
		b.fault("server_sets_class is claimed by a store that is no server")
	}
	if d.KeyText && d.KeyNumbers {
		b.fault("key_text and key_numbers are claimed, which leaves no keys")
	}
	if d.KeyBytesMax > 0 && d.KeyBytesMin > d.KeyBytesMax {
		b.fault("key_bytes_min is %d, above key_bytes_max, %d", d.KeyBytesMin, d.KeyBytesMax)
	}
	if d.ValueBytesMax > 0 && d.ValueBytesMin > d.ValueBytesMax {
		b.fault("value_bytes_min is %d, above value_bytes_max, %d", d.ValueBytesMin, d.ValueBytesMax)
	}
	if d.Abilities.Expire != (d.Expiry != nil) {
		b.fault("the ability expire is %v, and a unit of times to live is given: %v", d.Abilities.Expire, d.Expiry != nil)
	}
	if d.BatchAtomic && !d.Abilities.Batch {
		b.fault("batch_atomic is claimed, but there are no batches")
	}
	return nil
}

func versionRule(b *bench) error {
	if b.description.Library == "" {
		return skip("%s uses no library", b.description.Name)
	}
	opened, err := b.open(opening{})
	if err != nil {
		return err
	}
	if b.description.Version == "" && opened.Version == "" {
		b.fault("neither describe nor open reports a version of %s", b.description.Library)
	}
	return b.close()
}

// mayBeUnknown says if a worker need not know an operation: it then refuses it as any other that it does not
// know.
func mayBeUnknown(o trace.Operation) bool {
	return o == trace.MultiRead || o == trace.Touch || o == trace.Append || o == trace.GetAndSet
}

func abilitiesRule(b *bench) error {
	opened, err := b.openNamed()
	if err != nil {
		return err
	}
	if opened.Abilities != b.description.Abilities {
		b.fault("the open store can %v, the description says %v", opened.Abilities.List(), b.description.Abilities.List())
	}
	for _, ability := range []struct {
		has       bool
		operation trace.Operation
	}{
		{opened.Abilities.Scan, trace.Scan}, {opened.Abilities.Batch, trace.Batch}, {opened.Abilities.Add, trace.Add},
		{opened.Abilities.CompareAndSwap, trace.CompareAndSwap}, {opened.Abilities.Query, trace.Query},
		{opened.Abilities.Count, trace.Count},
		{opened.Abilities.Modify, trace.Modify}, {opened.Abilities.Increment, trace.Increment},
		{opened.Abilities.MultiGet, trace.MultiRead}, {opened.Abilities.Touch, trace.Touch},
		{opened.Abilities.Append, trace.Append}, {opened.Abilities.GetAndSet, trace.GetAndSet},
	} {
		if ability.has {
			continue // its own rule tries it
		}
		s := b.script(1)
		switch ability.operation {
		case trace.Batch:
			s.batch(0, write{trace.Insert, 0, 24})
		case trace.MultiRead:
			s.multiRead(0, 0, 1)
		case trace.Query:
			s.do(0, trace.Query, 0, 0)
		case trace.Count:
			s.do(0, trace.Count, 0, 0)
		default:
			s.do(0, ability.operation, 0, 24)
		}
		r, err := b.prepare(s)
		if err == nil {
			b.fault("a trace with %s was accepted, though the store has no such ability", ability.operation)
			if err := r.counters.Unmap(); err != nil {
				return err
			}
			b.end()
			if _, err := b.openNamed(); err != nil {
				return err
			}
			continue
		}
		var told *control.Error
		if mayBeUnknown(ability.operation) && errors.As(err, &told) && told.Class == control.ClassBadRequest {
			continue // the worker does not know the operation
		}
		if err := b.judgeRefusal("a trace with "+ability.operation.String()+", which the store can't do,", control.ClassRefused, err); err != nil {
			return err
		}
	}
	sync := control.Request{Command: control.CommandSync}
	if opened.Abilities.Sync {
		if err := b.call(sync, nil); err != nil {
			b.fault("sync: %v", err)
		}
	} else if err := b.expectRefusal("sync, which the store can't do,", control.ClassRefused, sync); err != nil {
		return err
	}
	var inspected control.Inspected
	if err := b.call(control.Request{Command: control.CommandInspect}, &inspected); err != nil {
		return err
	}
	if len(opened.Settings) == 0 && b.description.Kind != store.None {
		b.fault("the open store reports no settings: what was measured is then unknown")
	}
	if opened.Abilities.Inspect && len(inspected.Stats) == 0 {
		b.fault("the store claims to tell about itself, but inspect gives no number")
	}
	return b.close()
}

// openNamed opens a store of records with one column, so that queries and counts are refused for no
// other reason than that the store can't do them.
func (b *bench) openNamed() (control.Opened, error) {
	opened, err := b.open(opening{})
	if err != nil || b.sharesTable() {
		return opened, err
	}
	return opened, b.define(columns[columnName:columnName+1], []keyval.Query{equalTo(columnName, 1)})
}

func classesRule(b *bench) error {
	settings := map[store.Durability]map[string]string{}
	for _, claim := range b.description.Durability {
		settings[claim.Class] = b.inClass(opening{durability: claim.Class}, "")
	}
	if b.description.Kind == store.Embedded && len(b.target.Options) > 0 {
		for _, claim := range b.description.Durability {
			b.inClass(opening{durability: claim.Class, defaults: true}, "with default options: ")
		}
	}
	if kind := b.description.Kind; kind != store.Embedded && kind != store.Server {
		return nil // without files, nothing is lost to a crash that the class could keep
	}
	for i, one := range b.description.Durability {
		for _, other := range b.description.Durability[i+1:] {
			if settings[one.Class] != nil && settings[other.Class] != nil && maps.Equal(settings[one.Class],
				settings[other.Class]) {
				b.fault("the settings in force are the same in %s and %s: nothing shows that the class was set", one.Class, other.Class)
			}
		}
	}
	return nil
}

// inClass opens and closes the store, and returns the settings in force; nil: it did not open.
func (b *bench) inClass(o opening, how string) map[string]string {
	opened, err := b.open(o)
	if err != nil {
		b.fault("%s%v", how, err)
		b.end()
		return nil
	}
	if err := b.close(); err != nil {
		b.fault("%sclosing a store of class %s: %v", how, o.durability, err)
		b.end()
	}
	return opened.Settings
}

func classRefusalRule(b *bench) error {
	refused := 0
	for _, class := range append(slices.Clone(classes), "D9") {
		if _, claimed := b.description.Claim(class); claimed {
			continue
		}
		refused++
		r, err := b.request(opening{durability: class})
		if err != nil {
			return err
		}
		if err := b.expectRefusal(fmt.Sprintf("opening in class %s, which is not claimed,", class), control.ClassRefused, r); err != nil {
			return err
		}
	}
	return b.stillWorks("after refusals")
}

// stillWorks opens and closes the store.
func (b *bench) stillWorks(when string) error {
	if _, err := b.open(opening{}); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if err := b.close(); err != nil {
		return fmt.Errorf("%s: closing: %w", when, err)
	}
	return nil
}

func badRequestsRule(b *bench) error {
	if err := b.expectRefusal("an unknown command", control.ClassBadRequest, control.Request{Command: "frobnicate"}); err != nil {
		return err
	}
	if err := b.expectRefusal("define without its fields", control.ClassBadRequest, control.Request{Command: control.CommandDefine}); err != nil {
		return err
	}
	pending, err := b.worker.SendLine("describe with an unknown field", func(id int64) []byte {
		return fmt.Appendf(nil, `{"id":%d,"command":"describe","surprise":1}`, id)
	})
	if err != nil {
		return err
	}
	done, err := pending.Wait(b.target.StepTimeout, nil)
	if !done {
		return b.worker.Hung("a request with an unknown field")
	}
	if err := b.judgeRefusal("a request with an unknown field", control.ClassBadRequest, err); err != nil {
		return err
	}
	type change struct {
		what string
		make func(*control.Open)
	}
	changes := []change{
		{"an unknown driver", func(o *control.Open) { o.Driver = "no-such-driver" }},
		{"an unknown option", func(o *control.Open) { o.Options["no_such_option"] = "1" }},
		{"an unknown way to share handles", func(o *control.Open) { o.Handles = "no_such_way" }},
		{"an open for 0 threads", func(o *control.Open) { o.Threads = 0 }},
	}
	for _, option := range b.description.Options {
		if option.Type != store.String {
			changes = append(changes, change{"a bad value of option " + option.Name, func(o *control.Open) { o.Options[option.Name] = "no such value" }})
		}
	}
	for _, change := range changes {
		r, err := b.request(opening{})
		if err != nil {
			return err
		}
		r.Open.Options = maps.Clone(r.Open.Options)
		if r.Open.Options == nil {
			r.Open.Options = map[string]string{}
		}
		change.make(r.Open)
		if err := b.expectRefusal(change.what, control.ClassBadRequest, r); err != nil {
			return err
		}
	}
	return b.stillWorks("after bad requests")
}

func orderRule(b *bench) error {
	bad := func(when, command string, r control.Request) error {
		r.Command = command
		return b.expectRefusal(command+" "+when, control.ClassBadRequest, r)
	}
	prepare := control.Request{Prepare: &control.Prepare{Phase: "nowhere", Number: 1, Trace: "/nowhere", Counters: "/nowhere"}}
	for _, command := range []string{control.CommandRun, control.CommandInspect, control.CommandSync,
		control.CommandClose} {
		if err := bad("before open", command, control.Request{}); err != nil {
			return err
		}
	}
	if err := bad("before open", control.CommandPrepare, prepare); err != nil {
		return err
	}
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	second, err := b.request(opening{})
	if err != nil {
		return err
	}
	if err := bad("while a store is open", control.CommandOpen, second); err != nil {
		return err
	}
	if err := bad("without prepare", control.CommandRun, control.Request{}); err != nil {
		return err
	}
	if err := bad("of files that are not there", control.CommandPrepare, prepare); err != nil {
		return err
	}
	one := b.script(1)
	one.do(0, trace.Insert, b.base(one.keys), 100)
	r, err := b.run(one)
	if err != nil {
		return err
	}
	b.allOK(r, "a phase after requests out of order")
	if err := bad("a second time", control.CommandRun, control.Request{}); err != nil {
		return err
	}
	b.phases-- // the same number again
	switch again, err := b.prepare(one); {
	case err == nil:
		b.fault("a second phase of the same number was accepted: two writes could have one version")
		if err := again.counters.Unmap(); err != nil {
			return err
		}
	default:
		if err := b.judgeRefusal("a second phase of the same number", control.ClassBadRequest, err); err != nil {
			return err
		}
	}
	many := b.script(2)
	many.do(0, trace.Read, b.base(many.keys), 0)
	many.do(1, trace.Read, b.base(many.keys), 0)
	if again, err := b.prepare(many); err == nil {
		b.fault("a trace of 2 threads was accepted by a store opened for 1")
		return again.counters.Unmap()
	} else if err := b.judgeRefusal("a trace of 2 threads for a store opened for 1", control.ClassBadRequest, err); err != nil {
		return err
	}
	return b.close()
}

func channelRule(b *bench) error {
	if err := b.start(); err != nil {
		return err
	}
	for range 3 {
		var waiting []*conductor.Pending
		for range 5 {
			p, err := b.worker.Send(control.Request{Command: control.CommandDescribe})
			if err != nil {
				return err
			}
			waiting = append(waiting, p)
		}
		for _, p := range waiting {
			var d control.Described
			done, err := p.Wait(b.target.StepTimeout, &d)
			if !done {
				return b.worker.Hung("requests that were sent one after the other")
			}
			if err != nil {
				return err
			}
		}
	}
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(20) {
		s.do(0, trace.Insert, base+i, 100)
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allOK(r, "writing")
	if err := b.close(); err != nil {
		return err
	}
	_, err = b.describe() // what was printed in between would be read here
	return err
}

func endRule(b *bench) error {
	for _, open := range []bool{false, true} {
		what := "with no store open"
		if open {
			what = "with a store open"
			if _, err := b.open(opening{}); err != nil {
				return err
			}
		} else if _, err := b.describe(); err != nil {
			return err
		}
		if err := b.worker.End(b.target.StepTimeout); err != nil {
			b.fault("at the end of its input, %s: %v", what, err)
		}
		b.end()
	}
	return nil
}

func handleLimitsRule(b *bench) error {
	d := b.description
	r, err := b.request(opening{handles: control.HandlesPool})
	if err != nil {
		return err
	}
	if err := b.expectRefusal("a pool of 0 handles", control.ClassBadRequest, r); err != nil {
		return err
	}
	if !d.HandlesShareable {
		if r, err = b.request(opening{handles: control.HandlesShared, threads: 2}); err != nil {
			return err
		}
		if err := b.expectRefusal("one handle for 2 threads, which the driver can't share,", control.ClassRefused, r); err != nil {
			return err
		}
	}
	if d.HandlesMax > 0 && d.HandlesMax < 1000 {
		if r, err = b.request(opening{handles: control.HandlesPerThread, threads: d.HandlesMax + 1}); err != nil {
			return err
		}
		if err := b.expectRefusal(fmt.Sprintf("%d handles, one more than the driver's limit,", d.HandlesMax+1), control.ClassRefused, r); err != nil {
			return err
		}
	}
	return b.stillWorks("after refusals")
}

func clockRule(b *bench) error {
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	for i, source := range []string{"monotonic", "auto"} {
		s := b.script(1)
		s.clock = source
		s.do(0, trace.Insert, b.base(s.keys)+uint64(i), 100)
		before := time.Now()
		r, err := b.run(s)
		if err != nil {
			return err
		}
		if source == "monotonic" && r.clock != counters.ClockMonotonic {
			b.fault("clock monotonic was asked for, %d is in use", r.clock)
		}
		if outside := time.Since(before); time.Duration(r.elapsedNS) > outside {
			b.fault("clock %s: the phase took %v by its own clock, %v seen from outside", source, time.Duration(r.elapsedNS), outside)
		}
		service := r.total(trace.Insert)
		if service.ServiceMaxNS > uint64(r.elapsedNS) {
			b.fault("clock %s: one operation took %d ns in a phase of %d ns", source, service.ServiceMaxNS, r.elapsedNS)
		}
	}
	s := b.script(1)
	s.clock = "sundial"
	s.do(0, trace.Insert, b.base(s.keys)+9, 100)
	r, err := b.prepare(s)
	if err == nil {
		b.fault("an unknown clock was accepted")
		return r.counters.Unmap()
	}
	return b.judgeRefusal("an unknown clock", control.ClassBadRequest, err)
}
