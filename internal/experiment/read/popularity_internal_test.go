package read

import (
	"math"
	"testing"
)

// Lengths are joined to few, and their mean stays.
func TestSizesAreJoined(t *testing.T) {
	var sizes, weights []float64
	sum, values := 0.0, 0.0
	for i := range 5000 {
		sizes, weights = append(sizes, float64(31+32*i)), append(weights, 1e6/math.Pow(float64(i+1), 1.5))
		sum, values = sum+sizes[i]*weights[i], values+weights[i]
	}
	joined, err := joinSizes(sizes, weights, 60)
	if err != nil {
		t.Fatal(err)
	}
	mean, all := 0.0, 0.0
	for _, z := range joined {
		mean, all = mean+float64(z.Bytes)*z.Weight, all+z.Weight
	}
	if mean /= all; len(joined) > 60 || len(joined) < 20 || math.Abs(mean/(sum/values)-1) > 0.01 {
		t.Errorf("%d lengths with a mean of %.1f, want %.1f", len(joined), mean, sum/values)
	}
	if _, err := joinSizes([]float64{10, 5}, []float64{1, 1}, 60); err == nil {
		t.Error("lengths that do not ascend are taken")
	}
}
