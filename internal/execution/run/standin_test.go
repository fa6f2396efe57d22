package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/drivers/memory"
	"assay/internal/execution/event"
	"assay/internal/testkit/misbehave"
	"assay/internal/testkit/walstore"
	"assay/store"
)

// standIn is the map of driver memory in the place of another store.
type standIn struct {
	memory.Driver
	name  string
	kind  store.Kind
	class store.Durability
	fails error  // of every put
	gone  bool   // its directory, as soon as it is open
	rests func() // in the middle of a put, once, after a while
	each  func() // beside each put
	lazy  bool   // it writes its records to a file once it has been idle for a while
}

// driversHere are those that the worker of these tests has.
func driversHere() []store.Driver {
	var cheating []store.Driver
	for _, d := range cheats {
		cheating = append(cheating, d)
	}
	return slices.Concat(cheating, expirers, eventualStores, linked(), misbehave.Drivers(), walstore.Drivers(),
		[]store.Driver{
			queue{},
			standIn{name: "forgetful", kind: store.Embedded, class: store.D3},
			standIn{name: "lazy", kind: store.Embedded, class: store.D0, lazy: true},
			standIn{name: "failing", kind: store.Memory, class: store.D0, fails: errors.New("it can't")},
			standIn{name: "roomless", kind: store.Embedded, class: store.D0, fails: errors.New("write x: no space left on device")},
			standIn{name: "vanishing", kind: store.Embedded, class: store.D0, gone: true},
			standIn{name: "pinned", kind: store.Memory, class: store.D0, rests: func() { pin(1 << 16) }},
			standIn{name: "pins-one", kind: store.Memory, class: store.D0, rests: func() { pin(1) }},
			standIn{name: "dozing", kind: store.Memory, class: store.D0, rests: func() { time.Sleep(restTime) }},
			standIn{name: "halted", kind: store.Memory, class: store.D0, rests: func() { halt(os.Getpid()) }},
			standIn{name: "halted-with-assay", kind: store.Memory, class: store.D0, rests: func() { halt(os.Getppid(), os.Getpid()) }},
			standIn{name: haltedInSample, kind: store.Memory, class: store.D0, rests: func() {
				halt(os.Getppid(), os.Getpid())
			}},
			standIn{name: "distant", kind: store.Server, class: store.D0},
			standIn{name: "burning", kind: store.Server, class: store.D0, each: func() {
				for began := time.Now(); time.Since(began) < 100*time.Microsecond; {
				}
			}},
			standIn{name: "waiting", kind: store.Server, class: store.D0, each: func() { time.Sleep(100 * time.Microsecond) }},
			dialler{name: "one-each"},
			dialler{name: "two-each", each: 1},
			dialler{name: "leaking", leaks: true},
			dialler{name: "surging", surge: 5},
			dialler{name: "stalling", stalls: true},
			dialler{name: "losing", fails: 7},
			dialler{name: "unfair", keeps: true},
			idleClosing{name: "closes-once", once: true}, idleClosing{name: "closes-always"}, filling{}, keepsake{}, swallowing{}, dropping{}, staleRedis{},
		})
}

func (d standIn) Describe() store.Description {
	return store.Description{Name: d.name, Summary: "stands in for another", Licence: "NONE", Kind: d.kind, HandlesShareable: true,
		Durability: []store.DurabilityClaim{{Class: d.class, How: "says so"}}, Abilities: store.Abilities{Inspect: d.lazy}}
}

func (d standIn) Open(ctx context.Context, c store.Config) (store.Store, error) {
	c.Durability = store.D0
	inMemory, err := d.Driver.Open(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case d.fails != nil:
		return failing{inMemory, d.fails}, nil
	case d.rests != nil:
		return resting{inMemory, sync.OnceFunc(d.rests), time.Now()}, nil
	case d.each != nil:
		return costly{inMemory, d.each}, nil
	case d.gone:
		return plain{inMemory}, os.RemoveAll(c.Directory)
	case !d.lazy:
		return plain{inMemory}, nil
	}
	file, err := os.Create(filepath.Join(c.Directory, "records"))
	if err != nil {
		return nil, err
	}
	l := &lazyStore{Store: inMemory, file: file, end: make(chan struct{})}
	l.writer.Go(l.writeWhenIdle)
	return l, nil
}

// plain hides the map's other abilities.
type plain struct{ store.Store }

func (p plain) Handle() (store.Handle, error) {
	h, err := p.Store.Handle()
	return struct{ store.Handle }{h}, err
}

