package tuning

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// What the first round may have of settings: [FirstMax] where there is time, at least [FirstMin].
const FirstMin, FirstMax = 3, 24

// Gain is the share by which a setting must be shown to be better than the defaults to be told as better.
const Gain = 0.04

// Option is one that is tuned, and the values that are tried, in their order.
type Option struct {
	Name    string   `json:"name"`
	Levels  []string `json:"levels"`
	Default string   `json:"default"`
}

// Setting is one combination of values.
type Setting struct {
	At []int // of each option, the position of its level
	// Logs are the logarithms of its score over the defaults', of each block in which both have one.
	Logs  []float64
	First int // the round in which it was tried first, from 1
	Out   bool
}

// Mean is the mean of Logs, and known whether there are any.
func (s *Setting) Mean() (mean float64, known bool) {
	for _, v := range s.Logs {
		mean += v / float64(len(s.Logs))
	}
	return mean, len(s.Logs) > 0
}

// Round is what is measured at a time: the settings, and beside them the defaults.
type Round struct {
	Number   int // from 1
	Blocks   int
	Settings []*Setting
}

const (
	rounds    = 4
	keepShare = 3 // one of so many settings stays after a round
	keepMin   = 2
	lateFrom  = 3 // the round from which there are two blocks
)

// Search is one search.
type Search struct {
	options  []Option
	random   *rand.Rand
	settings []*Setting // all that were tried
	usual    []int      // the levels that are the defaults; -1: none is
	round    int
	first    int // settings of the first round at most
}

// New returns a search over options of at least two levels each, of which there must be one. first is how
// many settings the first round has at most.
func New(options []Option, seed uint64, first int) *Search {
	s := &Search{options: options, first: first, random: rand.New(rand.NewPCG(seed, 0x7475_6e65))}
	for _, o := range options {
		s.usual = append(s.usual, slices.Index(o.Levels, o.Default))
	}
	return s
}

// Plan returns how many settings each round has at most, and how many blocks.
func (s *Search) Plan() (plan []Round) {
	n := min(s.grid(), 6<<min(len(s.options)-1, 2), s.first)
	for r := 1; r <= rounds; r++ {
		blocks := 1
		if r >= lateFrom {
			blocks = 2
		}
		plan = append(plan, Round{Number: r, Blocks: blocks, Settings: make([]*Setting, n)})
		kept := max(keepMin, (n+keepShare-1)/keepShare)
		n = min(2*kept, n)
	}
	return plan
}

// grid is how many settings there are, the defaults not among them; no more than is ever asked.
func (s *Search) grid() int {
	n := 1
	for _, o := range s.options {
		n = min(n*len(o.Levels), 1<<20)
	}
	if !slices.Contains(s.usual, -1) {
		n--
	}
	return n
}

// Next returns the next round; false: the search is over.
func (s *Search) Next() (Round, bool) {
	if s.round == rounds {
		return Round{}, false
	}
	planned := s.Plan()[s.round]
	s.round++
	next := Round{Number: s.round, Blocks: planned.Blocks}
	if s.round == 1 {
		next.Settings = s.spread(len(planned.Settings))
	} else {
		kept := s.best(max(keepMin, (len(planned.Settings)+1)/2))
		next.Settings = append(kept, s.beside(kept, len(planned.Settings)-len(kept))...)
	}
	return next, len(next.Settings) > 0
}

// spread are settings over all of the space: of each option every level about as often.
func (s *Search) spread(n int) (settings []*Setting) {
	orders := make([][]int, len(s.options))
	for i, o := range s.options {
		for len(orders[i]) < n {
			orders[i] = append(orders[i], s.random.Perm(len(o.Levels))...)
		}
	}
	for k := range n {
		at := make([]int, len(s.options))
		for i := range at {
			at[i] = orders[i][k]
		}
		for tries := 0; !s.fresh(at) && tries < 1000; tries++ {
			for i, o := range s.options {
				at[i] = s.random.IntN(len(o.Levels))
			}
		}
		if s.fresh(at) {
			settings = append(settings, s.add(at))
		}
	}
	return settings
}

// beside are fresh settings next to those that are kept, in turn: one option or two by a step or, early in
// the search, two.
func (s *Search) beside(kept []*Setting, n int) (settings []*Setting) {
	for k := 0; len(kept) > 0 && len(settings) < n; k++ {
		of := kept[k%len(kept)]
		found := false
		for tries := 0; tries < 50 && !found; tries++ {
			at := slices.Clone(of.At)
			for range 1 + s.random.IntN(min(len(s.options), 2)) {
				i := s.random.IntN(len(s.options))
				step := 1 + s.random.IntN(max(lateFrom+1-s.round, 1))
				if s.random.IntN(2) == 0 {
					step = -step
				}
				at[i] = min(max(at[i]+step, 0), len(s.options[i].Levels)-1)
			}
			if found = s.fresh(at); found {
				settings = append(settings, s.add(at))
			}
		}
		if !found && k >= 4*n {
			break // all around is known
		}
	}
	return settings
}

func (s *Search) fresh(at []int) bool {
	return !slices.Equal(at, s.usual) && !slices.ContainsFunc(s.settings,
		func(known *Setting) bool { return slices.Equal(known.At, at) })
}

func (s *Search) add(at []int) *Setting {
	setting := &Setting{At: slices.Clone(at), First: s.round}
	s.settings = append(s.settings, setting)
	return setting
}

// Seen takes the scores of a round: of each of its settings and, in usual, of the defaults, one a block;
// more is better. What is not above 0 is missing. A setting without any score, as one that the store
// refuses, is out.
func (s *Search) Seen(r Round, scores [][]float64, usual []float64) {
	for i, setting := range r.Settings {
		before := len(setting.Logs)
		for b, score := range scores[i] {
			if b < len(usual) && score > 0 && usual[b] > 0 {
				setting.Logs = append(setting.Logs, math.Log(score/usual[b]))
			}
		}
		setting.Out = setting.Out || len(setting.Logs) == before
	}
}

// best are the settings with the best means, the best first.
func (s *Search) best(n int) []*Setting {
	known := slices.DeleteFunc(slices.Clone(s.settings), func(t *Setting) bool { return t.Out })
	slices.SortStableFunc(known, func(a, b *Setting) int {
		x, _ := a.Mean()
		y, _ := b.Mean()
		return cmp.Compare(y, x)
	})
	return known[:min(n, len(known))]
}

// Winner is the setting that was best among those that have as many blocks as the last round gave; nil: the
// defaults were as good as any.
func (s *Search) Winner() *Setting {
	blocks := 0
	for _, t := range s.settings {
		if !t.Out {
			blocks = max(blocks, len(t.Logs))
		}
	}
	for _, t := range s.best(len(s.settings)) {
		if mean, known := t.Mean(); known && mean > 0 && len(t.Logs) >= min(blocks, 2) {
			return t
		}
	}
	return nil
}

// Settings are all that were tried, in their order.
func (s *Search) Settings() []*Setting { return slices.Clone(s.settings) }

// Values are a setting's options, by name.
func (s *Search) Values(t *Setting) map[string]string {
	values := map[string]string{}
	for i, o := range s.options {
		values[o.Name] = o.Levels[t.At[i]]
	}
	return values
}
