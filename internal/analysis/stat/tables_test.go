package stat

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The simulations say how often each method is wrong where the truth is known. By default a few
// dozen series a row check the aims generously, and that the results are those of the recorded
// short form: a method that was changed shows. ASSAY_LONG=1 runs thousands and compares them with
// the recorded long form, which the docs print.
var update = flag.Bool("update", false, "write the recorded short form; with ASSAY_LONG=1, the long one and the docs' tables")

// simulated is a set of tables with the files that record them.
type simulated struct {
	long, short string
	document    string
	series      int // a row, in the long form
	tables      []simulation
}

// table is one simulated table, as docs/statistics.md prints it.
type table struct {
	Name    string     `json:"name"`
	Series  int        `json:"series"` // simulated for each row
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// simulation makes one table from so many series a row, and complains where a bound is broken.
type simulation struct {
	name string
	make func(t *testing.T, series int) table
	part int // of the series that it draws: costly ones an eighth, say
}

// run makes the tables, from so many series a row in the short form.
func (s simulated) run(t *testing.T, series int) {
	long := os.Getenv("ASSAY_LONG") == "1"
	if long {
		series = s.series
	}
	tables := make([]table, len(s.tables))
	t.Run("tables", func(t *testing.T) {
		for i, s := range s.tables {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				drawn := series / s.part
				tables[i] = s.make(t, drawn)
				tables[i].Name, tables[i].Series = s.name, drawn
			})
		}
	})
	if t.Failed() {
		return
	}
	text, err := json.MarshalIndent(tables, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	path := s.short
	if long {
		path = s.long
	}
	switch {
	case *update && long:
		s.write(t, text, tables)
	case *update:
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	case !long && runtime.GOARCH != "amd64":
		t.Skipf("%s was written where multiplications and additions are rounded apart", path)
	}
	if recorded, err := os.ReadFile(path); err != nil || !bytes.Equal(recorded, text) {
		t.Errorf("%s does not hold what was simulated (%v): a method was changed. "+
			"Run both forms with -update, and read what changed in %s", path, err, s.document)
	}
}

// checkDocument holds the docs to what was simulated.
func (s simulated) checkDocument(t *testing.T) {
	text, err := os.ReadFile(s.long)
	if err != nil {
		t.Fatal(err)
	}
	var tables []table
	if err := json.Unmarshal(text, &tables); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(s.document)
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != len(s.tables) {
		t.Errorf("%d tables are recorded, %d are simulated", len(tables), len(s.tables))
	}
	for _, recorded := range tables {
		begin, end, err := markers(string(page), recorded.Name)
		if err != nil {
			t.Errorf("%s: %v", s.document, err)
			continue
		}
		if got := string(page)[begin:end]; got != recorded.markdown() {
			t.Errorf("table %s in %s is not the recorded one:\n%s\nrecorded:\n%s",
				recorded.Name, s.document, got, recorded.markdown())
		}
	}
}

func (s simulated) write(t *testing.T, text []byte, tables []table) {
	t.Helper()
	page, err := os.ReadFile(s.document)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		begin, end, err := markers(string(page), table.Name)
		if err != nil {
			t.Fatalf("%s: %v", s.document, err)
		}
		page = []byte(string(page)[:begin] + table.markdown() + string(page)[end:])
	}
	for path, content := range map[string][]byte{s.long: text, s.document: page} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// markers finds the text between <!-- table: name --> and <!-- end -->.
func markers(page, name string) (begin, end int, err error) {
	open := "<!-- table: " + name + " -->\n"
	at := strings.Index(page, open)
	if at < 0 {
		return 0, 0, fmt.Errorf("no %q", strings.TrimSpace(open))
	}
	begin = at + len(open)
	length := strings.Index(page[begin:], "<!-- end -->")
	if length < 0 {
		return 0, 0, fmt.Errorf("table %s has no end", name)
	}
	return begin, begin + length, nil
}

func (s table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(s.Columns)
	line(strings.Split(strings.Repeat("---,", len(s.Columns)-1)+"---", ","))
	for _, row := range s.Rows {
		line(row)
	}
	fmt.Fprintf(&b, "\n%d series a row.\n", s.Series)
	return b.String()
}

// source is a random source of its own for each table row and series, so that results do not depend
// on their order.
func source(name string, row, series int) *rand.Rand {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed^uint64(row)<<32, uint64(series)))
}

// share runs try for each series, on all CPUs, and returns in which share of them it was true.
func share(name string, row, series int, try func(r *rand.Rand) bool) float64 {
	return means(name, row, series, func(r *rand.Rand) float64 {
		if try(r) {
			return 1
		}
		return 0
	})
}

// means returns the mean of what try returns over all series.
func means(name string, row, series int, try func(r *rand.Rand) float64) float64 {
	return Mean(each(name, row, series, try))
}

// each returns what try returns for each series.
func each[T any](name string, row, series int, try func(r *rand.Rand) T) []T {
	results := make([]T, series)
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < series; i += workers {
				results[i] = try(source(name, row, i))
			}
		})
	}
	group.Wait()
	return results
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// within fails the test if a share lies outside its bounds, widened by three standard errors of the
// simulation itself.
func within(t *testing.T, what string, got, low, high float64, series int) {
	t.Helper()
	slack := func(p float64) float64 { return 3 * math.Sqrt(max(p*(1-p), 0.001)/float64(series)) }
	if got < low-slack(low) || got > high+slack(high) {
		t.Errorf("%s: %.3f, expected %.3f to %.3f", what, got, low, high)
	}
}
