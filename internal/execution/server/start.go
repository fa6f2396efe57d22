package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/store"
)

// Request is what a server is started with.
type Request struct {
	Directory string            // an existing one: each server gets its own in it
	Log       io.Writer         // what the server writes, with its name before each line
	Class     store.Durability  // that acknowledged writes must reach
	Options   map[string]string // the experiment's, of those that the program declares
	// of several servers: the directory of those, from 0 on, that do not get theirs in Directory
	Places   map[int]string
	Each     []map[string]string // of several servers: what differs from Options; nil: nothing
	Settings map[string]string   // the experiment's, by the program's own names
	Patience time.Duration       // how long it may take until it answers
	CPUs     []int               // that it may use; none: those of this process
	Count    int                 // of servers that make one store; 0: one
	Replicas int                 // further servers, each a replica of the first
	Kept     *Kept               // what is kept for the next servers of a run; nil: nothing
	SHA256   string              // of the program; "": it is not known, and nothing is kept of what it makes
}

// directoryName is the server's own directory in that of a request; of several, the number of each
// follows.
const directoryName = "server"

// portTries is how often another port is tried where somebody else has taken the one that was free.
const portTries = 5

// errPortTaken says that another process listens at the port.
var errPortTaken = errors.New("another process took the port")

// Start starts the program and returns when it answers and has told its settings. The error wraps
// [ErrNotInstalled], [ErrDied] or store.ErrRefused where it is one of these. ctx ends the start; to
// end the server that was started, call Stop.
func Start(ctx context.Context, p Program, r Request) (*Instance, error) {
	r.Count = 1
	g, err := StartGroup(ctx, p, r)
	if err != nil {
		return nil, err
	}
	return g.Members[0], nil
}

// start leaves no process where it fails.
func (i *Instance) start(ctx context.Context, r Request) (err error) {
	if err := i.makeDirectory(); err != nil {
		return err
	}
	hosts := r.hosts(i.Program)
	if err := i.makeGuard(hosts); err != nil {
		return err
	}
	if err := i.choosePorts(hosts); err != nil {
		return err
	}
	if err := i.refuseSocket(); err != nil {
		return err
	}
	if i.Replicas > 0 && i.Guard.Certificate != "" {
		return fmt.Errorf("replicas are not started with tls: they would be clients of it, with certificates of their own: %w", store.ErrRefused)
	}
	i.Asked = maps.Clone(i.Program.Asked(i))
	for name, value := range r.Settings {
		if i.Asked == nil {
			i.Asked = map[string]string{}
		}
		i.Asked[name] = value
	}
	return i.launch(ctx, r.Patience, func(ctx context.Context, i *Instance) error { return i.prepare(ctx, r) })
}

// launch runs the server in the directory that it has. prepare comes first; nil: nothing does.
func (i *Instance) launch(ctx context.Context, patience time.Duration, prepare func(context.Context,
	*Instance) error) (err error) {
	if i.note, err = owned.Write(owned.Thing{Kind: owned.Server, Path: i.Directory}); err != nil {
		return err
	}
	defer func() {
		if i.life.now.Load() == nil {
			i.note.Done() // what prepare ran has ended
			i.note = nil
		} else if err != nil {
			err = errors.Join(i.explain(err), i.kill())
		}
	}()
	if prepare != nil {
		err := prepare(ctx, i)
		if err == nil {
			err = i.handOver()
		}
		if err != nil {
			return fmt.Errorf("preparing its directory: %w", err)
		}
	}
	began := time.Now()
	if err := i.run(); err != nil {
		return err
	}
	if err := i.waitReady(ctx, patience); err != nil {
		return err
	}
	i.Took = time.Since(began)
	if err = i.checkListens(); err == nil {
		err = i.readBack(ctx)
	}
	if err != nil && i.endsWithin(deathPatience) { // its end is the cause, and is seen a moment later
		err = errors.Join(i.Died(), err)
	}
	return err
}

// deathPatience is how long a server that does not answer any more may take to be seen to have ended.
const deathPatience = time.Second

// explain turns an error into errPortTaken where another process has the port. A server that can't
// have it says so in words of its own.
func (i *Instance) explain(err error) error {
	if i.Died() == nil {
		return err
	}
	if i.AtSocket() {
		return err
	}
	listener, listenErr := net.Listen("tcp", i.Endpoint())
	if listenErr == nil {
		return errors.Join(err, listener.Close())
	}
	if errors.Is(listenErr, unix.EADDRINUSE) {
		return fmt.Errorf("%w %d: %w", errPortTaken, i.Port, err)
	}
	return err
}

// makeDirectory makes the server's directory anew, for the user that it runs as.
func (i *Instance) makeDirectory() error {
	if err := os.RemoveAll(i.Directory); err != nil {
		return err
	}
	if err := os.Mkdir(i.Directory, 0o700); err != nil {
		return err
	}
	if i.user == nil {
		return nil
	}
	if err := os.Chown(i.Directory, int(i.user.Uid), int(i.user.Gid)); err != nil {
		return err
	}
	if i.Program.InMemory && !i.guarded() {
		return nil
	}
	return closedBelow(filepath.Dir(i.Directory), i.user)
}

// handOver gives what was prepared for the server to the user that it runs as.
func (i *Instance) handOver() error {
	if i.user == nil {
		return nil
	}
	return filepath.WalkDir(i.Directory, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(i.user.Uid), int(i.user.Gid))
	})
}

