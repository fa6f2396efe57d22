package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/base/histogram"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/plan"
)

// capacitySearch is a phase that searches for a capacity, under way.
type capacitySearch struct {
	asked    *experiment.Phase
	sum      *record.Phase // of the steps so far; nil: none has ended
	held     *record.Phase // the last step that confirms; nil: none held
	problems [][]finding.Message
	capacity record.Capacity
}

// searchCapacity runs a phase that searches for a capacity: closed load, and then the steps that the
// search asks for. Its result is that of one phase.
func (t *trial) searchCapacity(ctx context.Context, p *experiment.Phase, position int) (err error) {
	s := &capacitySearch{asked: p}
	s.capacity.MayFail = slices.ContainsFunc(p.Capacity.Objectives,
		func(o capacity.Objective) bool { return o.Metric == capacity.Errors })
	defer func() {
		t.seriesAt = 0
		if s.sum != nil {
			t.result.addPhase(s.result(), s.problems)
		}
	}()
	closed := capacity.Step{Kind: capacity.Closed, Length: p.Capacity.Length(capacity.Closed, p.Capacity.To)}
	seen, err := t.capacityStep(ctx, s, closed, position)
	if err != nil {
		return err
	}
	search := capacity.NewSearch(*p.Capacity, capacity.StartShare*seen.Done, t.plan.Role == plan.Ceiling,
		keyval.Mix(t.plan.Seed^uint64(position)<<32))
	for {
		step, more := search.Next()
		if !more || t.disk.full {
			return nil
		}
		if seen, err = t.capacityStep(ctx, s, step, position); err != nil {
			return fmt.Errorf("at %s: %w", format.Rate(step.Rate), err)
		}
		s.capacity.Steps[len(s.capacity.Steps)-1].Again = search.Saw(seen)
	}
}

// numbers is how many numbers of phases the trial has used.
func (t *trial) numbers() int { return len(t.run.experiment.Phases) + t.steps }

// capacityStep does a step of a search.
func (t *trial) capacityStep(ctx context.Context, s *capacitySearch, step capacity.Step,
	position int) (capacity.Seen, error) {
	does := s.asked.CapacityStep(step)
	t.steps++
	t.device = deviceUse{}
	link, power := host.ReadLinks(), host.ReadEnergy()
	began := time.Now()
	if s.sum != nil {
		t.seriesAt = t.sampledTo // what came after a step's last sample is in no series
	}
	at := place{position: position, number: t.numbers(), step: true}
	var saw record.CapacityStep
	err := t.phaseAt(ctx, &does, at, func(p *record.Phase, problems [][]finding.Message) {
		saw = s.add(step, p, problems, t.seriesAt)
	})
	if n := len(s.capacity.Steps); n > 0 && s.capacity.Steps[n-1].Kind == step.Kind {
		of := &s.capacity.Steps[n-1]
		of.DiskBusy, of.DiskRequests = t.device.mean()
		of.LinkBusy, of.LinkBytes = link.Since(host.ReadLinks(), of.Seconds)
		of.Watts = power.Since(host.ReadEnergy(), time.Since(began).Seconds())
	}
	seen := saw.Seen(s.asked.Capacity.Objectives)
	if err == nil && step.Kind != capacity.Closed && saw.Response == nil {
		err = fmt.Errorf("the step of %s ended before anything of it was judged", format.Seconds(step.Length.Seconds()))
	}
	return seen, err
}

// add adds a step to the phase.
func (s *capacitySearch) add(step capacity.Step, p *record.Phase, problems [][]finding.Message,
	atS float64) record.CapacityStep {
	saw := stepOf(step, p)
	saw.AtS = atS
	s.capacity.Steps = append(s.capacity.Steps, saw)
	p.Intervals = nil
	seen := saw.Seen(s.asked.Capacity.Objectives)
	whole := *p
	if step.Kind == capacity.Hold && seen.Held() {
		s.held = &whole
	}
	if s.sum == nil {
		first := *p
		first.Operations = slices.Clone(p.Operations)
		s.sum = &first
	} else {
		s.sum.AddStep(p)
	}
	for i, of := range problems {
		if i == len(s.problems) {
			s.problems = append(s.problems, nil)
		}
		s.problems[i] = append(s.problems[i], of...)
	}
	return saw
}