type failing struct {
	store.Store
	err error
}

func (f failing) Handle() (store.Handle, error) {
	h, err := f.Store.Handle()
	return failingHandle{h, f.err}, err
}

type failingHandle struct {
	store.Handle
	err error
}

func (h failingHandle) Put([]byte, []byte) error { return h.err }

type costly struct {
	store.Store
	each func()
}

func (c costly) Handle() (store.Handle, error) {
	h, err := c.Store.Handle()
	return costlyHandle{h, c.each}, err
}

type costlyHandle struct {
	store.Handle
	each func()
}

func (h costlyHandle) Put(key, value []byte) error {
	h.each()
	return h.Handle.Put(key, value)
}

type resting struct {
	store.Store
	rest   func()
	opened time.Time
}

func (r resting) Handle() (store.Handle, error) {
	h, err := r.Store.Handle()
	return restingHandle{h, r}, err
}

type restingHandle struct {
	store.Handle
	of resting
}

func (h restingHandle) Put(key, value []byte) error {
	if time.Since(h.of.opened) > restAfter {
		h.of.rest()
	}
	return h.Handle.Put(key, value)
}

// haltedInSample stops Assay too, while that does something else than to look.
const haltedInSample = "halted-in-sample"

// busyView keeps the conductor in its first sample for longer than a store takes to rest.
type busyView struct {
	event.View
	once sync.Once
}

func (v *busyView) Tick(t event.Tick) {
	v.once.Do(func() { time.Sleep(restAfter + restTime/2) })
	v.View.Tick(t)
}

const restAfter, restTime = 300 * time.Millisecond, 800 * time.Millisecond

// halt lets another process stop some, and have them go on after a while. Its own clock begins behind
// the stops, so that they last that long however late it comes to run; and it is waited for, so that
// they are within the operation.
func halt(pids ...int) {
	stop, resume := "", ""
	for _, pid := range pids {
		stop += fmt.Sprintf("kill -STOP %d; ", pid)
		resume += fmt.Sprintf("; kill -CONT %d", pid)
	}
	command := fmt.Sprintf("%ssleep %g%s", stop, restTime.Seconds(), resume)
	if err := exec.Command("sh", "-c", command).Run(); err != nil {
		panic(err)
	}
}

type lazyStore struct {
	store.Store
	file   *os.File
	writer sync.WaitGroup
	end    chan struct{}

	mu      sync.Mutex
	pending []byte
	last    time.Time
	failed  error
}

const lazyAfter = 150 * time.Millisecond

func (l *lazyStore) writeWhenIdle() {
	tick := time.NewTicker(lazyAfter / 10)
	defer tick.Stop()
	for {
		select {
		case <-l.end:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		if len(l.pending) > 0 && time.Since(l.last) > lazyAfter {
			_, err := l.file.Write(l.pending)
			l.failed = errors.Join(l.failed, err, l.file.Sync())
			l.pending = nil
		}
		l.mu.Unlock()
	}
}

func (l *lazyStore) Inspect() store.Inspection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return store.Inspection{Busy: len(l.pending) > 0}
}

func (l *lazyStore) Close() error {
	close(l.end)
	l.writer.Wait()
	return errors.Join(l.failed, l.file.Close(), l.Store.Close())
}

func (l *lazyStore) Handle() (store.Handle, error) {
	h, err := l.Store.Handle()
	return lazyHandle{h, l}, err
}

type lazyHandle struct {
	store.Handle
	of *lazyStore
}

func (h lazyHandle) Put(key, value []byte) error {
	h.of.mu.Lock()
	h.of.pending = append(append(h.of.pending, key...), value...)
	h.of.last = time.Now()
	h.of.mu.Unlock()
	return h.Handle.Put(key, value)
}

// listen is a server in a process of its own: it holds memory, uses the CPU and writes, tells where
// it listens, and ends when its input does.
func listen() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	memory := make([]byte, serverHoldsBytes)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	file, err := os.Create(os.Args[2])
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Println(listener.Addr())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, bufio.NewReader(os.Stdin))
	}()
	for block := memory[:1<<16]; ; {
		select {
		case <-ended:
			return nil
		case <-time.After(time.Millisecond):
		}
		for began := time.Now(); time.Since(began) < time.Millisecond; {
		}
		if _, err := file.WriteAt(block, 0); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
	}
}

const serverHoldsBytes = 96 << 20
