package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// openFor opens a store for a rule that needs records.
func (b *bench) openFor(o opening) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	_, err := b.open(o)
	return err
}

func missRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(20) {
		s.do(0, trace.Read, base+i, 0)
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, "keys that were never written", trace.Read, counters.Miss, 20)
	return nil
}

// lengths are lengths of values at which something changes: no value, no stamp, a stamp, a stamp
// and a body; pages.
var lengths = []int{0, 1, 2, 7, 8, 23, 24, 25, 26, 63, 64, 65, 255, 256, 1000, 4095, 4096, 4097, 16384, 65535,
	65536, 1 << 20}

// lengthsFor returns those that the driver claims to take, and its own limits.
func (b *bench) lengthsFor() []int {
	least, limit := b.description.ValueBytesMin, b.description.ValueBytesMax
	refused := func(n int) bool { return n < least || limit > 0 && n > limit }
	possible := slices.DeleteFunc(slices.Clone(lengths), refused)
	for _, own := range []int{least, limit} {
		if own > 0 && own <= testedBytesMax && !slices.Contains(possible, own) {
			possible = append(possible, own)
		}
	}
	slices.Sort(possible)
	return possible
}

// testedBytesMax is the longest value that the kit makes.
const testedBytesMax = 16 << 20

func valuesRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	possible := b.lengthsFor()
	write, read := b.script(1), b.script(1)
	base := b.base(write.keys)
	bytes := 0
	for i, length := range possible {
		write.do(0, trace.Insert, base+uint64(i), length)
		read.do(0, trace.Read, base+uint64(i), 0)
		bytes += length
	}
	wrote, err := b.run(write)
	if err != nil {
		return err
	}
	b.allOK(wrote, fmt.Sprintf("writing values of %v bytes", possible))
	m := model{}
	m.remember(wrote)
	if err := b.holds(m, write, "values of all lengths"); err != nil {
		return err
	}
	r, err := b.run(read)
	if err != nil {
		return err
	}
	b.expect(r, fmt.Sprintf("verified reads of values of %v bytes", possible), trace.Read, counters.OK, len(possible))
	if got := r.total(trace.Read).BytesRead; got != uint64(bytes) {
		b.fault("verified reads gave %d bytes, %d were written", got, bytes)
	}
	return nil
}

func overwriteRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	m := model{}
	var last *script
	for round, length := range []int{100, 100, 40, 1000, 24, 0, 300} {
		s := b.script(1)
		base := b.base(s.keys)
		for i := range uint64(30) {
			o := trace.Update
			if round == 0 {
				o = trace.Insert
			}
			if round == 0 || i%7 != uint64(round) { // some keep what an earlier round wrote
				s.do(0, o, base+i, length)
			}
			if i%5 == 0 {
				s.do(0, trace.Upsert, base+i, length+1) // twice in one phase
			}
		}
		r, err := b.run(s)
		if err != nil {
			return err
		}
		b.allOK(r, "overwriting")
		m.remember(r)
		last = s
		if err := b.holds(m, last, fmt.Sprintf("after %d rounds of overwriting", round)); err != nil {
			return err
		}
	}
	return nil
}

func deleteRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(40) {
		s.do(0, trace.Insert, base+i, 100)
	}
	for i := range uint64(20) {
		s.do(0, trace.Delete, base+2*i, 0)
	}
	for i := range uint64(5) {
		s.do(0, trace.Insert, base+4*i, 60) // written again
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allOK(r, "deleting records that are there")
	m := model{}
	m.remember(r)
	if err := b.holds(m, s, "after deletes"); err != nil {
		return err
	}

	again := b.script(1)
	for i := range uint64(10) {
		again.do(0, trace.Delete, base+2+4*i, 0) // deleted before
		again.do(0, trace.Delete, base+1000+i, 0)
	}
	if r, err = b.run(again); err != nil {
		return err
	}
	total := r.total(trace.Delete)
	if total.Outcomes[counters.OK]+total.Outcomes[counters.Miss] != 20 {
		b.fault("deleting keys that are not there: expected ok or miss only, counted %s", r.outcomes(trace.Delete))
	}
	m.remember(r)
	return b.holds(m, s, "after deletes of keys that are not there")
}

func modifyRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(10) {
		s.do(0, trace.Insert, base+i, 100)
	}
	for i := range uint64(20) {
		s.do(0, trace.ReadModifyWrite, base+i%10, 50)
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, "of keys that are there", trace.ReadModifyWrite, counters.OK, 20)
	if read := r.total(trace.ReadModifyWrite).BytesRead; read != 10*100+10*50 {
		b.fault("read-modify-writes read %d bytes, expected %d", read, 10*100+10*50)
	}
	m := model{}
	m.remember(r)
	missing := b.script(1)
	for i := range uint64(5) {
		missing.do(0, trace.ReadModifyWrite, base+100+i, 50)
		m[base+100+i] = absent
	}
	if r, err = b.run(missing); err != nil {
		return err
	}
	b.expect(r, "of keys that are not there", trace.ReadModifyWrite, counters.Miss, 5)
	return b.holds(m, s, "after read-modify-writes")
}

func batchRule(b *bench) error {
	if !b.description.Abilities.Batch {
		return skip("%s has no batches", b.description.Name)
	}
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	size := 50
	if b.description.BatchMax > 0 {
		size = min(size, b.description.BatchMax)
	}
	s := b.script(1)
	base := b.base(s.keys)
	s.batch(0, write{trace.Insert, base, 100})
	var puts, mixed []write
	for i := range size {
		index := base + 1 + uint64(i)
		puts = append(puts, write{trace.Insert, index, 24 + i})
		if i%2 == 1 {
			mixed = append(mixed, write{trace.Delete, index, 0})
		} else {
			mixed = append(mixed, write{trace.Update, index, 200 - i})
		}
	}
	s.batch(0, puts...)
	s.batch(0, mixed...)
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, "batches of puts and deletes", trace.Batch, counters.OK, 3)
	if items := r.total(trace.Batch).Items; items != uint64(1+2*size) {
		b.fault("batches of %d members in all were counted as %d items", 1+2*size, items)
	}
	m := model{}
	m.remember(r)
	if err := b.holds(m, s, "after batches"); err != nil || b.description.BatchBytesMax == 0 {
		return err
	}
	return b.fullBatches()
}

// batchBytesMost is the largest batch that the kit makes: many records take long, and much memory.
const batchBytesMost = 64 << 20

// fullBatches are as large as the driver says that they may be, in few records and in many; of one that allows
// more than the kit makes, as large as that.
func (b *bench) fullBatches() error {
	s := b.script(1)
	full := b.description
	full.BatchBytesMax = min(full.BatchBytesMax, batchBytesMost)
	next, batches, items := b.base(s.keys)+1000, 0, uint64(0)
	for _, length := range []int{int(min(full.BatchBytesMax/5, testedBytesMax)), 24} {
		if most := full.ValueBytesMax; most > 0 {
			length = min(length, most)
		}
		var all []write
		for range full.BatchFits(s.keys.BytesMax() + length) {
			all = append(all, write{trace.Insert, next, length})
			next++
		}
		s.batch(0, all...)
		batches, items = batches+1, items+uint64(len(all))
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, fmt.Sprintf("batches of up to %d bytes, of batch_bytes_max %d", full.BatchBytesMax, b.description.BatchBytesMax),
		trace.Batch, counters.OK, batches)
	if told := r.total(trace.Batch).Items; told != items {
		b.fault("batches of %d members in all were counted as %d items", items, told)
	}
	m := model{}
	m.remember(r)
	return b.holds(m, s, "after batches of up to batch_bytes_max")
}

