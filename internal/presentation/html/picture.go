package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/base/format"
)

// picture is a plot that is drawn here, and not by the script: of few points, which a reader of a print or
// of a page without its script sees as well.
type picture struct {
	Title, Label string
	X, Y         pictureAxis
	Bounds       []pictureLine // of what is asked for
	Curves       []pictureCurve
	Marks        []pictureMark
}

// The drawing, in pixels.
const (
	pictureWidth, pictureHeight = 460, 300
	pictureLeft, pictureRight   = 66, 14
	pictureTop, pictureBottom   = 14, 42
	labelHigh, letterWide       = 13, 6.2
)

// pictureAxis maps numbers to 0 … 1.
type pictureAxis struct {
	Title     string
	Ticks     []pictureTick
	log       bool
	low, high float64 // logarithms where log
}

type pictureTick struct {
	At   float64 // pixels
	Text string
}

// pictureLine is a bound, across or down.
type pictureLine struct {
	X1, Y1, X2, Y2 float64
	Text           string
	TextX, TextY   float64
	Anchor         string
}

// pictureCurve is a line with the band that it lies in; Band "": none.
type pictureCurve struct{ Hue, Path, Band string }

// pictureMark is a point with the interval that it lies in.
type pictureMark struct {
	X, Y, Low, High float64
	Ranged          bool
	Hue, Text       string // Text stands in its tooltip
	Label           string // "": none
	LabelX, LabelY  float64
	Anchor          string
	Hollow          bool
}

// logAxis spans values with some room, by their logarithms.
func logAxis(title string, values []float64) pictureAxis {
	a := pictureAxis{Title: title, log: true, low: math.Inf(1), high: math.Inf(-1)}
	for _, v := range values {
		if v > 0 {
			a.low, a.high = min(a.low, math.Log10(v)), max(a.high, math.Log10(v))
		}
	}
	if math.IsInf(a.low, 1) {
		a.low, a.high = 0, 1
	}
	room := max(0.06*(a.high-a.low), 0.08)
	a.low, a.high = a.low-room, a.high+room
	return a
}

// zeroAxis spans values from 0 on.
func zeroAxis(title string, values []float64) pictureAxis {
	a := pictureAxis{Title: title}
	for _, v := range values {
		a.high = max(a.high, v)
	}
	if a.high *= 1.08; a.high == 0 {
		a.high = 1
	}
	return a
}

func (a *pictureAxis) share(v float64) float64 {
	if a.log {
		v = math.Log10(max(v, 1e-300))
	}
	return (v - a.low) / (a.high - a.low)
}

// steps are where the axis has ticks: at 1, 2 and 5 of each decade, or fewer.
func (a *pictureAxis) steps() (at []float64) {
	if !a.log {
		step := math.Pow(10, math.Floor(math.Log10(a.high/3)))
		for _, times := range []float64{1, 2, 5} {
			if a.high/(step*times) <= 6 {
				step *= times
				break
			}
		}
		for v := 0.0; v <= a.high && len(at) < 12; v += step {
			at = append(at, v)
		}
		return at
	}
	of := []float64{1, 2, 5}
	if a.high-a.low > 1.8 {
		of = []float64{1}
	}
	for decade := math.Floor(a.low); decade <= a.high; decade++ {
		for _, times := range of {
			if v := decade + math.Log10(times); v >= a.low && v <= a.high {
				at = append(at, times*math.Pow(10, decade))
			}
		}
	}
	return at
}

// Sizes of the drawing, for the template.
func (*picture) Width() float64  { return pictureWidth }
func (*picture) Height() float64 { return pictureHeight }
func (*picture) Left() float64   { return pictureLeft }
func (*picture) Right() float64  { return pictureWidth - pictureRight }
func (*picture) Top() float64    { return pictureTop }
func (*picture) Bottom() float64 { return pictureHeight - pictureBottom }

func (p *picture) x(v float64) float64 {
	return pixel(p.Left() + p.X.share(v)*(p.Right()-p.Left()))
}

func (p *picture) y(v float64) float64 {
	return pixel(p.Bottom() - min(max(p.Y.share(v), 0), 1)*(p.Bottom()-p.Top()))
}

func pixel(v float64) float64 { return math.Round(v*10) / 10 }

// ticks sets the ticks of both axes.
func (p *picture) ticks(x, y func(float64) string) {
	for _, v := range p.X.steps() {
		p.X.Ticks = append(p.X.Ticks, pictureTick{p.x(v), x(v)})
	}
	for _, v := range p.Y.steps() {
		p.Y.Ticks = append(p.Y.Ticks, pictureTick{p.y(v), y(v)})
	}
}

// across draws a bound of what stands upwards, and down one of what stands to the right.
func (p *picture) across(v float64, text string) {
	y := p.y(v)
	p.Bounds = append(p.Bounds, pictureLine{p.Left(), y, p.Right(), y, text, p.Right(), y - 4, "end"})
}

func (p *picture) down(v float64, text string) {
	x := p.x(v)
	p.Bounds = append(p.Bounds, pictureLine{x, p.Top(), x, p.Bottom(), text, x - 4, p.Top() + labelHigh - 3, "end"})
}

// mark adds a point; low and high nil: without an interval.
func (p *picture) mark(x, y float64, low, high *float64, hue, label, text string) {
	m := pictureMark{X: p.x(x), Y: p.y(y), Hue: hue, Label: label, Text: text, Anchor: "start"}
	if low != nil && high != nil {
		m.Ranged, m.Low, m.High = true, p.y(*low), p.y(*high)
	}
	p.Marks = append(p.Marks, m)
}

// label places the names of points beside them, none over another.
func (p *picture) label() {
	type box struct{ left, right, y float64 }
	var taken []box
	order := make([]int, len(p.Marks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Marks[a].Y, p.Marks[b].Y) })
	for _, i := range order {
		m := &p.Marks[i]
		if m.Label == "" {
			continue
		}
		wide := letterWide * float64(len([]rune(m.Label)))
		m.LabelX, m.LabelY = m.X+8, m.Y+4
		if m.LabelX+wide > p.Width() {
			m.LabelX, m.Anchor = m.X-8, "end"
		}
		left := m.LabelX
		if m.Anchor == "end" {
			left -= wide
		}
		for slices.ContainsFunc(taken, func(b box) bool {
			return left < b.right && b.left < left+wide && math.Abs(b.y-m.LabelY) < labelHigh
		}) {
			m.LabelY++
		}
		taken = append(taken, box{left, left + wide, m.LabelY})
	}
}

// curve draws a line with its band.
func (p *picture) curve(hue string, x, y, low, high []float64) {
	path := func(ys []float64) (points []string) {
		for i := range x {
			points = append(points, fmt.Sprintf("%v,%v", p.x(x[i]), p.y(ys[i])))
		}
		return points
	}
	c := pictureCurve{Hue: hue, Path: "M" + strings.Join(path(y), "L")}
	if len(low) == len(x) && len(high) == len(x) {
		back := path(high)
		slices.Reverse(back)
		c.Band = "M" + strings.Join(append(path(low), back...), "L") + "Z"
	}
	p.Curves = append(p.Curves, c)
}

func rateText(v float64) string { return format.Rate(v) }
