// Package site writes an archive as a folder of static pages: index.html has, for each experiment and
// machine, what has changed, and a table for each of its phases in which every figure leads to the
// report that it comes from. They look as reports do: site.css has little beside their style. The
// pages need no network and no server.
package site

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/base/format"
	"assay/internal/base/owned"
	"assay/internal/presentation/archive"
	"assay/internal/presentation/html"
)

//go:embed site.html
var page string

//go:embed site.css
var style string

//go:embed site.js
var script string

var parsed = template.Must(template.New("site").Parse(page))

// marker is the file that says that a folder is one of ours, to be written again.
const marker = ".assay-site"

// Write writes the site into a folder, which is made. One that holds something else is refused;
// reports of runs that are no longer in the archive stay.
func Write(folder string, a *archive.Archive, groups []archive.Group) error {
	if err := own(folder); err != nil {
		return err
	}
	for _, g := range groups {
		for _, run := range g.Runs {
			err := replace(folder, reportName(run.ID), func(w io.Writer) error { return a.WritePage(w, run.ID) })
			if err != nil {
				return err
			}
		}
	}
	return replace(folder, "index.html", func(w io.Writer) error { return index(w, groups) })
}

// own makes the folder, or sees that it was made here.
func own(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the site's folder: %w", err)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("reading the site's folder: %w", err)
	}
	isMarker := func(f fs.DirEntry) bool { return f.Name() == marker }
	if len(files) > 0 && !slices.ContainsFunc(files, isMarker) {
		return fmt.Errorf("%s holds other files: expected an empty folder, or one that assay history site wrote", folder)
	}
	return os.WriteFile(filepath.Join(folder, marker), []byte("written by assay history site\n"), 0o644)
}

// replace writes a file beside its name and renames it, so that a reader never meets half a page.
func replace(folder, name string, write func(io.Writer) error) error {
	if err := owned.Replace(filepath.Join(folder, name), 0o644, write); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// reportName is the page of a run. An id comes from a run directory: what can't be in a name goes.
func reportName(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(id))
	return "report-" + safe + ".html"
}

type view struct {
	Groups                     []groupView
	Policy                     string
	Style                      template.CSS
	Script                     template.JS
	Classes, Machines, Metrics []string
}

type groupView struct {
	*archive.Group
	Span    string
	Tables  []tableView
	Changes []archive.Sentence
}

// tableView has the stores of one phase, the best first.
type tableView struct {
	Phase, Class, Cell, Metric string
	Rows                       []rowView
}

type rowView struct {
	archive.Series
	Version, Last, Interval string
	Ratio                   string // of the figure to the best one
	Best                    bool
	Sort                    float64
	Report                  string
	Dots                    []dot
	Line                    string
	Breaks                  []float64
	Changed                 string
}

// dot is a value in a chart of 160 by 32 pixels.
type dot struct {
	X, Y         float64
	Title, Where string
}

func index(w io.Writer, groups []archive.Group) error {
	sum := sha256.Sum256([]byte(script))
	v := view{Style: template.CSS(string(html.Style()) + style), Script: template.JS(script),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"}
	for i := range groups {
		g := format.Shown(&groups[i])
		if len(g.Runs) == 0 {
			continue
		}
		view := groupView{Group: g, Span: archive.SpanText(g), Tables: tablesOf(g),
			Changes: archive.Sentences(g, g.Series)}
		for _, s := range g.Series {
			v.Classes, v.Metrics = with(v.Classes, s.Class), with(v.Metrics, s.Metric)
		}
		v.Machines = with(v.Machines, g.Machine)
		v.Groups = append(v.Groups, view)
	}
	if err := parsed.Execute(w, v); err != nil {
		return fmt.Errorf("writing the site: %w", err)
	}
	return nil
}

// tablesOf are the series of a group by phase, class, cell and metric, in the order of their first ones.
func tablesOf(g *archive.Group) (tables []tableView) {
	for _, s := range g.Series {
		at := slices.IndexFunc(tables, func(t tableView) bool {
			return t.Phase == s.Phase && t.Class == s.Class && t.Cell == s.Cell && t.Metric == s.Metric
		})
		if at < 0 {
			at, tables = len(tables), append(tables, tableView{Phase: s.Phase, Class: s.Class, Cell: s.Cell,
				Metric: s.Metric})
		}
		tables[at].Rows = append(tables[at].Rows, rowOf(g, s))
	}
	for i := range tables {
		tables[i].order()
	}
	return tables
}

// order puts the best row first: the highest rate, or the least of another figure.
func (t *tableView) order() {
	slices.SortStableFunc(t.Rows, func(a, b rowView) int {
		if t.Metric == "rate" {
			return cmp.Compare(b.Sort, a.Sort)
		}
		return cmp.Compare(a.Sort, b.Sort)
	})
	best := t.Rows[0].Sort
	t.Rows[0].Best = true
	for i := range t.Rows {
		if best > 0 {
			t.Rows[i].Ratio = format.Factor(t.Rows[i].Sort / best)
		}
	}
}

func with(list []string, word string) []string {
	if slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

const (
	chartWidth, chartHeight = 160.0, 32.0
	chartMargin             = 4.0
)

func rowOf(g *archive.Group, s archive.Series) rowView {
	r := rowView{Series: s}
	least, most := math.Inf(1), 0.0
	for _, v := range s.Values {
		if v != nil {
			least, most = min(least, v.Value), max(most, v.Value)
		}
	}
	least, most = 0.8*least, 1.05*most // noise of some per cent stays flat
	x := func(at int) float64 {
		return chartMargin + (chartWidth-2*chartMargin)*float64(at)/float64(max(1, len(s.Values)-1))
	}
	var line strings.Builder
	for i, v := range s.Values {
		if v == nil {
			continue
		}
		report := reportName(g.Runs[g.Points[i].Runs[0]].ID)
		y := chartMargin + (chartHeight-2*chartMargin)*(most-v.Value)/(most-least)
		figure := format.Figure(s.Metric, v.Value)
		r.Dots = append(r.Dots, dot{x(i), y, g.Points[i].Code + ": " + figure, report})
		fmt.Fprintf(&line, "%.1f,%.1f ", x(i), y)
		r.Version, r.Last, r.Sort, r.Report, r.Interval = v.Version, figure, v.Value, report, ""
		if v.Low != nil && v.High != nil {
			r.Interval = format.Figure(s.Metric, *v.Low) + " to " + format.Figure(s.Metric, *v.High)
		}
	}
	r.Line = strings.TrimSpace(line.String())
	for _, c := range s.Changes {
		r.Breaks = append(r.Breaks, (x(c.Last)+x(c.At))/2)
		r.Changed = g.Points[c.At].Code
	}
	return r
}
