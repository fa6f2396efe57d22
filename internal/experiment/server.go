package experiment

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/format"
	"assay/store"
)

// Server says that Assay starts the store's server for each trial, and how.
type Server struct {
	Count    int               `json:"count,omitempty"`    // of servers that make the store; 0: one
	Options  map[string]string `json:"options,omitempty"`  // of those that the program declares, only those that the file sets
	Settings map[string]string `json:"settings,omitempty"` // by the program's own names
	InMemory bool              `json:"in_memory,omitempty"`
	Roams    bool              `json:"roams,omitempty"` // clients connect to addresses that the servers tell them

	// Each is what differs from Options, for each of several servers; nil: nothing.
	Each []map[string]string `json:"each,omitempty"`

	// Declared are the program's options when the experiment was resolved.
	Declared []store.Option `json:"declared,omitempty"`
}

// NeedsDirectory reports whether the server must be able to reach its directory: for its files, or for
// the keys and passwords that it is given.
func (s *Server) NeedsDirectory() bool {
	return !s.InMemory || s.Options["tls"] == "true" || s.Options["login"] == "true"
}

// KeepsFiles reports whether the store's files stand in the trial's data directory.
func (s Store) KeepsFiles() bool {
	return s.Description.Kind == store.Embedded || s.Server != nil && !s.Server.InMemory
}

// Outlives reports whether the store is there before a trial and after it: a server that somebody
// else has started, and others may use.
func (s Store) Outlives() bool { return s.Description.Kind == store.Server && s.Server == nil }

// Servers returns how many servers the store has; one where that is not said.
func (s Store) Servers() int {
	if s.Server != nil {
		return max(s.Server.Count, 1)
	}
	return max(len(s.Endpoints), 1)
}

// AllOptions returns what the file sets of the store, the options of its driver and, with "server."
// before their names, those of its server, and of its JVM with "java.".
func (s Store) AllOptions() map[string]string {
	all := s.JVM.options()
	maps.Copy(all, s.Options)
	if s.Server == nil {
		return all
	}
	if s.Server.Count > 1 {
		all[serverPrefix+countOption] = strconv.Itoa(s.Server.Count)
	}
	for _, of := range []map[string]string{s.Server.Options, s.Server.Settings} {
		for name, value := range of {
			all[serverPrefix+name] = value
		}
	}
	for i, of := range s.Server.Each {
		for name, value := range of {
			all[store.ServerStat(i, "")+name] = value
		}
	}
	return all
}

// AllDeclared returns the options that AllOptions may have, but for the settings by the program's
// own names.
func (s Store) AllDeclared() []store.Option {
	all := slices.Clone(s.Description.Options)
	if s.Server != nil {
		all = append(all, store.Option{Name: serverPrefix + countOption, Type: store.Int, Default: "1"})
		for _, o := range s.Server.Declared {
			o.Name = serverPrefix + o.Name
			all = append(all, o)
		}
	}
	return all
}

const (
	serverPrefix = "server."
	countOption  = "count" // stands among the server's options where there are several
)

// Remote returns the endpoints of an experiment that are not of loopback: servers of other
// machines, or that others can reach.
func (e *Experiment) Remote() (endpoints []string) {
	for _, s := range e.Stores {
		for _, endpoint := range s.Endpoints {
			if !IsLoopback(endpoint) {
				endpoints = append(endpoints, endpoint)
			}
		}
	}
	return endpoints
}

// IsLoopback reports whether HOST:PORT leads to this machine's loopback by every address of its
// name.
func IsLoopback(endpoint string) bool {
	name, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	if address, err := netip.ParseAddr(name); err == nil {
		return address.Unmap().IsLoopback()
	}
	addresses, err := net.LookupIP(name)
	return err == nil && len(addresses) > 0 && !slices.ContainsFunc(addresses, func(ip net.IP) bool { return !ip.IsLoopback() })
}

