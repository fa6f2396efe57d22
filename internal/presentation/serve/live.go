package serve

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// progress is how far a run has come.
type progress struct {
	Writing bool       `json:"writing"` // the run goes on
	Done    int        `json:"done"`    // trials that have ended
	Of      int        `json:"of"`
	Left    *float64   `json:"left_s"` // seconds that the trials which are to come take, if they take as long as those of their arm did; nil: none has ended
	Ranking []soFar    `json:"ranking"`
	Phases  []string   `json:"phases"` // those that are measured
	Now     string     `json:"now"`    // the ID of the trial under way; "": none
	Note    string     `json:"note"`   // the last thing that was noted; "": nothing
	Trials  []oneTrial `json:"trials"` // as planned by now
}

type oneTrial struct {
	ID    string             `json:"id"`
	Block int                `json:"block"`
	Arm   string             `json:"arm"`
	Hue   int                `json:"hue"` // position among the stores; −1: a null driver, or the A/A arm
	Cell  string             `json:"cell"`
	State string             `json:"state"`         // "": not begun, or under way
	Why   string             `json:"why,omitempty"` // its first mark; "": it has none
	Rates map[string]float64 `json:"rates"`         // operations a second by phase, its warm-up included
}

// soFar are the stores of a phase in a cell by the mean of their good trials, the fastest first.
type soFar struct {
	Phase  string       `json:"phase"`
	Cell   string       `json:"cell"`
	Stores []storeSoFar `json:"stores"`
}

type storeSoFar struct {
	Arm    string  `json:"arm"`
	Rate   float64 `json:"rate"` // geometric mean
	Trials int     `json:"trials"`
}

// ended is what is shown of a trial that has ended.
type ended struct {
	rates map[string]float64
	why   string
}

// rateKey is a trial's result: it changes when the trial is done again.
type rateKey struct {
	directory, trial string
	event            int
}

func (s *Server) progress(w http.ResponseWriter, _ *http.Request, f found) {
	p := f.Progress
	states := p.States()
	said := progress{Writing: p.Writing, Done: len(states), Of: len(p.Plan), Now: p.Trial, Phases: []string{},
		Trials: []oneTrial{}}
	endedBy := map[string]int{}
	for i, e := range p.Events {
		switch e.Kind {
		case record.EventTrialEnded:
			endedBy[e.Trial] = i
		case record.EventNote:
			said.Note = format.Clean(e.Text)
		}
	}
	for _, phase := range p.Experiment.Phases {
		if !phase.Load {
			said.Phases = append(said.Phases, phase.Name)
		}
	}
	for _, t := range p.Plan {
		one := oneTrial{ID: t.ID, Block: t.Block, Arm: format.Clean(t.Arm), Hue: hueOf(t),
			State: string(states[t.ID]), Rates: map[string]float64{}}
		if t.Cell >= 0 && t.Cell < len(p.Experiment.Cells) {
			one.Cell = format.Clean(p.Experiment.Cells[t.Cell].Label(&p.Experiment))
		}
		if at, is := endedBy[t.ID]; is && one.State != "" {
			seen := s.endedOf(rateKey{f.Directory, t.ID, at})
			one.Rates, one.Why = seen.rates, seen.why
		}
		said.Trials = append(said.Trials, one)
	}
	said.Left, said.Ranking = secondsLeft(p), rankingOf(said.Trials, said.Phases)
	answer(w, said)
}

// secondsLeft are those of the trials that have not ended: each takes the mean of its arm's, or of all where
// none of it has ended.
func secondsLeft(p *record.Progress) *float64 {
	arms, began := map[string]string{}, map[string]time.Time{}
	for _, t := range p.Plan {
		arms[t.ID] = t.Arm
	}
	took := map[string][]float64{} // by arm; "": of all
	for _, e := range p.Events {
		switch e.Kind {
		case record.EventTrialStarted:
			began[e.Trial] = e.At
		case record.EventTrialEnded:
			if at, is := began[e.Trial]; is {
				seconds := e.At.Sub(at).Seconds()
				took[arms[e.Trial]], took[""] = append(took[arms[e.Trial]], seconds), append(took[""], seconds)
			}
		}
	}
	if len(took[""]) == 0 {
		return nil
	}
	left, states := 0.0, p.States()
	for _, t := range p.Plan {
		if _, over := states[t.ID]; over {
			continue
		}
		of := took[t.Arm]
		if len(of) == 0 {
			of = took[""]
		}
		left += stat.Mean(of)
	}
	return &left
}

