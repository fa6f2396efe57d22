package run

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/event"
	"assay/internal/experiment/trace"
)

// fullPatience is how long a store may take on a full disk to end an operation, and to close: one
// that goes on trying, as pebble does, never ends, and its files are thrown away.
const fullPatience = 20 * time.Second

// disk is where the files of a trial's store stand: what is free there, and whether it is full.
type disk struct {
	writer    *record.TrialWriter
	view      event.View
	directory string                  // on the disk that the trial shares with others
	shares    bool                    // with the run directory
	runs      string                  // the run directory
	data      string                  // the store's directory; "" for stores without files
	quota     uint64                  // in bytes; 0: none
	mount     *record.QuotaMount      // the file system of its own that the quota is; nil: none
	full      bool                    // it is, or was when the worker died: no further phase begins
	met       *finding.FullDiskParams // what the mark says of it

	freeBefore uint64 // bytes, before the store made its files; 0: not known, or the disk is the trial's alone
}

// noteFree notes what is free before the store makes its files.
func (d *disk) noteFree() {
	if d.mount != nil {
		return
	}
	if free, err := host.FreeBytes(d.directory); err == nil {
		d.freeBefore = free
	}
}

// othersTook returns how much others have taken of the disk since the store made its files, once these
// are gone; 0: nothing that counts. A tenth of what was free may be the run's own files, or what a
// file system keeps for itself.
func (d *disk) othersTook() (bytes uint64) {
	free, err := host.FreeBytes(d.directory)
	if err != nil || free >= d.freeBefore-d.freeBefore/10 {
		return 0
	}
	return d.freeBefore - free
}

// noRoom says if an error came from a full disk: its text or the worker's log says so; or nothing
// is free, which kills a process that touches a mapped page without a block; or the worker hangs
// and there is little free, because some stores try again and again to write their next file.
func (d *disk) noRoom(err error) bool {
	var reply *control.Error
	refused := errors.As(err, &reply) && reply.Class == control.ClassRefused
	if refused || d.full || d.data == "" {
		return d.full && !refused
	}
	free, total, spaceErr := host.Space(d.data)
	if spaceErr != nil {
		return false
	}
	hung := errors.Is(err, conductor.ErrHung) && isTight(free, total)
	return hung || free < emptyBytes || host.InodesFull(d.data) && saysFull(err.Error()) || free < fullBytes &&
		(saysFull(err.Error()) || d.logSaysFull())
}

// isTight says if there is so little room that it explains a store that hangs.
func isTight(free, total uint64) bool { return free < min(fullBytes, total/3) }

// patience is how long an operation may take, of how long one may with room.
func (d *disk) patience(whole time.Duration) time.Duration {
	if d.data == "" {
		return whole
	}
	if free, total, err := host.Space(d.data); err != nil || !isTight(free, total) {
		return whole
	}
	return min(whole, fullPatience)
}

// which says that the disk is full, and which disk.
func (d *disk) which() *finding.FullDiskParams {
	full, at := &finding.FullDiskParams{Code: finding.MarkDiskFull}, d.data
	if d.writer.MetFullDisk() && (d.data == "" || d.mount != nil || !d.shares) {
		full.Code, at = finding.MarkRunDiskFull, d.runs
	} else if q := d.mount; q != nil {
		full.Code, full.Size, full.Filesystem, full.Usable = finding.MarkMountFull, q.Bytes, q.FileSystem, q.UsableBytes
	}
	if free, err := host.FreeBytes(at); err == nil {
		full.Free = &free
	}
	if d.met == nil {
		d.met = full // the first is the one that is marked
	}
	full.Inodes = full.Code == finding.MarkDiskFull && host.InodesFull(at)
	return full
}

// logEndBytes is how much of the worker's log is looked through: more than the stacks of a Go
// program that dies.
const logEndBytes = 1 << 20

// logSaysFull says if the worker's log tells of a full disk. Its last words may not: an engine that
// panics because its log can't be written may die in its own deferred functions, before the panic's
// text is printed, but after it has complained of its other files.
func (d *disk) logSaysFull() bool {
	text, err := d.writer.LogEnd(logEndBytes)
	if err != nil {
		d.view.Message("looking for the cause in the worker's log: " + err.Error())
		return false
	}
	return saysFull(string(text))
}

// diskWatch tells when a phase that writes must end because of the store's files. A nil watch tells
// nothing.
type diskWatch struct {
	directory  string
	quotaBytes uint64 // 0: none
	next       time.Time
}

// watch returns nil for stores without files and for phases that write nothing.
func (d *disk) watch(file *trace.File) *diskWatch {
	if d.data == "" || !slices.ContainsFunc(file.Operations, trace.Operation.Changes) {
		return nil
	}
	quota := d.quota
	if d.mount != nil {
		quota = 0 // the store is to meet its end
	}
	return &diskWatch{directory: d.data, quotaBytes: quota}
}

// diskWatchRarity bounds what looking at the quota costs: one part in so many of a CPU. It is more
// than other looking may cost, because what a store writes between two looks goes beyond the quota.
const diskWatchRarity = 50

// reached says if the files have reached the quota. It may be asked as often as one likes.
func (d *diskWatch) reached(now time.Time) bool {
	if d == nil || d.quotaBytes == 0 || now.Before(d.next) {
		return false
	}
	bytes, _, err := host.DiskUse(d.directory)
	d.next = now.Add(time.Since(now) * diskWatchRarity)
	return err == nil && bytes >= d.quotaBytes // an error: files come and go; the next look will tell
}

// full says if operations failed because nothing can be written any more. A store need not say so:
// LMDB, whose page found room in part, tells of an input/output error.
func (d *diskWatch) full(messages []counters.Message) bool {
	if d == nil || len(messages) == 0 {
		return false
	}
	free, _, err := host.Space(d.directory)
	said := slices.ContainsFunc(messages, func(m counters.Message) bool { return saysFull(m.Text) })
	return err == nil && (free < emptyBytes || said && (free < fullBytes || host.InodesFull(d.directory)))
}

// saysFull knows the words for ENOSPC: the C library's, and what engines make of it.
func saysFull(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"no space left", "enospc", "disk is full", "disk full", "disk quota exceeded"}, func(words string) bool { return strings.Contains(text, words) })
}

// A store that reports a full disk is believed with less than fullBytes free: its next file, or its
// next step of growth, finds no room, though there is some. Where it does not report that, there must
// be less than emptyBytes.
const (
	fullBytes  = 256 << 20
	emptyBytes = 1 << 20
)

// vanished says that a directory was removed or replaced by something else.
func vanished(directory string) bool {
	info, err := os.Lstat(directory)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

// refusedForRoom returns what a store said when operations of a phase failed for lack of room; "":
// none did.
func refusedForRoom(p *record.Phase) string {
	if i := slices.IndexFunc(p.Messages, func(m record.Message) bool { return saysFull(m.Text) }); i >= 0 {
		return p.Messages[i].Text
	}
	return ""
}

// onceFull joins errors, but leaves out what only says again that the disk is full.
func onceFull(first error, more ...error) error {
	all := []error{first}
	for _, err := range more {
		if !record.IsFull(first) || !record.IsFull(err) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
