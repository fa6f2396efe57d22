package detect

import (
	"math"
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// detectInMemory counts the tables that read and in which all data fits the memory that may cache
// it, for some arm at least: the disk is not measured.
func detectInMemory(run *record.Run, tables []*facts.Table) []finding.Finding {
	reading, some := 0, 0
	var arms []string
	var evidence []finding.Evidence
	whole := true
	for _, t := range tables {
		fit, all, largest := fitting(run, t)
		if !facts.IsRead(t.Work) || len(fit) == 0 && all { // no store has a figure
			continue
		}
		reading++
		whole = whole && all
		if len(fit) == 0 {
			continue
		}
		some++
		arms = append(arms, fit...)
		memory, limited := memoryOf(run, t)
		evidence = append(evidence, finding.Evidence{Message: finding.New(finding.SeenDataParams{Place: t.Place(),
			Data: largest, Memory: memory, Limited: limited})})
	}
	if some == 0 {
		return nil
	}
	p := finding.InMemoryParams{Tables: some, Of: reading}
	if !whole {
		p.Arms = facts.DistinctWords(arms)
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, finding.New(p), evidence...)}
}

// memoryOf returns the bytes that a trial of a table might use, page cache included, and whether a
// limit set them. 0: unknown.
func memoryOf(run *record.Run, t *facts.Table) (bytes float64, limited bool) {
	bytes = float64(run.Environment.MemoryBytes)
	if limit := float64(t.Parameters.MemoryLimit); limit > 0 && (bytes == 0 || limit < bytes) {
		return limit, true
	}
	return bytes, false
}

// fitting names the arms of a table that can have read from memory, and says whether these are all
// with a figure, and how large their data was. Where the page cache was emptied before the phase,
// an arm read from the disk first, whatever would fit.
func fitting(run *record.Run, t *facts.Table) (arms []string, all bool, largest float64) {
	memory, _ := memoryOf(run, t)
	all = true
	facts.EachMeasured([]*facts.Table{t}, func(_ *facts.Table, r *facts.Row) {
		data := heldBy(run, t, r)
		if data == 0 {
			return
		}
		_, cache := largestCache(run.Experiment.Stores[r.Store])
		if beganCold(r) || data > memory && data > cache {
			all = false
			return
		}
		arms, largest = append(arms, r.Arm), max(largest, data)
	})
	return arms, all, largest
}

// beganCold reports whether the page cache was emptied before a phase in any trial of a row.
func beganCold(r *facts.Row) bool {
	return slices.ContainsFunc(r.Trials, func(o *facts.Observation) bool {
		return o.Phase != nil && o.Phase.Cold != nil
	})
}

// heldBy returns the most bytes that a row's trials held in a phase: what was counted as live or,
// where that is not known, all that was ever stored. 0: unknown.
func heldBy(run *record.Run, t *facts.Table, r *facts.Row) (most float64) {
	for _, o := range r.Trials {
		if o.Phase == nil || o.State != record.OK && o.State != record.Marked {
			continue
		}
		bytes := float64(run.Experiment.Keys.BytesMax()+run.Experiment.ValueBytesMax(t.Parameters)) *
			float64(t.Parameters.Records+freshBefore(run, o))
		if n := o.Phase.Sizes.LogicalBytes; n != nil {
			bytes = float64(*n)
		}
		most = max(most, bytes)
	}
	return most
}

// freshBefore returns how many records beyond the planned ones a trial stored up to the end of a
// phase, deleted ones included.
func freshBefore(run *record.Run, o *facts.Observation) (records uint64) {
	for i := range o.Trial.Phases {
		p := &o.Trial.Phases[i]
		if of := p.GroupOf(); of != "" && of == o.Phase.GroupOf() {
			break // the sum of the groups stood before them
		} else if of != "" {
			continue
		}
		counting := facts.PhaseNamed(run, p.Name).Order.Distribution == trace.Counting
		for _, operation := range p.Calls() {
			switch {
			case p.Load: // its records are the planned ones
			case operation.Name == trace.Insert.String(), operation.Name == trace.Add.String(),
				operation.Name == trace.Upsert.String() && counting:
				records += max(operation.OK, operation.Items)
			}
		}
		if p == o.Phase {
			break
		}
	}
	return records
}

// largestCache returns the largest option in bytes whose name has "cache" in it; the default counts
// where none is set.
func largestCache(s experiment.Store) (name string, bytes float64) {
	bytes = math.Inf(-1)
	for _, option := range s.AllDeclared() {
		if option.Type != store.Bytes || !strings.Contains(option.Name, "cache") {
			continue
		}
		text, set := s.AllOptions()[option.Name]
		if !set {
			text = option.Default
		}
		if v, err := store.ParseBytes(text); err == nil && float64(v) > bytes {
			name, bytes = option.Name, float64(v)
		}
	}
	return name, bytes
}

