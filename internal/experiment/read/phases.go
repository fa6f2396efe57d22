package read

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

func (r *resolver) phases() *Error {
	if len(r.file.Phases) == 0 {
		return r.fail([]string{"phases"}, "no phases: there is nothing to do").
			hint("expected a list such as [{name: load, load: true}, {name: read, mix: {read: 100}, for: 10s}]")
	}
	if len(r.file.Phases) > phasesMax {
		return r.fail([]string{"phases"}, "%d phases: at most %d", len(r.file.Phases), phasesMax)
	}
	stored, measured, deleted := false, false, false
	for i, p := range r.file.Phases {
		phase, err := r.ofPhase(i).phase(i, p)
		if err != nil {
			return err
		}
		if err := r.ofPhase(i).faults(p, &phase); err != nil {
			return err
		}
		if err := r.needsRecords(i, phase, stored); err != nil {
			return err
		}
		deleted = deleted || phase.Does(trace.Delete) || phase.Does(trace.DeleteQuery)
		for j, part := range phase.Parts() {
			if deleted && part.Mix[trace.Update.String()] > 0 {
				return r.fail(r.part(phase, i, j).in("mix"), "update needs existing keys, but the mixes so far delete keys").
					hint("use upsert in place of update")
			}
			stored = stored || phase.Load || putsFresh(part.Mix)
		}
		measured = measured || !phase.Load && !phase.Unmeasured
		r.e.Phases = append(r.e.Phases, phase)
	}
	if !measured {
		return r.fail([]string{"phases"}, "no phase is measured: a load and unmeasured phases give no figures").
			hint("add a phase such as {name: read, mix: {read: 100}, for: 10s}")
	}
	if err := r.expiring(); err != nil {
		return err
	}
	return r.increments()
}

// phase resolves one phase; what it refuses no store could do.
func (r workResolver) phase(i int, p PhaseFile) (experiment.Phase, *Error) {
	if err := r.phaseName(p); err != nil {
		return experiment.Phase{}, err
	}
	if p.Replay != nil && p.Capacity == nil {
		return r.replayed(i, p)
	}
	if len(p.Groups) > 0 && p.Capacity == nil {
		return r.grouped(p)
	}
	if err := r.request(&p); err != nil {
		return experiment.Phase{}, err
	}
	mix, asked, err := r.asks(p)
	if err != nil {
		return experiment.Phase{}, err
	}
	p.Mix = mix
	if err := r.loadOrMix(i, p); err != nil {
		return experiment.Phase{}, err
	}
	if !p.Load && p.Capacity == nil && p.For == 0 && orCount64(p.Operations, 0) == 0 && !p.Rate.changes() &&
		!p.Threads.changes() {
		return experiment.Phase{}, r.fail(r.in(), "the phase %s has no end", p.Name).hint("expected for: DURATION, operations: NUMBER, or both")
	}
	return r.work(p, asked)
}

// work resolves what the clients of a phase, or of one of its groups, do.
func (r workResolver) work(p PhaseFile, asked []experiment.AskedQuery) (experiment.Phase, *Error) {
	resolved := experiment.Phase{
		Name: p.Name, Load: p.Load, Mix: p.Mix, Duration: time.Duration(p.For), Operations: orCount64(p.Operations, 0),
		Unmeasured: p.Unmeasured, Optional: p.Optional, Asked: asked,
	}
	for _, part := range []func(PhaseFile, *experiment.Phase) *Error{r.amounts, r.rate, r.steps, r.multiRead,
		r.single, r.appends, r.fill, r.batch, r.scan, r.order, r.ttl, r.think, r.capacityPhase} {
		if err := part(p, &resolved); err != nil {
			return experiment.Phase{}, err
		}
	}
	return resolved, nil
}

