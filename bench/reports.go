package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"syscall"
	"time"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/record"
	"assay/internal/presentation/html"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
	"assay/internal/presentation/text"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

// printReports prints the CPU time of what is made of runs, at sizes that double, and the exponent at
// which it grows from the first to the last: 1 is linear.
func printReports() error {
	sizes := []int{125, 250, 500, 1000}
	made := map[int]*record.Run{}
	for _, n := range sizes {
		made[n] = runOf(n)
	}
	fmt.Printf("  %-34s", "")
	for _, n := range sizes {
		fmt.Printf(" %8d", n)
	}
	fmt.Printf(" %9s\n", "exponent")
	row := func(name string, factor int, of func(n int) error) error {
		var took []float64
		fmt.Printf("  %-34s", name)
		for _, n := range sizes {
			before := cpuTime()
			if err := of(n * factor); err != nil {
				return err
			}
			took = append(took, (cpuTime() - before).Seconds())
			fmt.Printf(" %7.2fs", took[len(took)-1])
		}
		last := len(took) - 1
		fmt.Printf(" %9.2f\n", math.Log(took[last]/took[0])/math.Log(float64(sizes[last])/float64(sizes[0])))
		return nil
	}
	report := func(write func(*model.Result) error) func(n int) error {
		return func(n int) error {
			r, err := tell.Result(made[n])
			if err != nil {
				return err
			}
			return write(r)
		}
	}
	if err := row("text report, by trials", 1, report(func(r *model.Result) error {
		return text.Screen(io.Discard, r, text.Options{Width: 80})
	})); err != nil {
		return err
	}
	if err := row("page, by trials", 1, report(func(r *model.Result) error { return html.Write(io.Discard, r) })); err != nil {
		return err
	}
	return row("changes in 156 series, by 10 runs", 10, func(n int) error {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		for series := range 156 {
			values := make([]float64, n)
			for i := range values {
				if values[i] = math.Exp(0.05 * random.NormFloat64()); series%10 == 0 && i > n/2 {
					values[i] *= 0.8
				}
			}
			stat.ChangesAt(values, stat.DifferenceMin, 0.05/156)
		}
		return nil
	})
}

// runOf is a run of so many trials in phases of twenty seconds: short series are the dearest.
func runOf(trials int) *record.Run {
	shape := recordtest.Shape{Name: "growth", Classes: []store.Durability{store.D1}, Blocks: trials / 5, Seconds: 20, Seed: 1, AA: true}
	for i := range 4 {
		shape.Arms = append(shape.Arms, recordtest.Arm{Name: fmt.Sprintf("store-%d", i), PutRate: 1e5 * float64(i+1), GetRate: 2e5,
			Noise: 0.05, BlockNoise: 0.02, WarmupSeconds: i})
	}
	return recordtest.Run(shape)
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
