package stat

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// The simulations say how often each method is wrong where the truth is known. By default a few
// dozen series a row check the aims generously, and that the results are those of the recorded
// short form: a method that was changed shows. ASSAY_LONG=1 runs thousands and compares them with
// the recorded long form, which docs/error-rates has as CSV.
var update = flag.Bool("update", false, "write the recorded short form, and the docs' tables of the long one; with ASSAY_LONG=1, the long one too")

// simulated is a set of tables with the files that record them.
type simulated struct {
	long, short string
	series      int // a row, in the long form
	tables      []simulation
}

// documents has a file for each table, which docs/error-rates-tables.md links to.
const documents = "../../../docs/error-rates"

// table is one simulated table.
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
		if err := os.WriteFile(s.long, text, 0o644); err != nil {
			t.Fatal(err)
		}
		s.checkDocuments(t)
	case *update:
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	case !long && runtime.GOARCH != "amd64":
		t.Skipf("%s was written where multiplications and additions are rounded apart", path)
	}
	if recorded, err := os.ReadFile(path); err != nil || !bytes.Equal(recorded, text) {
		t.Errorf("%s does not hold what was simulated (%v): a method was changed. "+
			"Run both forms with -update, and read what changed in %s", path, err, documents)
	}
}

// checkDocuments holds the docs to what was simulated; with -update it writes them.
func (s simulated) checkDocuments(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(s.long)
	if err != nil {
		t.Fatal(err)
	}
	var tables []table
	if err := json.Unmarshal(text, &tables); err != nil {
		t.Fatal(err)
	}
	if len(tables) != len(s.tables) {
		t.Errorf("%d tables are recorded, %d are simulated", len(tables), len(s.tables))
	}
	page, err := os.ReadFile(documents + "-tables.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, recorded := range tables {
		path := filepath.Join(documents, recorded.Name+".csv")
		if *update {
			if err := os.WriteFile(path, recorded.csv(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, recorded.csv()) {
			t.Errorf("%s is not the recorded table (%v): -update writes it", path, err)
		}
		if says := fmt.Sprintf("(error-rates/%s.csv): %d rows, %d series a row.", recorded.Name, len(recorded.Rows), recorded.Series); !bytes.Contains(page, []byte(says)) {
			t.Errorf("docs/error-rates-tables.md lacks the link %s", says)
		}
	}
}

func (s table) csv() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.WriteAll(append([][]string{s.Columns}, s.Rows...)) // a buffer takes all
	return b.Bytes()
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