// warmShareMax is how much of a store's files may be in the page cache when a cold phase begins:
// opening a store reads some.
const warmShareMax = 0.05

// detectNotCold names the arms of a cold experiment that began with pages in memory, because a
// process has them mapped or the file system keeps them.
func detectNotCold(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var evidence []finding.Evidence
		most := 0.0
		for _, o := range r.Trials {
			if o.Phase == nil || o.Phase.Cold == nil {
				continue
			}
			c := o.Phase.Cold
			if share := float64(c.ResidentBytes) / float64(max(c.FileBytes, 1)); share > warmShareMax {
				most = max(most, share)
				evidence = append(evidence, seenIn(o, finding.New(finding.SeenWarmParams{Resident: c.ResidentBytes,
					Files: c.FileBytes})))
			}
		}
		if len(evidence) > 0 {
			found = append(found, placed(t, r.Arm, finding.NotColdParams{At: atOf(t, r.Arm), Share: most}, evidence...))
		}
	})
	return found
}

// limitOvershoot is how far a trial may exceed its memory limit: the kernel charges in batches of
// pages.
const limitOvershoot = 1.02

// detectMemoryLimit reports a limit that did not hold: it shows in what the kernel charged to the
// trial's group.
func detectMemoryLimit(run *record.Run, _ []*facts.Table) []finding.Finding {
	var evidence []finding.Evidence
	var arms []string
	for _, planned := range run.Plan {
		t, limit := run.Trials[planned.ID], float64(run.Experiment.Cells[planned.Cell].MemoryLimit)
		if t == nil || limit <= 0 || t.Memory == nil || t.Memory.PeakBytes == nil ||
			float64(*t.Memory.PeakBytes) <= limitOvershoot*limit {
			continue
		}
		arms = append(arms, planned.Arm)
		evidence = append(evidence, finding.Evidence{Trial: planned.ID,
			Message: finding.New(finding.SeenPeakParams{Peak: float64(*t.Memory.PeakBytes), Limit: limit})})
	}
	if len(evidence) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.LimitNotEnforcedParams{Arms: facts.DistinctWords(arms)}), evidence...)}
}

// limitNearby is the share of its memory limit that a trial must have come to for the limit to have
// had a part in what it did.
const limitNearby = 0.95

// detectLimitUnreached names, where data was to outgrow a memory limit, the arms that never came
// near it, or whose files did not outgrow it.
func detectLimitUnreached(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for _, t := range tables {
		limit := float64(t.Parameters.MemoryLimit)
		if t.Open || limit <= 0 || !facts.Grows(t.Work) {
			continue
		}
		var arms []string
		var evidence []finding.Evidence
		facts.EachMeasured([]*facts.Table{t}, func(_ *facts.Table, r *facts.Row) {
			if len(r.Used()) == 0 {
				return
			}
			peak, known := peak(r, limit)
			share := filesShare(r)
			switch {
			case known && peak < limitNearby*limit:
				evidence = append(evidence, finding.Evidence{Message: finding.New(finding.SeenPeakParams{Arm: r.Arm,
					Peak: peak, Limit: limit})})
			case share != nil && *share < 1:
				evidence = append(evidence,
					finding.Evidence{Message: finding.New(finding.SeenFilesParams{Arm: r.Arm, Share: *share})})
			default:
				return
			}
			arms = append(arms, r.Arm)
		})
		if len(arms) > 0 {
			found = append(found, finding.Make(whereIn(t, ""), finding.New(finding.LimitUnreachedParams{Arms: arms, Place: t.Place(), Limit: limit}), evidence...))
		}
	}
	return found
}

// peak returns the most memory that a row's trials held, page cache included; false: not measured.
func peak(r *facts.Row, limit float64) (most float64, known bool) {
	for _, o := range r.Used() {
		m := o.Trial.Memory
		if m == nil || m.PeakBytes == nil || m.LimitHits == nil {
			return 0, false
		}
		if *m.LimitHits > 0 {
			most = limit
		}
		most = max(most, float64(*m.PeakBytes))
	}
	return most, true
}

// filesShare is the mean ratio of what the store's files take, or where it has none, its data, to
// the memory that its trials might use. Nil: not measured.
func filesShare(r *facts.Row) *float64 {
	var shares []float64
	for _, o := range r.Used() {
		sizes := o.Phase.Sizes
		if sizes.DataToMemory == nil {
			continue
		}
		share := *sizes.DataToMemory
		if sizes.DiskBytes != nil && *sizes.DiskBytes > 0 && sizes.LogicalBytes != nil && *sizes.LogicalBytes > 0 {
			share *= float64(*sizes.DiskBytes) / float64(*sizes.LogicalBytes)
		}
		shares = append(shares, share)
	}
	if len(shares) == 0 {
		return nil
	}
	mean := stat.Mean(shares)
	return &mean
}