// Enters returns an error where the user of the program's server has no access to a directory, which
// must exist, or to one above it.
func (p *Program) Enters(directory string) error {
	u, err := p.user()
	if err != nil || u == nil || p.MayBeRoot {
		return err
	}
	return closedBelow(directory, u)
}

// userFor returns whom a program runs as whose binary and data are in these places; nil: this
// process's user.
func (p *Program) userFor(binary string, directories []string) (*syscall.Credential, error) {
	u, err := p.user()
	if !p.MayBeRoot {
		return u, err
	}
	if err != nil || u == nil {
		return nil, nil
	}
	if _, is := p.ofImage(); !is { // whose program is in no directory of this machine
		real, err := filepath.EvalSymlinks(binary)
		if err != nil {
			return nil, err
		}
		directories = append([]string{filepath.Dir(real)}, directories...)
	}
	for _, directory := range directories {
		if closedBelow(directory, u) != nil {
			return nil, nil
		}
	}
	return u, nil
}

func closedBelow(directory string, u *syscall.Credential) error {
	for above := directory; above != "/"; above = filepath.Dir(above) {
		if closed, err := closedTo(above, u); err != nil {
			return err
		} else if closed {
			return fmt.Errorf("user %d has no access to %s: --data DIR puts the stores' directories elsewhere",
				u.Uid, above)
		}
	}
	return nil
}

// closedTo says if a user without rights of root can't go through a directory.
func closedTo(path string, u *syscall.Credential) (bool, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	switch {
	case stat.Uid == u.Uid:
		return stat.Mode&0o100 == 0, nil
	case stat.Gid == u.Gid:
		return stat.Mode&0o010 == 0, nil
	}
	return stat.Mode&0o001 == 0, nil
}

// user returns whom the program runs as; nil: this process's user.
func (p *Program) user() (*syscall.Credential, error) {
	if os.Geteuid() != 0 || len(p.NotAsRoot) == 0 {
		return nil, nil
	}
	for _, name := range p.NotAsRoot {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("it can't run as root, and there is no user %s", strings.Join(p.NotAsRoot, " or "))
}

func (p *Program) stopSignal() syscall.Signal {
	if p.StopSignal != 0 {
		return p.StopSignal
	}
	return syscall.SIGTERM
}

const (
	askEvery    = 10 * time.Millisecond
	askPatience = 10 * time.Second // of one question: of a server that has just begun, or on a busy machine
)

// waitReady asks until the server answers. What it may answer with before that ("loading the data")
// is part of the error, if it never does.
func (i *Instance) waitReady(ctx context.Context, patience time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	go func() { // a question to a server that has ended, or to another's at its port, is not waited for
		select {
		case <-i.Exited():
			cancel()
		case <-waiting.Done():
		}
	}()
	var before error
	for {
		asking, answered := context.WithTimeout(waiting, askPatience)
		err := i.Program.Ready(asking, i)
		answered()
		if died := i.Died(); died != nil {
			return died // another's server may have answered
		}
		if err == nil {
			return nil
		}
		select {
		case <-time.After(askEvery):
		case <-waiting.Done():
		}
		if died := i.Died(); died != nil {
			return died
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case waiting.Err() == nil:
			before = err
			continue
		}
		if before != nil {
			err = before // the last question may have been cut short, which says less
		}
		err = fmt.Errorf("it did not answer within %v: %w", patience, err)
		if words := i.output.lastWords(); words != "" {
			err = fmt.Errorf("%w; it last wrote: %s", err, words)
		}
		return err
	}
}

// checkListens is an error if another process answered at the port, or if the server can be reached
// elsewhere.
func (i *Instance) checkListens() error {
	mine := i.Processes()
	for _, pid := range host.Listeners([]string{i.Endpoint()}) {
		if !slices.Contains(mine, pid) {
			return fmt.Errorf("%w %d: process %d listens there", errPortTaken, i.Port, pid)
		}
	}
	at, err := host.ListensAt(mine)
	if err != nil {
		return fmt.Errorf("looking where it listens: %w", err)
	}
	listensUDP := i.Program.ListensUDP != nil && i.Program.ListensUDP(i)
	peers := net.JoinHostPort(i.Host, strconv.Itoa(i.PeerPort))
	at = slices.DeleteFunc(at, func(a string) bool {
		return a == "tcp "+i.Endpoint() || listensUDP && a == "udp "+i.Endpoint() || i.Program.PeerPort && a == "tcp "+peers
	})
	if len(at) > 0 {
		return fmt.Errorf("it also listens at %s: expected %s alone", strings.Join(at, ", "), i.Endpoint())
	}
	return nil
}

// readBack asks the server for its settings, and compares them with those that it was asked for.
func (i *Instance) readBack(ctx context.Context) (err error) {
	asking, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	if i.Settings, err = i.Program.Settings(asking, i); err != nil {
		return errors.Join(fmt.Errorf("reading its settings back: %w", err), i.Died())
	}
	return i.compare()
}

// compare is an error if the server tells other settings than it was asked for.
func (i *Instance) compare() error {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(i.Asked)) {
		told, known := i.Settings[name]
		switch asked := i.Asked[name]; {
		case !known:
			differ = append(differ, fmt.Sprintf("it was asked for %s = %q, and does not tell it", name, asked))
		case !i.Program.same(name, asked, told):
			differ = append(differ, fmt.Sprintf("it was asked for %s = %q, and reports %q", name, asked, told))
		}
	}
	if len(differ) > 0 {
		return errors.New(strings.Join(differ, "; "))
	}
	return nil
}

func (p *Program) same(name, asked, told string) bool {
	return asked == told || p.Same != nil && p.Same(name, asked, told)
}
