package run

import (
	"cmp"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/store"
)

// writesSeries is the series of host.Catalogue that host writes are.
const writesSeries = "worker.write"

// hostWrites is where the host writes of a trial come from.
type hostWrites struct {
	ofServer  bool   // the server writes, and not the worker
	directory string // where a server that Assay has started writes
	// server: why what the kernel charges the server for must not be believed, "" if it may; nil: the
	// store is no server.
	server func() string
	disk   *host.OwnDisk // nil: the trial has no disk of its own
	why    string        // why they can't be measured; "": by the disk or, without one, by the process or the server
}

// writesOf chooses what tells the host writes of a trial of such a store. A disk of the trial's own is
// exact; what the kernel charges to the process is taken where that was found true: kernelWhy is "".
func writesOf(kind store.Kind, d *disk, own *host.OwnDisk, servers host.Servers, kernelWhy string) (h hostWrites) {
	switch {
	case own != nil:
		h.disk = own
	case kind == store.None:
		h.why = "it stores nothing"
	case kind == store.Server:
		h.why, h.ofServer, h.directory = cmp.Or(servers.Why, kernelWhy), true, d.directory
	case d.data == "":
		h.why = record.WritesNowhere
	case d.mount != nil:
		h.why = "the files are in memory"
	default:
		h.why = kernelWhy
	}
	return h
}

// quiet keeps the sampler from telling as the worker's what the worker did not write, or what can't
// be known.
func (h *hostWrites) quiet(sampler *host.Sampler) {
	if h.why != "" {
		sampler.IgnoreServerWrites(h.why)
	}
	switch {
	case h.disk != nil:
		sampler.IgnoreWrites("the trial has a disk of its own: device.write is what the trial wrote")
	case h.ofServer:
		sampler.IgnoreWrites("the server writes, and not the worker")
		h.server = func() string { return sampler.ServersWrite(h.directory) }
	case h.why != "":
		sampler.IgnoreWrites(h.why)
	}
}

// diskWritten is what the trial's own disk had been sent at some moment.
type diskWritten struct {
	bytes uint64
	err   error
}

// onDisk waits until what the page cache holds for the trial's own disk is written, so that each
// phase answers for what it wrote and for nothing else.
func (h hostWrites) onDisk() (d diskWritten) {
	if h.disk != nil {
		d.bytes, d.err = h.disk.Written()
	}
	return d
}

// since returns the host writes of a phase, where they come from and, where there is no figure,
// why. before is onDisk when the phase began, interval what the process did since then.
func (h hostWrites) since(before diskWritten, interval host.Interval) (bytes *uint64, source, why string) {
	if h.why != "" {
		return nil, "", h.why
	}
	if h.server != nil {
		if interval.ServerHostWriteBytes == nil {
			return nil, "", "/proc/PID/io of the server could not be read, or a process of it ended unwaited"
		}
		if why := h.server(); why != "" {
			return nil, "", why
		}
		return interval.ServerHostWriteBytes, record.WritesOfServer, ""
	}
	if h.disk == nil {
		if interval.HostWriteBytes == nil {
			return nil, "", "/proc/PID/io could not be read, or a process below the worker ended unwaited"
		}
		return interval.HostWriteBytes, record.WritesOfProcess, ""
	}
	now := h.onDisk()
	for _, err := range []error{before.err, now.err} {
		if err != nil {
			return nil, "", err.Error()
		}
	}
	written := now.bytes - before.bytes
	return &written, record.WritesOfDisk, ""
}
