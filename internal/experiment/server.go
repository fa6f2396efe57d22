package experiment

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"assay/store"
)

// Server says that Assay starts the store's server for each trial, and how.
type Server struct {
	Program  string            `json:"program,omitempty"`  // its binary, by its path or by a name in PATH; "": the driver's
	Image    string            `json:"image,omitempty"`    // of a container, in which the server runs; Program is then in it
	Build    *Build            `json:"build,omitempty"`    // of which its binary is built, in place of Program; nil: it is not
	Built    *Built            `json:"-"`                  // what was built of it on this machine; nil: nothing yet
	Count    int               `json:"count,omitempty"`    // of servers that make the store; 0: one
	Replicas int               `json:"replicas,omitempty"` // further servers, each a replica of the first
	Options  map[string]string `json:"options,omitempty"`  // of those that the program declares, only those that the file sets
	Settings map[string]string `json:"settings,omitempty"` // by the program's own names
	InMemory bool              `json:"in_memory,omitempty"`
	Roams    bool              `json:"roams,omitempty"` // clients connect to addresses that the servers announce

	// Each is what differs from Options, for each of several servers; nil: nothing.
	Each []map[string]string `json:"each,omitempty"`

	// Declared are the program's options when the experiment was resolved.
	Declared []store.Option `json:"declared,omitempty"`
}

// Build says of which source a server's program is built, and how.
type Build struct {
	Git      string   `json:"git"`              // directory of the repository
	Commit   string   `json:"commit,omitempty"` // as Git names it; "": that of the variable ASSAY_COMMIT, or the one that is checked out
	Make     string   `json:"make"`             // a line of a shell
	Programs []string `json:"programs"`         // that it makes, by their paths in the source; the first that is there is taken
}

// CommitText is the commit as it was asked for.
func (b Build) CommitText() string { return cmp.Or(b.Commit, "HEAD") }

// Built is a program that was built.
type Built struct {
	Path   string
	Commit string // its whole name
}

// How what a server is started of is written where it is an image: image:valkey/valkey:8, and behind a bang its
// program in that.
const (
	ImagePrefix  = "image:"
	ImageProgram = "!"
)

// ImageBinary is an image as a binary is named.
func ImageBinary(image, program string) string {
	if program != "" {
		program = ImageProgram + program
	}
	return ImagePrefix + image + program
}

// Binary is the server's program that is named or was built, or the image of its container; "": the driver's.
func (s *Server) Binary() string {
	if s.Image != "" {
		return ImageBinary(s.Image, s.Program)
	}
	if s.Built != nil {
		return s.Built.Path
	}
	return s.Program
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
		return max(s.Server.Count, 1) + s.Server.Replicas
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
	if s.Server.Program != "" {
		all[serverPrefix+programOption] = s.Server.Program
	}
	if s.Server.Image != "" {
		all[serverPrefix+imageOption] = s.Server.Image
	}
	if s.Server.Build != nil {
		all[serverPrefix+commitOption] = s.Server.Build.CommitText()
	}
	if s.Server.Count > 1 {
		all[serverPrefix+countOption] = strconv.Itoa(s.Server.Count)
	}
	if s.Server.Replicas > 0 {
		all[serverPrefix+replicasOption] = strconv.Itoa(s.Server.Replicas)
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

// OptionsInForce returns the options of AllOptions, and those that are left at their default.
func (s Store) OptionsInForce() map[string]string {
	all := s.AllOptions()
	for _, o := range s.AllDeclared() {
		if _, given := all[o.Name]; !given && o.Default != "" {
			all[o.Name] = o.Default
		}
	}
	return all
}

// AllDeclared returns the options that AllOptions may have, but for the settings by the program's
// own names.
func (s Store) AllDeclared() []store.Option {
	all := slices.Clone(s.Description.Options)
	if s.Server != nil {
		all = append(all, store.Option{Name: serverPrefix + countOption, Type: store.Int, Default: "1"},
			store.Option{Name: serverPrefix + replicasOption, Type: store.Int, Default: "0"})
		for _, o := range s.Server.Declared {
			o.Name = serverPrefix + o.Name
			all = append(all, o)
		}
	}
	return all
}

const (
	serverPrefix   = "server."
	programOption  = "program"  // stands there where one is named
	imageOption    = "image"    // likewise
	commitOption   = "commit"   // stands there where it is built
	countOption    = "count"    // stands among the server's options where there are several
	replicasOption = "replicas" // stands there where there are some
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

// IsLoopback reports whether an endpoint is of this machine alone: a Unix socket, or HOST:PORT that leads to
// its loopback by every address of its name.
func IsLoopback(endpoint string) bool {
	if store.Network(endpoint) == "unix" {
		return true
	}
	name, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	if address, err := netip.ParseAddr(name); err == nil {
		return address.Unmap().IsLoopback()
	}
	addresses, err := net.LookupIP(name)
	return err == nil && len(addresses) > 0 && !slices.ContainsFunc(addresses,
		func(ip net.IP) bool { return !ip.IsLoopback() })
}

// ServersMax is how many servers may make one store: each is a process, and their addresses are those
// of one byte.
const ServersMax = 32

// ErrNoProgram is wrapped by the error of [Program.Find] where a path is named at which no program is.
var ErrNoProgram = errors.New("no program")

// Program is what an experiment asks of a server that Assay can start. Package server makes it.
type Program struct {
	Options    []store.Option
	Make       string   // how it is built of its source; "": not known
	Makes      []string // what that makes
	AnySetting bool     // it takes settings by its own names
	InMemory   bool     // it keeps nothing in files
	Linked     bool     // it is a part of Assay
	// clients of so many servers connect to the addresses that these tell them; nil: they don't
	Roams func(count int) bool
	Check func(count, replicas int) error // why so many can't be started as one store
	Find  func(binary string) error       // why it, or the binary that is named, is not on this machine

	// Identify asks it, or the binary that is named, what it is: "valkey", "9.1.2".
	Identify func(binary string) (product, version string, err error)
}
