package html

import (
	"fmt"
	"slices"

	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// ScalingPictures draws what was measured of each size and the law that explains it, with its band: a picture
// for each phase, class and axis.
func (p page) ScalingPictures() (all []*picture) {
	for i := 0; i < len(p.Scaling); {
		n := 1
		for i+n < len(p.Scaling) && alike(&p.Scaling[i], &p.Scaling[i+n]) {
			n++
		}
		all = append(all, p.scalingPicture(p.Scaling[i:i+n]))
		i += n
	}
	return all
}

// alike reports whether two stand in one picture.
func alike(a, b *model.Scaling) bool {
	return a.Run == b.Run && a.Class == b.Class && a.Phase == b.Phase && a.Case == b.Case && a.Axis == b.Axis
}

func (p page) scalingPicture(of []model.Scaling) *picture {
	var xs, ys []float64
	for i := range of {
		xs, ys = append(xs, of[i].Sizes...), append(ys, of[i].Rates...)
		for _, c := range of[i].Curve {
			ys = append(ys, c.High)
		}
	}
	first := &of[0]
	title := fmt.Sprintf("%s (%s)", first.Phase, first.Class)
	if first.Case != "" {
		title += ", " + first.Case
	}
	drawn := &picture{Title: title, X: zeroAxis(first.AxisName(), xs), Y: zeroAxis("rate", ys),
		Label: fmt.Sprintf("Rate by %s in %s", first.AxisName(), title)}
	drawn.ticks(format.Number, rateText)
	for i := range of {
		s := &of[i]
		hue := p.hueOf(s.Arm, i)
		var x, y, low, high []float64
		for _, c := range s.Curve {
			x, y, low, high = append(x, c.Size), append(y, c.Rate), append(low, c.Low), append(high, c.High)
		}
		if len(x) > 1 {
			drawn.curve(hue, x, y, low, high)
		}
		last := slices.Index(s.Sizes, slices.Max(s.Sizes))
		for k, size := range s.Sizes {
			label := ""
			if k == last {
				label = s.Arm
			}
			drawn.mark(size, s.Rates[k], nil, nil, hue, label, fmt.Sprintf("%s: %s at %s %s", s.Arm, rateText(s.Rates[k]), format.Number(size), s.AxisName()))
		}
		if s.Peak > 0 && s.Peak <= slices.Max(s.Sizes) {
			drawn.mark(s.Peak, s.PeakRate, nil, nil, hue, "", fmt.Sprintf("%s peaks at %s %s, by its law", s.Arm, format.Tenths(s.Peak), s.AxisName()))
			drawn.Marks[len(drawn.Marks)-1].Hollow = true
		}
	}
	drawn.label()
	return drawn
}

// hueOf is the hue of an arm, or of a store without one of its options, which no arm is.
func (p page) hueOf(arm string, position int) string {
	if look, has := p.Looks[arm]; has {
		return look.Hue
	}
	return fmt.Sprintf("arm-%d", position%hues)
}
