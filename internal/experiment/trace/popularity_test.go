package trace

import "testing"

// Keys come as often as their bucket says; what is cut off never does.
func TestPopularity(t *testing.T) {
	order := Order{Distribution: Popularity, Buckets: []Bucket{{1, 50}, {9, 45}, {1000, 5}}}
	if err := order.Check(); err != nil {
		t.Fatal(err)
	}
	const draws = 100_000
	times := map[uint64]int{}
	draw, r := order.draw(10, 1), newRandom(1, 0, purposeKeys)
	for range draws {
		index := draw(r)
		if index >= 10 {
			t.Fatalf("record %d of 10", index)
		}
		times[index]++
	}
	most := 0
	for _, n := range times {
		most = max(most, n)
	}
	if share := float64(most) / draws; len(times) != 10 || share < 0.516 || share > 0.536 { // 50 of 95
		t.Errorf("%d records were drawn, the hottest with a share of %.3f", len(times), share)
	}
	if (Order{Distribution: Popularity}).Check() == nil {
		t.Error("an order without buckets is taken")
	}
}
