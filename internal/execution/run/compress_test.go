package run

import (
	"testing"

	"assay/internal/experiment"
)

// Each shape of values is measured for itself, whichever cell comes first.
func TestCompressibilityIsThatOfEachShape(t *testing.T) {
	ofFigures(t)
	ofBytes := func(bytes ...int) *experiment.Experiment {
		e := &experiment.Experiment{Seed: 1, Values: experiment.Values{RepeatedPermille: 500, PoolBytes: 1 << 20}}
		for _, b := range bytes {
			e.Cells = append(e.Cells, experiment.Cell{ValueBytes: b}, experiment.Cell{ValueBytes: b, Threads: 2})
		}
		return e
	}
	all, byShape := valueRatios(ofBytes(4096, 24))
	_, turned := valueRatios(ofBytes(24, 4096))
	if all != nil || len(byShape) != 2 || len(turned) != 2 {
		t.Fatalf("two shapes: %v, %v; the other way round %v", all, byShape, turned)
	}
	for length, bytes := range map[string]int{"24 B": 24, "4096 B": 4096} {
		alone, none := valueRatios(ofBytes(bytes))
		if none != nil || len(alone) != 2 {
			t.Fatalf("one shape: %v, %v", alone, none)
		}
		for compressor, share := range alone {
			if share <= 0 || byShape[length][compressor] != share || turned[length][compressor] != share {
				t.Errorf("%s of %s: alone %v, with others %v and %v", compressor, length, share, byShape[length], turned[length])
			}
		}
	}
	if byShape["24 B"]["zstd"] == byShape["4096 B"]["zstd"] {
		t.Error("stamps and half repeated values compress alike")
	}
}

// A mixture of lengths is one shape, of which each length has its share.
func TestMixtureIsMeasuredAsOne(t *testing.T) {
	ofFigures(t)
	count := map[int]int{}
	for _, length := range mixture([]experiment.Size{{Bytes: 10, Weight: 3}, {Bytes: 1000, Weight: 1}}) {
		count[length]++
	}
	if count[10] != 750 || count[1000] != 250 {
		t.Errorf("lengths %v, expected 750 of 10 and 250 of 1000", count)
	}
	e := &experiment.Experiment{Seed: 1, Values: experiment.Values{RepeatedPermille: 500, PoolBytes: 1 << 20,
		Sizes: []experiment.Size{{Bytes: 24, Weight: 1}, {Bytes: 4096, Weight: 1}}},
		Cells: []experiment.Cell{{ValueBytes: 2060}, {ValueBytes: 2060, Threads: 2}}}
	if all, byShape := valueRatios(e); byShape != nil || all["zstd"] <= 0 || all["zstd"] >= 1 {
		t.Errorf("%v, %v", all, byShape)
	}
	e.Values.Sizes = []experiment.Size{{Bytes: 0, Weight: 1}}
	if all, _ := valueRatios(e); all != nil {
		t.Errorf("empty values: %v", all)
	}
}
