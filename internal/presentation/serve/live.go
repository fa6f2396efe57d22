package serve

import (
	"encoding/json"
	"net/http"
	"strconv"

	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// progress is how far a run has come.
type progress struct {
	Writing bool       `json:"writing"` // the run goes on
	Done    int        `json:"done"`    // trials that have ended
	Of      int        `json:"of"`
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
	State string             `json:"state"` // "": not begun, or under way
	Rates map[string]float64 `json:"rates"` // operations a second by phase, its warm-up included
}

// rateKey is a trial's result: it changes when the trial is done again.
type rateKey struct {
	directory, trial string
	event            int
}

func (s *Server) progress(w http.ResponseWriter, _ *http.Request, f found) {
	p := f.Progress
	states := p.States()
	said := progress{Writing: p.Writing, Done: len(states), Of: len(p.Plan), Now: p.Trial, Phases: []string{}, Trials: []oneTrial{}}
	ended := map[string]int{}
	for i, e := range p.Events {
		switch e.Kind {
		case record.EventTrialEnded:
			ended[e.Trial] = i
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
		one := oneTrial{ID: t.ID, Block: t.Block, Arm: format.Clean(t.Arm), Hue: hueOf(t), State: string(states[t.ID]), Rates: map[string]float64{}}
		if t.Cell >= 0 && t.Cell < len(p.Experiment.Cells) {
			one.Cell = format.Clean(p.Experiment.Cells[t.Cell].Label(&p.Experiment))
		}
		if at, is := ended[t.ID]; is && one.State != "" {
			one.Rates = s.ratesOf(rateKey{f.Directory, t.ID, at})
		}
		said.Trials = append(said.Trials, one)
	}
	answer(w, said)
}

func hueOf(t plan.Trial) int {
	if t.Role != plan.Measured {
		return -1
	}
	return t.Store
}

// ratesOf reads the rates of a trial that has ended, once.
func (s *Server) ratesOf(key rateKey) map[string]float64 {
	s.guard.Lock()
	rates, known := s.rates[key]
	s.guard.Unlock()
	if known {
		return rates
	}
	rates = map[string]float64{}
	if t, err := record.FollowTrial(key.directory, key.trial); err == nil {
		for _, p := range t.Phases {
			var good uint64
			for _, o := range p.Operations {
				good += o.Good()
			}
			if p.Measured && p.ElapsedNS > 0 {
				rates[p.Name] = float64(good) / (float64(p.ElapsedNS) / 1e9)
			}
		}
	}
	s.guard.Lock()
	s.rates[key] = rates
	s.guard.Unlock()
	return rates
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
