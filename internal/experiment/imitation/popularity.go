package imitation

import (
	"math"
	"slices"
)

// Popularity is how requests are spread over keys.
type Popularity struct {
	Keys uint64 `json:"keys"`
	// Theta is the exponent of the zipfian that is likeliest to have drawn the requests, of as many keys;
	// 0: all keys are as likely.
	Theta float64 `json:"theta"`
	// Off is the largest difference between the share of requests that the most popular keys have, of any
	// number of them, and the share by that zipfian.
	Off        float64 `json:"theta_off"`
	Top1       float64 `json:"top_1_percent"` // share of requests that the most popular hundredth of the keys has
	Top10      float64 `json:"top_10_percent"`
	Once       float64 `json:"asked_once"` // share of keys that one request is for
	MostOfOne  float64 `json:"most_of_one_key"`
	PerKeyMean float64 `json:"requests_per_key"`
}

// thetaMax is the largest exponent that is fitted.
const thetaMax = 3

// popularityOf fits a zipfian by maximum likelihood: the exponent at which the mean logarithm of ranks is
// what it is in the counts.
func popularityOf(counts []uint32) Popularity {
	slices.SortFunc(counts, func(a, b uint32) int { return int(int64(b) - int64(a)) })
	p := Popularity{Keys: uint64(len(counts))}
	logs := make([]float64, len(counts))
	total, mean, once := 0.0, 0.0, 0
	for i, n := range counts {
		logs[i] = math.Log(float64(i + 1))
		total += float64(n)
		mean += float64(n) * logs[i]
		if n == 1 {
			once++
		}
	}
	mean /= total
	low, high := 0.0, float64(thetaMax)
	if meanLog(logs, 0) > mean {
		for range 40 {
			theta := (low + high) / 2
			if meanLog(logs, theta) > mean {
				low = theta
			} else {
				high = theta
			}
		}
		p.Theta = math.Round((low+high)/2*1000) / 1000
	}
	p.Once, p.MostOfOne, p.PerKeyMean =
		float64(once)/float64(len(counts)), float64(counts[0])/total, total/float64(len(counts))
	sum, weights, all := 0.0, 0.0, 0.0
	for _, l := range logs {
		all += math.Exp(-p.Theta * l)
	}
	for i, n := range counts {
		sum += float64(n)
		weights += math.Exp(-p.Theta * logs[i])
		p.Off = max(p.Off, math.Abs(sum/total-weights/all))
		if i+1 == max(len(counts)/100, 1) {
			p.Top1 = sum / total
		}
		if i+1 == max(len(counts)/10, 1) {
			p.Top10 = sum / total
		}
	}
	return p
}

// meanLog is the mean logarithm of ranks that a zipfian draws.
func meanLog(logs []float64, theta float64) float64 {
	sum, weights := 0.0, 0.0
	for _, l := range logs {
		w := math.Exp(-theta * l)
		sum += w * l
		weights += w
	}
	return sum / weights
}
