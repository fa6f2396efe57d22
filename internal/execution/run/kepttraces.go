package run

import (
	"assay/internal/evidence/host"
	"assay/internal/execution/phasefiles"
	"assay/internal/experiment/trace"
)

// keptTraces are the traces that trials of a block have made, for the other arms of their cells, which
// do the same: their files are sealed, so that no worker changes what another one does. Only where
// inserts begin may differ, between stores that came to another lap in a phase before.
type keptTraces struct {
	block int
	most  uint64 // bytes of files that are kept; what has no room is made by each arm
	bytes uint64
	made  []phaseTrace
}

// A trace that is kept takes memory twice, as entries and as the workers' file: of what is free,
// which is what a store's page cache has, so small a part that no trial of the block feels it.
const (
	keptTracesMax   = 256 << 20
	keptTracesShare = 64
)

// of returns the traces of a block; those of another block are given up.
func (k *keptTraces) of(block int) *keptTraces {
	if k.block != block {
		k.forget()
		k.block, k.most = block, min(keptTracesMax, host.AvailableBytes()/keptTracesShare)
	}
	return k
}

func (k *keptTraces) forget() {
	for _, t := range k.made {
		_ = t.written.Close() // memory: there is nothing to lose
	}
	*k = keptTraces{}
}

// find returns the trace that was made of such specs.
func (k *keptTraces) find(specs []trace.Spec) (made phaseTrace, found bool) {
	if k == nil {
		return phaseTrace{}, false
	}
	for _, made := range k.made {
		if trace.Same(made.specs, specs) {
			made.specs = specs
			return made, true
		}
	}
	return phaseTrace{}, false
}

// keep keeps a trace if there is room for it.
func (k *keptTraces) keep(made phaseTrace) (phaseTrace, error) {
	if k == nil || k.bytes+made.file.Bytes() > k.most {
		return made, nil
	}
	var err error
	if made.written, err = phasefiles.WriteTrace(made.file); err != nil {
		return phaseTrace{}, err
	}
	k.bytes += made.file.Bytes()
	k.made = append(k.made, made)
	return made, nil
}
