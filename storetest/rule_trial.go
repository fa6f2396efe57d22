package storetest

import (
	"fmt"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// foreignTag is the tag of another trial than the kit's.
const foreignTag = trialTag ^ 0x00ff0001

// trialTagRule reads values back under another tag: what another trial left must not pass for this
// one's.
func trialTagRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	const n = 12
	write := b.script(1)
	write.zeroVersions = true
	base := b.base(write.keys)
	stamped := write.valueMax == 0 || write.valueMax >= 100
	for i := range uint64(n) {
		write.do(0, trace.Insert, base+i, 100)
		write.do(0, trace.Insert, base+n+i, 20)
	}
	wrote, err := b.run(write)
	if err != nil {
		return err
	}
	b.allOK(wrote, "writing")
	read := func(tag uint32, first uint64, flags uint32) (*ran, error) {
		s := b.script(1)
		s.tag, s.loaded, s.flags = tag, base+2*n, flags
		for i := range uint64(n) {
			s.do(0, trace.Read, first+i, 0)
		}
		return b.run(s)
	}
	for _, step := range []struct {
		what    string
		tag     uint32
		first   uint64
		outcome counters.Outcome
		foreign uint64
	}{
		{"values of this trial", trialTag, base, counters.OK, 0},
		{"values of another trial", foreignTag, base, counters.Wrong, n},
		{"short values of another trial", foreignTag, base + n, counters.Wrong, 0},
		{"short values of this trial", trialTag, base + n, counters.OK, 0},
	} {
		r, err := read(step.tag, step.first, 0)
		if err != nil {
			return err
		}
		b.expect(r, step.what, trace.Read, step.outcome, n)
		if step.outcome == counters.Wrong {
			b.explained(r, counters.Wrong, n)
		}
		if foreign := r.total(trace.Read).Foreign; foreign != step.foreign && (stamped || foreign != 0) {
			b.fault("%s: %d of %d wrong values are counted as another trial's, expected %d", step.what, foreign, n, step.foreign)
		}
	}
	if !stamped {
		return nil
	}
	r, err := read(foreignTag, base, trace.FlagRecordVersions)
	if err != nil {
		return err
	}
	for i, word := range r.observed {
		if word != counters.ObservedForeign {
			b.fault("a verify phase: index %d holds %s, expected a value of another trial", base+uint64(i), observedText(word))
		}
	}
	return nil
}

// firstOpeningRule closes and opens a store as the load of every experiment does, in any class.
func firstOpeningRule(b *bench) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	if b.description.Kind == store.Memory {
		return skip("%s keeps nothing after close, and says so", b.description.Name)
	}
	o := opening{}
	if b.description.Kind == store.Embedded {
		var err error
		if o.directory, err = b.newDirectory(); err != nil {
			return err
		}
	}
	m := model{}
	var written *script
	for round := range uint64(3) {
		o.durability = b.description.Durability[0].Class
		if round > 0 || b.description.ServerSetsClass { // then no trial opens it in two
			o.durability = b.description.Durability[len(b.description.Durability)-1].Class
		}
		opened, err := b.open(o)
		if err != nil {
			return err
		}
		b.phases = int(round) * 10 // another number, so that versions differ from those before the close
		if written != nil {
			if err := b.holds(m, written, fmt.Sprintf("after opening number %d, which was not the trial's first,", round+1)); err != nil {
				return err
			}
		}
		s := b.script(1)
		base := b.base(s.keys)
		for i := range uint64(20) {
			s.do(0, trace.Upsert, base+round*10+i, 100)
		}
		r, err := b.run(s)
		if err != nil {
			return err
		}
		b.allOK(r, "writing")
		m.remember(r)
		written = s
		if opened.Abilities.Sync {
			if err := b.call(control.Request{Command: control.CommandSync}, nil); err != nil {
				return err
			}
		}
		if err := b.close(); err != nil {
			return err
		}
	}
	return nil
}

// readsDoneRule mixes keys that are there with keys that are not: a read that was not done looks
// like any other.
func readsDoneRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	const n = 400
	write, read := b.script(1), b.script(1)
	base := b.base(write.keys)
	read.loaded = base + n
	write.zeroVersions = true
	there, bytes := 0, 0
	for i := range uint64(n) {
		if i*7919%13 < 6 {
			length := 30 + int(i%50)
			write.do(0, trace.Insert, base+i, length)
			there, bytes = there+1, bytes+int(write.amounts[write.classOf(trace.Insert, length)])
		}
		read.do(0, trace.Read, base+i, 0)
	}
	wrote, err := b.run(write)
	if err != nil {
		return err
	}
	b.allOK(wrote, "writing")
	for _, unverified := range []bool{false, true} {
		read.unverified = unverified
		r, err := b.run(read)
		if err != nil {
			return err
		}
		total := r.total(trace.Read)
		if total.Outcomes[counters.OK] != uint64(there) || total.Outcomes[counters.Miss] != uint64(n-there) {
			b.fault("reads of %d keys of which %d are there: counted %s", n, there, r.outcomes(trace.Read))
		}
		if total.BytesRead != uint64(bytes) {
			b.fault("reads of %d values gave %d bytes, %d were written", there, total.BytesRead, bytes)
		}
	}
	return nil
}
