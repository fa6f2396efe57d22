package report

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/record"
	"assay/internal/record/recordtest"
)

// A collapse of Tokyo Cabinet's table as it was measured, but for a fall of twenty seconds rather than ten, in k/s: it sank, and no place of a break can be told from a random walk.
var slowCollapse = []float64{88, 87, 83, 88, 87, 87, 82, 80, 82, 75, 73, 76, 73, 74, 75, 74, 71, 73, 71, 62, 70, 73, 75, 72, 66, 68, 60, 57, 52, 54,
	47, 44, 40, 41, 36, 33, 30, 31, 27, 25, 23, 22, 22, 21, 20, 21, 20, 16, 18, 16, 16, 16, 20, 21, 20, 17, 21, 18, 20, 17}

// sunkenRun has two arms, of which bbolt sinks in its phase put.
func sunkenRun() *record.Run {
	shape := recordtest.Example()
	shape.Classes, shape.Blocks = shape.Classes[:1], 2
	shape.Arms = []recordtest.Arm{shape.Arms[0], shape.Arms[3]} // pebble and bbolt
	run := recordtest.Run(shape)
	for _, planned := range run.Plan {
		if planned.Arm != "bbolt" {
			continue
		}
		second := 0
		for i := range run.Series[planned.ID] {
			sample := &run.Series[planned.ID][i]
			if sample.Phase == "put" && second < len(slowCollapse) {
				sample.Operations = uint64(slowCollapse[second] * 1000 * sample.Seconds)
				second++
			}
		}
	}
	return run
}

func TestWhatSankIsMarked(t *testing.T) {
	v, err := Build(sunkenRun())
	if err != nil {
		t.Fatal(err)
	}
	put := v.Tables[0]
	marked := 0
	for _, s := range put.Series {
		for _, m := range s.Marks {
			if m.Kind != "sank" {
				continue
			}
			marked++
			if s.Arm != "bbolt" || len(m.Levels) != 2 {
				t.Fatalf("%s sank on %d levels: %+v", s.Arm, len(m.Levels), m)
			}
			first, last := m.Levels[0], m.Levels[1]
			if first.From != 0 || last.Until != s.At[len(s.At)-1] || first.Until > last.From || last.Rate > first.Rate/2 {
				t.Errorf("the levels are %+v and %+v", first, last)
			}
			if !strings.Contains(m.Text, "It sank, and wandered: from ") || !strings.Contains(m.Text, "no place of a break") {
				t.Errorf("the mark says %q", m.Text)
			}
		}
	}
	if marked == 0 {
		t.Fatal("nothing sank, so nothing was checked")
	}
	if !put.fell("bbolt") || put.fell("pebble") {
		t.Errorf("of the arms fell: bbolt %v, pebble %v", put.fell("bbolt"), put.fell("pebble"))
	}
	var text strings.Builder
	if err := Text(&text, v, false, 100); err != nil {
		t.Fatal(err)
	}
	signs := map[string]int{} // lines of the tables and of the overview
	for line := range strings.Lines(text.String()) {
		if strings.Contains(line, "▾") {
			for _, arm := range []string{"bbolt", "pebble", fellMeaning} {
				if strings.Contains(line, arm) {
					signs[arm]++
				}
			}
		}
	}
	if signs["bbolt"] != 2 || signs["pebble"] != 0 || signs[fellMeaning] != 2 {
		t.Errorf("the sign stands in these lines of the text: %v\n%s", signs, text.String())
	}
}

// The levels must be seen: with the mark there is alert red in the plot, without it there is none.
func TestLevelsOfWhatSankAreDrawn(t *testing.T) {
	run := sunkenRun()
	v, err := Build(run)
	if err != nil {
		t.Fatal(err)
	}
	page := htmlOf(t, v)
	if !strings.Contains(page, "It sank, and wandered: from ") {
		t.Error("the page does not say how it sank")
	}
	red := func(html string) int {
		b := openPage(t, html)
		b.drawEverything()
		defer b.quiet()
		return js[int](b, fmt.Sprintf(`(() => {
			const canvas = document.querySelector("#%s .overlay canvas");
			const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
			let drawn = 0;
			for (let i = 0; i < data.length; i += 4) if (Math.abs(data[i] - 0xb3) < 8 && Math.abs(data[i + 1] - 0x26) < 8 && Math.abs(data[i + 2] - 0x1e) < 8 && data[i + 3] > 200) drawn++;
			return drawn;
		})()`, v.Tables[0].ID))
	}
	with := red(page)
	for i := range v.Tables[0].Series {
		v.Tables[0].Series[i].Marks = nil
	}
	if without := red(htmlOf(t, v)); with < 300 || without > 0 {
		t.Errorf("there are %d red pixels with the mark and %d without", with, without)
	}
}
