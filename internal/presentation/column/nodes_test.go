package column_test

import (
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/presentation/column"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// A store that is two servers has a line for each, with what its series and its own counts say; a
// store of one server, and the reference arms, have none. The servers have no weights, as Cassandra's have none.
func TestEachServerOfAStoreHasALine(t *testing.T) {
	run := resulttest.CleanRun()
	for i := range run.Experiment.Stores {
		if s := &run.Experiment.Stores[i]; s.Name == "elm" {
			s.Endpoints = []string{"127.0.0.1:1", "127.0.0.1:2"}
		}
	}
	for _, trial := range resulttest.Trials(run, "elm") {
		total := 0.0
		for i := range trial.Phases {
			total += 1000
			p := &trial.Phases[i]
			p.Stats = map[string]float64{}
			for server, share := range []float64{0.2, 0.8} {
				p.Stats[store.ServerStat(server, store.ServerOperations)] = share * total
			}
		}
		samples := run.InMemory[trial.Plan.ID]
		for i := range samples {
			samples[i].Resources = valuesOf(t, `{"server1.cpu": 0.25, "server2.cpu": 0.75, "server1.connections": 4, "server2.connections": 3, "server1.rss": 1000000}`)
		}
	}
	result := resulttest.ResultOf(t, run)
	found := false
	for i := range result.Tables {
		table := &result.Tables[i]
		lines := column.NodeLines(table)
		if len(lines) == 0 {
			continue
		}
		found = true
		if len(lines) != 2 || lines[0].Arm != "elm" || lines[1].Node.Number != 2 {
			t.Fatalf("%s: %d lines: %+v", table.ID, len(lines), lines)
		}
		got := map[string][]string{}
		for _, d := range column.Filled(table, column.Nodes, lines) {
			for _, c := range d.Cells {
				got[d.Heading] = append(got[d.Heading], c.Text)
			}
		}
		for heading, want := range map[string][2]string{"Operations": {"20 %", "80 %"}, "CPU": {"25 %", "75 %"}, "Connections": {"4", "3"}, "Memory": {"1.00 MB", ""}} {
			if len(got[heading]) != 2 || got[heading][0] != want[0] || got[heading][1] != want[1] {
				t.Errorf("%s: %q, want %q", heading, got[heading], want)
			}
		}
		if len(got["Read"]) > 0 {
			t.Errorf("what was not measured is drawn: %q", got["Read"])
		}
	}
	if !found {
		t.Error("no table has lines of servers")
	}
	for _, table := range resulttest.ResultOf(t, resulttest.CleanRun()).Tables {
		if lines := column.NodeLines(&table); len(lines) > 0 {
			t.Errorf("stores without servers have %d lines", len(lines))
		}
	}
}

func valuesOf(t *testing.T, text string) (v record.Values) {
	t.Helper()
	if err := v.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return v
}
