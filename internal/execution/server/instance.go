package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/execution/child"
	"assay/store"
)

// Instance is a server that is being started or runs. The functions of its [Program] get it.
type Instance struct {
	Program   *Program
	Binary    string
	Product   string // that Binary tells to be: "valkey"
	Version   string
	Directory string        // its own: empty before Prepare, absolute, and where the program starts
	Host      string        // an address of loopback
	Port      int           // at Host
	PeerPort  int           // at Host, if the program has one
	Peers     []*Instance   // of the same store: those that were started before it, and answer
	Count     int           // of servers that make the store, with itself, and without replicas
	Replicas  int           // that follow the store's first server
	Primary   *Instance     // whose replica it is; nil: it is none
	Options   store.Options // of each declared option: the experiment's, the class's, or the default
	Guard     Guard         // what Command makes it demand, if Program.Options has [GuardOptions]

	// Asked is what the server must tell of itself: what Program.Asked returned, and the
	// experiment's settings by the program's own names.
	Asked map[string]string
	// Settings is what it told of itself, once it had answered.
	Settings map[string]string
	// Took is the time from its start until it answered, Prepare left out.
	Took time.Duration

	label  string // its name in logs and errors
	cpus   []int
	user   *syscall.Credential // nil: that of this process
	output *output
	note   *owned.Note
	life   *life
	moved  bool // its files were made elsewhere
}

// life is the process of a server that runs. A fault may end it, and another follows.
type life struct {
	now  atomic.Pointer[process] // nil: it was not started yet
	down atomic.Bool             // it was ended on purpose, and is to come back
}

// process is one process of a server, from its start to its end.
type process struct {
	*child.Child
	exited chan struct{} // closed once it has ended and what it left was ended
	err    error         // how; read once exited is closed

	container *container // in which the server runs: the child is its runtime; nil: the child is the server
	first     int        // the server's first process in a container; 0: there is none
}

// Endpoint returns HOST:PORT, or the absolute path of its Unix socket.
func (i *Instance) Endpoint() string {
	switch {
	case !i.AtSocket():
		return net.JoinHostPort(i.Host, strconv.Itoa(i.Port))
	case i.Program.Socket != nil:
		return filepath.Join(i.Directory, i.Program.Socket(i))
	}
	return filepath.Join(i.Directory, socketName)
}

// socketName ends as the clients of MongoDB's protocol want it.
const socketName = "server.sock"

// Contained reports whether the server runs in a container, of which PID is the first process.
func (i *Instance) Contained() bool { return i.life.now.Load().container != nil }

// PID returns the number of the server's first process; its others are below it.
func (i *Instance) PID() int {
	p := i.life.now.Load()
	if p.first != 0 {
		return p.first
	}
	return p.PID()
}

// ErrDied is wrapped by the errors that say that a server ended before it was asked to.
var ErrDied = errors.New("the server died")

// Exited is closed when the server has ended.
func (i *Instance) Exited() <-chan struct{} { return i.life.now.Load().exited }

// Died says how the server ended, in its own last words where it had any; nil while it runs, and
// while a fault has taken it down. It means nothing after Stop.
func (i *Instance) Died() error {
	p := i.life.now.Load()
	select {
	case <-p.exited:
	default:
		return nil
	}
	if i.life.down.Load() {
		return nil
	}
	return i.death(p)
}

func (i *Instance) death(p *process) error {
	how := "it exited with status 0, or went into the background"
	if p.err != nil {
		how = p.err.Error()
	}
	if words := i.output.lastWords(); words != "" {
		how += "; it last wrote: " + words
	}
	return fmt.Errorf("%w: %s: %s", ErrDied, i.label, how)
}

// Run runs a program that prepares the server's directory, as the server's user and in that
// directory. What it writes goes to the log.
func (i *Instance) Run(ctx context.Context, program string, arguments ...string) error {
	o := &output{log: i.output.log, name: i.label}
	command, in, err := i.command(o, program, arguments, nil)
	if err != nil {
		return fmt.Errorf("running %s: %w", program, err)
	}
	p, err := child.Start(command, i.owner())
	if err != nil {
		return errors.Join(fmt.Errorf("running %s: %w", program, err), in.remove())
	}
	stop := context.AfterFunc(ctx, p.Kill)
	_, err = p.Wait()
	stop()
	o.end()
	if left := in.remove(); left != nil {
		return errors.Join(err, left)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("running %s: %w; it last wrote: %s", program, err, o.lastWords())
	}
	return nil
}

