package record

// ofServer says whether the store is a server, whose figures must not be taken for complete without
// its own processes'.
func (p *Process) ofServer() bool {
	return p.ServerWhy != "" || p.ServerRSSMaxBytes != nil || p.ServerCPUSeconds != nil
}

// MemoryBytes returns the largest resident memory that the store took: the worker's and, of a
// server, the server's largest added to it, though the two need not have been at one moment. Nil:
// not measured, also if only the worker's was.
func (p *Process) MemoryBytes() *uint64 {
	if !p.ofServer() {
		return p.RSSMaxBytes
	}
	return plus(p.RSSMaxBytes, p.ServerRSSMaxBytes)
}

// CPU returns the CPU time in seconds that the store took: the worker's and, of a server, the
// server's. Nil: not measured, also if only the worker's was.
func (p *Process) CPU() *float64 {
	if !p.ofServer() {
		return p.CPUSeconds
	}
	return plus(p.CPUSeconds, p.ServerCPUSeconds)
}

// WrittenBytes returns the host writes that the phase caused, those of its drain included: writes
// that a store puts off until it is idle count as well, and are in the sizes. Nil: not measured.
func (p *Process) WrittenBytes() *uint64 {
	if p.HostWriteBytesDrained != nil {
		return p.HostWriteBytesDrained
	}
	return p.HostWriteBytes // of a worker that died, or a run of an Assay that did not look again
}

func plus[T uint64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}
