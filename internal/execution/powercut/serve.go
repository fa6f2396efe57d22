package powercut

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// request is what the rig asks of the process that serves it: exactly one field is set.
type request struct {
	Mount  string   `json:"mount,omitempty"` // directory
	New    *blank   `json:"new,omitempty"`
	Make   []string `json:"make,omitempty"`   // the command that makes a file system
	Commit string   `json:"commit,omitempty"` // of which strict file system everything becomes durable
	Cut    *Cut     `json:"cut,omitempty"`    // as the disk Name
	Name   string   `json:"name,omitempty"`
	Watch  *phase   `json:"watch,omitempty"`
	Count  string   `json:"count,omitempty"`  // the events of which disk
	Stop   string   `json:"stop,omitempty"`   // of which disk: nothing more is logged of it
	Events string   `json:"events,omitempty"` // of which disk
	Drop   string   `json:"drop,omitempty"`   // which disk
	Show   string   `json:"show,omitempty"`   // which strict file system stands at mountPlace from now on
	Fault  *Fault   `json:"fault,omitempty"`  // of the disk that is recorded
	Faults string   `json:"faults,omitempty"` // of which disk: what became of it

	Through   *through `json:"through,omitempty"`    // a directory that is seen at another one
	LatencyNS *int64   `json:"latency_ns,omitempty"` // that its disk takes longer from now on

	Export *file `json:"export,omitempty"` // a disk, up to an event
	Adopt  *file `json:"adopt,omitempty"`  // a disk with that log
}

type blank struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Strict: a strict file system in place of a disk.
	Strict bool `json:"strict,omitempty"`
}

