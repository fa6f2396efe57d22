package text

import (
	"charm.land/lipgloss/v2"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// effects draws what each axis of a factorial does to each store.
func (p *page) effects(effects []model.Effect) {
	if len(effects) == 0 {
		return
	}
	p.part(finding.HeadingEffects)
	of := func(title string, left bool, cell func(model.Effect) string) gridColumn {
		c := gridColumn{title: title, left: left}
		for _, e := range effects {
			c.cells = append(c.cells, cell(e))
		}
		return c
	}
	lines, _ := grid([]gridColumn{
		of(finding.HeadOf(finding.ColumnPhase).Short, true, func(e model.Effect) string { return e.Phase + " (" + e.Class + ")" }),
		of(finding.HeadOf(finding.ColumnStore).Short, true,
			func(e model.Effect) string { return format.CleanMax(e.Arm, 60) }),
		of(finding.HeadOf(finding.ColumnChange).Short, true, func(e model.Effect) string { return e.Change() }),
		of(finding.HeadOf(finding.RateColumnParams{Code: finding.ColumnRate}).Heading, false,
			func(e model.Effect) string { return format.Factor(e.Ratio.Value) }),
		of(finding.HeadOf(finding.ColumnInterval).Short, false, func(e model.Effect) string {
			return format.Factor(*e.Ratio.Low) + " to " + format.Factor(*e.Ratio.High)
		}),
		of("", true, func(e model.Effect) string { return e.Ratio.Shown() }),
	}, p.width-2, p.paint, func(int) lipgloss.Style { return p.plain })
	for _, line := range lines {
		p.add("  " + line)
	}
}
