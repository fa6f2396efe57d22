package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/store"
)

// detectConnections reports arms that hold more connections to their server than the handles of
// the cell allow, as the worker's process has them or as the server counts them.
func detectConnections(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if r.Store < 0 || run.Experiment.Stores[r.Store].Description.Kind != store.Server {
			return
		}
		var evidence []finding.Evidence
		var worst finding.SeenConnectionsParams
		for _, o := range r.Trials {
			if o.Course == nil || o.Faulty() { // whose clients connect again before the old connections are gone
				continue
			}
			seen := connectionsBeyond(run, o)
			for _, end := range seen {
				evidence = append(evidence, seenIn(o, finding.New(end)))
			}
			if len(seen) > 0 && seen[0].Most > worst.Most {
				worst = seen[0]
			}
		}
		if len(evidence) > 0 {
			found = append(found, placed(t, r.Arm, finding.ConnectionsExceedParams{At: atOf(t, r.Arm),
				SeenConnectionsParams: worst}, evidence...))
		}
	})
	return found
}

// connectionsBeyond says how a phase exceeded its connections, by each end that saw it: the worker's
// first, which is counted exactly, so that one sample is enough. The server's is not: see
// [serversEnd].
func connectionsBeyond(run *record.Run, o *facts.Observation) (seen []finding.SeenConnectionsParams) {
	cell := run.Experiment.Cells[o.Planned.Cell]
	allowed := float64(run.Experiment.ConnectionsMax(run.Experiment.Stores[o.Planned.Store], cell))
	add := func(end string, c connections) {
		if c.most > 0 {
			seen = append(seen, finding.SeenConnectionsParams{End: end, Allowed: allowed, Most: c.most,
				BeganS: c.beganSeconds, Course: c.course})
		}
	}
	samples := o.Course.Samples()
	add(finding.EndWorker, exceeding(samples, workersEnd, allowed))
	if o.Trial.Server == nil || cell.Handles == experiment.PerOperation {
		return seen // others may be connected; or it has yet to see that connections were closed
	}
	if c := exceeding(samples, serversEnd(samples), allowed); len(seen) > 0 || c.course != finding.ConnectionsReturn {
		add(finding.EndServer, c)
	}
	return seen
}

func workersEnd(s record.Sample) (float64, bool) { return s.Resource(host.WorkerConnections) }

// serversEnd returns the server's own count without what is no connection of the worker's (sockets
// at which it listens, connections that it makes itself): the least by which it was above the
// worker's. A connection that has just been closed may still be in it.
func serversEnd(samples []record.Sample) func(record.Sample) (float64, bool) {
	base, known := 0.0, false
	for _, s := range samples {
		mine, counted := workersEnd(s)
		theirs, told := s.Stats.Get("connections")
		if counted && told && (!known || theirs-mine < base) {
			base, known = theirs-mine, true
		}
	}
	base = max(base, 0)
	return func(s record.Sample) (float64, bool) {
		theirs, told := s.Stats.Get("connections")
		return theirs - base, told && known
	}
}

// connections is how a count went beyond its maximum. The zero value: it did not.
type connections struct {
	most, beganSeconds float64
	course             string
}

func exceeding(samples []record.Sample, end func(record.Sample) (float64, bool), allowed float64) (c connections) {
	var since []float64 // the first that is above
	for _, s := range samples {
		n, counted := end(s)
		if !counted || len(since) == 0 && n <= allowed {
			continue
		}
		if len(since) == 0 {
			c.beganSeconds = s.At
		}
		since = append(since, n)
		c.most = max(c.most, n)
	}
	switch {
	case len(since) == 0:
	case since[len(since)-1] <= allowed:
		c.course = finding.ConnectionsReturn
	case isGrowing(since):
		c.course = finding.ConnectionsGrow
	default:
		c.course = finding.ConnectionsStay
	}
	return c
}

// isGrowing reports whether the whole last third of the numbers is above the whole first one: of 12 in
// random order that is so once in 70 times, and of a leak always.
func isGrowing(numbers []float64) bool {
	third := max(len(numbers)/3, 1)
	return slices.Min(numbers[len(numbers)-third:]) > slices.Max(numbers[:third])
}

// detectConnectionsLeft reports arms whose processes still held connections a while after their
// store was closed.
func detectConnectionsLeft(run *record.Run, _ []*facts.Table) []finding.Finding {
	var s sightings[finding.SeenLeftParams]
	for _, planned := range run.Plan {
		if trial := run.Trials[planned.ID]; trial != nil && trial.ConnectionsLeft > 0 {
			seen := finding.SeenLeftParams{Most: trial.ConnectionsLeft, AfterS: record.ClosePatience.Seconds()}
			s.add(sighting{finding.ConnectionsLeft, planned.Arm, "", planned.Cell}, seen,
				finding.Evidence{Trial: planned.ID, Message: finding.New(seen)})
		}
	}
	return s.findings(run, func(_ sighting, seen *sighted[finding.SeenLeftParams]) finding.Parameters {
		p := finding.ConnectionsLeftParams{At: seen.at, AfterS: seen.facts[0].AfterS}
		for _, f := range seen.facts {
			p.Most = max(p.Most, f.Most)
		}
		return p
	})
}

// detectServerLeft reports what trials left changed on servers that outlive the run, once for each state.
func detectServerLeft(run *record.Run, _ []*facts.Table) (found []finding.Finding) {
	var s sightings[store.Left]
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil {
			continue
		}
		for _, left := range trial.Left {
			s.add(sighting{finding.ServerLeft, planned.Arm, "", planned.Cell}, left,
				finding.Evidence{Trial: planned.ID,
					Message: finding.New(finding.SeenServerLeftParams{State: left.State})})
		}
	}
	return s.findings(run, func(_ sighting, seen *sighted[store.Left]) finding.Parameters {
		last := seen.facts[len(seen.facts)-1]
		return finding.ServerLeftParams{At: seen.at, State: last.State, Undo: last.Undo, Known: facts.Undo(last) != nil}
	})
}
