package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/base/format"
)

const (
	plotColumns = 72
	// statedMax and rowsMax keep the answer to 25 lines.
	statedMax = 14
	rowsMax   = 22
)

// writeAnalyses writes one analysis in full, or a line for each of several.
func writeAnalyses(w io.Writer, all []analyzed) error {
	var b strings.Builder
	if len(all) == 1 {
		writeOne(&b, &all[0])
	} else {
		writeRows(&b, all)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeOne(b *strings.Builder, a *analyzed) {
	if a.Where.Trial != "" {
		fmt.Fprintf(b, "%s, phase %s\n", a.Where.Trial, a.Where.Phase)
	}
	for i, f := range a.Findings {
		if i == statedMax-1 && len(a.Findings) > statedMax {
			fmt.Fprintf(b, "%d more findings: --format json\n", len(a.Findings)-i)
			break
		}
		fmt.Fprintln(b, finding.Text(f.Message))
	}
	if remedy := firstRemedy(a.Findings); remedy != "" {
		fmt.Fprintf(b, "Next: %s.\n", remedy)
	}
	if len(a.series.Rates) > 0 {
		b.WriteByte('\n')
		plot(b, &a.series, &a.Shape)
	}
}

func firstRemedy(findings []finding.Finding) string {
	for _, f := range findings {
		if remedy := finding.Remedy(f.Message); remedy != "" {
			return remedy
		}
	}
	return ""
}

func writeRows(b *strings.Builder, all []analyzed) {
	for i, a := range all {
		if i == rowsMax && len(all) > rowsMax+1 {
			fmt.Fprintf(b, "%d more series: --format json\n", len(all)-i)
			break
		}
		text := "nothing found"
		if len(a.Findings) > 0 {
			text = finding.Text(a.Findings[0].Message)
		}
		fmt.Fprintf(b, "%s %s: %s\n", a.Where.Trial, a.Where.Phase, text)
	}
	b.WriteString("One series in full: --trial ID --phase NAME\n")
}

// plot draws the mean rate of each column on a linear scale from 0, and under it where something
// happened.
func plot(b *strings.Builder, s *series.Series, shape *series.Shape) {
	width := min(len(s.Rates), plotColumns)
	column := func(t float64) int {
		return min(max(int(float64(width)*(t-shape.From)/(shape.To-shape.From)), 0), width-1)
	}
	sums, counts := make([]float64, width), make([]float64, width)
	begin, top := s.Begin, 0.0
	for i, rate := range s.Rates {
		if at := column((begin + s.Ends[i]) / 2); !math.IsNaN(rate) {
			sums[at], counts[at] = sums[at]+rate, counts[at]+1
		}
		begin = s.Ends[i]
	}
	for i := range sums {
		sums[i] /= max(counts[i], 1)
		top = max(top, sums[i])
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	line, marks := make([]rune, width), []rune(strings.Repeat(" ", width))
	for i := range line {
		switch {
		case counts[i] == 0:
			line[i] = ' '
		case sums[i] == 0:
			line[i] = '_'
		default:
			line[i] = blocks[min(int(sums[i]/top*8), 7)]
		}
	}
	legend := mark(shape, marks, column)
	fmt.Fprintf(b, "%s  top: %s\n", string(line), format.Rate(top))
	if text := strings.TrimRight(string(marks), " "); text != "" {
		fmt.Fprintln(b, text)
	}
	from, to := format.Moment(shape.From), format.Moment(shape.To)
	fmt.Fprintf(b, "%s%s%s%s\n", from, strings.Repeat(" ", max(width-len(from)-len(to), 1)), to, legend)
}

// mark puts the signs of events below their columns, the weightiest last, and returns what they
// mean.
func mark(shape *series.Shape, marks []rune, column func(float64) int) (legend string) {
	used := map[rune]bool{}
	put := func(t float64, sign rune) { marks[column(t)], used[sign] = sign, true }
	for _, e := range shape.Events {
		if e.Drops != nil {
			for _, d := range e.Drops.All {
				put(d.From, 'v')
			}
		}
	}
	for _, e := range shape.Events {
		switch {
		case e.Kind == series.Gap || e.Kind == series.Interruption:
			put(e.From, '?')
		case e.Cliff:
			put(e.From, 'C')
		case e.Kind == series.Step:
			put(e.From, '|')
		}
	}
	for _, sign := range []struct {
		sign rune
		text string
	}{{'C', "C cliff"}, {'|', "| step"}, {'v', "v drop"}, {'?', "? not measured"}} {
		if used[sign.sign] {
			legend += "  " + sign.text
		}
	}
	return legend
}
