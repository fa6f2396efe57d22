package facts_test

import (
	"math"
	"strings"
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/experiment"
)

// threadsAndMemory are tables whose rate follows the universal law over threads, at each memory limit.
func threadsAndMemory(sigma, kappa float64) []*facts.Table {
	noise := []float64{0, 0.01, -0.008}
	return factorialTables([]int{1, 2, 4, 8, 16, 32}, []int64{0, 1 << 30}, func(threads int, memory int64,
		block int) float64 {
		n := float64(threads)
		return 10_000 * n / (1 + sigma*(n-1) + kappa*n*(n-1)) * math.Exp(noise[(block+threads+int(memory>>30))%3])
	})
}

func TestScalingOverThreads(t *testing.T) {
	all := facts.ScalingOf(threadsAndMemory(0.05, 0.002))
	if len(all) != 2 {
		t.Fatalf("%d laws, expected one at each memory limit: %+v", len(all), all)
	}
	for i, s := range all {
		if s.Law != stat.Universal || s.Axis != "threads" || len(s.Sizes) != 6 || math.Abs(s.Sigma-0.05) > 0.02 {
			t.Errorf("%+v", s)
		}
		if s.Peak < s.PeakIn.Low || s.Peak > s.PeakIn.High || math.Abs(s.Peak-21.8) > 3 {
			t.Errorf("peak %v in %+v, expected 21.8", s.Peak, s.PeakIn)
		}
		if !strings.Contains(s.Case, []string{"memory limit 1 GiB", "no memory limit"}[i]) {
			t.Errorf("case %q", s.Case)
		}
	}
}

// Over CPUs a law is one of those that the store's own process has: of a server that Assay starts the server's,
// and the client's of others.
func TestScalingOverCPUs(t *testing.T) {
	list := func(n int) (all experiment.CPUList) {
		for cpu := range n {
			all = append(all, cpu)
		}
		return all
	}
	for name, c := range map[string]struct {
		server bool
		of     func(n int) *experiment.CPUs
		law    bool
	}{
		"a number":                         {false, func(n int) *experiment.CPUs { return &experiment.CPUs{Number: n, Client: list(n), Server: list(n)} }, true},
		"the client's, embedded":           {false, func(n int) *experiment.CPUs { return &experiment.CPUs{Client: list(n)} }, true},
		"the server's":                     {true, func(n int) *experiment.CPUs { return &experiment.CPUs{Client: list(2), Server: list(n)} }, true},
		"the server's, and it is embedded": {false, func(n int) *experiment.CPUs { return &experiment.CPUs{Client: list(2), Server: list(n)} }, false},
		"other ones, as many":              {false, func(n int) *experiment.CPUs { return &experiment.CPUs{Client: experiment.CPUList{n}} }, false},
	} {
		tables := threadsAndMemory(0.05, 0.002)
		for _, table := range tables {
			table.Parameters = experiment.Cell{Durability: "D1", Threads: 4, CPUs: c.of(table.Parameters.Threads), Handles: experiment.Shared, MemoryLimit: table.Parameters.MemoryLimit}
			if table.Run.Experiment.Stores[0].Server = nil; c.server {
				table.Run.Experiment.Stores[0].Server = &experiment.Server{}
			}
		}
		all := facts.ScalingOf(tables)
		if !c.law {
			if len(all) > 0 {
				t.Errorf("%s: %+v", name, all)
			}
			continue
		}
		if len(all) != 2 {
			t.Errorf("%s: %d laws, expected one at each memory limit", name, len(all))
			continue
		}
		for _, s := range all {
			if s.Law != stat.Universal || s.Axis != "cpus" || s.AxisName() != "CPUs" || math.Abs(s.Sigma-0.05) > 0.02 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// Rates that the experiment sets, and sizes of data, follow no law of load.
func TestScalingIsOfLoadAlone(t *testing.T) {
	tables := threadsAndMemory(0.05, 0.002)
	for _, table := range tables {
		table.Open = true
	}
	if all := facts.ScalingOf(tables); len(all) > 0 {
		t.Errorf("open load: %+v", all)
	}
	tables = threadsAndMemory(0.05, 0.002)
	for _, table := range tables {
		table.Parameters = experiment.Cell{Durability: "D1", Threads: 4, Records: uint64(1000 * table.Parameters.Threads), Handles: experiment.Shared, MemoryLimit: table.Parameters.MemoryLimit}
	}
	if all := facts.ScalingOf(tables); len(all) > 0 {
		t.Errorf("records: %+v", all)
	}
}