func (r workResolver) phaseName(p PhaseFile) *Error {
	if p.Name == "" {
		return r.fail(r.in(), "a phase without a name").hint("expected name: NAME")
	}
	if len(p.Name) > nameBytesMax || !plainName(p.Name) {
		return r.fail(r.in("name"), "the name %q can't be part of a file name", p.Name).hint(plainNameRule)
	}
	if slices.ContainsFunc(r.e.Phases, func(other experiment.Phase) bool { return other.Name == p.Name }) {
		return r.fail(r.in("name"), "a second phase named %q", p.Name)
	}
	return nil
}

func (r workResolver) loadOrMix(i int, p PhaseFile) *Error {
	if p.Load {
		switch {
		case i > 0:
			return r.fail(r.in("load"), "a load must be the first phase: it stores every record in an empty store")
		case len(p.Mix) > 0:
			return r.fail(r.in("mix"), "a load has no mix: it stores every record once")
		case p.For != 0:
			return r.fail(r.in("for"), "a load ends when every record is stored: it has no duration")
		case p.Operations != nil:
			return r.fail(r.in("operations"), "a load stores every record once: records sets how many")
		case p.Rate != nil:
			return r.fail(r.in("rate"), "a load runs as fast as the store lets it: it has no rate")
		case p.Arrivals != "":
			return r.fail(r.in("arrivals"), "a load runs as fast as the store lets it: its operations have no times of arrival")
		case p.Optional:
			return r.fail(r.in("optional"), "a load is not optional: what follows works on its records")
		case p.Unmeasured:
			return r.fail(r.in("unmeasured"), "a load is never in the tables: unmeasured has no effect")
		}
		return nil
	}
	if len(p.Mix) == 0 {
		return r.fail(r.in(), "the phase %s has neither load: true nor a mix nor a request", p.Name).
			hint("expected mix: {OPERATION: WEIGHT}, with %s", strings.Join(mixNames(), ", "))
	}
	return r.mix(p)
}

// mix checks the operations of a phase or group, and their weights.
func (r workResolver) mix(p PhaseFile) *Error {
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(p.Mix)) {
		if !slices.Contains(mixNames(), name) {
			return r.atKey(unknownOperation(r.root.at, strings.Join(r.in("mix", name), "."), name), r.in("mix"), name)
		}
		if weight := p.Mix[name]; weight < 0 || weight > 1e12 {
			return r.fail(r.in("mix", name), "a weight is 0 to 1e12, not %v", weight)
		}
		total += p.Mix[name]
	}
	if p.Mix[trace.Modify.String()] > 0 && !r.provesVersions() {
		return r.fail(r.in("mix"), "modify updates the columns that change with each write, and the records have none").
			hint("expected values: {columns: [{name: NAME, value: \"text {i}\"}, {name: NAME, proof: 24}, {name: NAME, stamp: 1000}, …]}")
	}
	if total == 0 {
		return r.fail(r.in("mix"), "all weights of the mix are 0")
	}
	shares := math.Abs(total-1) < 1e-6 || math.Abs(total-100) < 1e-4
	if !shares && len(p.Request) == 0 && len(experiment.MixOperations(p.Mix)) > 1 {
		r.note("phase %s: the weights add up to %s and are scaled to 100 %%: %s", p.Name, format.Tenths(total), experiment.Phase{Mix: p.Mix}.MixText())
	}
	return nil
}

func (r workResolver) amounts(p PhaseFile, resolved *experiment.Phase) *Error {
	if resolved.Operations > operationsMax {
		return r.fail(r.in("operations"), "at most %d operations in a phase, not %d", int64(operationsMax), resolved.Operations)
	}
	if p.Threads != nil && len(p.Threads.Steps) > 0 {
		if err := r.staircase(p, resolved); err != nil {
			return err
		}
	} else if p.Threads != nil {
		resolved.Threads, resolved.Processes = p.Threads.total(), int(min(p.Threads.Processes, trace.ProcessesMax+1))
		if err := r.tasks(r.in("threads"), resolved.Threads, resolved.Processes); err != nil {
			return err
		}
	}
	if p.Milestones != nil && (*p.Milestones < 1 || *p.Milestones > operationsMax) {
		return r.fail(r.in("milestones"), "milestones are each 1 to %d operations, not %d", int64(operationsMax), *p.Milestones)
	}
	resolved.Milestones = orCount64(p.Milestones, 0)
	return nil
}

