package record

import (
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
	"assay/store"
)

// Verified is what of a run's data was held against what was written, over the trials of its stores.
type Verified struct {
	Values uint64 // that reads returned, in phases and at the end, and that were held against what was written
	Right  uint64 // of these
	// Old are reads of sampled keys in phases that returned a value which had been overwritten, and
	// Missed reads that did not find what was stored, of stores that promise neither.
	Old, Missed uint64

	// The final check of all trials, as [FinalCheck] has it.
	ReadBack uint64
	// Of are those from which ReadBack were drawn, where memory had room for no more of them in some
	// trial; else 0.
	Of      uint64
	Lost    uint64
	Evicted uint64
	Stale   uint64
	NotRead uint64
	// ReadRight are those of ReadBack that were right, and NotJudged those that are neither right nor at
	// fault: a write or the read of them failed, or the value tells no version.
	ReadRight, NotJudged uint64
	// StoreEvicted is what the stores of which something was evicted count themselves.
	StoreEvicted uint64

	// Expiry is what reads found of records with a TTL; nil: none had one. EarlyEvicted is what the stores
	// of which records were gone early count as evicted.
	Expiry       *Expiry
	EarlyEvicted uint64

	Trials int // of stores, that have a result
	// NotChecked are those that acknowledged writes, and of which no value was looked at, in a history
	// neither.
	NotChecked int
}

// Verified counts what was checked.
func (r *Run) Verified() (v Verified) {
	for _, planned := range r.Plan {
		t := r.Trials[planned.ID]
		if t == nil || t.State == Failed || planned.Store < 0 || planned.Role == plan.Ceiling ||
			r.Experiment.Stores[planned.Store].Description.Kind == store.None {
			continue
		}
		v.Add(t.verified(r.Experiment.Verify))
	}
	return v
}

// verified counts what was checked of a trial. Values that reads in phases returned were, where reads
// are verified.
func (t *Trial) verified(reads bool) Verified {
	v := Verified{Trials: 1}
	wrote, covered := false, uint64(0)
	for i := range t.Phases {
		p := &t.Phases[i]
		if p.GroupOf() != "" {
			continue // its operations are those of the phase, too
		}
		wrote = p.verified(&v, reads) || wrote
		if x := p.Expiry; x != nil {
			v.Expiry = v.Expiry.with(x)
			if x.Early > 0 && p.Evicted != nil {
				v.EarlyEvicted = max(v.EarlyEvicted, *p.Evicted) // it counts from the trial's begin
			}
		}
		if p.History != nil {
			covered += p.History.Covered
		}
	}
	v.Right -= min(v.Old, v.Right)
	if f := t.Final; f != nil {
		judged := f.Right + f.Stale + f.Wrong + f.Late
		v.Values, v.Right = v.Values+judged, v.Right+f.Right
		v.ReadBack, v.Lost, v.Evicted, v.Stale, v.NotRead = f.Records, f.Lost, f.Evicted, f.Stale, f.NotRead
		if f.Fits > 0 {
			v.Of = f.Of
		}
		v.ReadRight, v.NotJudged = f.Right, f.Unknown+f.Errors
		if f.Evicted > 0 && f.StoreEvicted != nil {
			v.StoreEvicted = *f.StoreEvicted
		}
	}
	if wrote && v.Values+v.ReadBack+covered == 0 {
		v.NotChecked = 1
	}
	return v
}

// verified adds what was checked in a phase, and reports whether a write was acknowledged.
func (p *Phase) verified(v *Verified, reads bool) (wrote bool) {
	for _, o := range p.Calls() {
		operation, _ := trace.ParseOperation(o.Name)
		wrote = wrote || operation.Changes() && o.OK > 0
		if !reads || !returnsValue(operation) {
			continue
		}
		right := o.OK
		if operation == trace.MultiRead {
			right = o.Items
		}
		v.Values, v.Right = v.Values+right+o.Wrong, v.Right+right
		if !p.mayMiss() {
			v.Missed += o.Lost
		}
	}
	if h := p.History; h != nil && !p.Eventual && !p.Forgot {
		v.Old += h.Stale
	}
	return wrote
}

// Add adds what another run, or trial, has verified.
func (v *Verified) Add(o Verified) {
	if v.Of+o.Of > 0 { // of the one in which all fit, those that were read
		v.Of = max(v.Of, v.ReadBack) + max(o.Of, o.ReadBack)
	}
	v.Values, v.Right, v.ReadBack = v.Values+o.Values, v.Right+o.Right, v.ReadBack+o.ReadBack
	v.Old, v.Missed = v.Old+o.Old, v.Missed+o.Missed
	v.Lost, v.Evicted, v.Stale, v.NotRead = v.Lost+o.Lost, v.Evicted+o.Evicted, v.Stale+o.Stale, v.NotRead+o.NotRead
	v.ReadRight, v.NotJudged = v.ReadRight+o.ReadRight, v.NotJudged+o.NotJudged
	v.StoreEvicted += o.StoreEvicted
	v.Expiry, v.EarlyEvicted = v.Expiry.with(o.Expiry), v.EarlyEvicted+o.EarlyEvicted
	v.Trials, v.NotChecked = v.Trials+o.Trials, v.NotChecked+o.NotChecked
}

// returnsValue says whether an operation that ends ok has returned whole values, which the worker
// has held against what was written: section 1.3 of docs/worker-contract.md.
func returnsValue(o trace.Operation) bool {
	return o == trace.Read || o == trace.MultiRead || o == trace.ReadOrFill || o == trace.ReadModifyWrite ||
		o == trace.GetAndSet
}
