package read_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

func loadFaults(t *testing.T, faults string) ([]experiment.Fault, error) {
	t.Helper()
	text := "name: faults\nstores: [{driver: several, server: {start: true, count: 2}}]\nphases: [{name: write, mix: {insert: 1}, for: 1m, faults: [" + faults + "]}]\n"
	e, err := read.Load([]byte(text), "faults.yaml", nil, servers(t))
	if err != nil {
		return nil, err
	}
	return e.Phases[0].Faults, nil
}

func TestPerturbations(t *testing.T) {
	faults, err := loadFaults(t, "{at: 1s, delay: 20ms ± 5ms}, {at: 2s, start: node 1}, {at: 3s, delay: 20ms +- 5ms, node: 2}, {at: 4s, start: node 2}, "+
		"{at: 5s, bandwidth: 10MB/s, node: node 2}, {at: 6s, reset: node 1}, {at: 7s, drop_connections: 10%}, {at: 8s, drop_connections: 0.5}, "+
		"{at: 9s, memory: 512MiB}, {at: 10s, start: node 1}, {at: 11s, cpu: 50%, node: 1}, {at: 12s, start: node 1}, "+
		"{at: 13s, slow_disk: {write_iops: 200, read: 10MB/s}}, {at: 14s, start: node 1}, {at: 15s, slow_disk: {latency: 5ms, write_iops: 200}, node: 1}")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range faults {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %d %s", f.Does, f.Node, f.Amount())))
	}
	want := []string{"delay 1 20ms ± 5ms", "start 1", "delay 2 20ms ± 5ms", "start 2", "bandwidth 2 10.0 MB/s", "reset 1", "drop_connections 1 10 %", "drop_connections 1 50 %",
		"memory 1 512 MiB", "start 1", "cpu 1 50 %", "start 1", "slow_disk 1 200 writes/s and 10 MB/s read", "start 1", "slow_disk 1 answers 5ms later and 200 writes/s"}
	if !slices.Equal(all, want) || faults[0].Delay != 20*time.Millisecond ||
		faults[0].Jitter != 5*time.Millisecond || faults[4].BytesPerSecond != 10e6 || faults[7].Share != 0.5 ||
		faults[8].MemoryBytes != 512<<20 || faults[10].CPUs != 0.5 ||
		*faults[12].Disk != (experiment.SlowDisk{WriteIOPS: 200, ReadBytes: 10e6}) {
		t.Errorf("%q, want %q", all, want)
	}
	for faults, want := range map[string]string{
		"{at: 1s, delay: 5ms ± 20ms}":                                 "a duration such as 20ms, or 20ms ± 5ms",
		"{at: 1s, delay: 5}":                                          "a duration such as 20ms, or 20ms ± 5ms",
		"{at: 1s, bandwidth: 10MB}":                                   "bytes a second from 1KB/s on, such as 10MB/s",
		"{at: 1s, bandwidth: 10/s}":                                   "bytes a second from 1KB/s on",
		"{at: 1s, drop_connections: 110%}":                            "a share above 0 and up to 100%",
		"{at: 1s, drop_connections: 0}":                               "a share above 0 and up to 100%",
		"{at: 1s, memory: 1MiB}":                                      "bytes of at least 16MiB, such as 512MiB",
		"{at: 1s, cpu: 0.1%}":                                         "a share of one CPU's time from 1% on, such as 50%",
		"{at: 1s, slow_disk: {write_iops: none}}":                     "a whole number from 1 to 10000000",
		"{at: 1s, slow_disk: {}}":                                     "a fault does one thing to one server",
		"{at: 1s, slow_disk: {latency: 5}}":                           "expected a duration",
		"{at: 1s, cpu: 50%, memory: 64MiB}":                           "a fault does one thing to one server",
		"{at: 1s, kill: node 1, node: 2}":                             "the fault names its server twice",
		"{at: 1s, delay: 5ms, bandwidth: 1MB/s}":                      "a fault does one thing to one server",
		"{at: 1s, delay: 5ms}, {at: 2s, bandwidth: 1MB/s}":            "node 1 is under delay at 2s: undo that first, by start: node 1",
		"{at: 1s, reset: node 1}, {at: 2s, start: node 1}":            "node 1 runs at 2s: nothing was done to it",
		"{at: 1s, delay: 5ms, node: 3}, {at: 1500ms, reset: node 40}": "node N, with N from 1 to 32",
	} {
		if _, err := loadFaults(t, faults); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", faults, err, want)
		}
	}
}

// The machine limits only servers that Assay has started, and a disk only those that keep files.
func TestLimitsOfTheMachineAreRefused(t *testing.T) {
	named := experiment.Store{Name: "named", Endpoints: []string{"127.0.0.1:1"}, Description: store.Description{Kind: store.Server}}
	own := named
	own.Server = &experiment.Server{InMemory: true}
	for _, c := range []struct {
		store experiment.Store
		fault experiment.Fault
		want  string
	}{
		{named, experiment.Fault{Does: experiment.FaultCPU, Node: 1, CPUs: 0.5}, "named was not started by Assay, which limits only its own servers"},
		{own, experiment.Fault{Does: experiment.FaultSlowDisk, Node: 1, Disk: &experiment.SlowDisk{WriteIOPS: 1}}, "named keeps no files"},
		{own, experiment.Fault{Does: experiment.FaultMemory, Node: 1, MemoryBytes: 1 << 30}, ""},
	} {
		refusal := experiment.Phase{Name: "write", Faults: []experiment.Fault{c.fault}}.RefusalOf(c.store, 100)
		if c.want == "" && refusal != nil || c.want != "" && (refusal == nil || !strings.Contains(refusal.Reason, c.want)) {
			t.Errorf("%s of %s: %+v, want %q", c.fault.Does, c.store.Name, refusal, c.want)
		}
	}
}
