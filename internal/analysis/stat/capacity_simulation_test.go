package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/internal/experiment/capacity"
)

// The searches for a capacity of package capacity, on stand-ins for a store whose capacity is known by
// arithmetic: one server, Poisson arrivals, first come, first served.
var capacitySimulated = simulated{"testdata/capacity.json", "testdata/capacity-short.json", 1000,
	[]simulation{{"capacity", capacities, 1}, {"capacity-peers", capacityPeers, 1}, {"capacity-odd", capacityOdd, 1}}}

func TestCapacityErrorRates(t *testing.T) { capacitySimulated.run(t, 3) }

func TestCapacityDocument(t *testing.T) { capacitySimulated.checkDocuments(t) }

const (
	standInLimit   = 0.005 // seconds: p99 < 5 ms
	standInService = 1e-4  // seconds, on average
	standInSettles = 0.2   // of a step, whose operations are not judged
)

var standInAsked = capacity.Asked{Objectives: []capacity.Objective{{Metric: capacity.Percentile, Quantile: 0.99,
	Limit: standInLimit * 1e9}},
	From: 100, To: 1e6, Step: 2e9, Hold: 6e9}

// standIn is a server: how long an operation takes, and at which rate p99 is the limit.
type standIn struct {
	name    string
	service func(r *rand.Rand) float64
	truth   float64
	pauses  *pauses
	taken   func(r *rand.Rand) bool
}

// hinderedStandIns are servers whose queue something makes longer now and then.
func hinderedStandIns() []standIn {
	exponential := standIns()[0]
	taken, paused := exponential, exponential
	taken.name = "M/M/1, of which others take 20 % in one step of six, which is seen"
	taken.taken = func(r *rand.Rand) bool { return r.Float64() < 1.0/6 }
	paused.name = "M/M/1, which pauses every 20 s for 10 ms"
	paused.pauses, paused.truth = &pauses{length: 0.01, apart: 20}, pausedTruth
	return []standIn{taken, paused}
}

// pausedTruth is the rate at which the 99th percentile of the server that pauses is the limit: between
// simulations of 27 million operations each, at rates 50/s apart.
const pausedTruth = 8980

func standIns() []standIn {
	const mu = 1 / standInService
	// Of 20 operations one takes 10 times as long as the others.
	const slowShare, times = 0.05, 10
	fast := standInService / (1 - slowShare + slowShare*times)
	return []standIn{
		{name: "exponential service (M/M/1)", service: func(r *rand.Rand) float64 { return standInService * r.ExpFloat64() }, truth: mu - math.Log(100)/standInLimit},
		{name: "constant service (M/D/1)", service: func(*rand.Rand) float64 { return standInService }, truth: rateOfConstant()},
		{name: "two levels of service (M/H₂/1)", service: func(r *rand.Rand) float64 {
			mean := fast
			if r.Float64() < slowShare {
				mean *= times
			}
			return mean * r.ExpFloat64()
		}, truth: rateOfTwo([2]float64{1 - slowShare, slowShare}, [2]float64{1 / fast, 1 / (fast * times)})},
	}
}

