package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"assay/internal/base/bounded"
	"assay/internal/base/clock"
	"assay/internal/base/owned"
)

// Slow is a directory seen through FUSE, whose disk can be made to answer later. What a disk is asked by a
// kernel with a page cache waits: syncs, writes that are synced each (O_DSYNC), and reads of what the cache
// does not have. Other writes wait for no disk, and so not here.
type Slow struct{ rig *Rig }

// through asks for a directory to be seen at another one.
type through struct {
	Mount string `json:"mount"`
	Of    string `json:"of"`
}

// StartSlow shows the directory of at [Slow.Point], which is made below the directory at. command is that of
// the process that calls [Serve]. The kernel's permissions of the directory of hold there too.
func StartSlow(at, of string, command []string) (_ *Slow, err error) {
	r := &Rig{ended: make(chan struct{}), stderr: &printed{}}
	if r.place, err = owned.NewDirectory(at, "slow-disk"); err != nil {
		return nil, err
	}
	if r.note, err = owned.Write(owned.Thing{Kind: owned.Rig, Path: r.place.Path}); err != nil {
		return nil, errors.Join(err, r.place.Remove())
	}
	point := filepath.Join(r.place.Path, disksPlace)
	// A server may run as another user.
	err = errors.Join(os.Chmod(r.place.Path, 0o711), os.Mkdir(point, 0o711), //nolint:gosec // it goes through
		os.Mkdir(filepath.Join(r.place.Path, mountPlace), 0o700))
	if err == nil {
		err = r.serve(command)
	}
	if err == nil {
		_, err = r.ask(request{Through: &through{Mount: point, Of: of}})
	}
	if err != nil {
		closeErr := r.Close()
		if said := strings.TrimSpace(r.stderr.String()); said != "" { // of the helper that mounts
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, errors.Join(err, closeErr)
	}
	return &Slow{r}, nil
}

// Point is where the directory is seen.
func (s *Slow) Point() string { return filepath.Join(s.rig.place.Path, disksPlace) }

// PID is the process that does for others what they ask of the directory: their syncs are its own.
func (s *Slow) PID() int { return s.rig.process.PID() }

// SetLatency has the disk answer so much later from now on; 0: as it does by itself.
func (s *Slow) SetLatency(latency time.Duration) error {
	ns := int64(latency)
	_, err := s.rig.ask(request{LatencyNS: &ns})
	return err
}

// Close takes the mount away. What still has files open there gets errors.
func (s *Slow) Close() error { return s.rig.Close() }

// CheckSlow says why a directory can't be seen through FUSE here; nil: it can.
func CheckSlow(directory string, command []string) error {
	if os.Geteuid() != 0 {
		if _, err := bounded.Find(mountHelper); err != nil {
			return fmt.Errorf("it needs root, or %s: %w: apt-get install fuse3", mountHelper, err)
		}
	}
	file, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	s, err := StartSlow(directory, directory, command)
	if err != nil {
		return err
	}
	return s.Close()
}

// disksLatency is what the directory of a process that serves one adds.
type disksLatency struct{ ns atomic.Int64 }

// wait is what the disk takes longer.
func (l *disksLatency) wait() {
	if ns := l.ns.Load(); ns > 0 {
		clock.SleepUntil(clock.MonotonicNS() + ns)
	}
}

// slowNode is a file or directory of the other directory. Files have handles of our own, which the kernel is
// given no descriptor of: it would pass reads and writes by.
type slowNode struct {
	*fs.LoopbackNode
	latency *disksLatency
}

var (
	_ fs.NodeOpener         = (*slowNode)(nil)
	_ fs.NodeCreater        = (*slowNode)(nil)
	_ fs.NodeOpendirHandler = (*slowNode)(nil)
	_ fs.NodeWrapChilder    = (*slowNode)(nil)
)

// slowFile is an open file.
type slowFile struct {
	*fs.LoopbackFile
	latency *disksLatency
}

// PassthroughFd gives the kernel none.
func (f *slowFile) PassthroughFd() (int, bool) { return 0, false }

func (f *slowFile) Read(ctx context.Context, to []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	f.latency.wait()
	return f.LoopbackFile.Read(ctx, to, offset)
}

// Fsync comes behind each write of a file that is open with O_DSYNC, too.
func (f *slowFile) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	f.latency.wait()
	return f.LoopbackFile.Fsync(ctx, flags)
}

func (s *slowNode) handle(h fs.FileHandle) (fs.FileHandle, uint32) {
	file, is := h.(*fs.LoopbackFile)
	if !is {
		return h, 0
	}
	return &slowFile{file, s.latency}, fuse.FOPEN_KEEP_CACHE
}

func (s *slowNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, _, e := s.LoopbackNode.Open(ctx, flags)
	if e != 0 {
		return nil, 0, e
	}
	h, kept := s.handle(h)
	return h, kept, 0
}

func (s *slowNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode,
	fs.FileHandle, uint32, syscall.Errno) {
	made, h, _, e := s.LoopbackNode.Create(ctx, name, flags, mode, out)
	if e != 0 {
		return nil, nil, 0, e
	}
	h, kept := s.handle(h)
	return made, h, kept, 0
}

// directoryHandle is what the library opens of a directory.
type directoryHandle interface {
	fs.FileReaddirenter
	fs.FileSeekdirer
	fs.FileReleasedirer
	fs.FileFsyncdirer
}

// slowDirectory is an open directory.
type slowDirectory struct {
	directoryHandle
	latency *disksLatency
}

func (d *slowDirectory) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	d.latency.wait()
	return d.directoryHandle.Fsyncdir(ctx, flags)
}

func (s *slowNode) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, more, e := s.LoopbackNode.OpendirHandle(ctx, flags)
	if d, is := h.(directoryHandle); is {
		h = &slowDirectory{d, s.latency}
	}
	return h, more, e
}

// WrapChild is of [fs.NodeWrapChilder].
func (s *slowNode) WrapChild(_ context.Context, node fs.InodeEmbedder) fs.InodeEmbedder {
	return &slowNode{node.(*fs.LoopbackNode), s.latency}
}

// showThrough mounts a directory at another one.
func (s *server) showThrough(t *through) error {
	var there syscall.Stat_t
	if err := syscall.Stat(t.Of, &there); err != nil {
		return fmt.Errorf("look at %s: %w", t.Of, err)
	}
	data := &fs.LoopbackRoot{Path: t.Of, Dev: uint64(there.Dev)}
	root := &slowNode{&fs.LoopbackNode{RootData: data}, &s.latency}
	data.RootNode = root
	return s.mountAt(t.Mount, root, root.EmbeddedInode())
}
