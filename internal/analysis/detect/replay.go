package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// A replay that is slower than that share of the speed that is asked for, or leaves out more requests,
// was not what was recorded.
const (
	replaySpeedMin = 0.95
	replaySentMin  = 0.999
)

// detectReplay reports replays that machine and store could not keep up with.
func detectReplay(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		f := r.Replay
		if f == nil || f.Closed || f.Speed >= replaySpeedMin*f.Asked &&
			float64(f.Sent) >= replaySentMin*float64(f.Recorded) {
			return
		}
		found = append(found, placed(t, r.Arm, finding.ReplayDiffersParams{At: atOf(t, r.Arm), Sent: f.Sent,
			Recorded: f.Recorded, Speed: f.Speed, Asked: f.Asked}))
	})
	return found
}
