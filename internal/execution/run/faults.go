package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/record"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/store"
)

// faultLookEvery is how often a fault that is not due yet looks whether the phase has ended.
const faultLookEvery = 10 * time.Millisecond

// faults are what happens to the servers of a trial while a phase runs. A nil one is none.
type faults struct {
	servers  *underTest
	patience time.Duration // for a server to start
	planned  []experiment.Fault
	down     map[int]string // node → what was done to it
	events   []record.ServerFault
	over     context.CancelFunc
	ended    chan struct{}
}

// newFaults returns what is to happen in a phase to servers that take so long to start at most; nil:
// nothing, or there is no server.
func newFaults(planned []experiment.Fault, servers *underTest, patience time.Duration) *faults {
	if len(planned) == 0 || servers.store.Description.Kind != store.Server {
		return nil
	}
	return &faults{servers: servers, patience: patience, planned: planned, down: map[int]string{}}
}

// begin lets faults happen at their times, in a goroutine of its own: starting a server takes long,
// and sampling must not wait. What must wait for that is later, and what follows with it, so that each
// lasts as long as planned. startNS tells when the phase began; 0: not yet.
func (f *faults) begin(ctx context.Context, startNS func() uint64) {
	if f == nil {
		return
	}
	phase, over := context.WithCancel(ctx)
	f.over, f.ended = over, make(chan struct{})
	go func() {
		defer close(f.ended)
		late := time.Duration(0)
		for _, one := range f.planned {
			late = max(late, sinceNS(startNS())-one.At)
			for startNS() == 0 || sinceNS(startNS()) < one.At+late {
				select {
				case <-phase.Done():
					return
				case <-time.After(faultLookEvery):
				}
			}
			if phase.Err() != nil { // it ended while the one before was under way
				return
			}
			f.happen(ctx, one, startNS()) // the phase's end does not cut it short
		}
	}()
}

// sinceNS is the time since a phase began; 0: it has not.
func sinceNS(startNS uint64) time.Duration {
	if startNS == 0 {
		return 0
	}
	return time.Duration(clock.MonotonicNS() - int64(startNS))
}

// end waits for a start that is under way, and undoes all that a phase left: what follows needs every server.
func (f *faults) end(ctx context.Context, startNS uint64) ([]record.ServerFault, error) {
	if f == nil || f.over == nil {
		return nil, nil
	}
	f.over()
	<-f.ended
	for node := 1; node <= f.servers.store.Servers(); node++ {
		if f.down[node] != "" {
			before := len(f.events)
			f.happen(ctx, experiment.Fault{Does: experiment.FaultStart, Node: node}, startNS)
			for i := range f.events[before:] {
				f.events[before+i].After = true
			}
		}
	}
	for _, e := range f.events {
		if e.Does == experiment.FaultStart && e.Error != "" {
			if experiment.ByMachine(e.Undoes) {
				return f.events, fmt.Errorf("lifting the limit of the %s of node %d: %s", e.Undoes, e.Node, e.Error)
			}
			return f.events, fmt.Errorf("%w: starting node %d again: %s", server.ErrDied, e.Node, e.Error)
		}
		if experiment.ByMachine(e.Does) && e.Error != "" { // the phase is not what was asked for
			return f.events, fmt.Errorf("limiting the %s of node %d to %s: %s", e.Does, e.Node, e.Amount, e.Error)
		}
	}
	return f.events, nil
}

// happen does one fault and notes when.
func (f *faults) happen(ctx context.Context, one experiment.Fault, startNS uint64) {
	from := clock.MonotonicNS()
	err := f.do(ctx, one)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return // the run ends
	}
	e := record.ServerFault{At: float64(from-int64(startNS)) / 1e9, Does: one.Does, Node: one.Node,
		Amount: one.Amount(),
		Undoes: f.down[one.Node], Seconds: float64(clock.MonotonicNS()-from) / 1e9}
	if err != nil {
		e.Error = err.Error()
	}
	f.events = append(f.events, e)
	switch {
	case err != nil && experiment.ByMachine(one.Does): // nothing of it is in force
	case one.Does == experiment.FaultStart:
		delete(f.down, one.Node)
	case !experiment.Momentary(one.Does):
		f.down[one.Node] = one.Does
	}
}

func (f *faults) do(ctx context.Context, one experiment.Fault) error {
	does := one.Does
	if does == experiment.FaultStart {
		does = f.down[one.Node]
	}
	if experiment.ByProxy(does) {
		f.atProxy(f.servers.proxies[one.Node-1], one)
		return nil
	}
	i := f.servers.own.Members[one.Node-1]
	switch {
	case experiment.ByMachine(one.Does):
		return f.servers.limit(one)
	case experiment.ByMachine(does):
		return f.servers.lift(one.Node)
	case one.Does == experiment.FaultKill:
		return i.Crash(nil)
	case one.Does == experiment.FaultFreeze:
		return i.Freeze()
	}
	return errors.Join(i.Revive(ctx, f.patience), f.servers.enterRoom(one.Node))
}

// atProxy does what is done between clients and a server, or undoes it.
func (f *faults) atProxy(p *server.Proxy, one experiment.Fault) {
	switch one.Does {
	case experiment.FaultCut:
		p.Cut()
	case experiment.FaultDelay:
		p.SetShape(server.Shape{Delay: one.Delay, Jitter: one.Jitter})
	case experiment.FaultBandwidth:
		p.SetShape(server.Shape{BytesPerSecond: one.BytesPerSecond})
	case experiment.FaultReset:
		p.ResetShare(1)
	case experiment.FaultDrop:
		p.ResetShare(one.Share)
	default:
		p.SetShape(server.Shape{})
		p.Heal()
	}
}
