// Package loss draws how fast stores write against what a cut takes from them: a point for each store and
// class. Both axes are logarithmic; what lost nothing stands on a line of its own below them.
package loss

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/base/format"
)

// Point is a store in one class.
type Point struct {
	Name string  // "bbolt (D1)"
	Rate float64 // single writes per second, on the disk
	// Median, Low, High and Worst are how long before the cut the first missing write was acknowledged:
	// the median over cuts with its 95 % interval, and the worst. 0: none was missing.
	Median, Low, High, Worst time.Duration
	// Records and RecordsWorst miss their last write.
	Records, RecordsWorst uint64
	Cuts                  int
	LostAll               int // of Cuts: nothing of the load was left, so that a longer one would have lost more
	Refused               int // cuts after which the store did not open: they are in no other figure
}

// axis maps a range of positive numbers to 0 … 1, by logarithm.
type axis struct{ low, high float64 }

// axisOf spans whole powers of ten.
func axisOf(values []float64) axis {
	if len(values) == 0 {
		return axis{0, 1}
	}
	a := axis{math.Floor(math.Log10(slices.Min(values))), math.Ceil(math.Log10(slices.Max(values)))}
	a.high = max(a.high, a.low+1)
	return a
}

func (a axis) at(v float64) float64 { return (math.Log10(v) - a.low) / (a.high - a.low) }

// ticks are the powers of ten of the axis.
func (a axis) ticks() (all []float64) {
	for e := a.low; e <= a.high; e++ {
		all = append(all, math.Pow(10, e))
	}
	return all
}

// axes have room for all that is drawn.
func axes(points []Point) (rate, lost axis) {
	var rates, times []float64
	for _, p := range points {
		rates = append(rates, p.Rate)
		for _, d := range []time.Duration{p.Median, p.Low, p.High, p.Worst} {
			if d > 0 {
				times = append(times, d.Seconds())
			}
		}
	}
	return axisOf(rates), axisOf(times)
}

// Drawn are the points that have both coordinates, the fastest first.
func Drawn(points []Point) (drawn []Point) {
	for _, p := range points {
		if p.Rate > 0 && p.Cuts > 0 {
			drawn = append(drawn, p)
		}
	}
	slices.SortStableFunc(drawn, func(a, b Point) int { return -int(math.Copysign(1, a.Rate-b.Rate)) })
	return drawn[:min(len(drawn), pointsMax)]
}

const (
	pointsMax = 26 // one letter each
	columns   = 60
	rows      = 10
)

// letter names a point.
func letter(i int) string { return string(rune('a' + i)) }

// Text draws the points in characters, and lists them. Where none lost anything, the list says it all. It
// writes nothing of no points.
func Text(w io.Writer, points []Point) error {
	points = Drawn(points)
	if len(points) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("Rate against loss: how long before the cut the first lost write was acknowledged (median).\n\n")
	if slices.ContainsFunc(points, func(p Point) bool { return p.Median > 0 }) {
		draw(&b, points)
	}
	for i, p := range points {
		fmt.Fprintf(&b, "  %s  %s: %s; %s\n", letter(i), p.Name, perSecond(p.Rate), p.lost())
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

func draw(b *strings.Builder, points []Point) {
	rates, times := axes(points)
	grid := make([][]string, rows+1) // the last row is of those that lost nothing
	for i := range grid {
		grid[i] = slices.Repeat([]string{" "}, columns+1)
	}
	for i, p := range points {
		row := rows
		if p.Median > 0 {
			row = rows - 1 - int(math.Round(times.at(p.Median.Seconds())*(rows-1)))
		}
		column := int(math.Round(rates.at(p.Rate) * columns))
		for grid[row][column] != " " && column < columns { // beside one that is there already
			column++
		}
		grid[row][column] = letter(i)
	}
	for i, cells := range grid {
		label := ""
		if i == rows {
			fmt.Fprintf(b, "%9s +%s\n", "", strings.Repeat("-", columns+1))
			label = "none lost"
		}
		for _, t := range times.ticks() {
			if i < rows && rows-1-int(math.Round(times.at(t)*(rows-1))) == i {
				label = seconds(t)
			}
		}
		fmt.Fprintf(b, "%9s |%s\n", label, strings.TrimRight(strings.Join(cells, ""), " "))
	}
	marks := slices.Repeat([]string{" "}, columns+14)
	for _, t := range rates.ticks() {
		for i, r := range perSecond(t) {
			if at := int(math.Round(rates.at(t)*columns)) + i; at < len(marks) {
				marks[at] = string(r)
			}
		}
	}
	fmt.Fprintf(b, "%9s  %s\n\n", "", strings.TrimRight(strings.Join(marks, ""), " "))
}

func seconds(s float64) string {
	return format.Duration(time.Duration(math.Round(s * float64(time.Second))))
}

func perSecond(rate float64) string { return format.Rate(rate) }

// lost says what cuts took.
func (p Point) lost() string {
	text := "lost nothing"
	if p.Worst > 0 {
		text = fmt.Sprintf("lost median %s (95 %% interval %s to %s), at most %s; %s, at most %s", format.Duration(p.Median), format.Duration(p.Low),
			format.Duration(p.High), format.Duration(p.Worst), format.Plural(int(p.Records), "record", ""), format.Count(p.RecordsWorst))
	}
	text += fmt.Sprintf(" (%s)", format.Plural(p.Cuts, "cut", ""))
	if p.LostAll > 0 {
		text += fmt.Sprintf("; nothing was left after %d, and a longer load would have lost more", p.LostAll)
	}
	if p.Refused > 0 {
		text += fmt.Sprintf("; did not open after %d more", p.Refused)
	}
	return text
}

// The drawing, in pixels.
const (
	width, height = 900, 460
	left, bottom  = 90, 60
	top, right    = 20, 30
	noneHeight    = 40 // of the line of those that lost nothing
)

type mark struct {
	X, Y, Low, High, Worst float64
	Letter, Text           string
	Lost                   bool
}

type tick struct {
	At   float64
	Text string
}

type drawing struct {
	Title, Note      string
	Width, Height    int
	Left, Right, Top float64
	Bottom, None     float64
	Marks            []mark
	XTicks, YTicks   []tick
}

// parsed waits for the first picture: every start of the command would take the time.
var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("picture").Parse(pictureText))
})