// result is the phase: the sum of its steps, with the latencies of the step that confirms.
func (s *capacitySearch) result() *record.Phase {
	r := s.sum
	r.Capacity = &s.capacity
	for i := range r.Operations {
		r.Operations[i].Response = histogram.New()
	}
	r.Open, r.Late, r.LatenessMaxNS, r.NotBegun, r.BehindNS = true, nil, 0, 0, 0
	if s.held == nil {
		return r
	}
	r.Late, r.LatenessMaxNS, r.NotBegun, r.BehindNS =
		s.capacity.Steps[len(s.capacity.Steps)-1].Late, s.held.LatenessMaxNS, s.held.NotBegun, s.held.BehindNS
	for i := range r.Operations {
		for k := range s.held.Operations {
			if s.held.Operations[k].Name == r.Operations[i].Name && s.held.Operations[k].Response != nil {
				r.Operations[i].Response = s.held.Operations[k].Response
			}
		}
	}
	return r
}

// stepOf is what a step saw, of the phase that it was.
func stepOf(step capacity.Step, p *record.Phase) record.CapacityStep {
	saw := record.CapacityStep{Kind: step.Kind, Rate: step.Rate, Seconds: time.Duration(p.ElapsedNS).Seconds()}
	var good, done, bad, reads, missed uint64
	for _, o := range p.Operations {
		good, done, bad = good+o.Good(), done+o.Done(), bad+o.Done()-o.Good()
		found, asked := o.Reads()
		reads, missed = reads+asked, missed+asked-found
	}
	share := func(of, all uint64) float64 {
		if all == 0 {
			return 0
		}
		return float64(of) / float64(all)
	}
	saw.Bad, saw.Missed = share(bad+p.Unfinished, done+p.Unfinished), share(missed, reads)
	if saw.Seconds > 0 {
		saw.Done = float64(good) / saw.Seconds
		saw.ClientCPUs, saw.ServerCPUs = perSecond(p.Process.CPUSeconds,
			saw.Seconds), perSecond(p.Process.ServerCPUSeconds, saw.Seconds)
	}
	if step.Kind == capacity.Closed {
		for _, o := range p.Operations {
			saw.Response = histogram.Sum(saw.Response, o.Service)
		}
		if saw.Response != nil {
			saw.Response.Pack()
		}
	}
	saw.NoteMachine(p)
	if p.ThreadsNS > 0 {
		saw.Waited = float64(p.HandleWaitNS) / float64(p.ThreadsNS)
	}
	for i := range p.Intervals {
		if interval := &p.Intervals[i]; interval.Stretch == experiment.CapacityJudged {
			saw.Due, saw.Never, saw.Response, saw.Late = interval.Asked, interval.Never, interval.Response,
				interval.Late
		}
	}
	if saw.Response == nil && step.Kind != capacity.Closed {
		judgeWhole(&saw, p)
	}
	return saw
}

// judgeWhole judges all of a step: on a machine that is busy enough, it may have ended before anybody looked at the
// part that is judged.
func judgeWhole(saw *record.CapacityStep, p *record.Phase) {
	for _, o := range p.Operations {
		saw.Response = histogram.Sum(saw.Response, o.Response)
	}
	if saw.Response == nil {
		return
	}
	saw.Response.Pack()
	saw.Due, saw.Never, saw.Late = p.Attempted+p.NotBegun, p.Unfinished+p.NotBegun, p.Late
}

func perSecond(sum *float64, seconds float64) *float64 {
	if sum == nil {
		return nil
	}
	rate := *sum / seconds
	return &rate
}

// deviceUse is what the samples of a step tell of the data's disk.
type deviceUse struct{ seconds, busy, requests float64 }

// add adds a sample, of those that tell it.
func (d *deviceUse) add(s *record.Sample) {
	busy, known := s.Resources.Get("device.busy")
	if !known {
		return
	}
	d.seconds, d.busy = d.seconds+s.Seconds, d.busy+busy*s.Seconds
	for _, name := range []string{"device.reads", "device.writes", "device.flushes"} {
		requests, _ := s.Resources.Get(name)
		d.requests += requests * s.Seconds
	}
}

// mean is over the samples; nil: none told it.
func (d *deviceUse) mean() (busy, requests *float64) {
	if d.seconds == 0 {
		return nil, nil
	}
	b, r := min(d.busy/d.seconds, 1), d.requests/d.seconds
	return &b, &r
}
