package record

import "testing"

func TestAServersFiguresAreNeverTheClientsAlone(t *testing.T) {
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
	}{{Process{HostWriteBytes: &before, HostWriteBytesDrained: &after}, &after}, {Process{HostWriteBytes: &before}, &before}, {Process{}, nil}} {
		if got := c.p.WrittenBytes(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.p, got, c.want)
		}
	}
}

// Runs of versions that did not look at servers recorded the client's figures alone.
func TestServersThatWereNotLookedAt(t *testing.T) {
	bytes := uint64(30)
	for _, server := range []bool{false, true} {
		trial := &Trial{Phases: []Phase{{Process: Process{RSSMaxBytes: &bytes}}}}
		dropClientsFigures(trial, server)
		if measured := trial.Phases[0].Process.MemoryBytes() != nil; measured == server {
			t.Errorf("server %v: its memory is measured: %v", server, measured)
		}
	}
	known := &Trial{Phases: []Phase{{Process: Process{RSSMaxBytes: &bytes, ServerRSSMaxBytes: &bytes}}}}
	dropClientsFigures(known, true)
	if known.Phases[0].Process.MemoryBytes() == nil {
		t.Error("what was measured is gone")
	}
	dropClientsFigures(nil, true) // a trial that did not end
}
