package tell

import (
	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/presentation/model"
)

// scalingLinesMax is how many stores the one screen tells of.
const scalingLinesMax = 6

// scalingOf says of each store that scales by a law what it comes to.
func scalingOf(all []model.Scaling) (messages []finding.Message) {
	for i := range all {
		if len(messages) == scalingLinesMax {
			break
		}
		messages = append(messages, finding.New(scalingParams(&all[i].Scaling)))
	}
	return messages
}

func scalingParams(s *facts.Scaling) finding.ScalingParams {
	place := s.Phase + " (" + s.Class + ")"
	if s.Case != "" {
		place = s.Phase + " (" + s.Class + ", " + s.Case + ")"
	}
	p := finding.ScalingParams{Arm: s.Arm, Place: place, Axis: s.AxisName(), Law: string(s.Law),
		Largest: s.Sizes[len(s.Sizes)-1],
		Sigma:   s.Sigma, SigmaLow: s.SigmaIn.Low, SigmaHigh: s.SigmaIn.High}
	for _, r := range s.Residuals {
		p.Off = max(p.Off, r, -r)
	}
	if s.Law == stat.Universal && s.Peak > 0 {
		p.Peak, p.PeakLow, p.PeakHigh, p.PeakRate = s.Peak, s.PeakIn.Low, s.PeakIn.High, s.PeakRate
	}
	return p
}
