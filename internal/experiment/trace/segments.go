package trace

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"time"
)

// Form is the rule by which the rate of a segment goes.
type Form string

const (
	FormStep  Form = "step"  // it stays at To
	FormRamp  Form = "ramp"  // from From to To, in a straight line
	FormBurst Form = "burst" // From, and in the middle of each Every for a Length long To
	FormSine  Form = "sine"  // between From, at which it begins, and To, once in each Every
	FormFile  Form = "file"  // through Points, in straight lines
)

// Segment is a stretch of open load whose rate goes by one rule. Rates are operations a second over
// all threads.
type Segment struct {
	Form     Form          `json:"form"`
	Duration time.Duration `json:"duration_ns"`
	From     float64       `json:"from,omitempty"`
	To       float64       `json:"to,omitempty"`
	Every    time.Duration `json:"every_ns,omitempty"`
	Length   time.Duration `json:"length_ns,omitempty"`
	Points   []Point       `json:"points,omitempty"` // the first at 0, the last at Duration
}

// Point is a rate at a moment, counted from the segment's begin. Two points at one moment are a jump.
type Point struct {
	At   time.Duration `json:"at_ns"`
	Rate float64       `json:"rate"`
}

// Bounds of load over time.
const (
	SegmentsMax = 1000   // of a phase
	PointsMax   = 20_000 // of a file
	BurstsMax   = 200    // of a phase: each is reported by itself
	piecesMax   = 1 << 21

	rateMax = 1e9
	// sinePieces are the straight lines that stand for one period: their area differs from the
	// sine's by at most 4 parts in a million of its height.
	sinePieces = 1024
)

func (s *Segment) check() error {
	for _, rate := range append([]float64{s.From, s.To}, ratesOf(s.Points)...) {
		if !(rate >= 0 && rate <= rateMax) {
			return fmt.Errorf("rate %v: expected 0 to 1e9 operations a second", rate)
		}
	}
	periodic := s.Form == FormBurst || s.Form == FormSine
	switch {
	case s.Duration <= 0:
		return errors.New("a segment of no length")
	case periodic && s.Every <= 0:
		return fmt.Errorf("a %s without a period", s.Form)
	case s.Form == FormBurst && (s.Length <= 0 || s.Length >= s.Every):
		return fmt.Errorf("a burst of %s in each %s", s.Length, s.Every)
	case s.Form == FormFile:
		return s.checkPoints()
	case s.Form != FormStep && s.Form != FormRamp && !periodic:
		return fmt.Errorf("unknown form %q of a segment", s.Form)
	}
	return nil
}

func (s *Segment) checkPoints() error {
	if len(s.Points) < 2 || s.Points[0].At != 0 || s.Points[len(s.Points)-1].At != s.Duration {
		return fmt.Errorf("%d points that do not span the segment", len(s.Points))
	}
	for i, p := range s.Points[1:] {
		if p.At < s.Points[i].At {
			return fmt.Errorf("point %d is before the one before it", i+1)
		}
	}
	return nil
}

func ratesOf(points []Point) (rates []float64) {
	for _, p := range points {
		rates = append(rates, p.Rate)
	}
	return rates
}

// Load is a rate over time: the integral of its segments, in straight pieces.
type Load struct {
	pieces []piece
	edges  []time.Duration // between stretches
}

// piece is a straight line of the rate.
type piece struct {
	at, seconds float64 // since the begin
	from, to    float64 // operations a second
	before      float64 // operations that are due before it
}

// NewLoad returns what segments come to, one after the other.
func NewLoad(segments []Segment) (*Load, error) {
	if len(segments) > SegmentsMax {
		return nil, fmt.Errorf("%d segments: at most %d", len(segments), SegmentsMax)
	}
	l := &Load{}
	var at time.Duration
	for i := range segments {
		s := &segments[i]
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("segment %d: %w", i+1, err)
		}
		if s.Form == FormSine && float64(s.Duration)/float64(s.Every)*sinePieces > piecesMax {
			return nil, fmt.Errorf("segment %d: %s of periods of %s are too many", i+1, s.Duration, s.Every)
		}
		l.add(s, at)
		at += s.Duration
	}
	if !(l.Total() >= 1) {
		return nil, errors.New("no operation is due in all segments")
	}
	return l, nil
}

func (l *Load) add(s *Segment, at time.Duration) {
	end := at + s.Duration
	switch s.Form {
	case FormStep:
		l.line(at, end, s.To, s.To)
	case FormRamp:
		l.line(at, end, s.From, s.To)
	case FormFile:
		for i, p := range s.Points[1:] {
			before := s.Points[i]
			l.line(at+before.At, at+p.At, before.Rate, p.Rate)
		}
	case FormBurst:
		EachBurst(s, func(from, to time.Duration, burst bool) {
			rate := s.From
			if burst {
				rate = s.To
			}
			l.line(at+from, at+to, rate, rate)
			l.edges = append(l.edges, at+to)
		})
		return
	case FormSine:
		l.sine(s, at)
	}
	l.edges = append(l.edges, end)
}

