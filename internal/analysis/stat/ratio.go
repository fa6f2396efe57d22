package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// power is at which chance the smallest detectable difference would be found.
const power = 0.80

// Interval is a range of values, both ends included.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Contains says whether v lies in the interval.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Estimate is a rate over blocks.
type Estimate struct {
	Value    float64   `json:"value"`              // geometric mean; 0 if N is 0
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than two blocks
	N        int       `json:"blocks"`
	Spread   float64   `json:"spread"` // standard deviation of the logs
}

// Ratio is how many times larger one arm's rate is than another's.
type Ratio struct {
	Value    float64   `json:"value"`              // 0 if N is 0
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than two blocks
	P        *float64  `json:"p,omitempty"`        // chance of a ratio this far from 1 if there were no difference; nil likewise
	N        int       `json:"blocks"`             // pairs; of an unpaired ratio, the smaller side
	Spread   float64   `json:"spread"`             // standard deviation of the log ratios; of an unpaired ratio, of both sides together
	// Detectable is the smallest relative difference (0.05: 5 %) that would have been found with 80
	// % chance at the 5 % level, were the true spread the one seen; nil: fewer than two blocks.
	Detectable *float64 `json:"detectable,omitempty"`
	// Significant: the adjusted P is below the level, and the ratio lies further from 1 than the
	// smallest difference.
	Significant bool `json:"significant"`
	// Equal: the ratio is shown to lie within the margin of a tie (two one-sided tests, adjusted
	// like P).
	Equal bool `json:"equal"`

	found difference
}

// boundedExp is e^x, kept finite and above zero: an interval from two wild blocks has ends that no
// float holds, and JSON has no infinity.
func boundedExp(x float64) float64 { return math.Exp(min(max(x, -500), 500)) }

func students(freedom float64) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
}

func square(v float64) float64 { return v * v }
