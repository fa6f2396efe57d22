package html

import (
	"strings"
	"testing"

	"assay/internal/experiment/recording"
	"assay/internal/presentation/model"
)

// What was sent lies on what was recorded where both are the same, and apart where they are not.
func TestReplayed(t *testing.T) {
	row := func(arm string, sent float64) (r model.Row) {
		r.Arm = arm
		r.Replay = &recording.Fidelity{
			HitRates: []recording.HitRate{{KeysShare: 0.01, Recorded: 0.2, Sent: 0.2},
				{KeysShare: 0.2, Recorded: 0.6, Sent: sent}},
			GapsAt: []recording.GapAt{{Share: 0.5, RecordedNS: 1e3, SentNS: 1e3},
				{Share: 0.99, RecordedNS: 1e5, SentNS: 1e5 * sent}},
		}
		return r
	}
	p := page{Looks: map[string]look{"a": {Hue: "arm-0"}, "b": {Hue: "arm-1"}}}
	charts := p.Replayed(model.Table{Rows: []model.Row{row("a", 0.6), row("b", 0.1)}})
	if len(charts) != 2 {
		t.Fatalf("%d charts", len(charts))
	}
	for _, c := range charts {
		if len(c.Lines) != 3 || len(c.XTicks) != 2 || c.Lines[0].Arm != "" || len(c.Lines[1].Dots()) != 2 {
			t.Fatalf("%+v", c)
		}
		before, _, _ := strings.Cut(c.Lines[0].Points, " ")
		if !strings.HasPrefix(c.Lines[1].Points, before) || c.Lines[2].Points == c.Lines[0].Points {
			t.Errorf("%s: recorded %s, sent %s and %s", c.Title, c.Lines[0].Points, c.Lines[1].Points, c.Lines[2].Points)
		}
	}
	if hits := charts[0]; hits.Lines[0].Points != hits.Lines[1].Points {
		t.Errorf("the same hit rates are drawn at %s and %s", hits.Lines[0].Points, hits.Lines[1].Points)
	}
	if none := p.Replayed(model.Table{Rows: []model.Row{{Arm: "a"}}}); len(none) > 0 {
		t.Errorf("without a replay: %+v", none)
	}
}