func batchOrderRule(b *bench) error {
	if !b.description.Abilities.Batch {
		return skip("%s has no batches", b.description.Name)
	}
	if limit := b.description.BatchMax; limit == 1 {
		return skip("%s has batches of one record only", b.description.Name)
	}
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	s.do(0, trace.Insert, base+2, 100)
	s.batch(0, write{trace.Upsert, base, 100}, write{trace.Delete, base, 0})
	s.batch(0, write{trace.Delete, base + 1, 0}, write{trace.Upsert, base + 1, 100})
	s.batch(0, write{trace.Delete, base + 2, 0}, write{trace.Upsert, base + 2, 100})
	s.batch(0, write{trace.Upsert, base + 3, 100}, write{trace.Upsert, base + 3, 100})
	s.batch(0, write{trace.Upsert, base + 4, 50}, write{trace.Upsert, base + 4, 100})
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, "batches that write one key twice", trace.Batch, counters.OK, 5)
	m := model{}
	m.remember(r)
	return b.holds(m, s, "after batches that write one key twice")
}

func addRule(b *bench) error {
	if !b.description.Abilities.Add {
		return skip("%s has no add", b.description.Name)
	}
	threads := b.threads(4)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	first := b.script(1)
	base := b.base(first.keys)
	second, third := b.script(1), b.script(1)
	for i := range uint64(10) {
		first.do(0, trace.Add, base+i, 100)
		second.do(0, trace.Add, base+i, 50)
		third.do(0, trace.Delete, base+i, 0)
		third.do(0, trace.Add, base+i, 70)
	}
	r, err := b.run(first)
	if err != nil {
		return err
	}
	b.expect(r, "of keys that are not there", trace.Add, counters.OK, 10)
	m := model{}
	m.remember(r)
	if r, err = b.run(second); err != nil {
		return err
	}
	b.expect(r, "of keys that are there", trace.Add, counters.Conflict, 10)
	if err := b.holds(m, first, "after adds that conflict"); err != nil {
		return err
	}
	if r, err = b.run(third); err != nil {
		return err
	}
	b.expect(r, "of keys that were deleted", trace.Add, counters.OK, 10)
	m.remember(r)
	if err := b.holds(m, first, "after adds of keys that were deleted"); err != nil {
		return err
	}
	return b.contendedAdds(base+100, threads)
}