// rankingOf orders stores by the figures of their good trials, without a test of significance.
func rankingOf(trials []oneTrial, phases []string) (all []soFar) {
	all = []soFar{}
	for _, t := range trials {
		if t.Hue < 0 || t.State != string(record.OK) {
			continue
		}
		for _, phase := range phases {
			rate := t.Rates[phase]
			if rate <= 0 {
				continue
			}
			at := slices.IndexFunc(all, func(s soFar) bool { return s.Phase == phase && s.Cell == t.Cell })
			if at < 0 {
				at, all = len(all), append(all, soFar{Phase: phase, Cell: t.Cell})
			}
			stores := &all[at].Stores
			one := slices.IndexFunc(*stores, func(s storeSoFar) bool { return s.Arm == t.Arm })
			if one < 0 {
				one, *stores = len(*stores), append(*stores, storeSoFar{Arm: t.Arm, Rate: 1})
			}
			n := float64((*stores)[one].Trials)
			(*stores)[one].Rate = math.Exp((math.Log((*stores)[one].Rate)*n + math.Log(rate)) / (n + 1))
			(*stores)[one].Trials++
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Stores, func(a, b storeSoFar) int { return cmp.Compare(b.Rate, a.Rate) })
	}
	return all
}

func hueOf(t plan.Trial) int {
	if t.Role != plan.Measured {
		return -1
	}
	return t.Store
}

// endedOf reads a trial that has ended, once.
func (s *Server) endedOf(key rateKey) ended {
	s.guard.Lock()
	seen, known := s.seen[key]
	s.guard.Unlock()
	if known {
		return seen
	}
	seen.rates = map[string]float64{}
	if t, err := record.FollowTrial(key.directory, key.trial); err == nil {
		if len(t.Marks) > 0 {
			seen.why = format.Clean(finding.Text(t.Marks[0].Message))
		}
		for _, p := range t.Phases {
			var good uint64
			for _, o := range p.Operations {
				good += o.Good()
			}
			if p.Measured && p.ElapsedNS > 0 {
				seen.rates[p.Name] = float64(good) / (float64(p.ElapsedNS) / 1e9)
			}
		}
	}
	s.guard.Lock()
	s.seen[key] = seen
	s.guard.Unlock()
	return seen
}

// points are samples by column: what the charts draw.
type points struct {
	Next  int64      `json:"next"` // where the next samples begin
	Phase []string   `json:"phase"`
	At    []float64  `json:"t"` // s since the phase began
	Rate  []float64  `json:"rate"`
	Bad   []float64  `json:"bad"`  // a second
	P50   []*float64 `json:"p50"`  // ns
	P99   []*float64 `json:"p99"`  // ns
	CPU   []*float64 `json:"cpu"`  // cores
	RSS   []*float64 `json:"rss"`  // bytes
	Disk  []*float64 `json:"disk"` // bytes
}

func (s *Server) samples(w http.ResponseWriter, r *http.Request, f found) {
	from, err := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	if err != nil || from < 0 {
		http.Error(w, "from: expected the byte that the answer before gave as next, or 0", http.StatusBadRequest)
		return
	}
	samples, next, err := record.FollowSamples(f.Directory, r.PathValue("trial"), from)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p := points{Next: next, Phase: []string{}}
	for _, sample := range samples {
		p.Phase = append(p.Phase, format.Clean(sample.Phase))
		p.At = append(p.At, sample.At)
		p.Rate = append(p.Rate, float64(sample.Operations)/sample.Seconds)
		p.Bad = append(p.Bad, float64(sample.Bad)/sample.Seconds)
		p.P50, p.P99 = append(p.P50, sample.P50NS), append(p.P99, sample.P99NS)
		p.CPU = append(p.CPU, resource(sample, "worker.cpu"))
		p.RSS = append(p.RSS, resource(sample, "worker.rss"))
		p.Disk = append(p.Disk, resource(sample, "data.bytes"))
	}
	answer(w, p)
}

// resource is a series' value in a sample; nil: not measured.
func resource(s record.Sample, name string) *float64 {
	if v, measured := s.Resource(name); measured {
		return &v
	}
	return nil
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // who asked has gone
}
