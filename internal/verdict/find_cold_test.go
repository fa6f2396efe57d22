package verdict

import (
	"strings"
	"testing"

	"assay/internal/host"
)

func TestAPhaseThatDidNotBeginColdIsNamed(t *testing.T) {
	for left, want := range map[uint64]bool{0: false, 40e6: false, 400e6: true} {
		run := cleanRun()
		for _, arm := range []string{"oak", "elm", "ash"} {
			for _, trial := range trials(run, arm) {
				phaseOf(trial, "get").Cold = &host.PageCache{FileBytes: 1e9}
			}
		}
		phaseOf(trials(run, "elm")[2], "get").Cold.ResidentBytes = left
		s := summarise(t, run)
		f := find(s, FindNotCold)
		if (f != nil) != want {
			t.Errorf("%d bytes left: %+v", left, s.Findings)
		}
		if f != nil && (f.Where.Arm != "elm" || !strings.Contains(f.Evidence[0], "400 MB of 1.00 GB")) {
			t.Errorf("%+v", f)
		}
	}
}