func (r workResolver) batch(p PhaseFile, resolved *experiment.Phase) *Error {
	resolved.Batch = orCount(p.Batch, 0)
	if p.Batch != nil && (*p.Batch < 1 || *p.Batch > batchMax) {
		return r.fail(r.in("batch"), "a batch has 1 to %d records, not %d", batchMax, *p.Batch)
	}
	if resolved.Batch <= 1 || p.Load {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Mix)) {
		switch operation, _ := trace.ParseOperation(name); operation {
		case trace.Insert, trace.Update, trace.Upsert, trace.Delete:
		default:
			if p.Mix[name] > 0 && (operation != trace.Read || resolved.MultiRead <= 1) {
				return r.fail(r.in("batch"), "a batch is made of writes: %s can't be in it", name).
					hint("expected a mix of insert, update, upsert and delete (and of read, with multi_read), or no batch")
			}
		}
	}
	return nil
}

// multiRead resolves how many keys a call reads.
func (r workResolver) multiRead(p PhaseFile, resolved *experiment.Phase) *Error {
	if p.MultiRead == nil {
		return nil
	}
	n := *p.MultiRead
	switch order := string(p.Order.Distribution); {
	case n < 1 || n > trace.MultiReadMax:
		return r.fail(r.in("multi_read"), "a call reads 1 to %d keys, not %d", trace.MultiReadMax, n)
	case n == 1:
		return nil
	case p.Load || len(p.Request) > 0 || p.Mix[trace.Read.String()] == 0:
		return r.fail(r.in("multi_read"), "the phase %s has no mix with reads: multi_read has no effect", p.Name).
			hint("expected a mix such as {read: 95, update: 5}")
	case len(r.file.Values.Columns) > 0:
		return r.fail(r.in("multi_read"), "records with columns are read one by one").hint("leave out values.columns, or multi_read")
	case order == trace.Shuffled || order == trace.Latest || order == trace.Counting:
		return r.fail(r.in("multi_read"), "the order %s could give a call one key twice", order).
			hint("expected another order, such as uniform, zipfian or sequential")
	}
	resolved.MultiRead = int(n)
	return nil
}

func (r workResolver) scan(p PhaseFile, resolved *experiment.Phase) *Error {
	scans := p.Mix[trace.Scan.String()] > 0
	if !scans {
		if p.Scan != nil {
			return r.fail(r.in("scan"), "the phase %s has no scans: scan has no effect", p.Name)
		}
		return nil
	}
	form := ScanFile{}
	if p.Scan != nil {
		form = *p.Scan
	}
	least, most := orCount64(form.Min, defaultScanMin), orCount64(form.Max, max(defaultScanMax, orCount64(form.Min, 0)))
	if least < 1 || most > scanMax || least > most {
		return r.fail(r.in("scan"), "a scan has 1 to %d records, and min is not above max: not %d to %d", scanMax, least, most)
	}
	resolved.Scan = experiment.Scan{Min: int(least), Max: int(most), Distribution: orText(string(form.Distribution), "uniform")}
	return nil
}

