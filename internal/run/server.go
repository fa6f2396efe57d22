package run

import (
	"cmp"

	"assay/internal/host"
	"assay/store"
)

// watchServer looks for the processes of the server under test.
func (t *trial) watchServer() {
	if t.store.Description.Kind == store.Server {
		t.servers = host.FindServers(t.store.Endpoints)
		t.sampler.WatchServers(t.servers)
	}
}

func (w *watched) seeServer(now host.Usage) {
	if now.Server != nil {
		w.server = max(w.server, now.Server.RSSBytes)
		w.shared = cmp.Or(w.shared, now.Server.SharedWhy)
	}
}

// serverUsed fills in what the server under test used in the phase.
func (w *watched) serverUsed(interval host.Interval) {
	t, p := w.trial, &w.result.Process
	if t.store.Description.Kind != store.Server {
		return
	}
	p.ServerWhy, p.ServerCPUSeconds, p.ServerHostReadBytes = t.servers.Why, interval.ServerCPUSeconds, interval.ServerHostReadBytes
	if w.server > 0 {
		p.ServerRSSMaxBytes, p.ServerSharedWhy = &w.server, w.shared
	}
	if p.ServerWhy == "" && p.ServerCPUSeconds == nil {
		p.ServerWhy = "a process of it ended, or could not be looked at any more"
	}
}
