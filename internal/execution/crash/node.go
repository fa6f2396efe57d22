package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
	"assay/internal/experiment/keyval"
	"assay/store"
)

// node is the one of several servers whose power is cut. Its directory is on the rig's disk, and those of
// the others are not.
type node struct {
	victim int // from 0 on
	place  string
	disks  []string // each as a cut left the one before; the last is recorded
	from   int      // events before it are of mkfs and the start
	away   bool     // it does not run, and must not be asked
}

// Return is what became of a server whose power was cut, once it was started again. No class promises
// that it comes back where the others have its records.
type Return struct {
	NS  int64  `json:"ns"`            // from its start until all answered, or until it was given up
	Why string `json:"why,omitempty"` // it did not come back; "": it did
	// After is what all servers gave back once it was there; nil: Check is that, or it did not come back.
	After *Check `json:"after,omitempty"`
}

// Comebacks is what became of the servers whose power was cut, over the cuts of a result.
type Comebacks struct {
	Tried, NotBack int
	Median, Worst  time.Duration // of those that came back
	First          *Cut          // after which it did not come back; nil: all did
	// of which most was missing once the server was back, where that breaks no promise; nil:
	// nothing was
	Lacking *Cut
}

// Back returns what became of the servers whose power was cut; nil: none was started again.
func (r *Result) Back() *Comebacks {
	b := &Comebacks{}
	var took []time.Duration
	for i := range r.Cuts {
		cut := &r.Cuts[i]
		switch back := cut.Return; {
		case back == nil:
			continue
		case back.Why == "":
			took = append(took, time.Duration(back.NS))
			if a := back.After; a != nil && (a.Missing() > 0 || a.Damage() != "") && (b.Lacking == nil || a.Missing() > b.Lacking.Return.After.Missing()) {
				b.Lacking = cut
			}
		default:
			if b.NotBack++; b.First == nil {
				b.First = cut
			}
		}
		b.Tried++
	}
	if b.Tried == 0 {
		return nil
	}
	if len(took) > 0 {
		slices.Sort(took)
		b.Median, b.Worst = middle(took), took[len(took)-1]
	}
	return b
}

// nodeCuts cuts the power of one server of several. The others go on, and know what it had told them: so
// that a recording can't be cut afterwards, and each cut is a life of its own.
//
// What the client had been told is held against what the servers answer. D4 promises that the others have
// it: they are asked while the victim is away. Elsewhere the victim comes back first, on what its disk kept.
// Then, where the servers need a majority and one more may go, another is killed: what the victim had taken
// part in must be there without it. A victim that does not come back is reported separately, if the others have
// its records; they are asked then.
func (t *tester) nodeCuts(rig *powercut.Rig) error {
	var opens time.Duration
	for number := 0; number <= t.options.Cuts; number++ { // 0 is the control, without a cut
		if number > 0 && t.options.Only > 0 && number != t.options.Only {
			continue
		}
		t.progress(number)
		cut, took, err := t.nodeCut(rig, number, opens)
		if err != nil {
			return fmt.Errorf("cut %d of %s: %w", number, t.target.Name(), err)
		}
		switch {
		case t.result.Why != "":
			return nil
		case number > 0:
			t.result.Cuts = append(t.result.Cuts, cut)
		default:
			opens = took
			t.result.Control = &cut.Check
			if t.result.Why = failedControl(&cut.Check); t.result.Why != "" {
				return nil
			}
		}
		if t.isEnough() {
			break
		}
	}
	return nil
}

// nodeCut is one life: 0 is that of the control. opens is how long a server took to open in that.
func (t *tester) nodeCut(rig *powercut.Rig, number int, opens time.Duration) (cut Cut, took time.Duration, err error) {
	seed := keyval.Mix(t.options.Seed ^ uint64(number)<<32)
	r := random(t.options.Seed, number)
	disk := fmt.Sprintf("life-%d", number)
	if err := errors.Join(rig.New(disk, t.diskBytes()), rig.Mount(disk)); err != nil {
		return cut, 0, err
	}
	place := filepath.Join(rig.Point(), storePlace)
	if err := errors.Join(t.target.letIn(rig.Point()), t.target.letIn(rig.Directory())); err != nil {
		return cut, 0, err
	}
	s, err := t.newSession(number)
	if err != nil {
		return cut, 0, err
	}
	s.node = &node{victim: r.IntN(t.target.Store.Servers()), place: place, disks: []string{disk}}
	defer func() {
		s.discard(&err)
		err = errors.Join(err, rig.Unmount())
		for _, made := range s.node.disks {
			err = errors.Join(err, rig.Drop(made))
		}
	}()
	if err := s.startServer(); err != nil {
		t.result.Why, err = blame("does not open", err)
		return cut, 0, err
	}
	if err := rig.Sync(); err != nil { // what a server makes before it serves is no one's acknowledged write
		return cut, 0, err
	}
	if s.node.from, err = rig.Count(disk); err != nil {
		return cut, 0, err
	}
	if err := s.begin(); err != nil {
		t.result.Why, err = blame("does not open", err)
		return cut, 0, err
	}
	if err := t.see(s); err != nil {
		return cut, 0, err
	}
	steps, err := t.target.workload(seed, 1)
	if err != nil {
		return cut, 0, err
	}
	var m *moment
	if number > 0 {
		drawn := drawMoment(r, len(steps))
		m = &drawn
		cut.Moment = drawn.String()
	}
	cut.Number, cut.Node, cut.Keep = number, s.node.victim+1, drawKeep(r)
	s.rig = rig
	var stamps []Stamp
	began := time.Now()
	if cut.Entry, err = s.work(seed, m, began, &stamps); err != nil {
		t.result.Why, err = blame("fails before it is cut", err)
		return cut, 0, err
	}
	cut.NS = time.Since(began).Nanoseconds()
	at := Stamp{NS: cut.NS, Phase: len(s.phases)}
	if m == nil {
		if err := errors.Join(s.close(), s.end()); err != nil {
			t.result.Why, err = blame("does not close", err)
			return cut, 0, err
		}
		cut.Check, err = s.check(s.phases, last(stamps), stamps)
		return cut, time.Duration(cut.OpenNS), err
	}
	if why, err := t.lose(rig, s, &cut, r); err != nil || why != "" {
		cut.NoFileSystem = why
		return cut, 0, err
	}
	if m.recovery {
		ctx, cancel := context.WithTimeout(t.ctx, time.Duration(m.delay*float64(opens)))
		err := s.server.Members[s.node.victim].Restart(ctx, t.options.Timeout)
		if err == nil {
			<-ctx.Done()
		}
		cancel()
		if _, err := s.server.Members[s.node.victim].Halt(); err != nil && t.ctx.Err() == nil &&
			!s.node.ended(s.server) {
			return cut, 0, err
		}
		cut.Keep = drawKeep(r)
		if why, err := t.lose(rig, s, &cut, r); err != nil || why != "" {
			cut.NoFileSystem = why
			return cut, 0, err
		}
	}
	cut.Check, cut.Return, err = t.judgeWithout(s, at, stamps, r)
	return cut, 0, err
}

