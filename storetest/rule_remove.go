package storetest

import (
	"fmt"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// removedRecords are more than one call takes.
const removedRecords, removedAtOnce = 50, 20

// removeRule deletes the records of one prefix beside those of its neighbours in the order of bytes.
func removeRule(b *bench) error {
	if !b.description.Abilities.DeletePrefix {
		return skip("%s does not delete by the begin of keys", b.description.Name)
	}
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	own := fmt.Sprintf("rm%05dm", b.ordinal)
	wrote := map[string]*script{}
	for _, prefix := range []string{own, own[:len(own)-1] + "l", own[:len(own)-1] + "n", own[1:]} {
		s := b.script(1)
		s.keys = keyval.KeyShape{Format: keyval.Decimal, Digits: 6, Prefix: prefix}
		for i := range uint64(removedRecords) {
			s.do(0, trace.Upsert, i, 60)
		}
		if err := b.runs("writing under "+prefix, s); err != nil {
			return err
		}
		wrote[prefix] = s
	}
	total, calls := 0, 0
	for {
		var removed control.Removed
		if err := b.call(control.Request{Command: control.CommandRemove, Remove: &control.Remove{Prefix: own,
			AtMost: removedAtOnce}}, &removed); err != nil {
			return fmt.Errorf("remove: %w", err)
		}
		if total, calls = total+removed.Records, calls+1; removed.Records == 0 || calls > removedRecords {
			break
		}
	}
	if total != removedRecords {
		b.fault("remove says that it deleted %d records under %q in %d calls, %d were there", total, own, calls, removedRecords)
	}
	for prefix, s := range wrote {
		want, n := counters.OK, removedRecords
		if prefix == own {
			want = counters.Miss
		}
		reader := b.script(1)
		reader.keys = s.keys
		for i := range uint64(removedRecords) {
			reader.do(0, trace.Read, i, 0)
		}
		r, err := b.run(reader)
		if err != nil {
			return err
		}
		b.expect(r, fmt.Sprintf("reading under %q, once all under %q are removed", prefix, own), trace.Read, want, n)
	}
	return b.expectRefusal("remove of all that begins with a short prefix", control.ClassBadRequest,
		control.Request{Command: control.CommandRemove,
			Remove: &control.Remove{Prefix: own[:control.RemovePrefixMin-1], AtMost: 1}})
}

// runs runs a script of which all operations must end well.
func (b *bench) runs(what string, s *script) error {
	r, err := b.run(s)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	b.allOK(r, what)
	return nil
}
