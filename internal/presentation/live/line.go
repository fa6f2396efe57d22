package live

import (
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
)

// field is a piece of a line. A narrow terminal has fewer and shorter ones: half a number would be
// another number.
type field struct {
	rank        int    // of a line that is too long, the fields of the highest rank go first
	before      string // what parts it from the field before
	least, most int    // columns that it can take
	draw        func(width int) string
}

// whole is a field that is shown as it is or not at all.
func whole(rank int, before string, style lipgloss.Style, text string) field {
	width := lipgloss.Width(text)
	return field{rank, before, width, width, func(int) string { return style.Render(text) }}
}

// name is a field that may be cut.
func name(rank int, before string, style lipgloss.Style, text string) field {
	width := lipgloss.Width(text)
	return field{rank, before, min(width, nameLeast), width, func(width int) string {
		return style.Render(cut(text, width))
	}}
}

// fitted draws the fields for which there is room, and gives what room is left to the first ones
// that can take more.
func fitted(columns int, fields []field) string {
	kept, room := fields, 0
	for rank := highest(fields); ; rank-- {
		if kept = upTo(rank, fields); len(kept) == 0 {
			return ""
		}
		room = columns
		for i, f := range kept {
			room -= f.least
			if i > 0 {
				room -= lipgloss.Width(f.before)
			}
		}
		if room >= 0 {
			break
		}
	}
	var line strings.Builder
	for i, f := range kept {
		if i > 0 {
			line.WriteString(f.before)
		}
		more := min(room, f.most-f.least)
		room -= more
		line.WriteString(f.draw(f.least + more))
	}
	return line.String()
}

func highest(fields []field) int {
	rank := 0
	for _, f := range fields {
		rank = max(rank, f.rank)
	}
	return rank
}

func upTo(rank int, fields []field) (kept []field) {
	for _, f := range fields {
		if f.rank <= rank && f.most > 0 {
			kept = append(kept, f)
		}
	}
	return kept
}

// cut shortens a text that is wider than that many columns, and says so with "…". It leaves no part
// of a number.
func cut(text string, width int) string {
	if lipgloss.Width(text) <= width {
		return text
	}
	if width <= 1 {
		return strings.Repeat("…", max(width, 0))
	}
	kept := lipgloss.NewStyle().MaxWidth(width - 1).Render(text)
	if rest, is := strings.CutPrefix(text, kept); is && strings.IndexFunc(rest, unicode.IsDigit) == 0 {
		kept = strings.TrimRightFunc(kept, func(r rune) bool { return unicode.IsDigit(r) || r == ',' || r == '.' })
	}
	return strings.TrimRight(kept, " ") + "…"
}
