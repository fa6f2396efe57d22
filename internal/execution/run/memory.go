package run

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
)

// memoryLimit is the memory limit of a trial under way. A nil one limits nothing.
type memoryLimit struct {
	group *host.MemoryGroup
	bytes uint64
}

// memoryOf is the memory of the machine, of which no trial has more.
func memoryOf() *record.Memory {
	m := &record.Memory{}
	if bytes := host.MemoryBytes(); bytes > 0 {
		m.Bytes = &bytes
	}
	return m
}

// limitMemory puts the workers, and with them the processes of the server that Assay has started,
// under a limit, before they open anything, and notes it in memory.
func limitMemory(bytes uint64, workers, servers []int, memory *record.Memory) (*memoryLimit, error) {
	group, err := host.LimitMemory(workers[0], int64(bytes))
	if err != nil {
		return nil, fmt.Errorf("memory limit: %w", err)
	}
	if err := group.Add(slices.Concat(workers[1:], servers)...); err != nil {
		return nil, errors.Join(fmt.Errorf("memory limit: %w", err), group.Remove())
	}
	l := &memoryLimit{group, bytes}
	memory.LimitBytes = &l.bytes
	if memory.Bytes == nil || bytes < *memory.Bytes {
		memory.Bytes = &l.bytes
	}
	return l, nil
}

// killed says if the kernel killed the worker, or a process of it, at the limit.
func (l *memoryLimit) killed() bool {
	if l == nil {
		return false
	}
	kills := l.group.Use().Kills
	return kills != nil && *kills > 0
}

// end notes what the trial did with its limit, lets empty end what is left of the trial's processes,
// without which a cgroup can't be taken away, and takes the limit away.
func (l *memoryLimit) end(memory *record.Memory, empty func()) error {
	if l == nil {
		return nil
	}
	use := l.group.Use()
	memory.PeakBytes, memory.LimitHits, memory.Kills = use.PeakBytes, use.Hits, use.Kills
	empty()
	if err := l.group.Remove(); err != nil {
		return fmt.Errorf("taking the memory limit away: %w", err)
	}
	return nil
}
