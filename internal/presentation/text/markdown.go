package text

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// Markdown writes the screen for a pull request: GitHub's tables, and the closing lines as a list.
func Markdown(w io.Writer, r *model.Result) error {
	r = format.Shown(r)
	var lines []string
	add := func(line string, arguments ...any) { lines = append(lines, fmt.Sprintf(line, arguments...)) }
	add("**%s**", escape(r.Summary.Question))
	add("")
	add("%s", escape(finding.Text(r.Summary.Ran)))
	for _, s := range r.Summary.Sections {
		title := s.Title
		if s.Unit != "" {
			title += ", " + s.Unit
		}
		if s.Cell != "" {
			title += ", " + s.Cell
		}
		add("")
		add("### %s", escape(strings.ToUpper(title[:1])+title[1:]))
		add("")
		head, rule := "| store |", "|:--|"
		for _, c := range s.Columns {
			head += " " + escape(c.Title) + " |"
			rule += "--:|"
		}
		add("%s", head)
		add("%s", rule)
		for _, row := range s.Rows {
			line := "| " + escape(row.Arm) + " |"
			for at, cell := range row.Cells {
				text := cellText(s.Columns[at].Kind, cell)
				if cell.Letters != "" && sharesLetters(s.Rows, at) {
					text += " " + cell.Letters
				}
				if cell.Unsteady {
					text += " ~"
				}
				text = escape(text)
				if cell.Best {
					text = "**" + text + "**"
				}
				line += " " + text + " |"
			}
			add("%s", line)
		}
		for _, m := range append(append([]finding.Message{}, s.Changes...), s.Missing...) {
			add("")
			add("%s", escape(finding.Text(m)))
		}
	}
	add("")
	for _, part := range r.Summary.Lists() {
		for _, m := range part.Messages {
			add("- **%s:** %s", part.Title, escape(finding.Text(m)))
		}
	}
	for _, next := range r.Summary.Next {
		add("- **Next:** `%s` %s", strings.ReplaceAll(next.Command, "`", "'"), escape(finding.Text(next.Why)))
	}
	return write(w, lines)
}

// escape keeps outside text from being markup.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "'", "[", `\[`, "]", `\]`).Replace(text)
}
