package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/server"
	"assay/store"
)

// ownServer is the server that Assay has started for a trial. A nil one is none.
type ownServer struct{ *server.Group }

// startServer starts the store's server, where Assay is to: anew for each trial, as a worker is.
func (t *trial) startServer(ctx context.Context) error {
	if t.store.Server == nil {
		return nil
	}
	program, known := t.run.options.Program(t.store.Driver)
	if !known { // spec has checked it, but a resumed run may be of another version of Assay
		return fmt.Errorf("this version of Assay can't start %s", t.store.Driver)
	}
	directory := t.disk.data
	if !t.store.KeepsFiles() {
		t.disk.data = "" // the directory is the process's; there is nothing in it to watch
	}
	group, err := server.StartGroup(ctx, program, server.Request{
		Directory: directory, Log: t.writer.Log(), Class: t.cell.Durability, Options: t.store.Server.Options, Each: t.store.Server.Each,
		Settings: t.store.Server.Settings, Patience: t.run.experiment.StepTimeout,
		CPUs: t.run.cpus().Server, Count: t.store.Server.Count,
	})
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		t.result.Cause = finding.CauseNoServer
		return err
	}
	t.server, t.result.Server = &ownServer{group}, serverStarted(group)
	return nil
}

func serverStarted(g *server.Group) *record.Server {
	first := g.Members[0]
	s := &record.Server{Binary: first.Binary, Version: first.Version, Options: first.Options}
	for _, i := range g.Members {
		s.Members = append(s.Members, record.ServerMember{
			Endpoint: i.Endpoint(), Settings: i.Settings, StartSeconds: i.Took.Seconds()})
	}
	return s
}

// stopServer ends the server that Assay has started. Its data is thrown away, so that a kill harms
// nothing.
func (t *trial) stopServer() {
	if t.server == nil {
		return
	}
	patience := serverPatience
	if t.clients.ctx.Err() != nil {
		patience = stopPatience
	}
	if err := t.server.Stop(patience); err != nil {
		t.run.view.Message(fmt.Sprintf("trial %s: %v", t.plan.ID, err))
	}
}

// serverPatience is how long a server may take to end by itself: a database writes back what it
// holds.
const serverPatience = 10 * time.Second

// died says how the server ended; nil while it runs.
func (s *ownServer) died() error {
	if s == nil {
		return nil
	}
	return s.Died()
}

// blame puts the server's death before the error that it led to.
func (s *ownServer) blame(err error) error {
	died := s.died()
	switch {
	case died == nil || errors.Is(err, errInterrupted) || errors.Is(err, server.ErrDied):
		return err
	case err == nil:
		return died
	}
	return fmt.Errorf("%w; then: %w", died, err)
}

// processes are those of the server.
func (s *ownServer) processes() []int {
	if s == nil {
		return nil
	}
	return s.Processes()
}

// endpoints are where the worker finds the store's server.
func (t *trial) endpoints() []string {
	if t.server != nil {
		return t.server.Endpoints()
	}
	return t.store.Endpoints
}

// driverOptions are the arm's, and those with which the driver gets into the server that Assay has
// started.
func (t *trial) driverOptions() map[string]string {
	own := t.store.OptionsIn(t.cell)
	if t.server == nil {
		return own
	}
	options := t.server.Guard().DriverOptions()
	for name, value := range own {
		options[name] = value
	}
	return options
}

// workerDirectory is where the store's files go, if the worker makes them.
func (t *trial) workerDirectory() string {
	if t.store.Description.Kind == store.Embedded {
		return t.disk.data
	}
	return ""
}

// watchServer looks for the processes of the server under test.
func (t *trial) watchServer() {
	switch {
	case t.server != nil:
		t.servers = host.Servers{PIDs: t.server.PIDs()}
	case t.store.Description.Kind == store.Server:
		t.servers = host.FindServers(t.store.Endpoints)
	default:
		return
	}
	t.sampler.WatchServers(t.servers)
	t.sampler.WatchConnections(t.clientEndpoints())
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
