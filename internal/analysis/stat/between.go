package stat

import "math"

const (
	// betweenPrior is the standard deviation of the log ratio of two runs of one store on one machine that
	// is assumed before anything is seen: hours apart, runs differ by more than their blocks show.
	betweenPrior = 0.025
	// betweenFreedom is how many degrees of freedom that assumption counts.
	betweenFreedom = 3
)

// Between is how far two runs of one store differ beyond what their blocks show: the variance of the log
// ratio, and the degrees of freedom with which it is known. The zero value is of values that share a run.
type Between struct{ Variance, Freedom float64 }

// Control is what is in both of two runs and did not change between them: values by block. Of a twin, they
// are those of the A/A arm ÷ those of its baseline.
type Control struct{ Old, New []float64 }

// BetweenRuns estimates how far two runs differ, from an assumption, from earlier pairs of runs between which
// nothing but time had changed (each the square of the log of what it moved by, less its noise), and from
// controls. Each counts by how far it moved beyond its own noise, as one degree of freedom; one without two
// blocks a run is left out.
func BetweenRuns(earlier []float64, controls ...Control) Between {
	sum, freedom := betweenFreedom*square(betweenPrior), float64(betweenFreedom)
	for _, moved := range earlier {
		sum, freedom = sum+max(moved, 0), freedom+1
	}
	for _, c := range controls {
		old, new := logsOf(c.Old), logsOf(c.New)
		if len(old) < 2 || len(new) < 2 {
			continue
		}
		moved := square(Mean(new) - Mean(old))
		noise := sampleVariance(old)/float64(len(old)) + sampleVariance(new)/float64(len(new))
		sum, freedom = sum+max(moved-noise, 0), freedom+1
	}
	return Between{sum / freedom, freedom}
}

// logsOf are the logs of the values that are known and above 0.
func logsOf(values []float64) (logs []float64) {
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			logs = append(logs, math.Log(v))
		}
	}
	return logs
}

func sampleVariance(values []float64) (sum float64) {
	mean := Mean(values)
	for _, v := range values {
		sum += square(v - mean)
	}
	return sum / float64(len(values)-1)
}
