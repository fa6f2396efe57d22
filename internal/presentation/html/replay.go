package html

import (
	"fmt"
	"math"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment/recording"
	"assay/internal/presentation/model"
)

// replayChart draws what each store was sent beside what was recorded. It needs no script: it has a few
// points.
type replayChart struct {
	Title, Note, Label string
	XTicks, YTicks     []replayTick
	Lines              []replayLine
}

type replayTick struct {
	At   float64
	Text string
}

// replayLine is a curve: of the recording where Arm is "".
type replayLine struct {
	Arm    string
	Points string
	Look   look
}

// The drawing, in pixels.
const (
	replayLeft, replayRight = 60.0, 470.0
	replayTop, replayBottom = 12.0, 180.0
)

// Replayed returns the charts of a table that replays a recording.
func (p page) Replayed(t model.Table) (charts []replayChart) {
	hits := replayChart{Title: "Hit rates", Note: "of LRU caches for a share of all keys, simulated; line: recorded, dots: sent",
		Label: "Hit rates of simulated caches, recorded and sent"}
	gaps := replayChart{Title: "Gaps between requests", Note: "by the share of gaps that are shorter; line: recorded, dots: sent",
		Label: "Gaps between requests, recorded and sent"}
	low, high := gapBounds(t)
	for _, row := range t.Rows {
		f := row.Replay
		if f == nil || row.Standing == model.Reference {
			continue
		}
		hits.add(p, row.Arm, len(f.HitRates), func(i int) (name string, recorded, sent float64) {
			h := f.HitRates[i]
			return format.Tenths(100*h.KeysShare) + " %", h.Recorded, h.Sent
		})
		gaps.add(p, row.Arm, len(f.GapsAt), func(i int) (name string, recorded, sent float64) {
			g := f.GapsAt[i]
			return "p" + format.Tenths(100*g.Share), logShare(g.RecordedNS, low, high), logShare(g.SentNS, low, high)
		})
	}
	for i := range 5 {
		hits.YTicks = append(hits.YTicks, replayTick{replayY(float64(i) / 4), fmt.Sprintf("%d %%", 25*i)})
	}
	for e := low; e <= high; e++ {
		text := format.Duration(time.Duration(math.Pow(10, e)))
		gaps.YTicks = append(gaps.YTicks, replayTick{replayY((e - low) / (high - low)), text})
	}
	for _, c := range []replayChart{hits, gaps} {
		if len(c.Lines) > 0 {
			charts = append(charts, c)
		}
	}
	return charts
}

// add adds a store's curve and, before the first one, the recording's.
func (c *replayChart) add(p page, arm string, points int, of func(i int) (name string, recorded, sent float64)) {
	if points < 2 {
		return
	}
	var was, is []string
	for i := range points {
		x := replayLeft + (replayRight-replayLeft)*float64(i)/float64(points-1)
		name, recorded, sent := of(i)
		was, is = append(was, fmt.Sprintf("%.1f,%.1f", x, replayY(recorded))), append(is, fmt.Sprintf("%.1f,%.1f", x, replayY(sent)))
		if len(c.Lines) == 0 {
			c.XTicks = append(c.XTicks, replayTick{x, name})
		}
	}
	if len(c.Lines) == 0 {
		c.Lines = append(c.Lines, replayLine{Points: strings.Join(was, " ")})
	}
	c.Lines = append(c.Lines, replayLine{Arm: arm, Points: strings.Join(is, " "), Look: p.Look(arm)})
}

// Dots are the points of the line.
func (l replayLine) Dots() (dots []struct{ X, Y string }) {
	for _, point := range strings.Fields(l.Points) {
		x, y, _ := strings.Cut(point, ",")
		dots = append(dots, struct{ X, Y string }{x, y})
	}
	return dots
}

func replayY(share float64) float64 {
	return replayBottom - (replayBottom-replayTop)*min(max(share, 0), 1)
}

// logShare places a gap between two powers of ten.
func logShare(ns, low, high float64) float64 { return (math.Log10(max(ns, 1)) - low) / (high - low) }

// gapBounds returns the powers of ten between which all gaps of a table lie.
func gapBounds(t model.Table) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range t.Rows {
		for _, g := range gapsOf(row.Replay) {
			for _, ns := range []float64{g.RecordedNS, g.SentNS} {
				low, high = min(low, math.Floor(math.Log10(max(ns, 1)))), max(high, math.Ceil(math.Log10(max(ns, 1))))
			}
		}
	}
	if high < low {
		return 0, 1
	}
	return low, max(high, low+1)
}

func gapsOf(f *recording.Fidelity) []recording.GapAt {
	if f == nil {
		return nil
	}
	return f.GapsAt
}
