package text

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
)

// Markdown writes the screen for a pull request: GitHub's tables, and the closing lines as a list.
func Markdown(w io.Writer, r *model.Result) error {
	r = format.Shown(r)
	var lines []string
	add := func(line string, arguments ...any) { lines = append(lines, fmt.Sprintf(line, arguments...)) }
	if r.Summary.Question != "" {
		add("**%s**", escape(r.Summary.Question))
		add("")
	}
	if len(r.Runs) > 1 {
		for _, run := range r.Runs {
			add("**%s**", escape(strings.TrimSpace(run.Name+" "+run.ID+": "+run.Question)))
			add("")
		}
	}
	add("%s", escape(strings.TrimSpace(finding.Text(r.Summary.Ran)+" "+sentences(r.Summary.On))))
	var parts []column.Part
	for _, s := range r.Summary.Sections {
		title := s.Title
		if s.Unit != "" {
			title += ", " + s.Unit
		}
		if of := s.Of(); of != "" {
			title += ", " + of
		}
		add("")
		add("### %s", escape(strings.ToUpper(title[:1])+title[1:]))
		add("")
		shown := column.Parts(r, &s)
		parts = append(parts, shown...)
		head, rule := "| "+finding.HeadOf(finding.ColumnStore).Short+" |", "|:--|"
		for _, part := range shown {
			head += " " + escape(part.Title()) + " |"
			if part.Left {
				rule += ":--|"
			} else {
				rule += "--:|"
			}
		}
		add("%s", head)
		add("%s", rule)
		for i, row := range s.Rows {
			line := "| " + escape(row.Arm) + " |"
			for _, part := range shown {
				line += " " + markdownCell(part.Cells[i]) + " |"
			}
			add("%s", line)
		}
		for _, m := range append(append([]finding.Message{}, s.Changes...), s.Missing...) {
			add("")
			add("%s", escape(finding.Text(m)))
		}
	}
	add("")
	var legend []string
	for _, m := range column.Legend(parts) {
		legend = append(legend, m.String())
	}
	if len(legend) > 0 {
		add("%s.", escape(strings.Join(legend, "; ")))
		add("")
	}
	for _, part := range r.Summary.Lists() {
		for _, m := range part.Messages {
			add("- **%s:** %s", part.Title(), escape(finding.Text(m)))
		}
	}
	for _, next := range r.Summary.Next {
		add("- **%s:** `%s` %s", headed(finding.HeadingNext), strings.ReplaceAll(next.Command, "`", "'"), escape(finding.Text(next.Why)))
	}
	return write(w, lines)
}

// markdownCell is a figure with its sign and its interval, as on the screen.
func markdownCell(c column.ScreenCell) string {
	text := escape(strings.TrimSpace(c.Text + " " + c.Sign))
	if c.Best {
		text = "**" + text + "**"
	}
	if c.Within != "" {
		text += " " + escape(c.Within)
	}
	return text
}

// escape keeps outside text from being markup.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "'", "[", `\[`, "]", `\]`).Replace(text)
}
