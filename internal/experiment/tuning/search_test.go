package tuning_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"assay/internal/experiment/tuning"
)

// surface is how many operations a second a setting does, without noise.
type surface func(at []int) float64

func options(n int) (all []tuning.Option) {
	for i := range n {
		o := tuning.Option{Name: "option" + strconv.Itoa(i), Default: "0"}
		for level := range 8 {
			o.Levels = append(o.Levels, strconv.Itoa(level))
		}
		all = append(all, o)
	}
	return all
}

// search does a whole search on a surface with 3 % of noise, and returns its winner and how many trials it
// took.
func search(of surface, n int, seed uint64) (winner *tuning.Setting, trials int) {
	s, noise := tuning.New(options(n), seed, tuning.FirstMax), rand.New(rand.NewPCG(seed, 9))
	measure := func(at []int, blocks int) (scores []float64) {
		for range blocks {
			scores = append(scores, of(at)*math.Exp(0.03*noise.NormFloat64()))
		}
		return scores
	}
	for r, more := s.Next(); more; r, more = s.Next() {
		var scores [][]float64
		for _, setting := range r.Settings {
			scores = append(scores, measure(setting.At, r.Blocks))
		}
		s.Seen(r, scores, measure(make([]int, n), r.Blocks))
		trials += (len(r.Settings) + 1) * r.Blocks
	}
	return s.Winner(), trials
}

// peak is a surface whose best is at a place, and which falls by so much to the far end of an option.
func peak(best []int, falls float64) surface {
	return func(at []int) float64 {
		rate := 100_000.0
		for i, level := range at {
			away := float64(level-best[i]) / 7
			rate *= 1 - falls*away*away
		}
		return rate
	}
}

// saturating is a surface like that of caches: more is better, ever less, and too much costs.
func saturating(at []int) float64 {
	rate := 50_000.0
	for _, level := range at {
		rate *= 1 + 0.5*(1-math.Exp(-float64(level)/2)) - 0.005*float64(level)
	}
	return rate
}

func best(of surface, n int) (most float64) {
	at := make([]int, n)
	for k := range int(math.Pow(8, float64(n))) {
		for i := range at {
			at[i] = k % 8
			k /= 8
		}
		most = max(most, of(at))
	}
	return most
}

func TestSearch(t *testing.T) {
	for name, of := range map[string]surface{
		"peak in the middle": peak([]int{4, 3, 5}, 0.5),
		"peak at an end":     peak([]int{7, 0, 6}, 0.4),
		"one option matters": func(at []int) float64 { return peak([]int{6}, 0.6)(at[:1]) },
		"saturating":         saturating,
	} {
		t.Run(name+"_is_found_within_5_percent", func(t *testing.T) {
			const searches, n = 100, 3
			most, near := best(of, n), 0
			for seed := range uint64(searches) {
				winner, trials := search(of, n, seed)
				if grid := 512 * 3; 5*trials > grid {
					t.Fatalf("%d trials: more than a fifth of the grid's %d", trials, grid)
				}
				if winner != nil && of(winner.At) >= 0.95*most {
					near++
				}
			}
			if near < 90 {
				t.Errorf("%d of %d searches come within 5 %% of the best", near, searches)
			}
		})
	}
}

func TestSearch_leaves_out_what_the_store_refuses(t *testing.T) {
	refuses := func(at []int) float64 {
		if at[0] > 3 {
			return 0
		}
		return peak([]int{7, 7}, 0.5)(at)
	}
	for seed := range uint64(20) {
		if winner, _ := search(refuses, 2, seed); winner == nil || winner.At[0] > 3 {
			t.Errorf("seed %d: the winner is %v", seed, winner)
		}
	}
}

func TestSearch_tries_no_setting_twice_and_never_the_defaults(t *testing.T) {
	for n := 1; n <= 4; n++ {
		s := tuning.New(options(n), 3, tuning.FirstMax)
		var tried [][]int
		for r, more := s.Next(); more; r, more = s.Next() {
			scores := make([][]float64, len(r.Settings))
			for i, setting := range r.Settings {
				scores[i] = []float64{float64(100 + i)}
				if setting.First != r.Number {
					continue
				}
				again := func(at []int) bool { return slices.Equal(at, setting.At) }
				if slices.Max(setting.At) == 0 || slices.ContainsFunc(tried, again) {
					t.Errorf("%d options, round %d: %v again", n, r.Number, setting.At)
				}
				tried = append(tried, setting.At)
			}
			s.Seen(r, scores, []float64{100})
		}
	}
}