func (r workResolver) order(p PhaseFile, resolved *experiment.Phase) *Error {
	o := p.Order
	name := string(o.Distribution)
	if name == "" {
		name = "uniform"
		if p.Load || onlyInserts(p.Mix) {
			name = "sequential"
		}
	}
	resolved.Order = experiment.Order{Distribution: name}
	if p.Load && name != "sequential" && name != "shuffled" {
		return r.fail(r.in("order"), "a load stores every record once: its order is sequential or shuffled, not %s", name)
	}
	if name == trace.Counting {
		if others := slices.DeleteFunc(experiment.MixOperations(p.Mix),
			func(o string) bool { return o == trace.Upsert.String() }); len(others) > 0 {
			return r.fail(r.in("order"), "the order counting writes the same new keys from all threads: its mix is upsert alone, without %s", strings.Join(others, ", ")).
				hint("expected mix: {upsert: 100}, or another order")
		}
	}
	if name == trace.Latest && p.Mix[trace.DeleteQuery.String()] > 0 {
		return r.fail(r.in("order"), "deletes by query in the order latest can't be checked: which records they delete differs with each lap").
			hint("expected another order, such as uniform")
	}
	zipfian := name == "zipfian" || name == "scrambled_zipfian" || name == "latest"
	if o.Theta != nil && !zipfian {
		return r.fail(r.in("order", "theta"), "%s has no theta: zipfian, scrambled_zipfian and latest have one", name)
	}
	if zipfian {
		resolved.Order.Theta = orNumber(o.Theta, defaultTheta)
		if err := r.theta(name, resolved.Order.Theta); err != nil {
			return err
		}
	}
	if name == trace.Popularity {
		if err := r.popularity(o, &resolved.Order); err != nil {
			return err
		}
	} else if o.File != nil {
		return r.fail(r.in("order", "file"), "%s has no file: popularity has one", name)
	} else if len(o.Buckets) > 0 {
		return r.fail(r.in("order", "buckets"), "%s has no buckets: popularity has them", name)
	}
	if err := r.shift(p, resolved); err != nil {
		return err
	}
	hot := o.HotRecords != nil || o.HotOperations != nil
	if hot && name != trace.Hotspot && name != trace.Exponential {
		return r.fail(r.in("order"), "%s has no hot records: hotspot and exponential have", name)
	}
	if hot && name == trace.Exponential {
		order := trace.Order{Distribution: name, HotRecords: orNumber(o.HotRecords, defaultFrontRecords),
			HotOperations: orNumber(o.HotOperations, defaultFrontOperations)}
		if err := order.Check(); err != nil {
			return r.fail(r.in("order"), "%v", err)
		}
		resolved.Order.HotRecords, resolved.Order.HotOps = order.HotRecords, order.HotOperations
	}
	if name == "hotspot" {
		resolved.Order.HotRecords = orNumber(o.HotRecords, defaultHotRecords)
		resolved.Order.HotOps = orNumber(o.HotOperations, defaultHotOperations)
		if s := resolved.Order.HotRecords; s <= 0 || s > 1 {
			return r.fail(r.in("order", "hot_records"), "hot_records is a share above 0 and at most 1, not %v", s)
		}
		if s := resolved.Order.HotOps; s < 0 || s > 1 {
			return r.fail(r.in("order", "hot_operations"), "hot_operations is a share from 0 to 1, not %v", s)
		}
	}
	return nil
}

// theta: YCSB's scrambled zipfian has a constant in it that belongs to 0.99; the true zipfian takes
// any exponent.
func (r workResolver) theta(name string, theta float64) *Error {
	if name == "scrambled_zipfian" && theta != trace.YCSBTheta {
		return r.fail(r.in("order", "theta"), "scrambled_zipfian is YCSB's own and has theta 0.99 only, not %v", theta).
			hint("the order zipfian takes any theta above 0 and at most %d", thetaMax)
	}
	if theta <= 0 || theta > thetaMax {
		return r.fail(r.in("order", "theta"), "theta is above 0 and at most %d, not %v", thetaMax, theta)
	}
	return nil
}

// needsRecords refuses a phase that reads or changes records before anything stored one.
func (r *resolver) needsRecords(i int, p experiment.Phase, stored bool) *Error {
	if stored || p.Load || p.Replay != nil {
		return nil
	}
	for j, part := range p.Parts() {
		if !putsFresh(part.Mix) {
			return r.fail(r.part(p, i, j).in("mix"), "the phase %s works on records, but nothing has stored any", part.Name).
				hint("begin with a phase {name: load, load: true}")
		}
	}
	return nil
}
