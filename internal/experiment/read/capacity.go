package read

import (
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/trace"
)

// CapacityFile is a search for the highest rate at which objectives hold.
type CapacityFile struct {
	Objective ObjectivesForm `yaml:"objective" jsonschema_description:"What must hold: p99 < 5ms, mean < 800us, errors < 0.1%, misses < 1%; one, or a list. Latencies count from the due time."`
	From      *float64       `yaml:"from" jsonschema_description:"The lowest rate, in operations a second, that is asked about: where it breaks, lower ones are tried, down to a 64th. Default: 10."`
	To        *float64       `yaml:"to" jsonschema_description:"The highest rate that is tried. Default: no limit."`
	Step      DurationForm   `yaml:"step" jsonschema_description:"How long a step at one rate goes on at least; longer where its percentile needs that. Default: 2s."`
	Hold      DurationForm   `yaml:"hold" jsonschema_description:"How long the last step goes on, which confirms. Default: 10s."`

	Choose *ChooseFile `yaml:"choose" jsonschema_description:"What a store is to do, as assay choose writes it: reports say which stores do it, with how much to spare."`
}

// ChooseFile is what a store is to do, and with what.
type ChooseFile struct {
	Rate   *float64 `yaml:"rate" jsonschema_description:"Operations a second that are wanted."`
	Memory *Count   `yaml:"memory" jsonschema_description:"The most memory in bytes, such as 4GiB. Default: no limit."`
	Disk   *Count   `yaml:"disk" jsonschema_description:"The most disk in bytes, such as 100GB. Default: no limit."`
	Price  *float64 `yaml:"price" jsonschema_description:"What the machine costs an hour: reports then tell the price of a million operations."`
}

// wantedBytesMax is the most that a choice may allow of memory or disk.
const wantedBytesMax = 1 << 50

// ObjectivesForm is an objective such as "p99 < 5ms", or a list of them.
type ObjectivesForm []capacity.Objective

func (f *ObjectivesForm) fromNode(n *node, path string) *Error {
	items := []*node{n}
	switch n.kind {
	case null:
		return nil
	case list:
		items = n.items
	}
	for _, item := range items {
		if item.kind != scalar {
			return item.expected(path, "an objective such as "+capacity.ObjectiveForms)
		}
		o, err := capacity.Parse(item.text)
		if err != nil {
			return item.at.fail(path, "%s", err)
		}
		*f = append(*f, o)
	}
	return nil
}

const (
	capacityFrom    = 10
	capacityStep    = 2 * time.Second
	capacityHold    = 10 * time.Second
	capacityStepMin = 500 * time.Millisecond
	objectivesMax   = 8
)

// capacityPhase resolves the search that a phase is.
func (r workResolver) capacityPhase(p PhaseFile, resolved *experiment.Phase) *Error {
	c := p.Capacity
	if c == nil {
		return nil
	}
	for _, field := range []string{"load", "groups", "request", "for", "operations", "rate", "milestones", "faults", "unmeasured", "replay", "ttl", "think"} {
		if r.has(r.in(field)) {
			return r.fail(r.in(field), "the phase %s searches for a capacity: it has no %s", p.Name, field).
				hint("expected name, mix, order and capacity; arrivals, batch, scan, query, threads and optional may be given")
		}
	}
	if p.Threads.changes() {
		return r.fail(r.in("threads"), "the phase %s searches for a capacity: its threads don't change", p.Name)
	}
	if c.Choose != nil && (c.Choose.Rate == nil || *c.Choose.Rate <= 0 || *c.Choose.Rate > rateMax) {
		return r.fail(r.in("capacity", "choose"), "a choice needs the rate that is wanted, in operations a second").
			hint("expected choose: {rate: 20000, memory: 4GiB, disk: 100GB}")
	}
	if c.Choose != nil {
		for name, bytes := range map[string]*Count{"memory": c.Choose.Memory, "disk": c.Choose.Disk} {
			if bytes != nil && (*bytes < 1 || *bytes > wantedBytesMax) {
				return r.fail(r.in("capacity", "choose", name), "%s of a choice is at least 1 byte and at most 1 PiB, not %d", name, *bytes)
			}
		}
	}
	if c.Choose != nil && c.Choose.Price != nil && *c.Choose.Price <= 0 {
		return r.fail(r.in("capacity", "choose", "price"), "a price is above 0, not %v", *c.Choose.Price)
	}
	n := 1
	for _, other := range r.e.Phases {
		if other.Capacity != nil {
			n++
		}
	}
	asked := capacity.Asked{Objectives: c.Objective, From: orNumber(c.From, capacityFrom), To: orNumber(c.To, rateMax),
		Step: time.Duration(c.Step), Hold: time.Duration(c.Hold)}
	if asked.Step == 0 {
		asked.Step = capacityStep
	}
	if asked.Hold == 0 {
		asked.Hold = max(capacityHold, asked.Step)
	}
	switch {
	case len(r.file.Phases)+n*capacity.StepsMost > phasesMax:
		return r.fail(r.in("capacity"), "%d phases search for a capacity, in up to %d steps each: too many beside %d phases", n, capacity.StepsMost, len(r.file.Phases)).
			hint("expected at most three such phases, or experiments of their own")
	case len(asked.Objectives) == 0:
		return r.fail(r.in("capacity"), "a capacity without an objective").hint("expected objective: %s", capacity.ObjectiveForms)
	case len(asked.Objectives) > objectivesMax:
		return r.fail(r.in("capacity", "objective"), "%d objectives: at most %d", len(asked.Objectives), objectivesMax)
	case asked.From <= 0 || asked.From > rateMax:
		return r.fail(r.in("capacity", "from"), "a rate is above 0 and at most 1e9 operations a second, not %v", asked.From)
	case asked.To > rateMax || asked.To < 2*asked.From:
		return r.fail(r.in("capacity", "to"), "the highest rate is at least twice the lowest, %v, and at most 1e9 operations a second, not %v", asked.From, asked.To)
	case asked.Step < capacityStepMin:
		return r.fail(r.in("capacity", "step"), "a step lasts at least %s, not %s", capacityStepMin, asked.Step)
	case asked.Hold < asked.Step:
		return r.fail(r.in("capacity", "hold"), "the last step is at least as long as the others, %s, not %s", asked.Step, asked.Hold)
	}
	if c.Choose != nil {
		asked.Wanted = &capacity.Wanted{Rate: *c.Choose.Rate, MemoryBytes: int64(orCount64(c.Choose.Memory, 0)),
			DiskBytes: int64(orCount64(c.Choose.Disk, 0)), PerHour: orNumber(c.Choose.Price, 0)}
	}
	resolved.Capacity = &asked
	resolved.Duration = time.Duration(asked.Seconds() * float64(time.Second)).Round(time.Second)
	resolved.Arrivals = trace.Arrivals(orText(string(p.Arrivals), string(trace.Poisson)))
	return nil
}
