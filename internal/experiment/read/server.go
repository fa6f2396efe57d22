package read

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/store"
)

// server resolves how a store's server is reached: Assay starts it, or somebody has.
func (r storeResolver) server(f ServerFile, s *experiment.Store) *Error {
	here := r.below("server")
	asks := bool(f.Start) || f.Program != "" || f.Image != "" || f.Build != nil || f.Count != nil || f.Replicas != nil || len(f.Options)+len(f.Settings)+len(f.Each) > 0
	program, known := experiment.Program{}, false
	if r.drivers.ProgramOf != nil {
		program, known = r.drivers.ProgramOf(s.Driver)
	}
	switch {
	case !asks:
		return r.endpoints(s, known)
	case !bool(f.Start):
		e := r.fail(here.path, "the server has settings, but is not started")
		if r.fromStores {
			return e.hint("expected %s@start, which Assay starts", StartWord(*s))
		}
		return e.hint("expected start: true beside them")
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
		count = int(min(*f.Count, experiment.ServersMax+1)) // a larger one is no int everywhere
	}
	if err := program.Check(count, 0); err != nil {
		return r.fail(here.in("count"), "%v", err)
	}
	replicas := 0
	if f.Replicas != nil {
		replicas = int(min(*f.Replicas, experiment.ServersMax))
	}
	if err := program.Check(count, replicas); err != nil {
		return r.fail(here.in("replicas"), "%v", err)
	}
	if s.Options[readFrom] == fromReplica && replicas == 0 {
		return r.fail(r.below("options").in(readFrom), "the server is started without a replica to read from").
			hint("expected replicas: 1 beside start: true")
	}
	if all := count + replicas; f.Each != nil && len(f.Each) != all {
		return r.fail(here.in("each"), "%s for %s", format.Plural(len(f.Each), "table", ""), format.Plural(all, "server", "")).
			hint("expected a table for each server, such as [{%s: …}, {}]", strings.Join(optionNames(program.Options)[:1], ""))
	}
	for i, options := range f.Each {
		if mistake := here.below("each", strconv.Itoa(i)).options("the server of "+s.Driver, program.Options, options); mistake != nil {
			return mistake
		}
	}
	s.Server = &experiment.Server{Program: f.Program, Image: f.Image, Each: f.Each, Count: count, Replicas: replicas,
		Options: f.Options, Settings: f.Settings, InMemory: program.InMemory,
		Roams: program.Roams != nil && program.Roams(count), Declared: program.Options}
	if mistake := here.below("options").options("the server of "+s.Driver, program.Options, f.Options); mistake != nil {
		name := mistake.Path[strings.LastIndex(mistake.Path, ".")+1:]
		if r.fromStores && !slices.Contains(optionNames(program.Options), name) { // it may be a field: server.count
			fields := fieldNames(reflect.TypeFor[ServerFile]())
			mistake = mistake.near(name, slices.Concat(optionNames(program.Options), fields))
		}
		return mistake
	}
	if f.Options["socket"] == "true" && !s.Description.UnixSockets {
		return r.fail(here.below("options").in("socket"), "%s reaches servers by TCP alone", s.Driver).
			hint("leave socket out, or take the driver %s", s.Driver)
	}
	if f.Build != nil {
		return r.build(*f.Build, f.Program, program, s)
	}
	if mistake := r.image(f, program, s.Driver); mistake != nil {
		return mistake
	}
	if err := program.Find(s.Server.Binary()); errors.Is(err, experiment.ErrNoProgram) {
		return r.fail(here.in("program"), "%v", err)
	} else if err != nil {
		s.Missing = fmt.Errorf("%w: %w", ErrNotHere, err).Error()
	}
	return nil
}

