package crash

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/base/format"
	"assay/internal/execution/control"
	"assay/store"
)

var closeRequest = control.Request{Command: control.CommandClose}

// State is what the cuts say of a class.
type State string

const (
	Kept       State = "kept"        // every cut left what the class promises
	Refuted    State = "refuted"     // some cut did not
	NoPromise  State = "no promise"  // the class says nothing of this kind of cut: what is lost is measured
	Stopped    State = "stopped"     // before a cut was looked at
	NotTested  State = "not tested"  // the store can't be cut off, or its class not be reached
	NotPassing State = "not passing" // the control: without a cut, too, records are not kept
)

// Promise is what a class says of a kind of cut: at most the writes of a window may be missing, and
// nothing may be damaged. promises is false where it says nothing.
//
// D0 is lost with the process. D1 outlives it, and not the power. D2(T) loses at most the writes of
// the last T to either. D3 loses nothing.
func Promise(class store.Durability, window time.Duration, kind Kind) (lossMax time.Duration, promises bool) {
	switch class {
	case store.D1:
		return 0, kind == Kill
	case store.D2:
		return window, true
	case store.D3:
		return 0, true
	}
	return 0, false
}

// promise is what the class of the result says of its cuts. D4 has its records in the memory of several
// nodes, and loses none with one of them.
func (r *Result) promise(kind Kind) (lossMax time.Duration, promises bool) {
	if r.OneNode && r.Class == store.D4 {
		return 0, true
	}
	return Promise(r.Class, time.Duration(r.WindowNS), kind)
}

// HowBroken says how a cut broke what the class of the result promises; "": it did not.
func (r *Result) HowBroken(c *Check, kind Kind) string {
	lossMax, promises := r.promise(kind)
	switch damage := c.Damage(); {
	case !promises:
		return ""
	case damage != "":
		return damage
	case r.OpenMaxNS > 0 && c.OpenNS > r.OpenMaxNS:
		return fmt.Sprintf("opened in %s, not within %s", format.Duration(time.Duration(c.OpenNS)), format.Duration(time.Duration(r.OpenMaxNS)))
	case c.Missing() > 0 && (lossMax == 0 || c.LossNS > lossMax.Nanoseconds()+stampPeriod.Nanoseconds()):
		return fmt.Sprintf("lost %d of %d records, the first %s before the cut", c.Missing(), c.Records, format.Duration(time.Duration(c.LossNS)))
	}
	return ""
}

// conclude sets the state.
func (r *Result) conclude(kind Kind) {
	_, promises := r.promise(kind)
	r.Loss = r.Window()
	switch {
	case r.Control == nil && r.Why != "":
		r.State = NotTested
	case r.Why != "":
		r.State = NotPassing
	case r.Looked() == 0:
		r.State = Stopped
	case !promises:
		r.State = NoPromise
	default:
		r.State, r.Broken = Kept, len(r.BrokenCuts(kind))
		if worst := r.Worst(kind); worst != nil {
			r.State, r.Why = Refuted, fmt.Sprintf("cut %d (%s): %s", worst.Number, worst.Moment, r.HowBroken(&worst.Check, kind))
		}
	}
}

// Looked is how many cuts left a file system, so that the store was looked at.
func (r *Result) Looked() (n int) {
	for i := range r.Cuts {
		if r.Cuts[i].NoFileSystem == "" {
			n++
		}
	}
	return n
}

// ReadBack is how many records were read back after the cuts, over all of them.
func (r *Result) ReadBack() (n uint64) {
	for i := range r.Cuts {
		n += r.Cuts[i].Records
	}
	return n
}

// BrokenCuts are the cuts that broke the promise.
func (r *Result) BrokenCuts(kind Kind) (broken []*Cut) {
	for i := range r.Cuts {
		if r.HowBroken(&r.Cuts[i].Check, kind) != "" {
			broken = append(broken, &r.Cuts[i])
		}
	}
	return broken
}

// Worst is the cut that lost most, damage before loss; nil: none broke the promise.
func (r *Result) Worst(kind Kind) *Cut {
	broken := r.BrokenCuts(kind)
	if len(broken) == 0 {
		return nil
	}
	return slices.MaxFunc(broken, func(a, b *Cut) int {
		if da, db := a.Damage() != "", b.Damage() != ""; da != db {
			if da {
				return 1
			}
			return -1
		}
		return int(min(a.Missing(), 1<<40)) - int(min(b.Missing(), 1<<40))
	})
}

// Smallest is the broken cut that comes after the least work: the one that is easiest to look into.
func (r *Result) Smallest(kind Kind) *Cut {
	broken := r.BrokenCuts(kind)
	if len(broken) == 0 {
		return nil
	}
	return slices.MinFunc(broken, func(a, b *Cut) int { return int(a.NS - b.NS) })
}
