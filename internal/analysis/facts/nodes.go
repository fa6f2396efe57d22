package facts

import (
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/store"
)

// Node is one of the several servers that a store is, over a row's used trials: means of them. Nil
// is not measured.
type Node struct {
	Number      int      `json:"server"`           // from 1, in the order of the endpoints
	Operations  *float64 `json:"operations_share"` // of the operations that all servers counted
	CPU         *float64 `json:"cpu_cores"`
	MemoryBytes *float64 `json:"memory_bytes"` // resident, at most
	ReadBytes   *float64 `json:"read_bytes_per_s"`
	WriteBytes  *float64 `json:"write_bytes_per_s"`
	Connections *float64 `json:"connections"` // from this machine, at most
}

// nodesOf returns what each of a row's servers did; nil where the store has one, or none.
func (r *Row) nodesOf(t *Table) (nodes []Node) {
	if r.Store < 0 {
		return nil
	}
	count := t.Run.Experiment.Stores[r.Store].Servers()
	if count < 2 {
		return nil
	}
	used := r.Used()
	samples := map[*Observation][]record.Sample{}
	for _, o := range used {
		samples[o] = t.Run.Samples(o.Planned.ID, t.Phase)
	}
	for i := range count {
		seen := func(name string, most bool) *float64 {
			name = host.ServerSeries(name, i+1, count)
			return meanOf(used, func(o *Observation) *float64 { return seenIn(samples[o], name, most) })
		}
		nodes = append(nodes, Node{Number: i + 1, CPU: seen("server.cpu", false), MemoryBytes: seen("server.rss", true),
			ReadBytes: seen("server.read", false), WriteBytes: seen("server.write", false), Connections: seen("server.connections", true),
			Operations: meanOf(used, func(o *Observation) *float64 {
				done, _ := o.ServerOperations()
				if len(done) != count {
					return nil
				}
				return Divided(&done[i], sumOf(done))
			})})
	}
	return nodes
}

func sumOf(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func meanOf(used []*Observation, of func(*Observation) *float64) *float64 {
	var values []float64
	for _, o := range used {
		values = AppendKnown(values, of(o))
	}
	if len(values) == 0 {
		return nil
	}
	mean := stat.Mean(values)
	return &mean
}

// seenIn returns a series' mean over samples, or the most that it was; nil: it has no value there.
func seenIn(samples []record.Sample, name string, most bool) *float64 {
	var sum, seconds, top float64
	for _, s := range samples {
		if value, there := s.Resources.Get(name); there {
			sum, seconds, top = sum+value*s.Seconds, seconds+s.Seconds, max(top, value)
		}
	}
	switch {
	case seconds == 0:
		return nil
	case most:
		return &top
	}
	mean := sum / seconds
	return &mean
}

// Faulty says if something happened to the store's servers in the phase, as the experiment asked.
func (o *Observation) Faulty() bool { return o.Phase != nil && wasFaulty(o.Phase) }

func wasFaulty(p *record.Phase) bool {
	return slices.ContainsFunc(p.Faults, func(f record.ServerFault) bool { return f.Error == "" })
}

// Directed says if the rate did what the experiment asked for: servers were taken down, or the rate was
// to change. Nothing is then said of whether it held.
func (o *Observation) Directed() bool { return o.Phase != nil && wasDirected(o.Phase) }

func wasDirected(p *record.Phase) bool { return wasFaulty(p) || len(p.Intervals) > 0 }

// ServerOperations returns what each server did in a phase, its count after it less that after the
// phase before, and its weight; no weights where a server has none, as where requests enter by any of
// them. The first phase of a trial has nothing before it, and tells nothing.
func (o *Observation) ServerOperations() (done, weights []float64) {
	if o.Faulty() {
		return nil, nil // one of them was away
	}
	var before map[string]float64
	for i := range o.Trial.Phases {
		if o.Trial.Phases[i].Number == o.Phase.Number {
			break
		}
		before = o.Trial.Phases[i].Stats
	}
	for i := 0; ; i++ {
		name := store.ServerStat(i, store.ServerOperations)
		now, told := o.Phase.Stats[name]
		then, toldBefore := before[name]
		if !told || !toldBefore {
			break
		}
		done = append(done, now-then)
		if weight := o.Phase.Stats[store.ServerStat(i, store.ServerWeight)]; weight > 0 {
			weights = append(weights, weight)
		}
	}
	if len(weights) < len(done) {
		weights = nil
	}
	return done, weights
}