const pictureText = `<style>
.loss svg { width: 100%; height: auto; } .loss text { fill: currentColor; font-size: 13px; } .loss .axis { stroke: currentColor; stroke-opacity: .5; }
.loss .grid { stroke: currentColor; stroke-opacity: .12; } .loss .worst { stroke: #c0392b; stroke-width: 1.5; stroke-dasharray: 3 3; }
.loss .interval { stroke: #2874a6; stroke-width: 4; stroke-opacity: .6; } .loss circle { fill: #2874a6; }
.loss td { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; }
</style><figure class="loss">
<svg viewBox="0 0 {{.Width}} {{.Height}}" role="img" aria-label="Rate of single writes against the time of lost writes">
{{$d := .}}{{range .XTicks}}<line class="grid" x1="{{.At}}" x2="{{.At}}" y1="{{$d.Top}}" y2="{{$d.None}}"/><text x="{{.At}}" y="{{$d.Bottom}}" text-anchor="middle" dy="18">{{.Text}}</text>
{{end}}{{range .YTicks}}<line class="grid" x1="{{$d.Left}}" x2="{{$d.Right}}" y1="{{.At}}" y2="{{.At}}"/><text x="{{$d.Left}}" y="{{.At}}" text-anchor="end" dx="-8" dy="4">{{.Text}}</text>
{{end}}<line class="axis" x1="{{.Left}}" x2="{{.Left}}" y1="{{.Top}}" y2="{{.Bottom}}"/><line class="axis" x1="{{.Left}}" x2="{{.Right}}" y1="{{.Bottom}}" y2="{{.Bottom}}"/>
<text x="{{.Left}}" y="{{.None}}" text-anchor="end" dx="-8" dy="4">none lost</text><text x="{{.Right}}" y="{{.Bottom}}" text-anchor="end" dy="42">single writes per second</text>
{{range .Marks}}<g><title>{{.Text}}</title>{{if .Lost}}<line class="worst" x1="{{.X}}" x2="{{.X}}" y1="{{.Y}}" y2="{{.Worst}}"/><line class="interval" x1="{{.X}}" x2="{{.X}}" y1="{{.Low}}" y2="{{.High}}"/>{{end}}<circle cx="{{.X}}" cy="{{.Y}}" r="5"/><text x="{{.X}}" y="{{.Y}}" dx="8" dy="-6">{{.Letter}}</text></g>
{{end}}</svg>
<table><tbody>
{{range .Marks}}<tr><td>{{.Letter}}</td><td>{{.Text}}</td></tr>
{{end}}</tbody></table></figure>
{{define "page"}}<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>:root { color-scheme: light dark; } body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }</style></head><body>
<h1>{{.Title}}</h1><p>{{.Note}}</p>
{{template "picture" .}}
</body></html>
{{end}}`

// Page writes the points as a page of its own.
func Page(w io.Writer, title, note string, points []Point) error {
	d := drawingOf(points)
	d.Title, d.Note = title, note
	return parsed().ExecuteTemplate(w, "page", d)
}

// Picture returns the points as a part of a page: the median with its interval, and a dashed line to the
// worst. "": there is none.
func Picture(points []Point) (template.HTML, error) {
	if len(Drawn(points)) == 0 {
		return "", nil
	}
	var b strings.Builder
	err := parsed().ExecuteTemplate(&b, "picture", drawingOf(points))
	return template.HTML(b.String()), err
}

func drawingOf(points []Point) drawing {
	points = Drawn(points)
	rates, times := axes(points)
	d := drawing{Width: width, Height: height, Left: left, Right: width - right, Top: top, Bottom: height - bottom,
		None: height - bottom - noneHeight/2}
	x := func(rate float64) float64 { return pixel(left + rates.at(rate)*(width-left-right)) }
	y := func(s float64) float64 {
		if s <= 0 {
			return d.None
		}
		const low = height - bottom - noneHeight
		return pixel(low - times.at(s)*(low-top))
	}
	for _, t := range rates.ticks() {
		d.XTicks = append(d.XTicks, tick{x(t), perSecond(t)})
	}
	for _, t := range times.ticks() {
		d.YTicks = append(d.YTicks, tick{y(t), seconds(t)})
	}
	for i, p := range points {
		d.Marks = append(d.Marks, mark{X: x(p.Rate), Y: y(p.Median.Seconds()), Low: y(p.Low.Seconds()),
			High: y(p.High.Seconds()), Worst: y(p.Worst.Seconds()),
			Letter: letter(i), Text: fmt.Sprintf("%s: %s; %s", p.Name, perSecond(p.Rate), p.lost()), Lost: p.Worst > 0})
	}
	return d
}

func pixel(v float64) float64 { return math.Round(v*10) / 10 }
