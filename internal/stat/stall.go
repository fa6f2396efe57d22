package stat

const (
	// StallShare is the share of the median below which a sample is a stall.
	StallShare = 0.1
	// CliffShare is how much of the level before a fall may be left after it, at best, for it to be a cliff.
	CliffShare = 0.6
)

// Stall is a run of samples, From (included) to To (excluded), below a tenth of the series' median.
type Stall struct {
	From      int     `json:"from"`
	To        int     `json:"to"`
	Lowest    float64 `json:"lowest"`    // rate
	Recovered bool    `json:"recovered"` // a later sample was no stall
}

// Stalls returns the stalls of a series of rates and the median that they fell short of. A series whose median is 0 has
// no stalls: it has no rate to fall from.
func Stalls(rates []float64) (stalls []Stall, median float64) {
	if len(rates) == 0 {
		return nil, 0
	}
	median = Median(rates)
	for i, r := range rates {
		if r >= StallShare*median {
			if len(stalls) > 0 {
				stalls[len(stalls)-1].Recovered = true
			}
			continue
		}
		if last := len(stalls) - 1; last >= 0 && stalls[last].To == i {
			stalls[last].To = i + 1
			stalls[last].Lowest = min(stalls[last].Lowest, r)
			continue
		}
		stalls = append(stalls, Stall{From: i, To: i + 1, Lowest: r})
	}
	return stalls, median
}

// Cliff is a fall that lasted to the end of the series.
type Cliff struct {
	At     int     `json:"at"`     // first sample below
	Before float64 `json:"before"` // rate of the level before
	After  float64 `json:"after"`  // mean rate from At to the end
	Best   float64 `json:"best"`   // highest level after
}

// FindCliff returns the first change after which no level reaches CliffShare of the level just before it; ok is false if
// there is none. It needs the levels of the whole series, warm-up included: glory before a collapse looks like a warm-up.
func FindCliff(levels Levels) (cliff Cliff, ok bool) {
	for i := 1; i < len(levels.Segments); i++ {
		before := levels.Segments[i-1].Rate
		var best, sum float64
		var samples int
		for _, s := range levels.Segments[i:] {
			best = max(best, s.Rate)
			sum += s.Rate * float64(s.Samples())
			samples += s.Samples()
		}
		if best <= CliffShare*before {
			return Cliff{At: levels.Segments[i].From, Before: before, After: sum / float64(samples), Best: best}, true
		}
	}
	return Cliff{}, false
}
