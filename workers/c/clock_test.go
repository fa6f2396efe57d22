package c_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A calibration goes on from the one before, so that a phase after another waits for nothing; but not
// where the machine slept in between, or the counter began anew.
func TestClockCalibrationGoesOn(t *testing.T) {
	output, err := exec.Command(plain.tool(t, "calibration", "calibration")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if strings.HasPrefix(string(output), "skipped: ") {
		t.Skip(string(output))
	}
}
