package storetest

import (
	"fmt"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/experiment/trace"
	"assay/store"
)

// settleMax is how long the kit waits for what a store does by itself a little later.
const settleMax = time.Minute

// settle looks again and again until what it waits for is so; false: it never was. It looks a hundred times at
// most: a store has no more phases.
func (b *bench) settle(done func() (bool, error)) (bool, error) {
	pause := 10 * time.Millisecond
	for end := time.Now().Add(min(b.target.StepTimeout, settleMax)); ; pause = min(pause*6/5, time.Second) {
		if so, err := done(); so || err != nil {
			return so, err
		}
		if time.Now().After(end) {
			return false, nil
		}
		time.Sleep(pause)
	}
}

// connectionsRule counts the sockets of the worker: what its process holds in a trial is judged by the
// description.
func connectionsRule(b *bench) error {
	d := b.description
	if d.Kind != store.Server || len(b.target.Endpoints) == 0 {
		return skip("%s is reached over no connections", d.Name)
	}
	threads, each := b.threads(4), max(d.ConnectionsEach, 1)
	if err := b.holdConnections(handlesPerThread, threads, threads*each+d.ConnectionsOwn, 0); err != nil {
		return err
	}
	if !d.HandlesShareable {
		return nil
	}
	more := 0
	if d.HandlePools {
		more = (threads - 1) * each
	}
	return b.holdConnections(handlesShared, threads, each+d.ConnectionsOwn, more)
}

// holdConnections opens the store, uses all handles, and waits until the worker holds so many
// connections, or some more: to each server, where handles don't share several among them. It closes the
// store.
func (b *bench) holdConnections(mode string, threads, least, more int) error {
	if _, err := b.open(opening{handles: mode, threads: threads}); err != nil {
		return err
	}
	s := b.script(threads)
	base := b.base(s.keys)
	for thread := range threads {
		for i := range uint64(5) {
			s.do(thread, trace.Upsert, base+uint64(thread)*10+i, 50)
		}
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allDone(r, "writing")
	sampler := host.NewSampler("", b.worker.PID())
	sampler.WatchConnections(b.target.Endpoints)
	most, seen := len(b.target.Endpoints)*(least+more), 0
	held, err := b.settle(func() (bool, error) {
		n, known := sampler.Connections()
		if !known {
			return false, skip("this machine does not tell whose connections there are")
		}
		seen = n
		return n >= least && n <= most, nil
	})
	if err != nil {
		return err
	}
	switch {
	case seen == 0:
		return skip("%s holds no connections by TCP", b.description.Name)
	case !held:
		b.fault("%d threads, handles %s: the worker holds %d connections, the description says %s", threads, mode, seen,
			countText(least, most))
	}
	return b.close()
}

func countText(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// reconnectsRule kills the server under open handles, and starts it again.
func reconnectsRule(b *bench) error {
	switch {
	case b.description.Kind != store.Server:
		return skip("%s has no server that could go and come back", b.description.Name)
	case b.target.Cut == nil:
		return skip("the server of %s is not the kit's to kill and to start again", b.description.Name)
	}
	threads, classes := b.threads(4), b.description.Durability
	strongest := classes[len(classes)-1].Class
	if _, err := b.open(opening{threads: threads, durability: strongest}); err != nil {
		return err
	}
	use := func() (*ran, error) {
		s := b.script(threads)
		base := b.base(s.keys)
		for thread := range threads {
			s.do(thread, trace.Upsert, base+uint64(thread), 50)
			s.do(thread, trace.Read, base+uint64(thread), 0)
		}
		return b.run(s)
	}
	r, err := use()
	if err != nil {
		return err
	}
	b.allOK(r, "before the server is killed")
	if err := b.target.Cut(func() {}); err != nil {
		return fmt.Errorf("killing the server and starting it again: %w", err)
	}
	back, err := b.settle(func() (bool, error) {
		if r, err = use(); err != nil {
			return false, err
		}
		return r.right() == r.operations(), nil
	})
	if err != nil {
		return fmt.Errorf("after the server was killed and started again: %w", err)
	}
	if !back && strongest == store.D0 {
		return skip("in D0 the server of %s keeps nothing, not even where records were put: %s", b.description.Name, r.outcomes(trace.Upsert))
	}
	if !back {
		b.fault("the server was killed and started again %v ago, and handles that were open still give: upsert: %s; read: %s",
			min(b.target.StepTimeout, settleMax), r.outcomes(trace.Upsert), r.outcomes(trace.Read))
	}
	return b.close()
}

// operations returns how many a phase did.
func (r *ran) operations() (n uint64) {
	for _, t := range r.sample.Totals {
		n += t.Operations()
	}
	return n
}

// right returns how many of them are ok.
func (r *ran) right() (n uint64) {
	for _, t := range r.sample.Totals {
		n += t.Outcomes[counters.OK]
	}
	return n
}