// bisected returns where a rising function is 0.
func bisected(low, high float64, of func(float64) float64) float64 {
	for range 200 {
		if middle := (low + high) / 2; of(middle) < 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// rateOfConstant is the rate at which the 99th percentile of M/D/1 is the limit, by the tail of its wait
// (Cramér and Lundberg), which is exact to ten digits there.
func rateOfConstant() float64 {
	tail := func(rate float64) float64 {
		rho := rate * standInService
		theta := bisected(1e-6, 1e6, func(theta float64) float64 {
			return rate*math.Expm1(theta*standInService) - theta
		})
		c := (1 - rho) / (rate*standInService*math.Exp(theta*standInService) - 1)
		return c * math.Exp(-theta*(standInLimit-standInService))
	}
	return bisected(0.5/standInService, (1-1e-6)/standInService,
		func(rate float64) float64 { return tail(rate) - 0.01 })
}

// rateOfTwo is that of a server with two exponential services, whose response time is a sum of two
// exponentials (Pollaczek and Khinchine).
func rateOfTwo(share, mu [2]float64) float64 {
	tail := func(rate float64) float64 {
		rho := rate * (share[0]/mu[0] + share[1]/mu[1])
		// The roots of (s+μ₀)(s+μ₁) − rate·(p₀(s+μ₁)+p₁(s+μ₀)) are −r.
		b, c := mu[0]+mu[1]-rate, mu[0]*mu[1]-rate*(share[0]*mu[1]+share[1]*mu[0])
		root := math.Sqrt(b*b - 4*c)
		sum := 0.0
		for _, r := range []float64{(b - root) / 2, (b + root) / 2} {
			n := (1 - rho) * (share[0]*mu[0]*(mu[1]-r) + share[1]*mu[1]*(mu[0]-r))
			sum += n / (b - 2*r) * math.Exp(-r*standInLimit) / r
		}
		return sum
	}
	return bisected(1, (1-1e-6)/standInService, func(rate float64) float64 { return tail(rate) - 0.01 })
}

// server is a stand-in at work. Its queue is empty when a step begins, unless it carries over.
type server struct {
	r       *rand.Rand
	service func(r *rand.Rand, queue int) float64
	free    float64 // when it has done what has come, since the step's begin

	tail func(r *rand.Rand, first bool) float64 // seconds that an operation takes longer; first in its step
	late func(r *rand.Rand) float64             // seconds by which the client begins an operation late; nil: never

	pauses *pauses                 // nil: it never stands still
	taken  func(r *rand.Rand) bool // whether others take the machine in a step, which tells it; nil: never

	deep   bool      // service depends on how many wait
	window []float64 // when those end that wait, where that matters
}

// pauses are moments at which a server stands still: so long, and so long apart, on average.
type pauses struct {
	length, apart float64 // seconds
	at            float64 // the next one, since the step's begin
}

// after is when an operation that would begin at a moment begins.
func (p *pauses) after(r *rand.Rand, at float64) float64 {
	for p != nil && at >= p.at {
		at = max(at, p.at+p.length*r.ExpFloat64())
		p.at = at + p.apart*r.ExpFloat64()
	}
	return at
}

// step lets operations come at a rate, and counts those that are due in the part of it that is judged.
func (s *server) step(rate, from, seconds, late float64) (c capacity.Counts) {
	at, sum, first := 0.0, 0.0, 0
	var slow, lates []float64
	if s.pauses != nil {
		s.pauses.at = s.pauses.apart * s.r.ExpFloat64()
	}
	for {
		if at += s.r.ExpFloat64() / rate; at >= seconds {
			break
		}
		for first < len(s.window) && s.window[first] <= at {
			first++
		}
		begin := s.pauses.after(s.r, max(s.free, at))
		judged := at >= from
		if judged {
			c.Due++
		}
		if begin >= seconds {
			continue
		}
		s.free = begin + s.service(s.r, len(s.window)-first)
		if s.deep {
			s.window = append(s.window, s.free)
		}
		if judged && s.free < seconds {
			c.Ended++
			by := late
			if s.late != nil {
				by += s.late(s.r) * 1e9
			}
			if lates = append(lates, by); by == 0 {
				lates = lates[:len(lates)-1]
			}
			took := (s.free-at)*1e9 + by
			if s.tail != nil {
				took += s.tail(s.r, c.Ended == 1) * 1e9
			}
			sum += took
			if took > standInLimit*1e9 {
				slow = append(slow, took)
			}
		}
	}
	c.MeanNS = sum / float64(max(c.Ended, 1))
	c.Above = func(ns float64) (n uint64) {
		for _, took := range slow {
			if took > ns {
				n++
			}
		}
		return n
	}
	c.Late = func(ns float64) (n uint64) {
		for _, by := range lates {
			if by > ns {
				n++
			}
		}
		return n
	}
	return c
}

// search does a whole search, and returns how long its steps take.
func (s *server) search(seed uint64, clientMost float64) (capacity.Fitted, float64) {
	search, took := capacity.NewSearch(standInAsked, 1/standInService/4, false, seed), 0.0
	for {
		step, more := search.Next()
		if !more {
			return capacity.Fit(search.Seen()), took
		}
		seconds := step.Length.Seconds()
		took += seconds
		s.free, s.window = 0, s.window[:0]
		late := 0.0
		if clientMost > 0 && step.Rate > clientMost {
			late = seconds * (step.Rate/clientMost - 1) / 2 * 1e9
		}
		service, taken := s.service, s.taken != nil && s.taken(s.r)
		if taken {
			s.service = func(r *rand.Rand, queue int) float64 { return service(r, queue) / takenLeaves }
		}
		c := s.step(step.Rate, standInSettles*seconds, seconds, late)
		s.service = service
		search.Saw(capacity.Seen{Kind: step.Kind, Rate: step.Rate, Due: c.Due,
			Used: capacity.Used(standInAsked.Objectives, c), ByClient: capacity.ByClient(standInAsked.Objectives, c),
			Done: float64(c.Ended) / seconds / (1 - standInSettles), Disturbed: taken})
	}
}

// takenLeaves is which share of its speed a server has left while others take the machine.
const takenLeaves = 0.8

func simple(of standIn, factor float64) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, _ int) float64 { return of.service(r) / factor }
}

