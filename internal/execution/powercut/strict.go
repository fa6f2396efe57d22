package powercut

import (
	"context"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// strictNode is a file or directory of a strict file system, as the kernel sees it. Only one disk's lock
// is ever held, and no call of it goes into the mount.
type strictNode struct {
	fs.Inode
	disk *disk
	id   uint64
}

var (
	_ fs.NodeLookuper  = (*strictNode)(nil)
	_ fs.NodeReaddirer = (*strictNode)(nil)
	_ fs.NodeCreater   = (*strictNode)(nil)
	_ fs.NodeMkdirer   = (*strictNode)(nil)
	_ fs.NodeLinker    = (*strictNode)(nil)
	_ fs.NodeUnlinker  = (*strictNode)(nil)
	_ fs.NodeRmdirer   = (*strictNode)(nil)
	_ fs.NodeRenamer   = (*strictNode)(nil)
	_ fs.NodeOpener    = (*strictNode)(nil)
	_ fs.NodeReader    = (*strictNode)(nil)
	_ fs.NodeWriter    = (*strictNode)(nil)
	_ fs.NodeFsyncer   = (*strictNode)(nil)
	_ fs.NodeAllocater = (*strictNode)(nil)
	_ fs.NodeGetattrer = (*strictNode)(nil)
	_ fs.NodeSetattrer = (*strictNode)(nil)
	_ fs.NodeStatfser  = (*strictNode)(nil)
)

// change logs a change and makes it. The caller holds the lock.
func (d *disk) change(c change) syscall.Errno {
	if d.server.now == d {
		if err := d.log.addChange(c); err != nil {
			d.full = err
			return syscall.EIO
		}
	}
	d.tree.do(&c)
	return 0
}

// locked runs something on the node, which is there as long as the disk is.
func (s *strictNode) locked(do func(t *tree, n *node) syscall.Errno) syscall.Errno {
	s.disk.server.mu.Lock()
	defer s.disk.server.mu.Unlock()
	n := s.disk.tree.nodes[s.id]
	if n == nil {
		return syscall.ESTALE
	}
	return do(s.disk.tree, n)
}

func (n *node) attributes(out *fuse.Attr) {
	out.Mode, out.Size, out.Nlink = n.access.mode&0o7777|fuse.S_IFREG, uint64(n.data.length), 1
	out.Owner = fuse.Owner{Uid: n.access.uid, Gid: n.access.gid}
	if n.directory {
		out.Mode = n.access.mode&0o7777 | fuse.S_IFDIR
	}
	out.Blocks = (out.Size + sectorBytes - 1) / sectorBytes
}

// see returns the kernel's node of one of the disk's. Numbers are of all disks.
func (s *strictNode) see(ctx context.Context, id uint64, n *node) *fs.Inode {
	kind := uint32(fuse.S_IFREG)
	if n.directory {
		kind = fuse.S_IFDIR
	}
	return s.NewInode(ctx, &strictNode{disk: s.disk, id: id}, fs.StableAttr{Mode: kind, Ino: s.disk.number<<40 | id})
}

func (s *strictNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var found *node
	var id uint64
	e := s.locked(func(t *tree, n *node) syscall.Errno {
		if id = n.names[name]; t.nodes[id] == nil {
			return syscall.ENOENT
		}
		found = t.nodes[id]
		found.attributes(&out.Attr)
		return 0
	})
	if e != 0 {
		return nil, e
	}
	return s.see(ctx, id, found), 0
}

func (s *strictNode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	e := s.locked(func(t *tree, n *node) syscall.Errno {
		for name, id := range n.names {
			if child := t.nodes[id]; child != nil {
				var a fuse.Attr
				child.attributes(&a)
				list = append(list, fuse.DirEntry{Name: name, Mode: a.Mode, Ino: s.disk.number<<40 | id})
			}
		}
		return 0
	})
	return fs.NewListDirStream(list), e
}

// link gives a node a name in this directory; target 0 makes the node.
func (s *strictNode) link(ctx context.Context, name string, target uint64, directory bool, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var made *node
	own := access{mode: mode}
	if caller, known := fuse.FromContext(ctx); known {
		own.uid, own.gid = caller.Uid, caller.Gid
	}
	e := s.locked(func(t *tree, n *node) syscall.Errno {
		if _, there := n.names[name]; there {
			return syscall.EEXIST
		}
		if target == 0 {
			if s.disk.meets(NoSpace) > 0 {
				return syscall.ENOSPC
			}
			target = t.next
		}
		if e := s.disk.change(change{kind: changeLink, node: s.id, name: name, target: target, directory: directory,
			access: own}); e != 0 {
			return e
		}
		made = t.nodes[target]
		made.attributes(&out.Attr)
		return 0
	})
	if e != 0 {
		return nil, e
	}
	return s.see(ctx, target, made), 0
}

func (s *strictNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode,
	fs.FileHandle, uint32, syscall.Errno) {
	made, e := s.link(ctx, name, 0, false, mode, out)
	return made, handleOf(flags), 0, e
}

func (s *strictNode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode,
	syscall.Errno) {
	return s.link(ctx, name, 0, true, mode, out)
}

func (s *strictNode) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode,
	syscall.Errno) {
	other, own := target.(*strictNode)
	if !own || other.disk != s.disk {
		return nil, syscall.EXDEV
	}
	return s.link(ctx, name, other.id, false, 0, out)
}

