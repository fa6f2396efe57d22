package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/store"
)

// underTest is what a trial's clients speak to: the servers of its store, started by Assay or by
// somebody else, and the proxies that stand before them where a phase cuts one off. A store without
// a server has one, in which there is nothing.
type underTest struct {
	store   experiment.Store
	cell    experiment.Cell
	own     *ownServer             // nil: Assay has started none for the trial
	servers host.Servers           // their processes, as they were seen last
	proxies []*server.Proxy        // one to each server; none: clients connect to the servers
	rooms   map[int]*host.Room     // of the nodes that a phase limits
	slow    map[int]*powercut.Slow // the disks of the nodes whose disk answers late in a phase
	disk    string                 // MAJOR:MINOR of the data directory's, where a phase limits it
	sampler *host.Sampler          // that looks at them; nil: none yet
}

// start starts the store's server, anew for each trial, as a worker is. request has what is not the
// store's own. It returns what the servers say of themselves.
func (u *underTest) start(ctx context.Context, program server.Program, request server.Request) (*record.Server, error) {
	asked := u.store.Server
	request.Class, request.Count, request.Replicas = u.cell.Durability, asked.Count, asked.Replicas
	request.Options, request.Each, request.Settings = asked.Options, asked.Each, asked.Settings
	group, err := server.StartGroup(ctx, program, request)
	if err != nil {
		return nil, err
	}
	u.own = &ownServer{group}
	return serverStarted(group), nil
}

// startSlow is start, where the files of some nodes stand on disks that answer late in a phase. They are
// seen through FUSE in all phases: what that costs is in each of them.
func (u *underTest) startSlow(ctx context.Context, program server.Program, request server.Request,
	phases []experiment.Phase, rig []string) (*record.Server, error) {
	all := u.store.Servers()
	for n := range all {
		if !experiment.AnswersLate(phases, n+1) {
			continue
		}
		disk, err := powercut.StartSlow(filepath.Dir(request.Directory), request.Directory, rig)
		if err != nil {
			return nil, ownFault{fmt.Errorf("showing the data of node %d through FUSE: %w", n+1, err)}
		}
		if u.slow == nil {
			u.slow, request.Places = map[int]*powercut.Slow{}, map[int]string{}
		}
		u.slow[n+1], request.Places[n] = disk, filepath.Join(disk.Point(), server.DirectoryName(n, all))
	}
	return u.start(ctx, program, request)
}

// slowPIDs are the processes of these disks.
func (u *underTest) slowPIDs() (pids []int) {
	for _, disk := range u.slow {
		pids = append(pids, disk.PID())
	}
	return pids
}

// removeSlow takes the disks away, after the servers' end.
func (u *underTest) removeSlow() (failed []error) {
	for _, disk := range u.slow {
		if err := disk.Close(); err != nil {
			failed = append(failed, err)
		}
	}
	u.slow = nil
	return failed
}

// stop ends the servers that Assay has started. Their data is thrown away, so that a kill harms
// nothing.
func (u *underTest) stop(patience time.Duration) error {
	if u.own == nil {
		return nil
	}
	return u.own.Stop(patience)
}

func serverStarted(g *server.Group) *record.Server {
	first := g.Members[0]
	s := &record.Server{Binary: first.Binary, Product: first.Product, Version: first.Version, Options: first.Options}
	for _, i := range g.Members {
		s.Members = append(s.Members, record.ServerMember{
			Endpoint: i.Endpoint(), Settings: settingsOf(i), StartSeconds: i.Took.Seconds(), Replica: i.Primary != nil})
	}
	return s
}

// settingsOf are those that a server reported, and what its container lets it have.
func settingsOf(i *server.Instance) map[string]string {
	if !i.Contained() {
		return i.Settings
	}
	settings, limits := maps.Clone(i.Settings), host.LimitsOfContainer(i.PID())
	if settings == nil {
		settings = map[string]string{}
	}
	settings["container.cpus"], settings["container.memory"] = "no limit", "no limit"
	if limits.CPUs > 0 {
		settings["container.cpus"] = strconv.FormatFloat(limits.CPUs, 'g', 4, 64)
	}
	if limits.MemoryBytes > 0 {
		settings["container.memory"] = sizeText(limits.MemoryBytes)
	}
	return settings
}

