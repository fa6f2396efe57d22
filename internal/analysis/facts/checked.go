package facts

import (
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// recordedNS is what a recorded operation takes more than another one, at most:
// docs/harness-cost.md.
const recordedNS = 25

// Checked is how much of what a row's trials did was held against the whole history of sampled keys,
// and the chance with which that would have found a loss of one write in so many.
type Checked struct {
	Keys       int      `json:"keys"` // of a phase, at most
	ReadShare  float64  `json:"read_share"`
	WriteShare float64  `json:"write_share"`
	Covered    uint64   `json:"covered_writes"`       // read afterwards, before another write of the key began
	Dropped    uint64   `json:"dropped,omitempty"`    // operations that did not fit into the history
	Undecided  uint64   `json:"undecided,omitempty"`  // keys
	Found4     float64  `json:"finds_1_in_10000"`     // the chance, of lost writes
	Found5     float64  `json:"finds_1_in_100000"`    //
	Found6     float64  `json:"finds_1_in_1000000"`   //
	FoundOneIn float64  `json:"finds_1_in"`           // of so many writes: the rarest loss that would be found with a chance of 95 %
	TimeShare  *float64 `json:"time_share,omitempty"` // that recording took of the threads' time, at most
}

// checkedOf returns nil where no history was recorded, or one that shows nothing: of reads alone, or
// of writes alone.
func checkedOf(phases []*record.Phase) *Checked {
	var c Checked
	var records, reads, allReads, allWrites uint64
	threadNS := 0.0
	for _, p := range phases {
		h := p.History
		if h == nil || h.Keys == 0 {
			continue
		}
		c.Keys = max(c.Keys, h.Sample)
		c.Dropped, c.Undecided, c.Covered = c.Dropped+h.Dropped, c.Undecided+uint64(h.Undecided), c.Covered+h.Covered
		records, reads = records+h.Records, reads+h.Reads
		r, w := readsAndWrites(p)
		allReads, allWrites = allReads+r, allWrites+w
		threadNS += float64(p.ElapsedNS) * float64(max(p.Threads, 1))
	}
	if c.Covered == 0 {
		return nil
	}
	c.ReadShare, c.WriteShare = shareOf(reads, allReads), shareOf(c.Covered, allWrites)
	c.Found4, c.Found5, c.Found6 = history.Found(1e-4, c.Covered), history.Found(1e-5,
		c.Covered), history.Found(1e-6, c.Covered)
	c.FoundOneIn = history.Rarest(c.Covered)
	if threadNS > 0 {
		share := recordedNS * float64(records) / threadNS
		c.TimeShare = &share
	}
	return &c
}

// readsAndWrites counts the operations, members of batches included, that returned a version and
// that wrote one.
func readsAndWrites(p *record.Phase) (reads, writes uint64) {
	for _, o := range p.Calls() {
		operation, known := trace.ParseOperation(o.Name)
		switch {
		case !known:
		case operation == trace.Batch:
			writes += o.Items
		case operation == trace.MultiRead:
			reads += o.Items + o.Absent
		case operation == trace.Increment: // it leaves the version that histories tell writes by
		case operation == trace.ReadOrFill:
			reads, writes = reads+o.Done(), writes+o.Miss
		case operation == trace.Touch:
		case operation == trace.GetAndSet:
			reads, writes = reads+o.Done(), writes+o.OK+o.Miss+o.Lost
		case operation.Changes():
			writes += o.OK
			if operation == trace.ReadModifyWrite || operation == trace.CompareAndSwap {
				reads += o.Done()
			}
		case operation == trace.Read:
			reads += o.OK + o.Miss + o.Lost
		}
	}
	return reads, writes
}

func shareOf(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return min(float64(part)/float64(all), 1)
}

// Milestones are the times that a thread took for its first Every operations and for its last:
// medians over the threads of a row's trials, and the range of the last.
type Milestones struct {
	Every    uint64  `json:"every"`
	Threads  int     `json:"threads"`
	FirstS   float64 `json:"first_s"`
	LastS    float64 `json:"last_s"`
	LastMinS float64 `json:"last_min_s"`
	LastMaxS float64 `json:"last_max_s"`
}

// milestonesOf returns nil where the experiment does not ask for them, or no thread came to two.
func milestonesOf(phases []*record.Phase) *Milestones {
	var m Milestones
	var first, last []float64
	for _, p := range phases {
		if p.Milestones == nil {
			continue
		}
		m.Every = p.Milestones.Every
		for _, seconds := range p.Milestones.Seconds {
			if n := len(seconds); n >= 2 { // of one, the first is the last
				first, last = append(first, seconds[0]-float64(p.BeganNS)/1e9), append(last, seconds[n-1]-seconds[n-2])
			}
		}
	}
	if len(first) == 0 {
		return nil
	}
	m.Threads, m.FirstS, m.LastS = len(first), stat.Median(first), stat.Median(last)
	m.LastMinS, m.LastMaxS = slices.Min(last), slices.Max(last)
	return &m
}

// TaskTimes are how long each thread of a trial took for each Every operations, one after the other,
// in seconds.
type TaskTimes struct {
	Every uint64      `json:"every"`
	Tasks [][]float64 `json:"tasks"`
}

// taskPointsMax is how many times of a thread a curve has: more are joined.
const taskPointsMax = 200

// TaskTimesOf returns nil where the experiment does not ask for milestones, or no thread came to two.
// Where there are more than a curve can show, several are one.
func TaskTimesOf(p *record.Phase) *TaskTimes {
	if p == nil || p.Milestones == nil {
		return nil
	}
	most := 0
	for _, seconds := range p.Milestones.Seconds {
		most = max(most, len(seconds))
	}
	joined := (most + taskPointsMax - 1) / taskPointsMax
	if most < 2 || most/joined < 2 {
		return nil
	}
	t := &TaskTimes{Every: p.Milestones.Every * uint64(joined)}
	for _, seconds := range p.Milestones.Seconds {
		took, before := []float64{}, float64(p.BeganNS)/1e9
		for i := joined - 1; i < len(seconds); i += joined {
			took, before = append(took, seconds[i]-before), seconds[i]
		}
		t.Tasks = append(t.Tasks, took)
	}
	return t
}

// startsApartOf is how far apart the processes of a row's clients began, at most; nil: it has one.
func startsApartOf(phases []*record.Phase) (ns *float64) {
	for _, p := range phases {
		if p.Processes > 1 && (ns == nil || float64(p.StartSpreadNS) > *ns) {
			spread := float64(p.StartSpreadNS)
			ns = &spread
		}
	}
	return ns
}
