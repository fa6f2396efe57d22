package facts

import (
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// hitRatioOf is the share of reads that found their record; nil where the store doesn't evict any
// and none has a TTL, and no read fills, for there a read that finds nothing is a fault or the experiment's intent.
func hitRatioOf(phases []*record.Phase) *float64 {
	var hits, reads uint64
	for _, p := range phases {
		for _, o := range p.Calls() {
			if p.Evicted == nil && p.Expiry == nil && o.Name != trace.ReadOrFill.String() {
				continue
			}
			found, asked := o.Reads()
			hits, reads = hits+found, reads+asked
		}
	}
	return share(hits, reads)
}

// expiredOf is the share of reads after their record's time that found it gone, or within the store's
// tick, and by how much the latest of the others came after it; nil where no read came after one.
func expiredOf(phases []*record.Phase) (onTime, latestNS *float64) {
	var right, over uint64
	var latest float64
	for _, p := range phases {
		if x := p.Expiry; x != nil {
			right, over, latest = right+x.OnTime(), over+x.Over(), max(latest, float64(x.LatestNS))
		}
	}
	if over == 0 {
		return nil, nil
	}
	return share(right, over), &latest
}

// lostUpdatesOf is the share of acknowledged updates that were overwritten by a client that did not
// know them; nil where no client reads before it writes.
func lostUpdatesOf(phases []*record.Phase) *float64 {
	var lost, done uint64
	for _, p := range phases {
		if p.History != nil && p.History.Updates != nil {
			lost, done = lost+p.History.Updates.Lost, done+p.History.Updates.Done
		}
	}
	return share(lost, done)
}

// oldReadsOf is the share of sampled reads that returned what an acknowledged write had replaced, or did
// not find it yet; nil where none was sampled.
func oldReadsOf(phases []*record.Phase) *float64 {
	var old, reads uint64
	for _, p := range phases {
		if p.History != nil {
			old, reads = old+p.History.Stale+p.History.Vanished, reads+p.History.Reads
		}
	}
	return share(old, reads)
}

func share(part, of uint64) *float64 {
	if of == 0 {
		return nil
	}
	v := float64(part) / float64(of)
	return &v
}
