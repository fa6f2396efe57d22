package facts

import (
	"math"
	"time"

	"assay/internal/analysis/series"
	"assay/internal/evidence/record"
)

// workSecondsMin is how long a fixed number of operations takes at least for its rate to be more
// than that of starting and ending.
const workSecondsMin = 0.1

// samplesWanted is how many samples a phase needs to be judged steady, with some to spare, and
// sampleSeconds how long each should last.
const (
	samplesWanted = 20
	sampleSeconds = 0.5
)

// An experiment whose phases are shorter does not ask for a steady state: ten samples of the
// shortest length are judged at all, and noise takes as many long ones as the remedy asks for.
const (
	judgeableMin      = 500 * time.Millisecond
	judgeableNoiseMin = time.Duration(samplesWanted * sampleSeconds * float64(time.Second))
)

// tooShort are the measurements of which it is open whether their rate holds.
type tooShort struct {
	Of, Short, Noisy int
	Phases           []*shortPhase // in the order of the first of each
	Longer           []string      // phases whose time can be set
	Seconds          float64       // that they need
	Asked            bool          // the experiment asks for a steady state
}

// shortPhase is a phase that is too short in some tables: in how many, and the shortest of its trials.
type shortPhase struct {
	Phase          string
	Seconds        float64
	Count, Samples int
}

// AsksForLonger reports whether phases were too short, though not by design.
func (s *tooShort) AsksForLonger() bool { return s.Asked && len(s.Longer) > 0 }

// MeasuredTooShort returns what of the tables was measured for too short a time to be judged.
func MeasuredTooShort(tables []*Table) (m tooShort) {
	shown := map[string]*shortPhase{}
	EachMeasured(tables, func(t *Table, r *Row) {
		ended := r.Count(func(o *Observation) bool { return o.good() && o.ended() })
		if 2*ended < len(r.Used()) || ended == 0 {
			return
		}
		m.Of++
		few := r.Count(func(o *Observation) bool {
			if r.WholeWork {
				return float64(o.Phase.ElapsedNS)/1e9 < workSecondsMin
			}
			return o.doubt() == series.TooFew || o.doubt() == series.TooEmpty
		})
		loud := r.Count(func(o *Observation) bool { return !r.WholeWork && o.doubt() != "" }) - few
		least := judgeableMin
		switch {
		case 2*few >= len(r.Used()):
			m.Short++
		case loud > 0 && 2*loud >= len(r.Used()):
			m.Noisy++
			least = judgeableNoiseMin
		default:
			return
		}
		m.Asked = m.Asked || t.Work.Duration == 0 || t.Work.Duration >= least
		if shown[t.Phase] == nil {
			shown[t.Phase] = &shortPhase{Phase: t.Phase, Seconds: math.Inf(1)}
			m.Phases = append(m.Phases, shown[t.Phase])
			if t.Work.Duration > 0 {
				m.Longer = append(m.Longer, t.Phase)
			}
		}
		if t.Work.Duration > 0 {
			m.Seconds = max(m.Seconds, math.Ceil(max(samplesWanted*max(t.SampleS, sampleSeconds),
				2*t.Work.Duration.Seconds())))
		}
		shown[t.Phase].Count++
		for _, o := range r.Used() {
			if took := float64(o.Phase.ElapsedNS) / 1e9; took < shown[t.Phase].Seconds {
				shown[t.Phase].Seconds = took
				if o.Course != nil {
					shown[t.Phase].Samples = len(o.Course.Seconds)
				}
			}
		}
	})
	return m
}

// ended reports whether the phase went on as long as it was asked to.
func (o *Observation) ended() bool {
	return o.Phase.EndedBy == "" || o.Phase.EndedBy == record.EndedDuration || o.Phase.EndedBy == record.EndedOperations
}

// doubt is why it is open whether the rate of an observation holds; "": it is not.
func (o *Observation) doubt() string {
	if o.Course == nil || o.Course.Shape.Why == nil || o.Directed() {
		return ""
	}
	return o.Course.Shape.Why.Code
}
