package c_test

import (
	"os"
	"strings"
	"testing"

	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
)

// The table in README.md names every driver, and the licence that it tells itself.
func TestReadmeNamesEveryDriver(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // by program
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, "| `"); is {
			program, _, _ := strings.Cut(rest, "`")
			rows[program] = line
		}
	}
	for _, e := range engines {
		t.Run(e.driver, func(t *testing.T) {
			worker, err := conductor.Start([]string{plain.worker(t, e.program)}, os.Stderr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(worker.Kill)
			var described control.Described
			if err := worker.Call(control.Request{Command: control.CommandDescribe}, costTimeout,
				&described); err != nil {
				t.Fatal(err)
			}
			for _, d := range described.Drivers {
				short := strings.TrimPrefix(d.Name, e.program)
				if row := rows[e.program]; !strings.Contains(row, "`"+d.Name+"`") && !strings.Contains(row, "`"+short+"`") {
					t.Errorf("the row %q does not name %s", row, d.Name)
				} else if d.Licence != "NONE" && !strings.Contains(row, d.Licence) {
					t.Errorf("the row %q does not name %s's licence, %s", row, d.Name, d.Licence)
				}
			}
			if err := worker.End(costTimeout); err != nil {
				t.Error(err)
			}
		})
	}
}
