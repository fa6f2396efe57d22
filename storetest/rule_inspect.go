package storetest

import (
	"maps"
	"slices"
	"strings"

	"assay/internal/evidence/host"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// inspectRule asks the store for its numbers before and after it has done something.
func inspectRule(b *bench) error {
	if !b.description.Abilities.Inspect {
		return skip("%s does not tell about itself", b.description.Name)
	}
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	told := func() (names []string, err error) {
		var inspected control.Inspected
		err = b.call(control.Request{Command: control.CommandInspect}, &inspected)
		return slices.Sorted(maps.Keys(inspected.Stats)), err
	}
	before, err := told()
	if err != nil {
		return err
	}
	if b.description.Kind != store.None {
		s := b.script(1)
		base := b.base(s.keys)
		for i := range uint64(b.many(200)) {
			s.do(0, trace.Upsert, base+i, 1000)
			s.do(0, trace.Read, base+i, 0)
		}
		r, err := b.run(s)
		if err != nil {
			return err
		}
		b.allDone(r, "writing and reading")
	}
	after, err := told()
	if err != nil {
		return err
	}
	for _, name := range before {
		if name != strings.ToLower(name) {
			b.fault("counter %s has capitals in its name", name)
		}
		if !slices.Contains(after, name) {
			b.fault("counter %s is reported before the first operations, and not after them", name)
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			b.fault("counter %s is reported only after the first operations: a worker names them before", name)
		}
	}
	return b.close()
}

const (
	// logPuts are as many as it takes for a log to be laid out in advance.
	logPuts = 100
	// diskSlack is for what they log, and for what a file system rounds up.
	diskSlack = 128 << 10
	// diskUntold is what a store may set aside without saying so.
	diskUntold = 1 << 20
)

// fixedDiskRule measures what the store sets aside on disk for a record that is overwritten: with the
// driver's default options, in its strongest class, where none leaves its log out.
func fixedDiskRule(b *bench) error {
	d := b.description
	if d.Kind != store.Embedded {
		if d.FixedDiskBytes != 0 {
			b.fault("a store of kind %s says that it sets %d bytes aside on disk", d.Kind, d.FixedDiskBytes)
		}
		return skip("%s has no files", d.Name)
	}
	o := opening{defaults: true, durability: d.Durability[len(d.Durability)-1].Class}
	var err error
	if o.directory, err = b.newDirectory(); err != nil {
		return err
	}
	if _, err := b.open(o); err != nil {
		return err
	}
	put := func(times int) error {
		s := b.script(1)
		for range times {
			s.do(0, trace.Upsert, 0, 10)
		}
		r, err := b.run(s)
		if err == nil {
			b.allOK(r, "overwriting a record")
		}
		return err
	}
	if err := put(logPuts); err != nil {
		return err
	}
	claimed, measured := uint64(d.FixedDiskBytes), uint64(0)
	as, err := b.settle(func() (bool, error) { // a log may be laid out by a thread that wakes with the next write
		if err := put(1); err != nil {
			return false, err
		}
		if measured, _, err = host.DiskUse(o.directory); err != nil {
			return false, err
		}
		if claimed == 0 {
			return measured <= diskUntold, nil
		}
		return measured <= claimed*3/2+diskSlack && claimed <= measured*3/2+diskSlack, nil
	})
	if err != nil {
		return err
	}
	if !as {
		b.fault("with one small record it takes %d bytes on disk, fixed_disk_bytes says %d", measured, claimed)
	}
	return b.close()
}
