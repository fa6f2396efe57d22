package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// keysEach is how many keys of each length the rule writes.
const keysEach = 20

// mixedKeysRule writes keys of several lengths, which hold the same numbers: so a shorter one is the begin of a
// longer one. Behind a long prefix, keys differ in their last bytes alone.
func mixedKeysRule(b *bench) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	if !b.description.KeyLengths {
		return skip("the worker makes keys of one length alone")
	}
	if b.description.KeyNumbers {
		return skip("keys of %s are positions in an array", b.description.Name)
	}
	tried := 0
	for _, prefix := range []string{"", strings.Repeat("p", 48), strings.Repeat("p", 240)} {
		shape := b.mixedKeys(prefix)
		if len(shape.Lengths) < 2 {
			continue
		}
		if tried++; tried == 1 {
			if err := b.openFor(opening{}); err != nil {
				return err
			}
		}
		what := fmt.Sprintf("keys of %d to %d bytes", shape.BytesMin(), shape.BytesMax())
		if err := b.keepsMixed(shape, what); err != nil {
			return err
		}
	}
	if tried == 0 {
		return skip("%s has too few lengths of keys", b.description.Name)
	}
	return nil
}

// mixedKeys returns a shape of keys of the lengths that the driver takes, in each of which keysEach numbers
// are written from the rule's base on.
func (b *bench) mixedKeys(prefix string) keyval.KeyShape {
	shape := keyval.KeyShape{Format: keyval.Binary, Prefix: prefix}
	if b.description.KeyText {
		shape.Format = keyval.Decimal
	}
	base := b.base(b.keys())
	for _, bytes := range []int{2, 3, 7, 8, 9, 15, 16, 17, 24, 33, 64, 100, 180} {
		bytes += len(prefix)
		least, most := b.description.KeyBytesMin, b.description.KeyBytesMax
		if base > 0 {
			least = max(least, len(prefix)+9) // which hold all numbers up to those of the last rule
		}
		if bytes < least || most > 0 && bytes > most {
			continue
		}
		stretch := keyval.Stretch{Bytes: bytes}
		if n := uint64(len(shape.Lengths)); n > 0 {
			stretch.From, stretch.First = base+n*keysEach, base
		}
		shape.Lengths = append(shape.Lengths, stretch)
	}
	return shape
}

// keepsMixed writes keys of a shape and looks for them again, by themselves and in their order.
func (b *bench) keepsMixed(shape keyval.KeyShape, what string) error {
	s := b.script(1)
	s.keys = shape
	base, records := b.base(b.keys()), len(shape.Lengths)*keysEach
	keyBytes, first := 0, base
	for i := range records {
		index := base + uint64(i)
		s.do(0, trace.Insert, index, scanLength(i))
		keyBytes += shape.BytesOf(index)
		if bytes.Compare(shape.Append(nil, index), shape.Append(nil, first)) < 0 {
			first = index
		}
	}
	r, err := b.run(s)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	b.allOK(r, "writing "+what)
	valueBytes := 0
	for _, e := range s.threads[0].Entries {
		valueBytes += int(s.amountOf(e.SizeClass()))
	}
	if total := r.total(trace.Insert); total.BytesWritten != uint64(keyBytes+valueBytes) {
		b.fault("%s: %d bytes of keys and values are counted, expected %d", what, total.BytesWritten, keyBytes+valueBytes)
	}
	m := model{}
	m.remember(r)
	if err := b.holds(m, s, what); err != nil {
		return err
	}
	if !b.description.Abilities.Scan || b.description.Kind == store.Server {
		return nil // on a server other keys would lie between
	}
	return b.scanned("all "+what, shape, first, records, records, valueBytes)
}
