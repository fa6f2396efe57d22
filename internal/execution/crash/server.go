package crash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"assay/internal/execution/server"
	"assay/store"
)

// directoryMode lets a server in that runs as another user, and shows it no names.
const directoryMode = 0o711

// serverPatience is how long a server may take to end in order: it writes back what it holds.
const serverPatience = 30 * time.Second

// errServer is wrapped by the error of a server that did not start on the files that a cut left, errOthers
// by that of those which did not answer without one.
var (
	errServer = errors.New("the server did not start")
	errOthers = errors.New("the others do not answer")
)

// refuseServer says why a server can't be cut off; "": it can be.
func refuseServer(t *Target) string {
	switch {
	case t.Store.Server == nil:
		return fmt.Sprintf("is a server that somebody else has started: Assay cuts off what it starts itself (%s@start)", t.Store.Driver)
	case !t.Store.KeepsFiles():
		return "keeps nothing in files: a cut leaves nothing of it"
	case t.Store.Server.Image != "":
		return "runs in a container, whose processes are its runtime's: leave server.image out"
	case t.Store.Server.Replicas > 0:
		return "has replicas, which no cut waits for: leave server.replicas out"
	}
	return ""
}

// program returns the server that a driver speaks to.
func (o *Options) program(driver string) (server.Program, error) {
	if o.Program != nil {
		if p, known := o.Program(driver); known {
			return p, nil
		}
	}
	return server.Program{}, fmt.Errorf("this version of Assay can't start %s", driver)
}

// startServer starts the store's server: the first time in an empty directory, and after that on what
// is there.
func (s *session) startServer() (err error) {
	if s.target.Store.Server == nil || s.server != nil && s.server.Running() {
		return nil
	}
	if s.server != nil {
		err := s.server.Restart(s.ctx, s.timeout)
		if err != nil && s.ctx.Err() == nil {
			return fmt.Errorf("%w: %w", errServer, err)
		}
		return err
	}
	t := &s.target.Store
	program, err := s.program(t.Driver)
	if err != nil {
		return err
	}
	program = program.By(t.Server.Binary())
	var places map[int]string
	if s.node != nil {
		places = map[int]string{s.node.victim: s.node.place}
	}
	s.server, err = server.StartGroup(s.ctx, program, server.Request{Directory: s.directory, Log: s.log,
		Class:   s.target.Cell.Durability,
		Options: t.Server.Options, Each: t.Server.Each, Places: places, Settings: t.Server.Settings,
		Patience: s.timeout, Count: t.Server.Count})
	if err != nil && s.ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errServer, err)
	}
	return err
}

// killServer ends the server as a crash does, if one runs; of several of which one is cut off, that one
// alone stands still, and is killed once it is known what its disk had seen.
func (s *session) killServer() error {
	switch {
	case s.server == nil:
		return nil
	case s.node != nil:
		_, err := s.server.Members[s.node.victim].Halt()
		return err
	}
	return s.server.Kill()
}

// dropServer ends the server at once, if one runs, and leaves nothing of it outside of its directory.
func (s *session) dropServer() error {
	if s.server == nil {
		return nil
	}
	return s.server.Abort()
}

// closeServer ends the server in order, if one runs.
func (s *session) closeServer() error {
	if s.server == nil {
		return nil
	}
	return s.server.Close(serverPatience)
}

// openServerAndKill kills the server in the middle of what it recovers.
func (s *session) openServerAndKill(after time.Duration) error {
	ctx, cancel := context.WithTimeout(s.ctx, after)
	defer cancel()
	// it is killed by then, or could not start: the check finds that
	if err := s.server.Restart(ctx, s.timeout); err != nil {
		return s.ctx.Err()
	}
	<-ctx.Done()
	return errors.Join(s.server.Kill(), s.ctx.Err())
}

// reach is how the worker gets to the store: a directory or, of a server, endpoints, and the options
// with which the driver gets in.
func (s *session) reach() (directory string, endpoints []string, options map[string]string) {
	t := &s.target.Store
	if s.server == nil {
		return s.directory, nil, t.Options
	}
	options = s.server.Guard().DriverOptions()
	maps.Copy(options, t.Options)
	endpoints = s.server.Endpoints()
	if s.node != nil && s.node.away {
		endpoints = slices.Delete(endpoints, s.node.victim, s.node.victim+1)
	}
	return "", endpoints, options
}

// letIn lets a server's user through a directory.
func (t *Target) letIn(directory string) error {
	if t.Store.Description.Kind != store.Server {
		return nil
	}
	return os.Chmod(directory, directoryMode)
}