// startProxies puts Assay between the clients and their servers, where one of the phases needs that.
func (u *underTest) startProxies(phases []experiment.Phase) error {
	if u.store.Description.Kind != store.Server || !slices.ContainsFunc(phases,
		func(p experiment.Phase) bool { return p.NeedsProxy() }) {
		return nil
	}
	for _, endpoint := range u.endpoints() {
		p, err := server.NewProxy(endpoint)
		if err != nil {
			return ownFault{err}
		}
		u.proxies = append(u.proxies, p)
	}
	return nil
}

func (u *underTest) stopProxies() (err error) {
	for _, p := range u.proxies {
		if closeErr := p.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("closing a proxy: %w", closeErr))
		}
	}
	u.proxies = nil
	return err
}

// endpoints are where the store's servers listen.
func (u *underTest) endpoints() []string {
	if u.own != nil {
		return u.own.Endpoints()
	}
	return u.store.Endpoints
}

// clientEndpoints are where the worker connects.
func (u *underTest) clientEndpoints() []string {
	if len(u.proxies) == 0 {
		return u.endpoints()
	}
	endpoints := make([]string, len(u.proxies))
	for i, p := range u.proxies {
		endpoints[i] = p.Endpoint()
	}
	return endpoints
}

// driverOptions are the arm's, and those with which the driver gets into the server that Assay has
// started.
func (u *underTest) driverOptions() map[string]string {
	own := u.store.OptionsIn(u.cell)
	if u.own == nil {
		return own
	}
	options := u.own.Guard().DriverOptions()
	for name, value := range own {
		options[name] = value
	}
	return options
}

// watch looks for the servers' processes, and lets a sampler look at them.
func (u *underTest) watch(sampler *host.Sampler) {
	switch {
	case u.own != nil:
		u.servers = host.Servers{PIDs: u.own.PIDs(), Contained: u.own.Members[0].Contained()}
	case u.store.Description.Kind == store.Server:
		u.servers = host.FindServers(u.store.Endpoints)
	default:
		return
	}
	u.sampler = sampler
	sampler.WatchServers(u.servers)
	sampler.WatchConnections(u.clientEndpoints())
}

// follow notes the processes of servers that were started again.
func (u *underTest) follow() {
	if u.own == nil {
		return
	}
	if pids := u.own.PIDs(); !slices.Equal(pids, u.servers.PIDs) {
		u.servers.PIDs = pids
		u.sampler.WatchServers(u.servers)
	}
}

// forgets reports whether a server was killed in a class that keeps nothing then: what is missing or
// old from there on is no fault.
func (u *underTest) forgets(events []record.ServerFault) bool {
	if u.cell.Durability != store.D0 {
		return false
	}
	return slices.ContainsFunc(events, func(e record.ServerFault) bool { return e.Does == experiment.FaultKill })
}

// used fills in what the servers used in a phase, of which rssMax is the largest resident memory that
// was seen; shared says why what their processes share is in it more than once.
func (u *underTest) used(p *record.Process, interval host.Interval, rssMax uint64, shared string) {
	if u.store.Description.Kind != store.Server {
		return
	}
	p.ServerWhy, p.ServerCPUSeconds, p.ServerHostReadBytes =
		u.servers.Why, interval.ServerCPUSeconds, interval.ServerHostReadBytes
	if rssMax > 0 {
		p.ServerRSSMaxBytes, p.ServerSharedWhy = &rssMax, shared
	}
	if p.ServerWhy == "" && p.ServerCPUSeconds == nil {
		p.ServerWhy = "a process of it ended, or could not be looked at any more"
	}
}

// ownServer is the server that Assay has started for a trial. A nil one is none.
type ownServer struct{ *server.Group }

// died says how the server ended; nil while it runs.
func (s *ownServer) died() error {
	if s == nil {
		return nil
	}
	return s.Died()
}

// processes are those of the server.
func (s *ownServer) processes() []int {
	if s == nil {
		return nil
	}
	return s.Processes()
}
