package crash

import "testing"

func TestRate(t *testing.T) {
	stamps := []Stamp{
		{NS: 0, Phase: phaseLoad, Acknowledged: []uint64{900, 900}}, {NS: 1e9, Phase: phaseWrites,
			Acknowledged: []uint64{0, 0}},
		{NS: 2e9, Phase: phaseWrites, Acknowledged: []uint64{10, 0}}, {NS: 4e9, Phase: phaseWrites,
			Acknowledged: []uint64{120, 90}},
		{NS: 9e9, Phase: phaseWrites, Acknowledged: []uint64{120, 90}}, {NS: 10e9, Phase: phaseBatches,
			Acknowledged: []uint64{5, 5}},
	}
	if got := rateOf(stamps); got != 100 {
		t.Errorf("%v per second, expected 100", got)
	}
	if got := rateOf(stamps[:3]); got != 0 {
		t.Errorf("%v per second of one look", got)
	}
}
