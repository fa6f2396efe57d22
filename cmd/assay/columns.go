package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// columns is a plain table for lists: no colour, no borders, so that cut and awk can read it.
type columns struct{ rows [][]string }

func newColumns(head ...string) *columns { return &columns{rows: [][]string{head}} }

func (c *columns) add(cells ...string) { c.rows = append(c.rows, cells) }

// dropEmpty leaves out the columns in which no row has a value.
func (c *columns) dropEmpty() {
	for i := len(c.rows[0]) - 1; i >= 0; i-- {
		if slices.ContainsFunc(c.rows[1:], func(row []string) bool { return row[i] != "–" }) {
			continue
		}
		for r, row := range c.rows {
			c.rows[r] = slices.Delete(row, i, i+1)
		}
	}
}

func (c *columns) print(w io.Writer) error {
	var lines bytes.Buffer
	t := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	for _, row := range c.rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(lines.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
