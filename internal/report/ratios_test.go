package report

import (
	"strings"
	"testing"

	"assay/internal/record"
)

// What compressors make of values is told for each length, where there are several.
func TestCompressibilityIsToldForEachLength(t *testing.T) {
	for want, e := range map[string]record.Environment{
		"Values under snappy: 50 % of their size; Values under zstd: 32 % of their size": {ValueRatio: map[string]float64{"zstd": 0.32, "snappy": 0.5}},
		"Values of 24 B under zstd: 32 % of their size; Values of 4096 B under zstd: 53 % of their size": {ValueRatios: map[string]map[string]float64{
			"4096 B": {"zstd": 0.53}, "24 B": {"zstd": 0.32},
		}},
		"": {},
	} {
		var told []string
		for _, f := range environmentFacts(e) {
			if strings.HasPrefix(f.Name, "Values") {
				told = append(told, f.Name+": "+f.Value)
			}
		}
		if got := strings.Join(told, "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