// sine adds From + (To − From) × (1 − cos) ÷ 2, in straight lines.
func (l *Load) sine(s *Segment, at time.Duration) {
	rate := func(t time.Duration) float64 {
		turn := float64(t%s.Every) / float64(s.Every)
		return s.From + float64((s.To-s.From)*float64((1-cosine(turn))/2))
	}
	for k := int64(0); ; k++ {
		from := s.Every/sinePieces*time.Duration(k) + s.Every%sinePieces*time.Duration(k)/sinePieces
		to := s.Every/sinePieces*time.Duration(k+1) + s.Every%sinePieces*time.Duration(k+1)/sinePieces
		if from >= s.Duration {
			return
		}
		to = min(to, s.Duration)
		l.line(at+from, at+to, rate(from), rate(to))
	}
}

// EachBurst calls for each stretch of a segment of bursts: between them, and in them. Times count from
// the segment's begin.
func EachBurst(s *Segment, do func(from, to time.Duration, burst bool)) {
	last := time.Duration(0)
	stretch := func(to time.Duration, burst bool) {
		if to = min(to, s.Duration); to > last {
			do(last, to, burst)
			last = to
		}
	}
	for begin := (s.Every - s.Length) / 2; begin < s.Duration; begin += s.Every {
		stretch(begin, false)
		stretch(begin+s.Length, true)
	}
	stretch(s.Duration, false)
}

func (l *Load) line(from, to time.Duration, fromRate, toRate float64) {
	if to <= from {
		return
	}
	l.pieces = append(l.pieces, piece{at: from.Seconds(), seconds: (to - from).Seconds(), from: fromRate,
		to: toRate, before: l.Total()})
}

// Total returns how many operations are due in all; what is left of one is not.
func (l *Load) Total() float64 {
	if len(l.pieces) == 0 {
		return 0
	}
	return l.pieces[len(l.pieces)-1].end()
}

// Ends returns when the last segment ends, since the first one's begin.
func (l *Load) Ends() time.Duration { return l.edges[len(l.edges)-1] }

// Operations returns how many operations are due in all.
func (l *Load) Operations() uint64 { return uint64(wholeBefore(l.Total())) }

// wholeBefore returns how many operations are due before a real number of them is: number i when i are.
// What rounding adds to a sum of seconds is none.
func wholeBefore(operations float64) int { return int(math.Ceil(operations - 1e-6)) }

// Until returns how many operations are due before a moment, as a real number.
func (l *Load) Until(at time.Duration) float64 {
	seconds := at.Seconds()
	i := sort.Search(len(l.pieces), func(i int) bool { return l.pieces[i].at+l.pieces[i].seconds >= seconds })
	if i == len(l.pieces) {
		return l.Total()
	}
	return l.pieces[i].until(max(seconds-l.pieces[i].at, 0))
}

// Peak returns the highest rate.
func (l *Load) Peak() (rate float64) {
	for _, p := range l.pieces {
		rate = max(rate, p.from, p.to)
	}
	return rate
}

// until returns how many operations are due before so many seconds of the piece are over.
func (p *piece) until(seconds float64) float64 {
	slope := (p.to - p.from) / p.seconds
	return p.before + float64(p.from*seconds) + float64(float64(slope*seconds)*seconds)/2
}

func (p *piece) end() float64 { return p.before + float64(float64((p.from+p.to)/2)*p.seconds) }

// when returns the seconds since the load's begin at which a number of operations, in the piece, were
// due. It solves from × t + slope × t² ÷ 2 = operations, in the form that has no difference of two
// large numbers.
func (p *piece) when(operations float64) float64 {
	over := max(operations-p.before, 0)
	slope := (p.to - p.from) / p.seconds
	root := math.Sqrt(max(float64(p.from*p.from)+float64(2*float64(slope*over)), 0))
	if p.from+root == 0 {
		return p.at
	}
	return p.at + min(2*over/(p.from+root), p.seconds)
}

// walk finds moments of numbers that ascend.
type walk struct {
	load *Load
	at   int // piece
}

// when returns the ns since the begin at which a number of operations is due.
func (w *walk) when(operations float64) uint64 {
	for w.at < len(w.load.pieces)-1 && operations >= w.load.pieces[w.at].end() {
		w.at++
	}
	return uint64(float64(w.load.pieces[w.at].when(operations) * 1e9))
}

// cosine returns cos(2π × turn) for 0 ≤ turn < 1, the same on every machine, within 10⁻¹⁵.
func cosine(turn float64) float64 {
	// By symmetry to an eighth of a turn, where a short series is enough.
	if turn > 0.5 {
		turn = 1 - turn
	}
	if turn > 0.25 {
		return -cosine(0.5 - turn)
	}
	if turn > 0.125 {
		return series(float64(2*math.Pi*(0.25-turn)), 1)
	}
	return series(float64(2*math.Pi*turn), 0)
}

// series sums x^n ÷ n! for n = first, first + 2 …, with alternating signs: the cosine for 0, the sine
// for 1.
func series(x float64, first int) float64 {
	square, sum := float64(x*x), 0.0
	for n := first + 18; n > first; n -= 2 {
		sum = float64((1-sum)*square) / float64(n*(n-1))
	}
	if first == 1 {
		return float64(x * (1 - sum))
	}
	return 1 - sum
}
