package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// limitMemory puts the workers, and with them the server that Assay has started, under the cell's
// memory limit, before it opens anything, and notes what memory the trial has.
func (t *trial) limitMemory() error {
	t.result.Memory = &record.Memory{}
	if bytes := host.MemoryBytes(); bytes > 0 {
		t.result.Memory.Bytes = &bytes
	}
	if t.cell.MemoryLimit == 0 {
		return nil
	}
	workers := t.pids()
	group, err := host.LimitMemory(workers[0], t.cell.MemoryLimit)
	if err != nil {
		return fmt.Errorf("memory limit: %w", err)
	}
	others := workers[1:]
	if t.server != nil {
		others = append(others, t.server.Processes()...)
	}
	if err := group.Add(others...); err != nil {
		return errors.Join(fmt.Errorf("memory limit: %w", err), group.Remove())
	}
	limit := uint64(t.cell.MemoryLimit)
	t.limit, t.result.Memory.LimitBytes = group, &limit
	if bytes := t.result.Memory.Bytes; bytes == nil || limit < *bytes {
		t.result.Memory.Bytes = &limit
	}
	return nil
}

// endMemoryLimit notes what the trial did with its limit and takes that away.
func (t *trial) endMemoryLimit() {
	if t.limit == nil {
		return
	}
	use := t.limit.Use()
	t.result.Memory.PeakBytes, t.result.Memory.LimitHits, t.result.Memory.Kills = use.PeakBytes, use.Hits, use.Kills
	t.killClients() // what is left of them: a cgroup is taken away once nothing runs in it
	t.stopServer()
	if err := t.limit.Remove(); err != nil {
		t.run.view.Message("taking the memory limit away: " + err.Error())
	}
}

// outOfMemory says if the kernel killed the worker, or a process of it, at the memory limit.
func (t *trial) outOfMemory() bool {
	if t.limit == nil {
		return false
	}
	kills := t.limit.Use().Kills
	return kills != nil && *kills > 0
}

// explain puts before the error of a trial what the kernel knows of its cause.
func (t *trial) explain(err error) error {
	switch {
	case err == nil || errors.Is(err, errInterrupted) || errors.Is(err, errRunDirectory):
		return err
	case t.outOfMemory():
		t.result.Cause = finding.CauseMemory
		return fmt.Errorf("killed by the kernel at its memory limit of %s: %w", sizeText(uint64(t.cell.MemoryLimit)), err)
	case t.noRoom(err):
		full := t.fullDisk()
		t.full, t.result.Cause = true, finding.CauseDiskFull
		t.markFull(full)
		return fmt.Errorf("%s%s: %w", finding.Text(full), busError(err), err)
	}
	return err
}

// noRoom says if an error came from a full disk: its text or the worker's log says so; or nothing
// is free, which kills a process that touches a mapped page without a block; or the worker hangs
// and there is little free, because some stores try again and again to write their next file.
func (t *trial) noRoom(err error) bool {
	var reply *control.Error
	refused := errors.As(err, &reply) && reply.Class == control.ClassRefused
	if refused || t.full || t.data == "" {
		return t.full && !refused
	}
	free, total, spaceErr := host.Space(t.data)
	if spaceErr != nil {
		return false
	}
	hung := errors.Is(err, conductor.ErrHung) && free < min(fullBytes, total/3)
	return hung || free < emptyBytes || host.InodesFull(t.data) && saysFull(err.Error()) || free < fullBytes && (saysFull(err.Error()) || t.logSaysFull())
}

func sizeText(bytes uint64) string {
	for _, unit := range []struct {
		name  string
		bytes uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(bytes)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}

// endedBy says why a phase was ended; "": it ended by itself. err is what watching it gave.
func (w *watched) endedBy(err error) record.Ending {
	switch {
	case err != nil && w.trial.outOfMemory():
		return record.EndedMemory
	case err != nil && errors.Is(err, errInterrupted):
		return record.EndedInterrupted
	case err != nil && (w.ending == record.EndedDiskFull || w.trial.noRoom(err)):
		w.trial.full = true // by the time that this is told, files of the dead worker may have made room
		return record.EndedDiskFull
	case err != nil:
		return record.EndedFailed
	case w.ending != "":
		return w.ending
	}
	return "" // by itself
}

// diskWatch tells when a phase that writes must end because of the store's files. A nil watch tells
// nothing.
type diskWatch struct {
	directory  string
	quotaBytes uint64 // 0: none
	next       time.Time
}

// watchDisk returns nil for stores without files and for phases that write nothing.
func (t *trial) watchDisk(file *trace.File) *diskWatch {
	if t.data == "" || !slices.ContainsFunc(file.Operations, trace.Operation.Changes) {
		return nil
	}
	quota := uint64(t.cell.DiskQuota)
	if t.mountsQuota() {
		quota = 0 // the store is to meet its end
	}
	return &diskWatch{directory: t.data, quotaBytes: quota}
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

// full says if operations failed because nothing can be written any more.
func (d *diskWatch) full(messages []counters.Message) bool {
	if d == nil || !slices.ContainsFunc(messages, func(m counters.Message) bool { return saysFull(m.Text) }) {
		return false
	}
	free, _, err := host.Space(d.directory)
	return err == nil && (free < fullBytes || host.InodesFull(d.directory))
}

// saysFull knows the words for ENOSPC: the C library's, and what engines make of it.
func saysFull(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"no space left", "enospc", "disk is full", "disk full", "disk quota exceeded"}, func(words string) bool { return strings.Contains(text, words) })
}