// contendedAdds lets several threads add the same keys, of which each may be stored once.
func (b *bench) contendedAdds(base uint64, threads int) error {
	keys := uint64(b.many(200))
	s := b.script(threads)
	for thread := range threads {
		for i := range keys {
			s.do(thread, trace.Add, base+i, 100)
		}
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	total := r.total(trace.Add)
	stored, unsure := total.Outcomes[counters.OK], uint64(0)
	if b.target.Slow {
		unsure = total.Outcomes[counters.Timeout]
	}
	if stored > keys || stored+unsure < keys || stored+unsure+total.Outcomes[counters.Conflict] != total.Operations() {
		b.fault("of %d keys by %d threads: expected each to be ok once and a conflict else, counted %s", keys, threads, r.outcomes(trace.Add))
	}
	return nil
}

func swapRule(b *bench) error {
	const o = trace.CompareAndSwap
	if !b.description.Abilities.CompareAndSwap {
		return skip("%s has no compare-and-swap", b.description.Name)
	}
	threads := b.threads(4)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(10) {
		s.do(0, trace.Insert, base+i, 100)
		s.do(0, o, base+i, 100)
		s.do(0, o, base+i, 60)
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.expect(r, "of values that are there", o, counters.OK, 20)
	m := model{}
	m.remember(r)
	if err := b.holds(m, s, "after compare-and-swaps"); err != nil {
		return err
	}
	missing := b.script(1)
	for i := range uint64(5) {
		missing.do(0, o, base+100+i, 100)
	}
	if r, err = b.run(missing); err != nil {
		return err
	}
	b.expect(r, "of keys that are not there", o, counters.Miss, 5)

	contended := b.script(threads)
	for thread := range threads {
		for range b.many(200) {
			contended.do(thread, o, base, 100)
		}
	}
	if r, err = b.run(contended); err != nil {
		return err
	}
	total := r.total(o)
	fine := total.Outcomes[counters.OK] + total.Outcomes[counters.Conflict]
	if b.target.Slow {
		fine += total.Outcomes[counters.Timeout]
	}
	if total.Outcomes[counters.OK] == 0 || fine != total.Operations() {
		b.fault("of one key by %d threads: expected ok and conflict only, counted %s", threads, r.outcomes(o))
	}
	return nil
}

func binaryKeysRule(b *bench) error {
	if b.description.KeyText {
		return skip("keys of %s are text", b.description.Name)
	}
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	const length = 2
	if b.description.KeyBytesMin > length || b.description.KeyBytesMax > 0 && b.description.KeyBytesMax < length {
		return skip("%s has no keys of %d bytes", b.description.Name, length)
	}
	s := b.script(1)
	s.keys = keyval.KeyShape{Format: keyval.Binary, Bytes: length}
	for high := range uint64(256) { // every byte value in both places, 0x0000 and 0xffff among them
		s.do(0, trace.Insert, high<<8|high, 40)
		s.do(0, trace.Insert, high<<8|(high+1)&0xff, 40)
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allOK(r, "writing under binary keys")
	m := model{}
	m.remember(r)
	return b.holds(m, s, "binary keys of two bytes")
}

func keyLengthsRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	shortest, longest := max(1, b.description.KeyBytesMin), 4096
	if b.description.KeyBytesMax > 0 {
		longest = min(b.description.KeyBytesMax, 65535)
	}
	if b.description.KeyText {
		longest = min(longest, 500)
	}
	for _, length := range slices.Compact([]int{shortest, min(7, longest), min(8, longest), min(9, longest), longest}) {
		if length < shortest {
			continue
		}
		s := b.script(1)
		s.keys = b.keysOf(length)
		records := min(20, s.keys.IndexLimit())
		if s.keys.Digits == 1 {
			records = 10
		}
		for i := range records {
			s.do(0, trace.Upsert, i, 50)
		}
		r, err := b.run(s)
		if err != nil {
			return fmt.Errorf("keys of %d bytes: %w", length, err)
		}
		b.allOK(r, fmt.Sprintf("writing under keys of %d bytes", length))
		m := model{}
		m.remember(r)
		if err := b.holds(m, s, fmt.Sprintf("keys of %d bytes", length)); err != nil {
			return err
		}
	}
	return nil
}

func keyShapesRule(b *bench) error {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	shapes := []keyval.KeyShape{
		{Format: keyval.Decimal, Suffix: "asdf"}, {Format: keyval.Decimal, Prefix: "k", Digits: 12}, {Format: keyval.Decimal, Prefix: "f", First: 1},
		{Format: keyval.Decimal, Scatter: true}, {Format: keyval.YCSB, Prefix: "user"},
		{Format: keyval.Binary, Bytes: 8, Scatter: true}, {Format: keyval.Binary, Bytes: 16, Scatter: true},
		{Format: keyval.Binary, Bytes: 21, Scatter: true},
	}
	tried := 0
	for _, shape := range shapes {
		if b.description.KeyText && shape.Format == keyval.Binary || !b.takes(shape) {
			continue
		}
		tried++
		s := b.script(1)
		s.keys = shape
		base := b.base(shape)
		for i := range uint64(b.many(60)) {
			s.do(0, trace.Insert, base+i*i, 50)
		}
		r, err := b.run(s)
		if err != nil {
			return err
		}
		what := strings.TrimSpace(fmt.Sprintf("keys of format %s, scatter %v, prefix %q", shape.Format, shape.Scatter, shape.Prefix))
		b.allOK(r, what)
		m := model{}
		m.remember(r)
		if err := b.holds(m, s, what); err != nil {
			return err
		}
	}
	if tried == 0 {
		return skip("%s takes keys of none of these shapes", b.description.Name)
	}
	return nil
}

// takes says if all keys of the shape are within the driver's limits.
func (b *bench) takes(shape keyval.KeyShape) bool {
	if b.description.KeyNumbers && (shape.Format != keyval.Binary || shape.Scatter) {
		return false
	}
	shortest := len(shape.Prefix) + max(1, shape.Digits) + len(shape.Suffix)
	if shape.Format == keyval.Binary {
		shortest = shape.Bytes
	}
	return shortest >= b.description.KeyBytesMin && (b.description.KeyBytesMax == 0 ||
		shape.BytesMax() <= b.description.KeyBytesMax)
}

func limitsRule(b *bench) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	tried := 0
	try := func(what string, s *script) error {
		tried++
		if _, err := b.open(opening{}); err != nil {
			return err
		}
		r, err := b.run(s)
		var no *control.Error
		if errors.As(err, &no) {
			return fmt.Errorf("%s: the whole phase was refused: %w", what, err)
		}
		if err != nil {
			b.fault("%s: %v", what, err)
			b.end()
			return nil
		}
		switch total := r.total(trace.Upsert).Outcomes; {
		case total[counters.OK] == 1:
			// Limits of key and value may depend on each other: what is taken must then be kept.
			m := model{}
			m.remember(r)
			if err := b.holds(m, s, what+", acknowledged"); err != nil {
				return err
			}
		case total[counters.Error] != 1:
			b.fault("%s: expected an error, or ok and the value kept whole, counted %s", what, r.outcomes(trace.Upsert))
		}
		good := b.script(1)
		good.do(0, trace.Upsert, b.base(good.keys)+1, 50)
		if r, err = b.run(good); err != nil {
			return fmt.Errorf("after %s: %w", what, err)
		}
		b.allOK(r, "an ordinary write after "+what)
		return b.close()
	}
	if limit := b.description.ValueBytesMax; limit > 0 && limit < testedBytesMax {
		s := b.script(1)
		s.valueMax = 0
		s.do(0, trace.Upsert, b.base(s.keys), limit+1)
		if err := try(fmt.Sprintf("a value of %d bytes, one over the limit", limit+1), s); err != nil {
			return err
		}
	}
	if least := b.description.ValueBytesMin; least > 0 {
		s := b.script(1)
		s.valueMin = 0
		s.do(0, trace.Upsert, b.base(s.keys), least-1)
		if err := try(fmt.Sprintf("a value of %d bytes, one below the least", least-1), s); err != nil {
			return err
		}
	}
	if limit := b.description.KeyBytesMax; limit > 0 && limit < 65535 && (!b.description.KeyText || limit < 500) {
		s := b.script(1)
		s.keys = b.keysOf(limit + 1)
		s.do(0, trace.Upsert, 0, 50)
		if err := try(fmt.Sprintf("a key of %d bytes, one over the limit", limit+1), s); err != nil {
			return err
		}
	}
	if limit := b.description.KeyBytesMin; limit > 1 {
		s := b.script(1)
		s.keys = b.keysOf(limit - 1)
		s.do(0, trace.Upsert, 0, 50)
		if err := try(fmt.Sprintf("a key of %d bytes, one below the limit", limit-1), s); err != nil {
			return err
		}
	}
	if tried == 0 {
		return skip("%s claims no limit that is low enough to be tried", b.description.Name)
	}
	return nil
}

// threads returns how many threads can have a handle each, at most so many.
func (b *bench) threads(wanted int) int {
	if b.description.HandlesMax > 0 && !b.description.HandlesShareable {
		return min(wanted, b.description.HandlesMax)
	}
	return wanted
}
