package record

import "testing"

func TestServersFiguresAreNeverTheClientsAlone(t *testing.T) {
	bytes, more, seconds, longer := uint64(30), uint64(200), 1.5, 2.0
	for _, c := range []struct {
		name   string
		p      Process
		memory uint64 // 0: not measured
		cpu    float64
	}{
		{"embedded", Process{RSSMaxBytes: &bytes, CPUSeconds: &seconds}, 30, 1.5},
		{"server", Process{RSSMaxBytes: &bytes, CPUSeconds: &seconds, ServerRSSMaxBytes: &more, ServerCPUSeconds: &longer}, 230, 3.5},
		{"unseen server", Process{RSSMaxBytes: &bytes, CPUSeconds: &seconds, ServerWhy: "it is far away"}, 0, 0},
		{"server's CPU time fell", Process{RSSMaxBytes: &bytes, CPUSeconds: &seconds, ServerRSSMaxBytes: &more}, 230, 0},
		{"client not measured", Process{ServerRSSMaxBytes: &more, ServerCPUSeconds: &longer}, 0, 0},
	} {
		memory, cpu := c.p.MemoryBytes(), c.p.CPU()
		if (memory == nil) != (c.memory == 0) || memory != nil && *memory != c.memory {
			t.Errorf("%s: memory is %v, want %d", c.name, memory, c.memory)
		}
		if (cpu == nil) != (c.cpu == 0) || cpu != nil && *cpu != c.cpu {
			t.Errorf("%s: CPU time is %v, want %v", c.name, cpu, c.cpu)
		}
	}
}

func TestWritesOfTheDrainCount(t *testing.T) {
	before, after := uint64(1), uint64(500)
	for _, c := range []struct {
		p    Process
		want *uint64
	}{{Process{HostWriteBytes: &before, HostWriteBytesDrained: &after}, &after}, {Process{HostWriteBytes: &before},
		&before}, {Process{}, nil}} {
		if got := c.p.WrittenBytes(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.p, got, c.want)
		}
	}
}