// A store that says so is believed that the disk is full with less than fullBytes free: its next
// file, or its next step of growth, finds no room, though there is some. Where nobody says so,
// there must be less than emptyBytes.
const (
	fullBytes  = 256 << 20
	emptyBytes = 1 << 20
)

// judgeDisk says what a phase that ended early by its files means for the trial. A full disk marks
// it: operations failed. A quota does not, unless the records that later phases count on are not
// all there.
func (t *trial) judgeDisk(p *experiment.Phase, result *record.Phase) error {
	switch {
	case result.EndedBy == record.EndedQuota && p.Load:
		t.result.Cause = finding.CauseQuota
		return fmt.Errorf("the load reached the disk quota of %s before all %d records were stored: fewer records, or a larger disk_quota",
			sizeText(uint64(t.cell.DiskQuota)), t.cell.Records)
	case t.data != "" && vanished(t.data):
		t.result.Marks = append(t.result.Marks, finding.Mark{Message: finding.New(finding.MarkDataGone), Phase: p.Name})
	case result.EndedBy != record.EndedDiskFull && p.Load && refusedForRoom(result) != "":
		// A short load ends before its samples see that it fails. Later phases would count on
		// records that are not there.
		t.result.Cause = finding.CauseDiskFull
		return fmt.Errorf("the load met a full disk: %s", refusedForRoom(result))
	case result.EndedBy == record.EndedDiskFull:
		t.full = true
		full := t.fullDisk()
		if records := result.Sizes.Records; records != nil {
			full = full.With("records", *records)
		}
		t.markFull(full)
		if p.Load {
			return errors.New("the disk was full before all records were loaded")
		}
	}
	return nil
}

// vanished says that a directory was removed or replaced by something else.
func vanished(directory string) bool {
	info, err := os.Lstat(directory)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

// refusedForRoom returns what a store said when operations of a phase failed for want of room; "":
// none did.
func refusedForRoom(p *record.Phase) string {
	if i := slices.IndexFunc(p.Messages, func(m record.Message) bool { return saysFull(m.Text) }); i >= 0 {
		return p.Messages[i].Text
	}
	return ""
}

// leaveOut says that a phase was not begun on a full disk.
func (t *trial) leaveOut(p *experiment.Phase) {
	t.result.Marks = append(t.result.Marks, finding.Mark{Message: finding.New(finding.MarkNotBegun), Phase: p.Name})
}

// cpus are those that the experiment pins client and server to; none: the kernel places them.
func (r *running) cpus() experiment.CPUs {
	if r.experiment.CPUs == nil {
		return experiment.CPUs{}
	}
	return *r.experiment.CPUs
}

// checkLimits refuses an experiment whose memory limit or CPUs can't be set here, before anything
// is made: an experiment without them would be another one.
func checkLimits(e *experiment.Experiment) error {
	if e.CPUs != nil {
		if err := host.CheckCPUs(slices.Concat(e.CPUs.Client, e.CPUs.Server)); err != nil {
			return fmt.Errorf("the experiment's cpus: %w", err)
		}
	}
	if err := raiseFiles(e); err != nil {
		return err
	}
	if !slices.ContainsFunc(e.Cells, func(c experiment.Cell) bool { return c.MemoryLimit > 0 }) {
		return nil
	}
	if err := host.CheckMemoryLimit(); err != nil {
		return fmt.Errorf("the experiment has a memory_limit that can't be set here: %w. Without the limit: --set memory_limit=none", err)
	}
	return nil
}

// filesBeside is how many files a worker or a server may have open beside its connections.
const filesBeside = 256

// filesUsual is the soft limit with which processes mostly begin.
const filesUsual = 1024

// raiseFiles lets workers and servers have as many connections as the experiment asks for.
func raiseFiles(e *experiment.Experiment) error {
	most := 0
	for _, s := range e.Stores {
		if s.Description.Kind != store.Server {
			continue
		}
		for _, cell := range e.Cells {
			most = max(most, e.ConnectionsMax(s, cell))
		}
	}
	if most+filesBeside <= filesUsual { // nothing is changed for servers that need nothing
		return nil
	}
	if err := host.RaiseFiles(uint64(most + filesBeside)); err != nil {
		return fmt.Errorf("the experiment opens %s connections: %w", format.Count(uint64(most)), err)
	}
	return nil
}
