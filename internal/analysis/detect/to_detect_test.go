package detect_test

import (
	"testing"

	"assay/internal/analysis/detect"
	"assay/internal/testkit/resulttest"
)

// The number of blocks follows the noise and not the differences.
func TestToDetect(t *testing.T) {
	of := func(noise, faster float64, blocks int) int {
		s := resulttest.Clean()
		s.Blocks, s.Seconds = blocks, 12
		for i := range s.Arms {
			s.Arms[i].BlockNoise = noise
		}
		s.Arms[1].PutRate *= faster
		run := resulttest.Built(s)
		run.Experiment.Blocks, run.Experiment.BlocksMax, run.Experiment.Detect = 5, 30, 0.05
		needed, err := detect.ToDetect(run)
		if err != nil {
			t.Fatal(err)
		}
		return needed
	}
	quiet, noisy := of(0.005, 1, 5), of(0.05, 1, 5)
	if quiet > 5 || noisy < 15 || noisy >= 1000 {
		t.Errorf("%d blocks at noise 0.5 %%, %d at 5 %%", quiet, noisy)
	}
	if n := of(0.05, 1.5, 5); n < noisy-1 || n > noisy+1 {
		t.Errorf("%d blocks where an arm is 1.5 times as fast, %d before", n, noisy)
	}
	one := resulttest.Clean()
	one.Arms, one.AA, one.Blocks = one.Arms[:1], false, 5
	one.Arms[0].BlockNoise = 0.10
	run := resulttest.Built(one)
	run.Experiment.Blocks, run.Experiment.BlocksMax, run.Experiment.Detect = 5, 30, 0.05
	if n, err := detect.ToDetect(run); err != nil || n < 10 {
		t.Errorf("one store: %d blocks, %v", n, err)
	}
	result := resulttest.ResultOf(t, run)
	if f := resulttest.Find(result, "blocks detect"); f == nil {
		t.Errorf("the result does not say it: %v", resulttest.CodesOf(result))
	}
}
