package run

import (
	"fmt"

	"assay/internal/evidence/host"
	"assay/internal/execution/control"
	"assay/internal/experiment"
)

// cold says if the store's files are to be dropped from the page cache before measured phases.
// Stores without files here have none, so that nothing is asked of them.
func (t *trial) cold() bool {
	return t.run.experiment.Cache == experiment.CacheCold && t.disk.data != ""
}

// dropCache makes a measured phase of a cold experiment begin with none of the store's files in the
// page cache, and returns what stayed there anyway; nil where nothing was dropped. What the
// store holds in its own process stays: it was opened after the load, and closing it again would
// lose the traces that its values are checked against.
func (t *trial) dropCache() (*host.PageCache, error) {
	if !t.cold() {
		return nil, nil
	}
	if t.result.Abilities.Sync {
		if err := t.clients.Call(control.Request{Command: control.CommandSync}, nil); err != nil {
			return nil, fmt.Errorf("sync, to make the page cache cold: %w", err)
		}
	}
	left, err := host.DropPages(t.disk.data)
	if err != nil {
		return nil, fmt.Errorf("making the page cache cold: %w", err)
	}
	return &left, nil
}
