package tell

import (
	"math"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// effectLinesMax are the changes that the one screen tells of, if there are no more.
const effectLinesMax = 4

// EffectLines are the changes of level for the one screen, one a line over all arms and phases; none
// where they are many. Levels that are nowhere told from the same one, in as many cases, are one line.
func EffectLines(effects []model.Effect) (messages []finding.Message) {
	type change struct{ from, to string }
	var order []change
	of := map[change][]model.Effect{}
	for _, e := range effects {
		if len(e.Axes) > 1 {
			continue
		}
		c := change{e.From[0], e.To[0]}
		if of[c] == nil {
			order = append(order, c)
		}
		of[c] = append(of[c], e)
	}
	var lines []finding.EffectSummaryParams
	for _, c := range order {
		low, high, significant := math.Inf(1), math.Inf(-1), 0
		for _, e := range of[c] {
			if e.Ratio.Significant {
				low, high, significant = min(low, e.Ratio.Value), max(high, e.Ratio.Value), significant+1
			}
		}
		p := finding.EffectSummaryParams{From: c.from, To: []string{c.to}, Significant: significant, Of: len(of[c])}
		if significant > 0 {
			p.Low, p.High = &low, &high
		}
		if same := slices.IndexFunc(lines, func(other finding.EffectSummaryParams) bool {
			return other.From == c.from && other.Significant == 0 && significant == 0 && other.Of == p.Of
		}); same >= 0 {
			lines[same].To = append(lines[same].To, c.to)
			continue
		}
		lines = append(lines, p)
	}
	if len(lines) > effectLinesMax {
		return nil
	}
	for _, p := range lines {
		p.To = format.InLine(p.To)
		messages = append(messages, finding.New(p))
	}
	return messages
}