// judgeWithout holds what the servers give back against what the client had been told, and starts the
// victim again.
func (t *tester) judgeWithout(s *session, at Stamp, stamps []Stamp, r *rand.Rand) (c Check, back *Return, err error) {
	n, others := s.node, t.target.othersHaveAll(s.server)
	n.away = true
	look := func() (c Check, err error) {
		c, err = s.check(s.phases, at, stamps)
		s.killWorker()
		return c, err
	}
	isLost := t.target.Cell.Durability == store.D4
	if isLost {
		if c, err = look(); err != nil || c.Refused != "" {
			return c, nil, err
		}
	}
	began := time.Now()
	why, err := blame("does not start again", n.comeBack(t.ctx, s.server, t.options.Timeout))
	back = &Return{NS: time.Since(began).Nanoseconds(), Why: why}
	switch {
	case err != nil:
		return c, back, err
	case why != "" && (!others || t.options.IgnoresFlushes && !isLost || t.options.OpenMax > 0):
		c.Refused = fmt.Sprintf("server %d of %d %s", n.victim+1, len(s.server.Members), why)
		return c, back, nil
	case why != "" && isLost:
		return c, back, nil
	case why != "":
		c, err = look()
		return c, back, err
	}
	n.away = false
	if isLost {
		after, err := look()
		back.After = &after
		return c, back, err
	}
	if others {
		if why, err := blame("with one more killed", n.loseAnother(t.ctx, s.server, t.options.Timeout, r)); err != nil || why != "" {
			c.Refused = why
			return c, back, err
		}
	}
	c, err = look()
	c.OpenNS += back.NS
	return c, back, err
}

// othersHaveAll reports whether all records are there while one of the servers is not.
func (t *Target) othersHaveAll(g *server.Group) bool {
	return t.Cell.Durability == store.D4 || g.Members[0].Program.Majority && len(g.Members) > 2
}

// ended reports whether the victim has no process.
func (n *node) ended(g *server.Group) bool {
	select {
	case <-g.Members[n.victim].Exited():
		return true
	default:
		return false
	}
}

// lose takes the power from the victim, which stands still: its disk is then what the cut left. why says
// what kept its file system from recovering.
func (t *tester) lose(rig *powercut.Rig, s *session, cut *Cut, r *rand.Rand) (why string, err error) {
	n := s.node
	disk := n.disks[len(n.disks)-1]
	events, err := rig.Count(disk) // no acknowledgement follows: nothing of the victim runs
	if err != nil {
		return "", err
	}
	if !n.ended(s.server) {
		if err := s.server.Members[n.victim].Crash(nil); err != nil {
			return "", err
		}
	}
	if _, err := rig.Stop(disk); err != nil {
		return "", err
	}
	if err := rig.Unmount(); err != nil {
		return "", err
	}
	name := disk + "-cut"
	if cut.Digest, err = rig.Cut(name, powercut.Cut{Of: disk, From: n.from, At: events, Keep: cut.Keep,
		Seed: r.Uint64(), IgnoresFlushes: t.options.IgnoresFlushes, SectorBytes: t.options.SectorBytes}); err != nil {
		return "", err
	}
	n.disks, n.from = append(n.disks, name), 0
	why, err = mount(rig, name)
	return why, err
}

// comeBack starts the victim on what its disk kept. One that does not answer is ended.
func (n *node) comeBack(ctx context.Context, g *server.Group, patience time.Duration) error {
	victim := g.Members[n.victim]
	if _, err := os.Stat(victim.Directory); err != nil {
		return fmt.Errorf("%w: its directory is gone", errServer)
	}
	err := g.Rejoin(ctx, n.victim, patience)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !n.ended(g) {
		err = errors.Join(err, victim.Crash(nil))
	}
	return fmt.Errorf("%w: %w", errServer, err)
}

// loseAnother kills one of the servers that are not the victim.
func (n *node) loseAnother(ctx context.Context, g *server.Group, patience time.Duration, r *rand.Rand) error {
	count := len(g.Members)
	err := g.Lose(ctx, (n.victim+1+r.IntN(count-1))%count, patience)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errOthers, err)
	}
	return err
}