func (s *strictNode) Unlink(_ context.Context, name string) syscall.Errno {
	return s.locked(func(t *tree, n *node) syscall.Errno {
		if child := t.nodes[n.names[name]]; child == nil {
			return syscall.ENOENT
		} else if child.directory && len(child.names) > 0 {
			return syscall.ENOTEMPTY
		}
		return s.disk.change(change{kind: changeUnlink, node: s.id, name: name})
	})
}

func (s *strictNode) Rmdir(ctx context.Context, name string) syscall.Errno {
	return s.Unlink(ctx, name)
}

func (s *strictNode) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string,
	flags uint32) syscall.Errno {
	other, own := to.(*strictNode)
	if !own || other.disk != s.disk {
		return syscall.EXDEV
	}
	return s.locked(func(t *tree, n *node) syscall.Errno {
		const noReplace = 1 // RENAME_NOREPLACE
		there := t.nodes[t.nodes[other.id].names[newName]]
		switch {
		case flags&^noReplace != 0:
			return syscall.EINVAL
		case t.nodes[n.names[name]] == nil:
			return syscall.ENOENT
		case there != nil && flags&noReplace != 0:
			return syscall.EEXIST
		case there != nil && there.directory && len(there.names) > 0:
			return syscall.ENOTEMPTY
		}
		return s.disk.change(change{kind: changeRename, node: s.id, name: name, target: other.id, newName: newName})
	})
}

// strictHandle is an open file each of whose writes is synced (O_SYNC, O_DSYNC). Others have no handle.
type strictHandle struct{}

func handleOf(flags uint32) fs.FileHandle {
	if flags&syscall.O_DSYNC != 0 {
		return &strictHandle{}
	}
	return nil
}

func (s *strictNode) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		if e := s.setLength(0); e != 0 {
			return nil, 0, e
		}
	}
	return handleOf(flags), 0, 0
}

func (s *strictNode) setLength(length int64) syscall.Errno {
	return s.locked(func(*tree, *node) syscall.Errno {
		return s.disk.change(change{kind: changeLength, node: s.id, offset: length})
	})
}

func (s *strictNode) Read(_ context.Context, _ fs.FileHandle, to []byte, offset int64) (fuse.ReadResult,
	syscall.Errno) {
	count := 0
	e := s.locked(func(_ *tree, n *node) syscall.Errno {
		count = n.data.read(to, offset)
		return 0
	})
	return fuse.ReadResultData(to[:count]), e
}

func (s *strictNode) Write(_ context.Context, h fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	e := s.locked(func(_ *tree, n *node) syscall.Errno {
		length, e := s.disk.takes(n, offset, data)
		if data = data[:length]; e != 0 {
			return e
		}
		e = s.disk.change(change{kind: changeBytes, node: s.id, offset: offset, data: data})
		if _, synced := h.(*strictHandle); synced && e == 0 {
			e = s.disk.sync(s.id, n)
		}
		return e
	})
	return uint32(len(data)), e
}

// Fsync is of a file's bytes, or of a directory's names.
func (s *strictNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	time.Sleep(FlushTime)
	return s.locked(func(_ *tree, n *node) syscall.Errno { return s.disk.sync(s.id, n) })
}

// Allocate makes a file longer, or a hole in it.
func (s *strictNode) Allocate(_ context.Context, _ fs.FileHandle, offset, length uint64, mode uint32) syscall.Errno {
	const keepSize, punchHole, zeroRange = 1, 2, 16
	return s.locked(func(_ *tree, n *node) syscall.Errno {
		end := int64(offset + length)
		switch {
		case mode&^(keepSize|punchHole|zeroRange) != 0:
			return syscall.EOPNOTSUPP
		case mode&(punchHole|zeroRange) != 0:
			if most := n.data.length; mode&keepSize != 0 {
				end = min(end, most)
			}
			return s.disk.change(change{kind: changeBytes, node: s.id, offset: int64(offset), data: make([]byte,
				max(0, end-int64(offset)))})
		case s.disk.meets(NoSpace) > 0:
			return syscall.ENOSPC
		case mode&keepSize != 0 || end <= n.data.length:
			return 0
		}
		return s.disk.change(change{kind: changeLength, node: s.id, offset: end})
	})
}

func (s *strictNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return s.locked(func(_ *tree, n *node) syscall.Errno {
		n.attributes(&out.Attr)
		return 0
	})
}

func (s *strictNode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return s.locked(func(_ *tree, n *node) (e syscall.Errno) {
		if length, ok := in.GetSize(); ok {
			e = s.disk.change(change{kind: changeLength, node: s.id, offset: int64(length)})
		}
		own := n.access
		if mode, ok := in.GetMode(); ok {
			own.mode = mode
		}
		if uid, ok := in.GetUID(); ok {
			own.uid = uid
		}
		if gid, ok := in.GetGID(); ok {
			own.gid = gid
		}
		if own != n.access && e == 0 {
			e = s.disk.change(change{kind: changeAccess, node: s.id, access: own})
		}
		n.attributes(&out.Attr)
		return e
	})
}

// Statfs tells of room, which some stores want to see before they open.
func (s *strictNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const blocks = 1 << 26
	out.Bsize, out.Frsize, out.Blocks, out.Bfree, out.Bavail, out.NameLen =
		pageBytes, pageBytes, blocks, blocks, blocks, 255
	out.Files, out.Ffree = blocks, blocks
	return 0
}
