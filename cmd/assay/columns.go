package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// columns is a plain table for lists: no colour, no borders, so that cut and awk can read it.
type columns struct{ rows [][]string }

func newColumns(head ...string) *columns { return &columns{rows: [][]string{head}} }

func (c *columns) add(cells ...string) { c.rows = append(c.rows, cells) }

// dropEmpty leaves out the columns in which no row has a value. Without rows there is nothing to go by.
func (c *columns) dropEmpty() {
	if len(c.rows) == 1 {
		return
	}
	for i := len(c.rows[0]) - 1; i >= 0; i-- {
		if slices.ContainsFunc(c.rows[1:], func(row []string) bool { return row[i] != "–" }) {
			continue
		}
		for r, row := range c.rows {
			c.rows[r] = slices.Delete(row, i, i+1)
		}
	}
}

// print aligns the columns. On a terminal, the last one wraps within its width. Without rows it
// prints nothing: heads alone would look like a table that was lost.
func (c *columns) print(w io.Writer) error {
	if len(c.rows) == 1 || len(c.rows[0]) == 0 {
		return nil
	}
	var widths []int
	for _, row := range c.rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	width := terminalWidth()
	for _, row := range c.rows {
		line, last := "", row[len(row)-1]
		for i, cell := range row[:len(row)-1] {
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
		}
		for i, part := range wrap(last, width-utf8.RuneCountInString(line)) {
			if i > 0 {
				line = strings.Repeat(" ", utf8.RuneCountInString(line))
			}
			if _, err := fmt.Fprintln(w, strings.TrimRight(line+part, " ")); err != nil {
				return err
			}
		}
	}
	return nil
}

// printWrapped writes a sentence behind a sign; on a terminal, within its width.
func printWrapped(w io.Writer, sign, text string) {
	for _, line := range wrap(text, terminalWidth()-len(sign)) {
		fmt.Fprintln(w, sign+line)
		sign = strings.Repeat(" ", len(sign))
	}
}

// wrapMin is the least width that text is wrapped to: narrower, it would be a column of words.
const wrapMin = 24

// wrap breaks text into lines, at spaces. It is one line where there is no terminal, or no room.
func wrap(text string, width int) (lines []string) {
	if width < wrapMin {
		return []string{text}
	}
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
