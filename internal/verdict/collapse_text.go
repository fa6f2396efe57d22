package verdict

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"assay/internal/stat"
)

const (
	// sparkWidth is the largest number of columns of the drawn series.
	sparkWidth = 72
	// levelRowsMax is how many levels a table for a terminal has.
	levelRowsMax = 40
)

// WriteText writes an analysis for a terminal: the sentences, the series drawn in a line with its marks, the levels as a table.
func (a *Analysis) WriteText(w io.Writer, s stat.Series) error {
	var b strings.Builder
	for _, sentence := range a.Sentences {
		fmt.Fprintln(&b, sentence)
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "! %s. Remedy: %s.\n", warning.Evidence, warning.Remedy)
	}
	if len(s.Rates) > 0 {
		b.WriteByte('\n')
		a.draw(&b, s)
	}
	if len(a.Segments) > 0 {
		b.WriteByte('\n')
		a.table(&b, clockOf(s))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// draw draws the mean rate of each column, on a linear scale from 0, and under it the marks: C where a cliff begins, ! where it
// stalled, v where it dipped, ^ where it spiked, | where the level changed.
func (a *Analysis) draw(b *strings.Builder, s stat.Series) {
	n := len(s.Rates)
	width := min(n, sparkWidth)
	begin, end := s.Begin, s.Ends[n-1]
	column := func(at float64) int {
		return min(max(int(float64(width)*(at-begin)/(end-begin)), 0), width-1)
	}
	sums, counts := make([]float64, width), make([]float64, width)
	for i, r := range s.Rates {
		at := column((beginning(s, i) + s.Ends[i]) / 2)
		sums[at] += r
		counts[at]++
	}
	most := 0.0
	for i := range sums {
		if counts[i] > 0 {
			sums[i] /= counts[i]
		}
		most = math.Max(most, sums[i])
	}
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	line, marks := make([]rune, width), []rune(strings.Repeat(" ", width))
	for i := range line {
		switch {
		case counts[i] == 0:
			line[i] = ' '
		case most == 0 || sums[i] == 0:
			line[i] = '_'
		default:
			line[i] = blocks[max(int(math.Round(sums[i]/most*8)), 1)]
		}
	}
	for _, kind := range []struct {
		dips *stat.Dips
		sign rune
	}{{a.Spikes, '^'}, {a.Dips, 'v'}} {
		if kind.dips != nil {
			for _, dip := range kind.dips.Events {
				marks[column(beginning(s, dip.From))] = kind.sign
			}
		}
	}
	for _, kind := range []struct {
		kind string
		sign rune
	}{{"change", '|'}, {"stall", '!'}, {"cliff", 'C'}} {
		for _, m := range a.Marks {
			if m.Kind == kind.kind {
				marks[column(m.At)] = kind.sign
			}
		}
	}
	fmt.Fprintf(b, "%s  (top: %s)\n", string(line), rate(most))
	if text := strings.TrimRight(string(marks), " "); text != "" {
		fmt.Fprintln(b, text)
	}
	clock := clockOf(s)
	from, to := clock.seconds(begin), clock.seconds(end)
	fmt.Fprintf(b, "%s%s%s", from, strings.Repeat(" ", max(width-len(from)-len(to), 1)), to)
	var legend []string
	for _, sign := range []struct{ sign, meaning string }{{"C", "C cliff"}, {"!", "! stall"}, {"v", "v dip"}, {"^", "^ spike"}, {"|", "| change of level"}} {
		if slices.Contains(marks, []rune(sign.sign)[0]) {
			legend = append(legend, sign.meaning)
		}
	}
	if len(legend) > 0 {
		fmt.Fprintf(b, "  %s", strings.Join(legend, ", "))
	}
	b.WriteByte('\n')
}

func (a *Analysis) table(b *strings.Builder, clock clock) {
	rows := [][]string{{"from", "to", "mean rate", "records at its end", "bytes at its end"}}
	if besides := a.besides(); besides != "" {
		rows[0][2] = "mean rate between " + besides
	}
	for _, level := range a.Segments {
		row := []string{clock.seconds(level.From), clock.seconds(level.To), rate(level.Rate), "–", "–"}
		if level.Records != nil {
			row[3] = amount(*level.Records)
		}
		if level.Bytes != nil {
			row[4] = size(*level.Bytes)
		}
		rows = append(rows, row)
	}
	for column := len(rows[0]) - 1; column > 2; column-- { // what was never measured has no column
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "–" }) {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], column, column+1)
			}
		}
	}
	left := 0
	if len(rows) > 1+levelRowsMax {
		left = len(rows) - 1 - levelRowsMax
		rows = slices.Delete(rows, 1+levelRowsMax/2, 1+levelRowsMax/2+left)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for r, row := range rows {
		if left > 0 && r == 1+levelRowsMax/2 {
			fmt.Fprintf(b, "… %s: --format json has all\n", plural(left, "level more", "levels more"))
		}
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(b, "%*s", widths[i], cell)
		}
		b.WriteByte('\n')
	}
}
