package powercut

import (
	"fmt"
	"syscall"
)

// FaultKind is an error that a disk, or a strict file system, gives while a store works on it.
type FaultKind string

const (
	// SyncError: one sync of a file fails (EIO), and what was written to that file since the sync
	// before may be lost, whatever later syncs say: the kernel marks such pages clean. Of a disk, one
	// write or flush fails, and the real file system does what it does then.
	SyncError FaultKind = "sync-error"
	// NoSpace: for a number of calls, whatever needs room fails (ENOSPC). The first write among them
	// is done by half, as a file system does that has some room left. Of a disk, writes to pages that
	// nothing was written to yet fail, as those of a thin volume do whose pool is full; what has its
	// place can be written.
	NoSpace FaultKind = "no-space"
	// ShortWrite: one write is done by half, and says so.
	ShortWrite FaultKind = "short-write"
)

// FaultKinds are all of them.
var FaultKinds = []FaultKind{SyncError, NoSpace, ShortWrite}

// On says why a file system can't be given the fault; nil: it can.
func (k FaultKind) On(fileSystem string) error {
	if k == ShortWrite && fileSystem != Strict {
		return fmt.Errorf("%s needs the file system %s: a disk knows of no files", k, Strict)
	}
	return nil
}

// Fault says which call fails, of those that the kind is about: the At-th since it was armed, and the
// Calls-1 after it. At 0: none does, and they are counted.
type Fault struct {
	Kind  FaultKind `json:"kind"`
	At    int       `json:"at"`
	Calls int       `json:"calls"`
}

// FaultSeen is what became of a fault.
type FaultSeen struct {
	Eligible int `json:"eligible"` // calls so far that it is about
	Failed   int `json:"failed"`   // of them
	Event    int `json:"event"`    // of the recording, before which the first failed; -1: none has
}

// armed is a fault of a disk.
type armed struct {
	Fault
	FaultSeen
}

// meets counts a call that a fault is about, and reports whether it fails, as which of them from 1 on.
func (d *disk) meets(kind FaultKind) (nth int) {
	f := d.fault
	if f == nil || f.Kind != kind || d.server.now != d {
		return 0
	}
	f.Eligible++
	if f.At == 0 || f.Eligible < f.At || f.Eligible >= f.At+f.Calls {
		return 0
	}
	if f.Failed++; f.Event < 0 {
		f.Event = len(d.log.entries)
	}
	return f.Failed
}

// takes returns how much of a write a file takes, and what it then says.
func (d *disk) takes(n *node, offset int64, data []byte) (length int, e syscall.Errno) {
	if len(data) > 1 && d.meets(ShortWrite) > 0 {
		return len(data) / 2, 0
	}
	if n.needsRoom(offset, len(data)) {
		switch nth := d.meets(NoSpace); {
		case nth == 1 && len(data) > 1:
			return len(data) / 2, 0
		case nth > 0:
			return 0, syscall.ENOSPC
		}
	}
	return len(data), 0
}

// needsRoom reports whether a write makes the file longer, or fills a hole in it.
func (n *node) needsRoom(offset int64, length int) bool {
	return offset+int64(length) > n.data.length || n.data.hole(offset, int64(length))
}

// sync makes a node durable, or fails to.
func (d *disk) sync(id uint64, n *node) syscall.Errno {
	if !n.directory && d.meets(SyncError) > 0 {
		if e := d.change(change{kind: syncFailed, node: id}); e != 0 {
			return e
		}
		return syscall.EIO
	}
	return d.change(change{kind: syncNode, node: id})
}