// server resolves how a store's server is reached: Assay starts it, or somebody has.
func (r storeResolver) server(f ServerFile, s *Store) *Error {
	here := r.below("server")
	asks := bool(f.Start) || f.Count != nil || len(f.Options)+len(f.Settings)+len(f.Each) > 0
	program, known := Program{}, false
	if r.drivers.ProgramOf != nil {
		program, known = r.drivers.ProgramOf(s.Driver)
	}
	switch {
	case !asks:
		return r.endpoints(*s, known)
	case !bool(f.Start):
		return r.fail(here.path, "the server has settings, but is not started").hint("expected start: true beside them")
	case s.Description.Kind != store.Server:
		return r.fail(here.path, "%s is not a server: there is nothing to start", s.Driver)
	case len(s.Endpoints) > 0:
		return r.fail(here.path, "the server is started, and an endpoint is named too").
			hint("expected one of the two: server: start, or endpoints: [HOST:PORT]")
	case !known:
		return r.fail(here.path, "Assay can't start %s", s.Driver).hint("expected endpoints: [HOST:PORT]")
	case len(f.Settings) > 0 && !program.AnySetting:
		return r.fail(here.in("settings"), "%s takes no settings by its own names", s.Driver).
			hint("expected options: %s", strings.Join(optionNames(program.Options), ", "))
	}
	count := 1
	if f.Count != nil {
		count = int(min(*f.Count, ServersMax+1)) // a larger one is no int everywhere
	}
	if err := program.Check(count); err != nil {
		return r.fail(here.in("count"), "%v", err)
	}
	if f.Each != nil && len(f.Each) != count {
		return r.fail(here.in("each"), "%s for %s", format.Plural(len(f.Each), "table", ""), format.Plural(count, "server", "")).
			hint("expected a table for each server, such as [{%s: …}, {}]", strings.Join(optionNames(program.Options)[:1], ""))
	}
	for i, options := range f.Each {
		if mistake := here.below("each", strconv.Itoa(i)).options("the server of "+s.Driver, program.Options, options); mistake != nil {
			return mistake
		}
	}
	s.Server = &Server{Each: f.Each, Count: count, Options: f.Options, Settings: f.Settings, InMemory: program.InMemory,
		Roams: program.Roams != nil && program.Roams(count), Declared: program.Options}
	if mistake := here.below("options").options("the server of "+s.Driver, program.Options, f.Options); mistake != nil {
		return mistake
	}
	if err := program.Find(); err != nil {
		s.Missing = fmt.Errorf("%w: %w", ErrNotHere, err).Error()
	}
	return nil
}

// ServersMax is how many servers may make one store: each is a process, and their addresses are those
// of one byte.
const ServersMax = 32

// Program is what an experiment asks of a server that Assay can start. Package server makes it.
type Program struct {
	Options    []store.Option
	AnySetting bool                  // it takes settings by its own names
	InMemory   bool                  // it keeps nothing in files
	Roams      func(count int) bool  // clients of so many servers connect to the addresses that these tell them; nil: they don't
	Check      func(count int) error // why so many can't be started as one store
	Find       func() error          // why it is not on this machine
}

func optionNames(options []store.Option) (names []string) {
	for _, o := range options {
		names = append(names, o.Name)
	}
	return names
}

// portMax is the largest number of a TCP or UDP port.
const portMax = 1<<16 - 1

func (r storeResolver) endpoints(s Store, startable bool) *Error {
	here := r.below("endpoints")
	isServer := s.Description.Kind == store.Server
	if isServer && len(s.Endpoints) == 0 {
		e := r.fail(here.path, "%s is a server: Assay needs to know which one to use", s.Driver)
		start, named := "server: start (Assay starts one for each trial)", "endpoints: [HOST:PORT] (a server that is running)"
		if r.fromStores {
			start, named = s.Driver+"@start (Assay starts one for each trial)", s.Driver+"@HOST:PORT (a server that is running)"
		}
		if !startable {
			return e.hint("expected %s", named)
		}
		return e.hint("expected %s, or %s", start, named)
	}
	if !isServer && len(s.Endpoints) > 0 {
		return r.fail(here.path, "%s is not a server: it takes no endpoints", s.Driver)
	}
	for i, endpoint := range s.Endpoints {
		if strings.Contains(endpoint, "@") {
			return r.fail(here.in(fmt.Sprint(i)), "an endpoint has no user and no password: run directories and reports show it").
				hint("expected HOST:PORT, such as 127.0.0.1:11211")
		}
		_, port, err := net.SplitHostPort(endpoint)
		if err != nil || port == "" {
			e := r.fail(here.in(fmt.Sprint(i)), "expected HOST:PORT, such as 127.0.0.1:11211, got %q", endpoint)
			if r.fromStores {
				e = e.near(endpoint, []string{"start"})
			}
			return e
		}
		if number, err := strconv.Atoi(port); err != nil || number < 1 || number > portMax {
			return r.fail(here.in(fmt.Sprint(i)), "no server listens at port %q of %q", port, endpoint).
				hint("expected a number from 1 to %d, as in 127.0.0.1:11211", portMax)
		}
	}
	return nil
}
