package loss

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit/golden"
)

var points = []Point{
	{Name: "bbolt (D3)", Rate: 465, Cuts: 24},
	{Name: "redis (D2(3s))", Rate: 15_100, Median: 140 * time.Millisecond, Low: 43 * time.Millisecond, High: 150 * time.Millisecond,
		Worst: 1200 * time.Millisecond, Records: 2109, RecordsWorst: 2397, Cuts: 24},
	{Name: "goleveldb (D1)", Rate: 303_000, Median: 180 * time.Millisecond, Low: 49 * time.Millisecond, High: 306 * time.Millisecond,
		Worst: 306 * time.Millisecond, Records: 2551, RecordsWorst: 4879, Cuts: 23, LostAll: 20, Refused: 1},
	{Name: "<never cut>", Rate: 100},
}

func TestText(t *testing.T) {
	var text bytes.Buffer
	if err := Text(&text, points); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "loss.txt", text.String())
	text.Reset()
	if err := Text(&text, nil); err != nil || text.Len() > 0 {
		t.Errorf("no points are %q (%v)", text.String(), err)
	}
}

// The faster of two points stands to the right, and the one that loses more above.
func TestPage(t *testing.T) {
	var text bytes.Buffer
	if err := Page(&text, "Rate <against> loss", "a note", points); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Rate &lt;against&gt; loss", "goleveldb (D1): 303 k/s", "none lost", "nothing was left after 20"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if n := strings.Count(text.String(), "<circle"); n != 3 {
		t.Errorf("%d points are drawn, expected 3", n)
	}
	if strings.Contains(text.String(), "never cut") {
		t.Error("a store that was not cut is drawn")
	}
}
