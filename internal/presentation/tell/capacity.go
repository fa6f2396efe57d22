package tell

import (
	"fmt"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// capacitiesOf says of each table that searched for capacities what they are, what confirms them, what
// limits them, and what closed load would have shown. Stores without a capacity are findings.
func capacitiesOf(tables []*facts.Table) (messages []finding.Message) {
	add := func(p finding.Parameters) { messages = append(messages, finding.New(p)) }
	for _, t := range tables {
		var found, searched []*facts.Row
		for _, r := range t.Rows {
			if r.Role != plan.Measured || r.Capacity == nil || r.Rate == nil {
				continue
			}
			searched = append(searched, r)
			if r.Capacity.Outcome == capacity.Found {
				found = append(found, r)
			}
		}
		if len(searched) == 0 {
			continue
		}
		slices.SortStableFunc(found, func(a, b *facts.Row) int {
			return int(facts.RateOrZero(b)*1e3) - int(facts.RateOrZero(a)*1e3)
		})
		if len(found) > 0 {
			add(foundIn(t, found))
			add(heldIn(t, found))
		}
		if p := limitsIn(t, searched); len(p.Stores) > 0 {
			add(p)
		}
		if p := kneesIn(t, found); len(p.Stores) > 0 {
			add(p)
		}
		if p := stepsIn(t, searched); p.Again+p.Outliers > 0 {
			add(p)
		}
		if p := closedIn(t, found); len(p.Stores) > 0 {
			add(p)
		}
		for _, p := range caveatsOf(t, searched) {
			add(p)
		}
	}
	return messages
}

func foundIn(t *facts.Table, rows []*facts.Row) finding.CapacityFoundParams {
	p := finding.CapacityFoundParams{Place: t.Place(), Objectives: capacity.Texts(t.Work.Capacity.Objectives)}
	for i, r := range rows {
		text := fmt.Sprintf("%s %s", r.Arm, format.Rate(r.Rate.Value))
		if r.Rate.Low != nil {
			name := ""
			if i == 0 {
				name = "95 % interval "
			}
			text += fmt.Sprintf(" (%s%s to %s)", name, format.Rate(*r.Rate.Low), format.Rate(*r.Rate.High))
		}
		p.Stores = append(p.Stores, text)
		if len(t.Work.Capacity.Objectives) == 1 {
			continue
		}
		for k, o := range t.Work.Capacity.Objectives {
			if at := r.Capacity.Each[k]; at != nil {
				p.Breaks = append(p.Breaks, fmt.Sprintf("%s at %s (%s)", o, format.Rate(*at), r.Arm))
			}
		}
	}
	if len(rows) > 1 && rows[1].ToBest != nil && rows[0].Standing == facts.Ranked && t.Ranked()[0] == rows[0] {
		ratio := facts.Inverse(rows[1].ToBest)
		p.Factor, p.Low, p.High = &ratio.Value, ratio.Low, ratio.High
	}
	return p
}

func heldIn(t *facts.Table, rows []*facts.Row) finding.CapacityHeldParams {
	p := finding.CapacityHeldParams{Place: t.Place()}
	for _, r := range rows {
		held := r.Capacity.Held
		if held == nil {
			p.Not = append(p.Not, r.Arm)
			continue
		}
		text := fmt.Sprintf("%s %s for %s", r.Arm, format.Rate(held.Rate), format.Seconds(held.Seconds))
		if held.Blocks < r.Capacity.Of {
			text += fmt.Sprintf(" in %d of %s", held.Blocks, format.Plural(r.Capacity.Of, "block", ""))
		}
		p.Stores = append(p.Stores, text)
	}
	return p
}

var limitWords = map[facts.LimitKind]string{
	facts.LimitClient: "the client", facts.LimitMachine: "the machine's CPUs", facts.LimitServer: "the server's CPU",
	facts.LimitDisk: "the disk", facts.LimitPool: "the pool of handles", facts.LimitNetwork: "the network", facts.LimitNone: "none is seen",
}

func limitsIn(t *facts.Table, rows []*facts.Row) finding.CapacityLimitsParams {
	p := finding.CapacityLimitsParams{Place: t.Place()}
	for _, r := range rows {
		l := r.Capacity.Limit
		if l.ClientCPUs == nil {
			continue
		}
		used := fmt.Sprintf("%s CPUs", format.Tenths(*l.ClientCPUs))
		if l.ServerCPUs != nil {
			used = fmt.Sprintf("server %s CPUs, client %s", format.Tenths(*l.ServerCPUs), format.Tenths(*l.ClientCPUs))
		}
		if l.CPUs > 0 {
			used += fmt.Sprintf(", of %d", l.CPUs)
		}
		used += besideCPUs(&l)
		p.Stores = append(p.Stores, fmt.Sprintf("%s: %s (%s)", r.Arm, limitWords[l.Kind], used))
	}
	return p
}

const usedSeen = 0.01 // share of a disk's time, of an interface's speed or of threads' time that is reported

// besideCPUs is what was used of the disk, the pool and the network, as far as it is worth a word.
func besideCPUs(l *facts.CapacityLimit) (used string) {
	if l.DiskBusy != nil && *l.DiskBusy >= usedSeen {
		used += fmt.Sprintf("; disk busy %s", format.Percent(*l.DiskBusy))
		if l.DiskRequests != nil {
			used += fmt.Sprintf(" at %s requests", format.Rate(*l.DiskRequests))
		}
	}
	if l.Waited != nil && *l.Waited >= usedSeen {
		used += fmt.Sprintf("; wait for a handle %s", format.Percent(*l.Waited))
	}
	if l.LinkBusy != nil && *l.LinkBusy >= usedSeen {
		used += fmt.Sprintf("; network %s", format.Percent(*l.LinkBusy))
	}
	return used
}

func kneesIn(t *facts.Table, rows []*facts.Row) finding.CapacityKneeParams {
	p := finding.CapacityKneeParams{Place: t.Place(), Metric: "p99"}
	for _, o := range t.Work.Capacity.Objectives {
		if o.Metric == capacity.Percentile {
			p.Metric = format.Quantile(o.Quantile)
			break
		}
	}
	for _, r := range rows {
		if knee := r.Capacity.Knee; knee != nil && *knee < r.Rate.Value {
			p.Stores = append(p.Stores, fmt.Sprintf("%s %s (%s of its capacity)", r.Arm, format.Rate(*knee), format.Percent(*knee/r.Rate.Value)))
		}
	}
	return p
}

func stepsIn(t *facts.Table, rows []*facts.Row) finding.CapacityStepsParams {
	p := finding.CapacityStepsParams{Place: t.Place()}
	for _, r := range rows {
		p.Again, p.Outliers = p.Again+r.Capacity.Again, p.Outliers+r.Capacity.Outliers
	}
	return p
}

func closedIn(t *facts.Table, rows []*facts.Row) finding.CapacityClosedParams {
	p := finding.CapacityClosedParams{Place: t.Place()}
	for _, r := range rows {
		c := r.Capacity
		if c.ClosedRate == nil || r.Rate.Value == 0 {
			continue
		}
		text := fmt.Sprintf("%s %s", r.Arm, format.Rate(*c.ClosedRate))
		for k, ns := range c.ClosedNS {
			if ns > 0 {
				text += fmt.Sprintf(", %s %s", format.Quantile(c.Objectives[k].Quantile), format.Latency(ns))
				break
			}
		}
		p.Stores = append(p.Stores, fmt.Sprintf("%s (%s its capacity)", text, format.Factor(*c.ClosedRate/r.Rate.Value)))
	}
	return p
}

// caveatsOf lists what the capacities of a table do not cover.
func caveatsOf(t *facts.Table, rows []*facts.Row) (all []finding.CapacityCaveatParams) {
	var shared, tuned, plain []string
	for _, r := range rows {
		// only processes of this machine are seen to use any
		if cpus := r.Capacity.Limit.ServerCPUs; cpus != nil && *cpus > 0 {
			shared = append(shared, r.Arm)
		}
		switch {
		case r.Store < 0 || t.Run.Experiment.Stores[r.Store].Tuned != "": // the run reports that
		case len(t.Run.Experiment.Stores[r.Store].Options) > 0:
			tuned = append(tuned, r.Arm)
		default:
			plain = append(plain, r.Arm)
		}
	}
	if len(shared) > 0 {
		all = append(all, finding.CapacityCaveatParams{What: finding.CaveatShared, Place: t.Place(), Stores: shared})
	}
	if len(t.Work.Mix) == 1 {
		for operation := range t.Work.Mix {
			all = append(all, finding.CapacityCaveatParams{What: finding.CaveatOneOperation, Place: t.Place(),
				Operation: operation})
		}
	}
	if len(tuned) > 0 && len(plain) > 0 {
		all = append(all, finding.CapacityCaveatParams{What: finding.CaveatTuned, Place: t.Place(), Stores: tuned,
			Beside: plain})
	}
	return all
}

// tunedOf says of a run in which stores whose options were tuned stand beside others what its figures do not
// say.
func tunedOf(run *record.Run) []finding.Message {
	var p finding.OptionsTunedParams
	for i := range run.Experiment.Stores {
		if s := &run.Experiment.Stores[i]; s.Tuned != "" {
			p.Stores = append(p.Stores, s.Name+" on "+format.Clean(s.Tuned))
		} else {
			p.Beside = append(p.Beside, s.Name)
		}
	}
	if len(p.Stores) == 0 || len(p.Beside) == 0 {
		return nil
	}
	return []finding.Message{finding.New(p)}
}
