package column

import (
	"assay/internal/base/format"
	"assay/internal/experiment/recording"
)

// replayed say how far what was sent differs from the recording that is replayed. The screen and the
// page tell it in a sentence.
var replayed = []Column{
	ofReplay("replay_sent", func(f *recording.Fidelity) float64 { return float64(f.Sent) }),
	ofReplay("replay_recorded", func(f *recording.Fidelity) float64 { return float64(f.Recorded) }),
	ofReplay("replay_speed", func(f *recording.Fidelity) float64 { return f.Speed }),
	ofReplay("replay_delay_ns", func(f *recording.Fidelity) float64 { return f.DelayNS }),
	ofReplay("replay_mix_differs", func(f *recording.Fidelity) float64 { return f.Mix }),
	ofReplay("replay_sizes_differ", func(f *recording.Fidelity) float64 { return f.Sizes }),
	ofReplay("replay_key_lengths_differ", func(f *recording.Fidelity) float64 { return f.KeyLengths }),
	ofReplay("replay_ttls_differ", func(f *recording.Fidelity) float64 { return f.TTLs }),
	ofReplay("replay_gaps_differ", func(f *recording.Fidelity) float64 { return f.Gaps }),
	ofReplay("replay_hits_differ", func(f *recording.Fidelity) float64 { return f.Hits }),
}

func ofReplay(name string, figure func(*recording.Fidelity) float64) Column {
	return Column{Name: name, Of: of(func(l *Line) *float64 {
		if l.Replay == nil || l.Kind != nil || l.Node != nil || l.Stretch != nil || l.Band != nil {
			return nil
		}
		v := figure(l.Replay)
		return &v
	}, format.Number)}
}
