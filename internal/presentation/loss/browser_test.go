package loss

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/testkit/chromium"
)

func TestMain(m *testing.M) { chromium.Main(m) }

// The picture in a browser: every point and word is inside of it, what is faster stands to the right of what
// is slower, and what loses more above.
func TestPictureInABrowser(t *testing.T) {
	var text bytes.Buffer
	if err := Page(&text, "Rate against loss", "a note", points); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "loss.html")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := chromium.Open(t, chromium.File(file))
	p.Quiet(chromium.Alone)
	outside := chromium.JS[[]string](p, `(() => {
		const frame = document.querySelector("svg").getBoundingClientRect();
		return [...document.querySelectorAll("svg circle, svg line, svg text")].filter((e) => {
			const r = e.getBoundingClientRect();
			return r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1;
		}).map((e) => e.outerHTML);
	})()`)
	if len(outside) > 0 {
		t.Errorf("outside of the picture: %q", outside)
	}
	type point struct{ X, Y, Width float64 }
	seen := chromium.JS[[]point](p, `[...document.querySelectorAll("svg circle")].map((e) => {
		const r = e.getBoundingClientRect();
		return {X: r.left, Y: r.top, Width: r.width};
	})`)
	if len(seen) != 3 {
		t.Fatalf("%d points are drawn, expected 3", len(seen))
	}
	goleveldb, redis, bbolt := seen[0], seen[1], seen[2] // the fastest first
	if bbolt.Width < 1 || bbolt.X >= redis.X || redis.X >= goleveldb.X || bbolt.Y <= redis.Y || redis.Y <= goleveldb.Y {
		t.Errorf("the points stand at %+v", seen)
	}
	// 49 ms, and below it 43 ms: no interval ends at the edge for lack of room.
	ends := chromium.JS[[]float64](p, `[...document.querySelectorAll("svg line.interval")].map((e) => e.getBoundingClientRect().bottom)`)
	if len(ends) != 2 || ends[1] <= ends[0] {
		t.Errorf("the intervals end at %v", ends)
	}
	// Behind a long name the page must not be wider than the window.
	if wide := chromium.JS[bool](p, `document.documentElement.scrollWidth > window.innerWidth`); wide {
		t.Error("the page is wider than its window")
	}
	p.Accessible()
}