// capacities: searches in several blocks, which make an interval as rates do.
func capacities(t *testing.T, series int) table {
	made := table{Columns: []string{"store", "blocks", "noise of blocks", "told as capacity", "bias", "intervals that cover", "half of their width", "steps of a trial"}}
	type row struct {
		blocks int
		noise  float64
	}
	for i, of := range slices.Concat(standIns(), hinderedStandIns()) {
		for k, row := range []row{{3, 0}, {3, 0.03}, {5, 0.03}} {
			type result struct {
				covers, found bool
				bias, half    float64
				seconds       float64
			}
			results := each("capacity", 10*i+k, series, func(r *rand.Rand) (out result) {
				values, foundIn := make([]float64, row.blocks), 0
				for b := range values {
					factor := math.Exp(row.noise * r.NormFloat64())
					s := server{r: r, service: simple(of, factor), taken: of.taken}
					if of.pauses != nil {
						p := *of.pauses
						s.pauses = &p
					}
					fitted, took := s.search(r.Uint64(), 0)
					if fitted.Outcome == capacity.Found {
						foundIn++
					}
					out.seconds += took / float64(row.blocks)
					values[b] = fitted.Rate
				}
				out.found = 2*foundIn > row.blocks
				e := Estimates([][]float64{values}, Options{Resolution: capacity.Resolution})[0]
				out.bias = math.Log(e.Value / of.truth)
				out.covers = e.Interval.Low <= of.truth && of.truth <= e.Interval.High
				out.half = math.Log(e.Interval.High/e.Interval.Low) / 2
				return out
			})
			var found, covers float64
			var bias, half, seconds []float64
			for _, one := range results {
				if one.found {
					found++
				}
				if one.covers {
					covers++
				}
				bias, half, seconds = append(bias, one.bias), append(half, one.half), append(seconds, one.seconds)
			}
			n := float64(series)
			within(t, of.name+": intervals that cover", covers/n, 0.92, 1, series)
			made.Rows = append(made.Rows, []string{of.name, fmt.Sprint(row.blocks), noiseText(row.noise),
				percent(found / n), signed(Mean(bias)), percent(covers / n),
				percent(Median(half)), fmt.Sprintf("%.0f s", Median(seconds))})
		}
	}
	return made
}

