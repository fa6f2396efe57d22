package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/internal/record"
	"assay/internal/record/recordtest"
)

// coloured counts the pixels of a canvas that are neither grey nor paper: lines, points and marks, but no axes.
func (b *browser) coloured(selector string) int {
	b.t.Helper()
	return js[int](b, fmt.Sprintf(`(() => {
		const canvas = document.querySelector(%q);
		const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
		let drawn = 0;
		for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) drawn++;
		return drawn;
	})()`, selector+" canvas"))
}

// A phase may be so short that a store has one sample, or none.
func TestASampleByItselfIsDrawn(t *testing.T) {
	v := exampleView(t)
	table := &v.Tables[0]
	without := table.Series[len(table.Series)-1].Arm
	for _, row := range table.Rows {
		if row.Rate != nil && row.Standing == Ranked {
			without = row.Arm // the last of the ranked
		}
	}
	table.Series = slices.DeleteFunc(table.Series, func(s Series) bool { return s.Arm == without })
	for i := range table.Series {
		s := &table.Series[i]
		s.At, s.Rate, s.Records, s.Marks, s.Warmup = s.At[:1], s.Rate[:1], nil, nil, 0
		if s.Beside == nil {
			continue
		}
		short := &Beside{At: s.Beside.At[:1], Values: map[string][]*float64{}}
		for name, values := range s.Beside.Values {
			short.Values[name] = values[:1]
		}
		s.Beside = short
	}
	b := openPage(t, htmlOf(t, v))
	b.drawEverything()
	b.shoot("one-sample.png")
	for _, plot := range []string{".overlay", ".beside > div:nth-child(2)", ".multiple"} {
		if drawn := b.coloured("#" + table.ID + " " + plot); drawn < 15 {
			t.Errorf("a sample by itself has %d coloured pixels in %s", drawn, plot)
		}
	}
	said := js[string](b, fmt.Sprintf(`document.querySelector("#%s .unmeasured").textContent`, table.ID))
	if !strings.Contains(said, "No curve, too short for a sample: "+without+".") {
		t.Errorf("why %s has no curve is not said: %q", without, said)
	}
	b.quiet()
}

// Where host writes are counted by the trial's own disk, the plots beside the rate show what the table's figures are of.
func TestHostWritesOfTheDiskAreShownBesideTheRate(t *testing.T) {
	v := exampleView(t)
	table := &v.Tables[0]
	for i := range table.Rows {
		table.Rows[i].HostWriteSource = record.WritesOfDisk
	}
	for i := range table.Series {
		if beside := table.Series[i].Beside; beside != nil {
			beside.Values["device.write"] = beside.Values["worker.write"]
			delete(beside.Values, "worker.write")
		}
	}
	v.Resources = append(v.Resources, Resource{Name: "device.write", Title: "Device write", Short: "Write", Group: "Device", Unit: "B/s"})
	b := openPage(t, htmlOf(t, v))
	b.drawEverything()
	if said := js[string](b, fmt.Sprintf(`document.querySelector("#%s .unmeasured").textContent`, table.ID)); strings.Contains(said, "Host writes") {
		t.Errorf("host writes are in the table, and beneath the plot is said: %q", said)
	}
	if shown := js[string](b, fmt.Sprintf(`document.querySelector("#%s .beside").textContent`, table.ID)); !strings.Contains(shown, "Device write") {
		t.Errorf("what the disk was sent is not shown beside the rate: %q", shown)
	}
	b.quiet()
}

// dippingRun has two arms, of which bbolt dips again and again in its phase put.
func dippingRun() *record.Run {
	shape := recordtest.Example()
	shape.Classes, shape.Blocks = shape.Classes[:1], 2
	shape.Arms = []recordtest.Arm{shape.Arms[0], shape.Arms[3]} // pebble and bbolt
	run := recordtest.Run(shape)
	for _, planned := range run.Plan {
		second := 0
		for i := range run.Series[planned.ID] {
			sample := &run.Series[planned.ID][i]
			if planned.Arm != "bbolt" || sample.Phase != "put" {
				continue
			}
			if second == 20 || second == 21 || second == 42 || second == 43 {
				sample.Operations = uint64(float64(sample.Operations) * 0.4)
			}
			second++
		}
	}
	return run
}

func TestDipsAreMarkedAndTold(t *testing.T) {
	v, err := Build(dippingRun())
	if err != nil {
		t.Fatal(err)
	}
	b := openPage(t, htmlOf(t, v))
	b.drawEverything()
	b.shoot("dips.png")
	table := "#" + v.Tables[0].ID
	if told := js[string](b, fmt.Sprintf(`document.querySelector("%s .happened").textContent`, table)); !strings.Contains(told, "bbolt") || !strings.Contains(told, "dips 2 times") {
		t.Errorf("the list under the plot says %q", told)
	}
	if caption := js[string](b, fmt.Sprintf(`document.querySelector("%s .multiples-caption").textContent`, table)); !strings.Contains(caption, "dips") {
		t.Errorf("what the bar of dips is, is not said: %q", caption)
	}
	b.quiet()
}
