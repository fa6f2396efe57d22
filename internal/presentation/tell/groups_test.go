package tell

import (
	"slices"
	"testing"

	"assay/internal/base/finding"
)

// Findings about null drivers come after those about stores of the same severity.
func TestGroups_null_drivers_come_last(t *testing.T) {
	of := func(arm string, severity finding.Severity, code finding.Code) finding.Finding {
		return finding.Finding{Message: finding.Message{Code: code}, Severity: severity, Where: finding.Where{Arm: arm}}
	}
	groups := groupsOf([]finding.Finding{
		of("null", finding.Warning, finding.FaultStopped), of("pebble", finding.Warning, finding.Retransmits),
		of("pebble", finding.Notice, finding.Pauses), of("null", finding.Grave, finding.FaultCounts),
	}, nil, map[string]bool{"null": true})
	var got []finding.Code
	for _, g := range groups {
		got = append(got, g.Code)
	}
	want := []finding.Code{finding.FaultCounts, finding.Retransmits, finding.FaultStopped, finding.Pauses}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
