package text

import (
	"charm.land/lipgloss/v2"

	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// effects draws what each axis of a factorial does to each store.
func (p *page) effects(effects []model.Effect) {
	if len(effects) == 0 {
		return
	}
	p.blank()
	p.add(p.strong.Render("── Effects of the axes ──"))
	of := func(title string, keep int, left bool, cell func(model.Effect) string) gridColumn {
		c := gridColumn{title: title, keep: keep, left: left}
		for _, e := range effects {
			c.cells = append(c.cells, cell(e))
		}
		return c
	}
	lines, _ := grid([]gridColumn{
		of("phase", 0, true, func(e model.Effect) string { return e.Phase + " (" + e.Class + ")" }),
		of("store", 0, true, func(e model.Effect) string { return format.CleanMax(e.Arm, 60) }),
		of("change", 0, true, func(e model.Effect) string { return e.Change() }),
		of("rate", 0, false, func(e model.Effect) string { return format.Factor(e.Ratio.Value) }),
		of("95 %", 0, false, func(e model.Effect) string {
			return format.Factor(*e.Ratio.Low) + " to " + format.Factor(*e.Ratio.High)
		}),
		of("", 0, true, func(e model.Effect) string { return e.Ratio.Shown() }),
	}, p.width-2, p.paint, func(int) lipgloss.Style { return p.plain })
	for _, line := range lines {
		p.add("  " + line)
	}
}
