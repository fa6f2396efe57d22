package record

import (
	"math"
	"testing"

	"assay/internal/evidence/host"
)

// What others use of cores that a phase has no use for takes nothing from it.
func TestTakenIsOfTheCPUsThatAPhaseCouldUse(t *testing.T) {
	for _, c := range []struct {
		name        string
		cpus, cores int
		threads     int
		server      bool
		used        float64 // CPUs, on average
		foreign     float64 // share of cpus
		spare       int
		taken       float64
	}{
		{"two CPUs, one thread and its background", 2, 2, 1, false, 1, 0.3, 0, 0.3},
		{"a browser on eight cores", 8, 8, 2, false, 2, 0.25, 5, 0},
		{"a build on eight cores", 8, 8, 2, false, 2, 0.75, 5, 1.0 / 3},
		{"eight threads of four cores: one is spare", 8, 4, 2, false, 2, 0.25, 1, 1.0 / 7},
		{"a server has as many threads", 8, 8, 2, true, 3, 0.5, 3, 0.2},
		{"a store with many threads in the background", 8, 8, 1, false, 5.5, 0.25, 1, 1.0 / 7},
		{"more threads than cores", 8, 8, 50, false, 4, 0.5, 0, 0.5},
		{"cores are not known", 8, 0, 2, false, 2, 0.5, 0, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Machine{Seconds: 2, CPUs: c.cpus, Foreign: &host.Bounds{Least: c.foreign, Most: c.foreign}}
			m.Spare = SpareCPUs(c.cores, c.threads, c.server, 2*c.used, 2)
			if got := m.Taken(); m.Spare != c.spare || math.Abs(got.Least-c.taken) > 1e-9 || got.Most != got.Least {
				t.Errorf("%d spare, %v taken, want %d and %v", m.Spare, *got, c.spare, c.taken)
			}
			p := Phase{Name: "read", Measured: true, Machine: &m}
			if marked := len(p.machineMarks()) > 0; marked != (c.taken > TakenShareMax) {
				t.Errorf("marked: %v", marked)
			}
		})
	}
	if got := (&Machine{CPUs: 8, Spare: 5}).Taken(); got != nil {
		t.Errorf("nothing is known of others, got %v", *got)
	}
}
