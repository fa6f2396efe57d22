package html

import (
	"fmt"
	"html/template"
	"time"

	"assay/internal/presentation/loss"
)

// RateAgainstLoss draws what power cuts took of each store and class against its rate; "": none was made.
func (p page) RateAgainstLoss() (template.HTML, error) { return loss.Picture(p.lossPoints()) }

func (p page) lossPoints() (points []loss.Point) {
	for i := range p.PowerCuts {
		c := &p.PowerCuts[i]
		if c.Loss == nil || c.Rate == 0 {
			continue
		}
		l := c.Loss
		name := fmt.Sprintf("%s (%s)", c.Arm, c.Class)
		if run := p.RunOf(c.Run); run != "" {
			name += ", run " + run
		}
		points = append(points, loss.Point{Name: name, Rate: c.Rate, Median: time.Duration(l.MedianNS),
			Low: time.Duration(l.LowNS), High: time.Duration(l.HighNS),
			Worst: time.Duration(l.WorstNS), Records: l.Records, RecordsWorst: l.RecordsMax, Cuts: l.Cuts,
			LostAll: l.LostAll, Refused: l.Refused})
	}
	return points
}
