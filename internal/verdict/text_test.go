package verdict

import (
	"strings"
	"testing"

	"assay/internal/stat"
)

// Two blocks that went opposite ways leave an interval whose ends no rate has.
func TestARatioBeyondAThousandIsNotToldApart(t *testing.T) {
	shape := clean()
	shape.Blocks = 2
	run := built(shape)
	for i, twin := range trials(run, "oak (A/A)") {
		scale(run, twin, "put", 0, 60, []float64{0.2, 0.9}[i])
	}
	f := find(summarise(t, run), FindNoisy)
	if f == nil || !strings.Contains(f.Evidence[0], ", not told apart: the 95 % interval goes beyond 1,000 times)") {
		t.Errorf("%+v", f)
	}
	row := Compared{Ratio: &stat.Ratio{Value: 1.1, N: 2, P: pointer(0.9), Interval: &stat.Interval{Low: 1e-9, High: 1e9}}, Threshold: 0.03}
	if row.judge(0.9); row.Outcome != Inconclusive || row.Why != "not told apart: the interval goes beyond 1,000 times" {
		t.Errorf("%s (%s)", row.Outcome, row.Why)
	}
	if times(999) != "999" || times(5e6) != "more than 1,000" {
		t.Errorf("%q, %q", times(999), times(5e6))
	}
}

// What two wild blocks could have shown is no figure either.
func TestASmallestDifferenceBeyondAThousandIsNotWrittenOut(t *testing.T) {
	shape := clean()
	shape.Blocks = 2
	run := built(shape)
	for i, trial := range trials(run, "elm") {
		scale(run, trial, "put", 0, 60, []float64{0.2, 9}[i])
	}
	if put := tableNamed(t, summarise(t, run), "put"); !strings.Contains(put.Sentence, "; even one of 1,000 times would perhaps not have been.") {
		t.Errorf("%q", put.Sentence)
	}
}