type file struct {
	Disk  string `json:"disk"`
	Path  string `json:"path"`
	At    int    `json:"at,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

type phase struct {
	Number   int    `json:"number"`
	Trace    string `json:"trace"`
	Counters string `json:"counters"`
}

type reply struct {
	Error  string  `json:"error,omitempty"`
	Events []Event `json:"events,omitempty"`
	Digest string  `json:"digest,omitempty"`
	Count  int     `json:"count,omitempty"` // of events so far

	Seen FaultSeen `json:"seen,omitzero"`
}

// server holds the disks. One lock orders all that happens to them.
type server struct {
	mu    sync.Mutex
	root  *fs.Inode
	fuse  *fuse.Server
	disks map[string]*disk
	made  uint64 // disks so far
	now   *disk  // that is recorded; nil: none
	shown *disk  // the strict file system at mountPlace; nil: none

	latency disksLatency // of a directory that is seen through it
}

// disk is a file of the mount.
type disk struct {
	fs.Inode
	server *server
	name   string
	number uint64
	image  *Image
	tree   *tree     // of a strict file system, which has no image; nil: a disk
	top    *fs.Inode // of that; nil: a disk
	log    Log
	made   *Cut // what it was when it was made; nil: empty
	full   error
	fault  *armed // nil: none
}

// Serve serves a rig on the standard streams until its input ends.
func Serve(in io.Reader, out io.Writer) error {
	s := &server{disks: map[string]*disk{}}
	defer func() {
		if s.fuse != nil {
			_ = s.fuse.Unmount() // what still uses it gets errors when this process ends
		}
	}()
	go s.ticks()
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := s.do(&r)
		if err != nil {
			answer.Error = err.Error()
		}
		if err := replies.Encode(answer); err != nil {
			return err
		}
	}
}

const tickPeriod = time.Millisecond

func (s *server) ticks() {
	for range time.Tick(tickPeriod) {
		s.mu.Lock()
		if s.now != nil {
			s.now.log.tick()
		}
		s.mu.Unlock()
	}
}

func (s *server) do(r *request) (answer reply, err error) {
	if r.Mount != "" {
		return answer, s.mount(r.Mount)
	}
	if r.Through != nil {
		return answer, s.showThrough(r.Through)
	}
	if r.LatencyNS != nil {
		s.latency.ns.Store(*r.LatencyNS)
		return answer, nil
	}
	if len(r.Make) > 0 { // it reads and writes a disk meanwhile
		return answer, besideOthers(r.Make)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.New != nil:
		return answer, s.add(r.New.Name, r.New.Bytes, nil, r.New.Strict)
	case r.Commit != "":
		d, err := s.disk(r.Commit)
		if err == nil && d.tree != nil && d.change(change{kind: syncAll}) != 0 {
			err = d.full
		}
		return answer, err
	case r.Cut != nil:
		of, err := s.disk(r.Cut.Of)
		if err != nil {
			return answer, err
		}
		if err := s.add(r.Name, of.image.Size(), r.Cut, of.tree != nil); err != nil {
			return answer, err
		}
		answer.Digest = s.disks[r.Name].digest()
		return answer, nil
	case r.Watch != nil:
		if s.now == nil {
			return answer, errors.New("no disk is recorded")
		}
		w, err := watch(r.Watch.Number, r.Watch.Trace, r.Watch.Counters)
		if err != nil {
			return answer, err
		}
		s.now.unwatch()
		s.now.log.watched = w
		s.now.log.tick()
		answer.Count = len(s.now.log.entries)
		return answer, nil
	case r.Count != "":
		d, err := s.disk(r.Count)
		if err != nil {
			return answer, err
		}
		answer.Count = len(d.log.entries)
		return answer, d.full
	case r.Stop != "":
		d, err := s.disk(r.Stop)
		if err != nil {
			return answer, err
		}
		d.log.tick()
		d.unwatch()
		if s.now == d {
			s.now = nil
		}
		return answer, d.full
	case r.Events != "":
		d, err := s.disk(r.Events)
		if err != nil {
			return answer, err
		}
		answer.Events = d.log.events()
		return answer, nil
	case r.Export != nil:
		d, err := s.disk(r.Export.Disk)
		if err == nil {
			answer.Count, err = s.export(d, r.Export.At, r.Export.Path)
		}
		return answer, err
	case r.Adopt != nil:
		return answer, s.adopt(r.Adopt.Disk, r.Adopt.Bytes, r.Adopt.Path)
	case r.Drop != "":
		return answer, s.drop(r.Drop)
	case r.Show != "":
		d, err := s.disk(r.Show)
		if err == nil {
			s.show(d)
		}
		return answer, err
	case r.Fault != nil:
		if s.now == nil {
			return answer, errors.New("no disk is recorded")
		}
		s.now.fault = &armed{*r.Fault, FaultSeen{Event: -1}}
		return answer, nil
	case r.Faults != "":
		d, err := s.disk(r.Faults)
		if err == nil && d.fault != nil {
			answer.Seen = d.fault.FaultSeen
		}
		return answer, err
	}
	return answer, errors.New("an empty request")
}

// unwatch takes the last stamp of a phase, and gives its counters back.
func (d *disk) unwatch() {
	if w := d.log.watched; w != nil {
		d.log.tick()
		d.log.watched = nil
		_ = w.counters.Unmap() // nothing of it is used any more
	}
}

func (s *server) disk(name string) (*disk, error) {
	if d := s.disks[name]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("there is no disk %q", name)
}

// add makes a disk, and records it from now on.
func (s *server) add(name string, size int64, made *Cut, strict bool) error {
	if s.root == nil {
		return errors.New("nothing is mounted")
	}
	if s.disks[name] != nil || name == "" {
		return fmt.Errorf("a disk %q can't be made", name)
	}
	s.made++
	d := &disk{server: s, name: name, number: s.made, image: &Image{}, made: made, log: Log{last: Stamp{Phase: -1}}}
	var err error
	var seen fs.InodeEmbedder = d
	kind := fs.StableAttr{Mode: fuse.S_IFREG}
	if strict {
		d.tree, err = s.replayTree(made)
		seen, kind = &strictNode{disk: d, id: rootNode}, fs.StableAttr{Mode: fuse.S_IFDIR, Ino: d.number<<40 | rootNode}
	} else if d.image, err = NewImage(size); err == nil {
		err = s.replay(d.image, made)
		if err != nil {
			err = errors.Join(err, d.image.Free())
		}
	}
	if err != nil {
		return err
	}
	s.disks[name], s.now = d, d
	s.mu.Unlock() // the kernel may look the name up meanwhile
	inode := s.root.NewPersistentInode(context.Background(), seen, kind)
	if strict {
		d.top = inode
	} else {
		s.root.AddChild(name, inode, true)
	}
	s.mu.Lock()
	return nil
}

// show lets a strict file system stand at mountPlace, until another does. It has no other name, so that a
// store finds its files at the same path whichever it is. The caller holds the lock.
func (s *server) show(d *disk) {
	s.mu.Unlock() // the kernel may look the name up meanwhile
	s.root.AddChild(mountPlace, d.top, true)
	_ = s.root.NotifyEntry(mountPlace) // the kernel looks it up anew in any case
	s.mu.Lock()
	s.shown = d
}

// replay does to an empty image what a cut leaves, of the disk that was recorded and those before it.
func (s *server) replay(m *Image, c *Cut) error {
	if c == nil {
		return nil
	}
	of, err := s.disk(c.Of)
	if err != nil {
		return err
	}
	if err := s.replay(m, of.made); err != nil {
		return err
	}
	return of.log.apply(m, *c)
}

// replayTree makes a tree as a cut leaves it.
func (s *server) replayTree(c *Cut) (*tree, error) {
	if c == nil {
		return newTree(), nil
	}
	of, err := s.disk(c.Of)
	if err != nil {
		return nil, err
	}
	t, err := s.replayTree(of.made)
	if err != nil {
		return nil, err
	}
	return t, of.log.cutTree(t, *c)
}

func (d *disk) digest() string {
	if d.tree != nil {
		return d.tree.digest()
	}
	return d.image.Digest()
}

func (s *server) drop(name string) error {
	d, err := s.disk(name)
	if err != nil {
		return err
	}
	d.unwatch()
	d.log = Log{last: d.log.last} // the kernel may hold its file for a while
	delete(s.disks, name)
	if s.now == d {
		s.now = nil
	}
	if d.tree != nil {
		if s.shown != d {
			d.tree = newTree()
			return nil
		}
		name, s.shown = mountPlace, nil
	}
	s.mu.Unlock()
	s.root.RmChild(name)
	_ = s.root.NotifyEntry(name) // the kernel looks it up anew in any case
	s.mu.Lock()
	if d.tree != nil {
		d.tree = newTree()
		return nil
	}
	image := d.image
	d.image = &Image{} // what still has it open reads nothing
	return image.Free()
}

// mount mounts the file system of the disks.
func (s *server) mount(directory string) error {
	root := &fs.Inode{}
	return s.mountAt(directory, root, root)
}

func (s *server) mountAt(directory string, top fs.InodeEmbedder, root *fs.Inode) error {
	if s.fuse != nil {
		return errors.New("it is mounted already")
	}
	// Without root, a helper mounts it, and it is the user's alone.
	isRoot := os.Geteuid() == 0
	mounted, err := fs.Mount(directory, top, &fs.Options{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()),
		MountOptions: fuse.MountOptions{
			FsName: MountName, Name: MountName, AllowOther: isRoot, DirectMountStrict: isRoot, DisableXAttrs: true,
			MaxWrite: 1 << 20,
		}})
	if err != nil {
		return fmt.Errorf("mount FUSE: %s", strings.TrimSpace(err.Error())) // the library's ends in a new line
	}
	if err := keepFromChildren(); err != nil {
		return errors.Join(err, mounted.Unmount())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fuse, s.root = mounted, root
	return nil
}

// keepFromChildren keeps the connection of FUSE, which go-fuse opens for whatever this process starts, from
// that. A mkfs that had it would hold it open when this process is killed, and wait for its answer for ever.
// No child is there yet.
func keepFromChildren() error {
	const descriptors = "/proc/self/fd"
	names, err := os.ReadDir(descriptors)
	if err != nil {
		return err
	}
	for _, n := range names {
		if opened, _ := os.Readlink(filepath.Join(descriptors, n.Name())); opened != "/dev/fuse" { // ReadDir's own is closed
			continue
		}
		fd, err := strconv.Atoi(n.Name())
		if err != nil {
			return err
		}
		unix.CloseOnExec(fd)
	}
	return nil
}

// MountName stands in the mount table.
const MountName = "assay-power-cut"

var (
	_ fs.NodeOpener    = (*disk)(nil)
	_ fs.NodeReader    = (*disk)(nil)
	_ fs.NodeWriter    = (*disk)(nil)
	_ fs.NodeFsyncer   = (*disk)(nil)
	_ fs.NodeAllocater = (*disk)(nil)
	_ fs.NodeGetattrer = (*disk)(nil)
	_ fs.NodeSetattrer = (*disk)(nil)
)

// Open gives no handle, and so no descriptor that the kernel could pass writes through to: it would
// not tell us of them.
func (d *disk) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (d *disk) attributes(out *fuse.Attr) {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	out.Mode, out.Size = fuse.S_IFREG|0o600, uint64(d.image.Size())
}

func (d *disk) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	d.attributes(&out.Attr)
	return 0
}

// Setattr changes nothing: a disk has the size that it has.
func (d *disk) Setattr(_ context.Context, _ fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	d.attributes(&out.Attr)
	return 0
}

func (d *disk) Read(_ context.Context, _ fs.FileHandle, to []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	return fuse.ReadResultData(to[:copy(to, d.image.within(offset, int64(len(to))))]), 0
}

func (d *disk) Write(_ context.Context, _ fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	if e := d.happens(Write, offset, int64(len(data)), data); e != 0 {
		return 0, e
	}
	return uint32(len(data)), 0
}

// Fsync is a flush of the device. Nothing need reach the disk below.
func (d *disk) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	time.Sleep(FlushTime)
	return d.happens(Flush, 0, 0, nil)
}

// Allocate is how a loop device zeroes and discards.
func (d *disk) Allocate(_ context.Context, _ fs.FileHandle, offset, length uint64, mode uint32) syscall.Errno {
	if mode&(linux.FALLOC_FL_PUNCH_HOLE|linux.FALLOC_FL_ZERO_RANGE) == 0 {
		return 0
	}
	return d.happens(Zero, int64(offset), int64(length), nil)
}

// happens logs an event and does it.
func (d *disk) happens(kind EventKind, offset, length int64, data []byte) syscall.Errno {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	if d.meets(SyncError) > 0 {
		return syscall.EIO
	}
	if kind == Write && d.image.hole(offset, length) && d.meets(NoSpace) > 0 {
		return syscall.ENOSPC
	}
	if d.server.now == d {
		if err := d.log.add(kind, offset, length, data); err != nil {
			d.full = err
			return syscall.EIO
		}
	}
	e := entry{Event: Event{Kind: kind, Offset: offset, Bytes: length}, data: data}
	e.apply(d.image)
	return 0
}