// image refuses what names no image: what a runtime would take for an option, or for more than one word.
func (r storeResolver) image(f ServerFile, program experiment.Program, driver string) *Error {
	here := r.below("server")
	switch {
	case f.Image == "":
		return nil
	case !imageReference.MatchString(f.Image):
		return r.fail(here.in("image"), "%q is no name of an image", f.Image).hint("expected a name such as valkey/valkey:8")
	case strings.HasPrefix(f.Program, "-") || strings.Contains(f.Program, experiment.ImageProgram):
		return r.fail(here.in("program"), "%q is no program of an image", f.Program).hint("expected its path in there, or a name")
	case program.Linked:
		return r.fail(here.in("image"), "%s is a part of Assay: it runs in no container", driver)
	}
	return nil
}

// imageReference is what podman and docker take: a place, a name, a tag and a digest.
var imageReference = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)

// build resolves of which source the server's program is built.
func (r storeResolver) build(f BuildFile, named string, program experiment.Program, s *experiment.Store) *Error {
	here := r.below("server", "build")
	makes := program.Makes
	if f.Program != "" {
		makes = []string{f.Program}
	}
	b := &experiment.Build{Git: f.Git, Commit: f.Commit, Make: orText(f.Make, program.Make), Programs: makes}
	absolute, err := filepath.Abs(f.Git)
	switch {
	case s.Server.Image != "":
		return r.fail(here.path, "the server runs in an image, and is built too").hint("expected one of the two: image, or build")
	case named != "":
		return r.fail(here.path, "the server's program is named, and built too").hint("expected one of the two: program, or build")
	case f.Git == "":
		return r.fail(here.in("git"), "a build without its source").hint("expected git: DIRECTORY, that of a repository")
	case err != nil:
		return r.fail(here.in("git"), "%v", err)
	case b.Make == "":
		return r.fail(here.in("make"), "Assay does not know how %s is built", s.Driver).hint("expected make: LINE and program: PATH, the binary that the line makes")
	case len(b.Programs) == 0:
		return r.fail(here.in("program"), "Assay does not know what the build of %s makes", s.Driver).hint("expected program: PATH, in the source's directory")
	case filepath.IsAbs(b.Programs[0]) || !filepath.IsLocal(b.Programs[0]):
		return r.fail(here.in("program"), "%s is not in the source's directory", b.Programs[0]).hint("expected a path from there, such as src/redis-server")
	case strings.HasPrefix(b.Commit, "-"):
		return r.fail(here.in("commit"), "%q is no name of a commit", b.Commit)
	}
	b.Git, s.Server.Build = absolute, b
	return nil
}

// The drivers' option of where reads go, and its choice that needs a replica.
const (
	readFrom    = "read_from"
	fromReplica = "replica"
)

// portMax is the largest number of a TCP or UDP port.
const portMax = 1<<16 - 1

// endpoints checks where a store's servers are, and writes each as drivers take it.
func (r storeResolver) endpoints(s *experiment.Store, startable bool) *Error {
	here := r.below("endpoints")
	isServer := s.Description.Kind == store.Server
	if isServer && len(s.Endpoints) == 0 {
		e := r.fail(here.path, "%s is a server: Assay needs to know which one to use", s.Name)
		start, named := "server: start (Assay starts one for each trial)", "endpoints: [HOST:PORT] (a server that is running)"
		if r.fromStores {
			one := "one"
			if startedInstead(*s) {
				one = s.Driver
			}
			start, named = StartWord(*s)+"@start (Assay starts "+one+" for each trial)", s.Name+"@HOST:PORT (a server that is running)"
		}
		if !startable {
			return e.hint("expected %s", named)
		}
		return e.hint("expected %s, or %s", start, named)
	}
	if !isServer && len(s.Endpoints) > 0 {
		return r.fail(here.path, "%s is not a server: it takes no endpoints", s.Driver)
	}
	s.Endpoints = slices.Clone(s.Endpoints)
	for i, typed := range s.Endpoints {
		endpoint := Endpoint(s.Driver, typed)
		s.Endpoints[i] = endpoint
		if reason, hint := refuseSocket(endpoint, s.Description); reason != "" {
			return r.fail(here.in(fmt.Sprint(i)), "%s", reason).hint("%s", hint)
		}
		if store.Network(endpoint) == "unix" {
			continue
		}
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
