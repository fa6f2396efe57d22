package run

import (
	"cmp"
	"context"
	"time"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// How long a trial waits at most for the machine to be back where it was before the first one: a
// tenth of what its phases take. Where that is less than a look, nothing is waited for.
const (
	settleShare = 10
	settleMost  = 10 * time.Second
	settleLook  = 100 * time.Millisecond
)

// settler keeps a trial from beginning in what the one before it left: dirty pages, a device that is
// still at work, programs that have not ended.
type settler struct {
	look   func() host.Left
	pause  func(ctx context.Context, d time.Duration)
	before *host.Left // the first trial; nil: none has begun
}

func newSettler(directory string) *settler {
	return &settler{look: host.NewRest(directory).Look, pause: pause}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// settleLimit is how long a trial waits at most; 0: it does not.
func (r *running) settleLimit(p plan.Trial) time.Duration {
	var phases time.Duration
	for _, phase := range r.experiment.Phases {
		if p.Skip[phase.Name] == "" {
			phases += p.Phase(phase).Duration
		}
	}
	limit := min(phases/settleShare, settleMost)
	if p.Refuse != "" || limit < settleLook {
		return 0
	}
	return limit
}

// settle waits until the machine is back where it was before the first trial, for so long at most;
// nil: nothing was looked at.
func (r *running) settle(ctx context.Context, limit time.Duration) *record.Settled {
	if limit == 0 {
		return nil
	}
	if r.settler == nil {
		r.settler = newSettler(cmp.Or(r.options.DataRoot, r.options.Directory))
	}
	return r.settler.wait(ctx, limit)
}

func (s *settler) wait(ctx context.Context, limit time.Duration) *record.Settled {
	settled := &record.Settled{LimitSeconds: limit.Seconds()}
	if s.before == nil {
		s.pause(ctx, settleLook)
		before := s.look()
		s.before, settled.Left = &before, before
		return settled
	}
	var waited time.Duration
	for {
		// The first time, the interval since the look before is the last trial's.
		step := min(settleLook, limit-waited)
		if waited == 0 {
			s.look()
		}
		s.pause(ctx, step)
		waited += step
		settled.Left = s.look()
		settled.NotBack = settled.Left.Above(*s.before)
		settled.Seconds = waited.Seconds()
		if len(settled.NotBack) == 0 || waited >= limit || ctx.Err() != nil {
			return settled
		}
	}
}
