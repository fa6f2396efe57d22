package report

import "testing"

func TestACheckSaysOfHowManyRecordsItIs(t *testing.T) {
	for _, c := range []struct {
		found Final
		want  string
	}{
		{Final{Records: 10_000, Of: 10_000, Right: 10_000}, "10,000 read back, all right"},
		{Final{Records: 12_000, Of: 1_200_000, Right: 12_000}, "12,000 of 1,200,000 read back, all right"},
		{Final{Records: 12_000, Of: 1_200_000, Right: 11_999, Lost: 1}, "12,000 of 1,200,000 read back: 11,999 right, 1 lost"},
		{Final{Records: 12_000, Right: 12_000}, "12,000 read back, all right"}, // of a run that did not tell
	} {
		var s sum
		s.add(&c.found)
		if got := s.text(); got != c.want {
			t.Errorf("%+v reads %q, want %q", c.found, got, c.want)
		}
	}
}