func noiseText(share float64) string {
	if share == 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func signed(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

// peer is a search that gives one number: the highest rate of which a step held.
type peer struct {
	name string
	find func(s *server) (rate, seconds float64)
}

// heldThrough does a step behind the one before, whose queue it takes over.
func (s *server) heldThrough(rate, drain, seconds float64) bool {
	c := s.step(rate, drain, drain+seconds, 0)
	s.free = max(s.free-drain-seconds, 0)
	return standInAsked.Objectives[0].UsedBy(c) <= 1 && float64(c.Ended) >= 0.9*float64(c.Due)
}

// peers are a doubling search, and the rule of cachecannon's saturation search with the settings of its
// example: from 1,000/s on 5 % more in each step of 5 s, of which 0.5 s are not judged before, to the third
// step in a row that does not hold.
var peers = []peer{
	{"doubling, then halving to 2 %, 2 s each", func(s *server) (held, seconds float64) {
		rate, broke := 1000.0, 0.0
		for broke == 0 || broke/held > 1.02 {
			s.free, s.window = 0, s.window[:0]
			seconds += 2
			if s.heldThrough(rate, 0, 2) {
				held = rate
			} else {
				broke = rate
			}
			if rate = 2 * held; broke > 0 {
				rate = (max(held, 1) + broke) / 2
			}
		}
		return held, seconds
	}},
	{"cachecannon's rule", func(s *server) (held, seconds float64) {
		for rate, failed := 1000.0, 0; failed < 3; rate *= 1.05 {
			seconds += 5.5
			if s.heldThrough(rate, 0.5, 5) {
				held, failed = rate, 0
			} else {
				failed++
			}
		}
		return held, seconds
	}},
}

func capacityPeers(_ *testing.T, series int) table {
	made := table{Columns: []string{"store", "search", "bias", "spread of answers", "answers above the capacity", "answers more than 3 % off", "time"}}
	add := func(of standIn, name string, answers, seconds []float64) {
		var squares, above, off float64
		mean := Mean(answers)
		for _, a := range answers {
			squares += (a - mean) * (a - mean)
			if a > 0 {
				above++
			}
			if math.Abs(a) > 0.03 {
				off++
			}
		}
		n := float64(len(answers))
		made.Rows = append(made.Rows, []string{of.name, name, signed(mean), percent(math.Sqrt(squares / n)),
			percent(above / n), percent(off / n),
			fmt.Sprintf("%.0f s", Mean(seconds))})
	}
	for i, of := range standIns() {
		for k, p := range slices.Concat([]peer{{"Assay, one trial", func(s *server) (float64, float64) {
			fitted, seconds := s.search(s.r.Uint64(), 0)
			return fitted.Rate, seconds
		}}}, peers) {
			answers := each("capacity-peers", 10*i+k, series, func(r *rand.Rand) [2]float64 {
				s := &server{r: r, service: simple(of, 1)}
				rate, seconds := p.find(s)
				return [2]float64{math.Log(rate / of.truth), seconds}
			})
			var rates, seconds []float64
			for _, a := range answers {
				rates, seconds = append(rates, a[0]), append(seconds, a[1])
			}
			add(of, p.name, rates, seconds)
		}
	}
	return made
}

// capacityOdd: stores that have no capacity, or a client that is too small.
func capacityOdd(t *testing.T, series int) table {
	of := standIns()[0]
	odd := []struct {
		name   string
		wants  capacity.Outcome
		client float64
		make   func(s *server)
	}{
		{"M/M/1", capacity.Found, 0, func(s *server) { s.service = simple(of, 1) }},
		{"with more than 100 waiting 2.5 times slower", capacity.Cliff, 0, func(s *server) {
			s.deep = true
			s.service = func(r *rand.Rand, queue int) float64 {
				if queue > 100 {
					return 2.5 * of.service(r)
				}
				return of.service(r)
			}
		}},
		{"3 times permanently slower once 1,000 waited", capacity.NoRecovery, 0, func(s *server) {
			slow := false
			s.deep = true
			s.service = func(r *rand.Rand, queue int) float64 {
				if slow = slow || queue > 1000; slow {
					return 3 * of.service(r)
				}
				return of.service(r)
			}
		}},
		{"half as fast after 150,000 operations", capacity.Declines, 0, func(s *server) {
			done := 0.0
			s.service = func(r *rand.Rand, _ int) float64 {
				done++
				return of.service(r) * (1 + done/150_000)
			}
		}},
		{"5 % of operations 10 ms later, in two steps of five", capacity.Unstable, 0, func(s *server) {
			slow := false
			s.service = simple(of, 1)
			s.tail = func(r *rand.Rand, first bool) float64 {
				if first {
					slow = r.Float64() < 0.4
				}
				if slow && r.Float64() < 0.05 {
					return 0.01
				}
				return 0
			}
		}},
		{"pauses of 100 ms every 4 s", capacity.Unstable, 0, func(s *server) {
			s.service, s.pauses = simple(of, 1), &pauses{length: 0.1, apart: 4}
		}},
		{"others take 20 % in one step of three, which is seen", capacity.Found, 0, func(s *server) {
			s.service, s.taken = simple(of, 1), func(r *rand.Rand) bool { return r.Float64() < 1.0/3 }
		}},
		{"a client that can send 7,000/s", capacity.Client, 7000, func(s *server) { s.service = simple(of, 1) }},
		{"a client that begins 3 % of operations 20 ms late", capacity.Client, 0, func(s *server) {
			s.service, s.late = simple(of, 1), func(r *rand.Rand) float64 {
				if r.Float64() < 0.03 {
					return 0.02
				}
				return 0
			}
		}},
		{"a client that begins operations 0.2 ms late on average", capacity.Found, 0, func(s *server) {
			s.service, s.late = simple(of, 1), func(r *rand.Rand) float64 { return 2e-4 * r.ExpFloat64() }
		}},
	}
	made := table{Columns: []string{"store", "told as", "in", "otherwise"}}
	for i, one := range odd {
		outcomes := each("capacity-odd", i, series, func(r *rand.Rand) capacity.Outcome {
			s := &server{r: r}
			one.make(s)
			fitted, _ := s.search(r.Uint64(), one.client)
			return fitted.Outcome
		})
		counts := map[capacity.Outcome]int{}
		for _, o := range outcomes {
			counts[o]++
		}
		right := float64(counts[one.wants]) / float64(series)
		within(t, one.name, right, 0.85, 1, series)
		others := ""
		for _, o := range []capacity.Outcome{capacity.Found, capacity.AtLeast, capacity.Client, capacity.Below,
			capacity.Cliff, capacity.NoRecovery, capacity.Declines, capacity.Unstable, capacity.Unfinished} {
			if n := counts[o]; n > 0 && o != one.wants {
				if others != "" {
					others += ", "
				}
				others += fmt.Sprintf("%s %s", o, percent(float64(n)/float64(series)))
			}
		}
		if others == "" {
			others = "–"
		}
		made.Rows = append(made.Rows, []string{one.name, string(one.wants), percent(right), others})
	}
	return made
}