func (i *Instance) owner() child.Options {
	return child.Options{Directory: i.Directory, DeathSignal: i.Program.DeathSignal, CPUs: i.cpus}
}

// command makes the command of a program of the server's. Its environment is not the user's:
// settings of a server may stand there that no report would show. Where the program is an image's, the
// command is its runtime's, and in the container that it makes.
func (i *Instance) command(o *output, program string, arguments, environment []string) (_ *exec.Cmd,
	in *container, err error) {
	in, contained, err := i.contained(program, arguments, environment)
	if err != nil {
		return nil, nil, err
	}
	if in != nil {
		c := exec.Command(in.runtime, contained...)
		c.Stdout, c.Stderr, c.WaitDelay = o, o, outputPatience
		return c, in, nil
	}
	c := exec.Command(program, arguments...)
	c.Stdout, c.Stderr = o, o
	c.WaitDelay = outputPatience
	c.Dir = i.Directory
	if i.Program.InMemory {
		c.Dir = "/"
	}
	c.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=" + c.Dir}, environment...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: i.user}
	return c, nil, nil
}

const (
	outputPatience = 2 * time.Second  // for processes that hold the server's output open after its end
	killPatience   = 20 * time.Second // for the kernel, which takes the memory of a killed server back
)

// run starts the server's process and watches for its end.
func (i *Instance) run() error {
	if i.AtSocket() { // one that was killed leaves its own
		if err := os.Remove(i.Endpoint()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	arguments, environment := i.Program.Command(i)
	command, in, err := i.command(i.output, i.Binary, arguments, environment)
	if err != nil {
		return fmt.Errorf("starting %s: %w", i.Binary, err)
	}
	p, err := child.Start(command, i.owner())
	if err != nil {
		return errors.Join(fmt.Errorf("starting %s: %w", i.Binary, err), in.remove())
	}
	if os.Geteuid() == 0 {
		who := 0
		if i.user != nil {
			who = int(i.user.Uid)
		}
		_, _ = fmt.Fprintf(i.output.log, "%s: process %d runs as user %d\n", i.label, p.PID(), who)
	}
	begun, output := &process{Child: p, exited: make(chan struct{}), container: in}, i.output
	go func() {
		_, begun.err = p.Wait()
		begun.err = errors.Join(begun.err, in.remove())
		output.end()
		close(begun.exited)
	}()
	if in != nil {
		if begun.first, err = in.first(begun.exited); err != nil {
			p.Kill()
			<-begun.exited
			return err
		}
	}
	i.life.now.Store(begun)
	return nil
}

// Stop ends the server: it is asked to, and killed with all of its processes if it has not ended
// when the patience is over. The error says that it was killed, or that processes are left. Called
// again, it does nothing.
func (i *Instance) Stop(patience time.Duration) error {
	return i.endBy(i.Program.stopSignal(), patience)
}

// endBy ends the server by a signal, and kills it with all of its processes if it has not ended when
// the patience is over.
func (i *Instance) endBy(signal syscall.Signal, patience time.Duration) error {
	if i.note == nil {
		return nil
	}
	if signal == syscall.SIGKILL {
		return i.kill()
	}
	i.thaw()
	i.life.now.Load().signal(signal)
	if i.endsWithin(patience) {
		return i.kill() // what it may have left
	}
	err := fmt.Errorf("%s did not end within %v of %q, and was killed", i.label, patience, signal)
	return errors.Join(err, i.kill())
}

// signal asks the server to end.
func (p *process) signal(s syscall.Signal) {
	if p.container == nil {
		p.Signal(s)
		return
	}
	_ = p.container.signal(s) // one that has ended has no container any more; one that does not end is killed
}

// kill ends the server at once. The error says what is left.
func (i *Instance) kill() error {
	note := i.note
	i.note = nil
	p := i.life.now.Load()
	p.Kill()
	if !i.endsWithin(killPatience) {
		note.Keep() // the next run tries again
		return fmt.Errorf("%s can't be killed: process %d", i.label, i.PID())
	}
	if _, left := p.EndLeft(); len(left) > 0 {
		note.Keep()
		return fmt.Errorf("processes of %s are left: %v", i.label, left)
	}
	note.Done()
	return nil
}

func (i *Instance) endsWithin(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-i.Exited():
		return true
	case <-timer.C:
		return false
	}
}

// Processes returns the server's first process and all below it.
func (i *Instance) Processes() []int { return host.Processes(i.PID()) }
