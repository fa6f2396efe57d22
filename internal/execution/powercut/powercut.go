// Package powercut is a disk whose power can be cut: a file in a FUSE file system of our own, a loop
// device on it, and a real file system on that. It logs what the block layer does, and makes of one
// recording any number of disks as cuts would have left them.
//
//	tree.go   a file system that keeps what POSIX says and no more, in place of disk and file system
//	strict.go how the kernel sees it
//	image.go  the bytes of a disk; sparse.go: those that were never written
//	log.go    what was done to them, in one order, each with what was acknowledged by then
//	cut.go    which of it a cut leaves
//	dmlog.go  the log as the kernel's dm-log-writes has it
//	fault.go  errors beside cuts
//	serve.go  the process that answers the kernel; nothing else may run in it
//	others.go mkfs beside other rigs
//	rig.go    the other side: that process, the loop device, mkfs and mounts
//	slow.go   a directory that is seen through FUSE, whose disk answers late: no power is cut there
//	clean.go  what a killed rig has left
//
// # What is proved
//
// Each write, zeroing and flush that reaches the device is logged under one lock. Before it is, the
// counters of the phase under way are read, which a worker's threads write after each operation. So
// an operation that a stamp calls acknowledged was acknowledged before that event and all after it.
// What made it durable is then among the events before the stamp, or is not there at all. A cut
// before the event that has the stamp must leave it; there is no false accusation. The other way, an
// acknowledgement may be stamped late, by an event or by the next tick (a millisecond): such a cut is
// merely easier on the store. Stamps were chosen over writes to a control file of the same mount
// because a worker of any language has counters, and none need know of the rig.
//
// A flush takes [FlushTime] at least, as a device's does, and is logged when it ends. A store that
// acknowledges while its sync is still on the way is seen by it: the acknowledgement comes before the flush.
//
// A flush makes durable what was logged before it. Of what came after the last flush, a cut leaves a
// part: see [Cut]. Syncs need not reach the disk below.
//
// The process that serves FUSE never touches what is mounted on it, and no other thread of its is
// blocked there: when it dies, the kernel ends the connection, and everyone who waits gets an error.
package powercut

import "time"

// FlushTime is how long a flush of the disk takes at least: a fraction of what it takes on a device that
// has no battery, and several times what an acknowledgement takes to its counter.
const FlushTime = 200 * time.Microsecond

// Version changes when a cut of the same recording may leave something else.
const Version = 1
