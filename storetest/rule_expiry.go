package storetest

import (
	"errors"
	"fmt"
	"os"
	"time"

	"assay/internal/base/memfile"
	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// expiryWaitMost is how late a store may be for its values' ends to be waited for: a sweep once a minute
// is not.
const expiryWaitMost = 10 * time.Second

// livesFile is that of a script whose values have a TTL: all scripts of a rule share it.
type livesFile struct {
	file   *os.File
	mapped *counters.Lives
}

func newLivesFile(threads int, records uint64) (*livesFile, error) {
	file, err := memfile.Create("storetest-lives")
	if err != nil {
		return nil, err
	}
	l := &livesFile{file: file}
	if l.mapped, err = counters.CreateLives(file, threads, records); err == nil {
		err = memfile.SealSize(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

func (l *livesFile) close() error { return errors.Join(l.mapped.Unmap(), l.file.Close()) }

// expiryRule writes values with a TTL, some of them over values without one and some under such, and reads
// them within their time and after it. Where a value must be there, that is what the kit's own clock says of
// the moments before the first write and after the last read.
func expiryRule(b *bench) (err error) {
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	const n = 8
	write := b.script(1)
	base := b.base(write.keys)
	lives, err := newLivesFile(1, base+3*n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lives.close()) }()
	ttl := 2 * time.Second
	if x := b.description.Expiry; x != nil {
		ttl = max(ttl, time.Duration(x.EarlyNS)+2*time.Second, time.Duration(max(x.LeastNS, x.UnitNS)))
		ttl += (time.Duration(x.UnitNS) - ttl%time.Duration(x.UnitNS)) % time.Duration(x.UnitNS)
	}
	write.lives = lives
	for i := range uint64(n) {
		write.doFor(trace.Upsert, base+i, 100, ttl)    // ends
		write.do(0, trace.Upsert, base+n+i, 100)       // ends by what follows
		write.doFor(trace.Upsert, base+2*n+i, 90, ttl) // does not: what follows has no end
	}
	for i := range uint64(n) {
		write.doFor(trace.Upsert, base+n+i, 90, ttl)
		write.do(0, trace.Upsert, base+2*n+i, 100)
	}
	began := time.Now()
	if !b.description.Abilities.Expire {
		return b.refusesTTLs(write)
	}
	wrote, err := b.run(write)
	if err != nil {
		return err
	}
	b.allOK(wrote, "writing with a TTL")
	written := time.Now()
	read := func(what string) (ending, kept uint64, err error) {
		lives.mapped.Clear()
		s := b.script(1)
		s.lives = lives
		for i := range uint64(2 * n) {
			s.do(0, trace.Read, base+i, 0)
		}
		r, err := b.run(s)
		if err != nil {
			return 0, 0, err
		}
		ending = r.total(trace.Read).Outcomes[counters.OK]
		s = b.script(1)
		s.lives = lives
		for i := range uint64(n) {
			s.do(0, trace.Read, base+2*n+i, 0)
		}
		if r, err = b.run(s); err != nil {
			return 0, 0, err
		}
		kept = r.total(trace.Read).Outcomes[counters.OK]
		if kept != n {
			b.fault("%s: %d of %d values that were written without a TTL, over one with it, are there", what, kept, n)
		}
		return ending, kept, nil
	}
	x := *b.description.Expiry
	sure := ttl - time.Duration(x.EarlyNS) // for so long they are there
	time.Sleep(time.Until(began.Add(sure * 3 / 4)))
	there, _, err := read("within the TTL")
	if err != nil {
		return err
	}
	if alive := time.Since(began) < sure; alive && there != 2*n {
		b.fault("%v after %d values were written for %v, %d are there", time.Since(began).Round(time.Millisecond), 2*n, ttl, there)
	}
	if tally := lives.mapped.Tally(0); tally.Alive+tally.Gone+tally.Within+tally.Late+tally.Early+tally.Unjudged < 2*n {
		b.fault("%d reads of records with a TTL, and the tallies of the lives file are %+v", 2*n, *tally)
	}
	if time.Duration(x.LateNS) > expiryWaitMost {
		return nil
	}
	over := written.Add(ttl + time.Duration(x.LateNS) + counters.LivesSlackNS)
	time.Sleep(time.Until(over))
	if there, _, err = read("after the TTL"); err != nil {
		return err
	}
	if there > 0 {
		b.fault("after a TTL of %v and a tick of %v, %d of %d values are there", ttl, time.Duration(x.LateNS), there, 2*n)
	}
	return nil
}

// refusesTTLs: what a driver can't keep is refused, and no value is written without its end.
func (b *bench) refusesTTLs(s *script) error {
	r, err := b.prepare(s)
	if err == nil {
		b.fault("values with a TTL are taken by a driver without the ability expire")
		return r.unmap()
	}
	var told *control.Error
	if !errors.As(err, &told) || told.Class != control.ClassRefused && told.Class != control.ClassBadRequest {
		return fmt.Errorf("a trace with TTLs: %w", err)
	}
	return nil
}
