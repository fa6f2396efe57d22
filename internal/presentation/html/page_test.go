package html

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/base/format"
	"assay/internal/testkit/chromium"
	"assay/internal/testkit/hostile"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Each fixture in a browser: wide, on a phone, in the dark, and on paper.
func TestPageInABrowser(t *testing.T) {
	for name, s := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("ASSAY_SCREENSHOTS") == "" { // a part shows the same faults
				s.classes, s.phases, s.samples = s.classes[:min(2, len(s.classes))], s.phases[:min(2,
					len(s.phases))], min(s.samples, 30)
			}
			html := pageOf(t, made(s))
			keep(t, name+".html", func() []byte { return []byte(html) })
			b := openPage(t, html)
			b.Settle()
			b.checkDrawn("on a wide screen")
			b.checkWidth(1280)
			if name == "put-get" {
				for _, table := range js[[]string](b, scrolled) {
					t.Errorf("at 1280 pixels %s is clipped", table)
				}
			}
			if tall := js[int](b, `document.documentElement.scrollHeight`); tall > 10_000 && js[int](b, openFolds) > 1 {
				t.Errorf("a page of %d pixels has more open than its first section", tall)
			}
			b.shoot(name + "-1280.png")
			if name == "put-get" || os.Getenv("ASSAY_SCREENSHOTS") != "" { // stores have the same colours on all pages
				b.media("", "dark")
				b.Settle()
				b.checkDrawn("in the dark")
				b.shoot(name + "-dark.png")
				b.media("", "light")
			}
			b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateScale(2)),
				chromedp.Reload())
			b.Settle()
			b.checkDrawn("on a phone")
			b.checkWidth(390)
			b.checkPhone()
			b.shoot(name + "-390.png")
			b.Do(chromedp.EmulateViewport(1280, 900), chromedp.Reload())
			b.checkPrint(name)
			b.checkSorting()
			b.Quiet(chromium.Alone)
			b.Accessible()
		})
	}
}

const openFolds = `document.querySelectorAll("main > .fold[open]").length`

// undrawn lists the charts in sight on which too little is drawn to be a chart.
const undrawn = `[...document.querySelectorAll(".plot")].filter((e) => e.checkVisibility()).filter((e) => {
	const canvas = e.querySelector("canvas");
	if (!canvas || !canvas.width) return true;
	const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
	const colours = new Set();
	let drawn = 0;
	for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60) {
		drawn++;
		colours.add(data[i] >> 4 << 8 | data[i + 1] >> 4 << 4 | data[i + 2] >> 4);
		if (drawn >= 200 && colours.size >= 3) return false;
	}
	return true;
}).map((e) => e.dataset.kind + " " + e.dataset.table)`

func (b browser) checkDrawn(where string) {
	b.T.Helper()
	if js[int](b, `[...document.querySelectorAll(".plot")].filter((e) => e.checkVisibility()).length`) == 0 {
		b.T.Errorf("%s no chart is in sight", where)
	}
	for _, chart := range js[[]string](b, undrawn) {
		b.T.Errorf("%s the chart %s is not drawn", where, chart)
	}
}

func (b browser) checkWidth(width int) {
	b.T.Helper()
	if wide := js[int](b, `document.documentElement.scrollWidth`); wide > width {
		b.T.Errorf("on a screen of %d pixels the page is %d wide", width, wide)
	}
	for _, cell := range js[[]string](b, overflowing) {
		b.T.Errorf("on a screen of %d pixels a cell is too small for its text: %s", width, cell)
	}
}

// scrolled lists the tables that must be scrolled to be seen whole.
const scrolled = `[...document.querySelectorAll(".grid .scroll, .phase .scroll")].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.ariaLabel + " in " + (e.closest(".phase") || e.closest(".grid")).querySelector("h2, h3").textContent)`

// checkSorting: a click on a heading sorts the rows by it, a second one turns them round.
func (b browser) checkSorting() {
	b.T.Helper()
	const order = `(() => {
		const head = [...document.querySelectorAll(".phase thead th")].find((e) => e.textContent.startsWith("p99"));
		const rows = () => [...head.closest("table").tBodies[0].rows].map((row) => Number(row.cells[head.cellIndex].dataset.sort ?? -Infinity));
		const falls = (list) => list.every((v, i) => !i || list[i - 1] >= v);
		head.click();
		const up = falls(rows().reverse());
		head.click();
		return [up, falls(rows()), head.getAttribute("aria-sort") === "descending"];
	})()`
	for i, ok := range js[[]bool](b, order) {
		if !ok {
			b.T.Errorf("sorting by p99 fails at %d (the best first, the worst first, marked)", i)
		}
	}
}

// checkPhone: rank, store and rate are in sight without scrolling a table; the class stands above
// it.
func (b browser) checkPhone() {
	b.T.Helper()
	js[bool](b, `(document.querySelectorAll(".fold").forEach((e) => { e.open = true; }), true)`)
	const hidden = `[...document.querySelectorAll(".phase tbody tr")].flatMap((row) => [row.querySelector("th"), row.querySelector(".rank"), row.querySelector("td:nth-child(3)")])
		.filter((e) => e && e.getBoundingClientRect().right > innerWidth).map((e) => e.textContent)`
	for _, cell := range js[[]string](b, hidden) {
		b.T.Errorf("on a phone a table must be scrolled to see %s", cell)
	}
	const clipped = `[...document.querySelectorAll("table .name")].filter((e) => e.scrollHeight > e.clientHeight + 2).map((e) => e.textContent)`
	for _, name := range js[[]string](b, clipped) {
		b.T.Errorf("on a phone the name %s is cut", name)
	}
	const titled = `[...document.querySelectorAll("main > .fold")].filter((e) => e.querySelector(".phase") && !e.querySelector("h2").checkVisibility()).length`
	if n := js[int](b, titled); n > 0 {
		b.T.Errorf("on a phone %d classes have no heading", n)
	}
	b.Settle()
	b.checkDrawn("on a phone, opened,")
}

func (b browser) checkPrint(name string) {
	b.T.Helper()
	const paper = 703 // A4 less its margins, at 96 dots an inch
	js[bool](b, `dispatchEvent(new Event("beforeprint"))`)
	b.media("print", "dark")
	b.Do(chromedp.EmulateViewport(paper, 1000))
	b.Settle()
	if n := js[int](b, `document.querySelectorAll("details:not([open], .more)").length`); n > 0 {
		b.T.Errorf("on paper %d parts are folded", n)
	}
	b.checkDrawn("on paper")
	if wide := js[int](b, `document.documentElement.scrollWidth`); wide > paper {
		b.T.Errorf("on paper of %d pixels the page is %d wide", paper, wide)
	}
	if js[bool](b, `document.querySelector("nav").checkVisibility()`) {
		b.T.Error("the navigation is printed")
	}
	if colour := js[string](b, `getComputedStyle(document.body).backgroundColor`); colour != "rgb(255, 255, 255)" {
		b.T.Errorf("paper is printed as %s", colour)
	}
	b.shoot(name + "-print.png")
	js[bool](b, `dispatchEvent(new Event("afterprint"))`)
	b.media("", "light")
	if name != "small" && os.Getenv("ASSAY_SCREENSHOTS") == "" {
		return // one print is enough to see that the paper is made
	}
	pdf, err := chromedp.Run(b.Context, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(),
		chromedp.PDFPrintBackground()))
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF")) {
		b.T.Errorf("the print begins with %q, %v", pdf[:min(len(pdf), 8)], err)
	}
	keep(b.T, name+".pdf", func() []byte { return pdf })
}

// media emulates a medium ("print", or "" for the screen) and a system's scheme.
func (b browser) media(medium, scheme string) {
	b.T.Helper()
	if _, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		b.T.Fatal(err)
	}
}

// A long page is folded; a link into it opens what it leads to.
func TestLongPageIsFolded(t *testing.T) {
	t.Parallel()
	s := fixtures["put-get"]
	s.samples = 20
	b := openPage(t, pageOf(t, made(s)))
	b.Settle()
	if open := js[int](b, openFolds); open != 1 {
		t.Errorf("%d sections are open, want the strongest class alone", open)
	}
	if first := js[string](b, `document.querySelector("main > .fold[open]").id`); first != "class-1" {
		t.Errorf("open is %s", first)
	}
	last := js[string](b, `[...document.querySelectorAll(".phase")].at(-1).id`)
	// The page's own listener was added first, so that it is done when this one is called.
	js[bool](b, fmt.Sprintf(`new Promise((opened) => {
		addEventListener("hashchange", () => opened(true), { once: true });
		location.hash = %q;
	})`, "#"+last))
	const drawn = `document.querySelector("#%s .plot canvas") !== null`
	js[bool](b, fmt.Sprintf(`new Promise((done) => {
		const look = () => (`+drawn+` ? done(true) : requestAnimationFrame(look));
		setTimeout(() => done(false), 30_000);
		look();
	})`, last))
	if !js[bool](b, fmt.Sprintf(`document.getElementById(%q).open && document.querySelector("#%s .plot canvas") !== null`, last, last)) {
		t.Errorf("a link to %s does not open and draw it", last)
	}
}

// The legend's button singles a store out in the charts of its table.
func TestLegendSinglesOut(t *testing.T) {
	t.Parallel()
	s := fixtures["collapse"]
	s.samples = 20
	b := openPage(t, pageOf(t, made(s)))
	b.Settle()
	const picture = `document.querySelector(".phase .plot canvas").toDataURL()`
	before := js[string](b, picture)
	const button = `document.querySelector(".phase .legend button")`
	for range 2 {
		js[bool](b, `(`+button+`.click(), true)`)
		b.Settle()
		after, pressed := js[string](b, picture), js[string](b, button+`.getAttribute("aria-pressed")`)
		if (pressed == "true") == (after == before) {
			t.Errorf("with aria-pressed=%s the chart is the same: %v", pressed, after == before)
		}
	}
}

// overflowing lists the cells whose text is wider than they are, or lies outside of them. Texts for
// screen readers only have no place, and names end in an ellipsis, so both are taken away before.
const overflowing = `(() => {
	const without = document.createElement("style");
	without.textContent = ".unseen { display: none } .name { overflow: visible; max-width: none }";
	document.head.append(without);
	const cells = [...document.querySelectorAll("td, th")].filter((cell) => {
		if (!cell.checkVisibility() || !cell.textContent.trim()) return false;
		if (cell.scrollWidth > cell.clientWidth + 1) return true;
		const range = document.createRange();
		range.selectNodeContents(cell);
		const box = cell.getBoundingClientRect();
		return [...range.getClientRects()].some((text) => text.width > 1 && (text.left < box.left - 1 || text.right > box.right + 1));
	}).map((cell) => cell.textContent.trim());
	without.remove();
	return cells;
})()`

// A reader takes a table along as text, puts a chart on another scale, takes a store out of it, and finds all
// that again at the page's address.
func TestPageKeepsAReadersChoicesInItsAddress(t *testing.T) {
	t.Parallel()
	s := fixtures["collapse"]
	s.samples = 20
	b := openPage(t, pageOf(t, made(s)))
	b.Settle()
	js[bool](b, `(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }, true)`)
	copied := func(name string) string {
		js[bool](b, `([...document.querySelector(".phase .tools").children].find((e) => e.textContent === `+strconv.Quote(name)+`).click(), true)`)
		return js[string](b, `window.copied`)
	}
	csv := strings.Split(strings.TrimSpace(copied("CSV")), "\n")
	stores := js[int](b, `document.querySelector(".phase .scroll > table").tBodies[0].rows.length`)
	if columns := strings.Count(csv[0], ","); len(csv) != stores+1 || columns < 2 || !regexp.MustCompile(`,\d+(\.\d+)?(e\+?\d+)?,`).MatchString(csv[1]) {
		t.Errorf("%d stores as CSV:\n%s", stores, strings.Join(csv, "\n"))
	}
	if lines := strings.Split(strings.TrimSpace(copied("Markdown")), "\n"); len(lines) != stores+2 || !strings.HasPrefix(lines[1], "| :-- | ") {
		t.Errorf("%d stores as Markdown:\n%s", stores, strings.Join(lines, "\n"))
	}
	const picture, scale = `document.querySelector(".phase .plot canvas").toDataURL()`, `document.querySelector(".phase .legend .scale")`
	first, before := js[string](b, picture), js[string](b, scale+`.textContent`)
	js[bool](b, `(`+scale+`.click(), true)`)
	b.Settle()
	if after := js[string](b, scale+`.textContent`); after == before || js[string](b, picture) == first {
		t.Errorf("%s does nothing", before)
	}
	js[bool](b, `(document.querySelector(".phase .legend [data-arm]").dispatchEvent(new MouseEvent("click", { shiftKey: true, bubbles: true })), true)`)
	b.Settle()
	away, changed := js[string](b, `document.querySelector(".phase .legend .away").dataset.arm`), js[string](b, picture)
	if changed == first {
		t.Errorf("%s is still drawn", away)
	}
	address := js[string](b, `location.href`)
	again := browser{chromium.Open(t, address)}
	again.Settle()
	if kept, name := js[string](again, `document.querySelector(".phase .legend .away")?.dataset.arm ?? ""`), js[string](again, scale+`.textContent`); kept != away || name == before {
		t.Errorf("%s shows %q hidden and offers %s", address, kept, name)
	}
	b.Quiet(chromium.Alone)
}

// The checks above must see what they are there for.
func TestFaultsOfAPageAreSeen(t *testing.T) {
	t.Parallel()
	b := openPage(t, `<!doctype html><title>narrow</title><style>table { table-layout: fixed; width: 40px } i { display: inline-block; width: 1ch }</style>
		<table><tr><td>abcdefghijkl<td>x</table><table style="width:90px"><tr><td>1<i>.000256</i><td>5</table>
		<div class="plot" data-kind="none">x</div><div class="plot" data-kind="blank"><canvas></canvas></div>`)
	if seen := js[[]string](b, overflowing); len(seen) != 2 {
		t.Errorf("of two cells that are too small, these were seen: %q", seen)
	}
	if seen := js[[]string](b, undrawn); len(seen) != 2 {
		t.Errorf("of two charts that are not drawn, these were seen: %q", seen)
	}
	b = openPage(t, `<!doctype html><title>loud</title><script>
		fetch("http://127.0.0.1:9/").catch(() => {}); console.error("loud"); setTimeout(() => { throw new Error("thrown") })</script>`)
	var complaints, requests []string
	for range 100 {
		if complaints, requests = b.Heard(); len(requests) >= 2 && len(complaints) >= 2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("of a request, a console error and an exception, the listener heard: requests %q, complaints %q", requests, complaints)
}

// A hostile.Text result in a browser: nothing runs, nothing breaks the layout.
func TestHostilePageInABrowser(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]string{"script": hostile.Text, "long": strings.Repeat("long", format.TextMax/4)} {
		s := fixtures["put-get"]
		s.classes, s.phases, s.samples = s.classes[:1], s.phases[:1], 20
		r := made(s)
		hostile.Poison(r, with)
		b := openPage(t, pageOf(t, r))
		b.Settle()
		if wide := js[int](b, `document.documentElement.scrollWidth`); wide > 1280 {
			t.Errorf("%s: the page is %d wide", name, wide)
		}
		b.checkDrawn("with hostile.Text names")
		b.shoot("hostile-" + name + ".png")
		b.Quiet(chromium.Alone)
	}
}

// The tables are written by Go and the charts by the page: both must write a number the same way.
func TestPageWritesNumbersAsGoDoes(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../web/page/number.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openPage(t, "<!doctype html><title>numbers</title><script>"+strings.ReplaceAll(string(source), "export ", "")+"</script>")
	for _, unit := range []string{"", "s", "B"} {
		for _, v := range []float64{0, 1, 9.999, 99.96, 999.4, 999.6, 1234, 15.8e-6, 0.0123, 0.5, 412345, 1.4249e6,
			3e15, -2500} {
			text, err := json.Marshal(unit)
			if err != nil {
				t.Fatal(err)
			}
			if got := js[string](b, fmt.Sprintf("si(%g, %s)", v, text)); got != format.SI(v, unit) {
				t.Errorf("the page writes %g as %q, Go as %q", v, got, format.SI(v, unit))
			}
		}
	}
}

// The pointer over a chart shows the values there; a drag zooms every chart of the table.
func TestPointerInAChart(t *testing.T) {
	t.Parallel()
	s := fixtures["put-get"]
	s.classes, s.phases = s.classes[:1], s.phases[:1]
	b := openPage(t, pageOf(t, made(s)))
	b.Settle()
	place := js[[]float64](b, `(() => { const e = document.querySelector(".phase .plot .u-over"); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return [r.left + r.width * 0.3, r.left + r.width * 0.6, r.top + r.height / 2]; })()`)
	b.Do(chromedp.DragAndDropXY(place[0], place[2], place[1], place[2], 5))
	b.Settle()
	tip := js[string](b, `[...document.querySelectorAll(".tip")].filter((e) => e.checkVisibility()).map((e) => e.textContent).join("|")`)
	if !strings.Contains(tip, "pebble") || !strings.Contains(tip, " s") || strings.Contains(tip, "|") {
		t.Errorf("the pointer in the chart shows %q", tip)
	}
	b.shoot("tip.png")
	spans := js[[]float64](b, `[...document.querySelectorAll(".phase[open] .plot")].filter((e) => e.plot && !["nines", "cdf", "histogram"].includes(e.dataset.kind))
		.map((e) => e.plot.scales.x.max - e.plot.scales.x.min)`)
	for i, span := range spans {
		if span < 10 || span > 25 {
			t.Errorf("after a drag over three tenths of 60 s, chart %d of %d shows %.1f s", i, len(spans), span)
		}
	}
}

// The distribution of latencies is drawn once it is opened: the share rises to one, and each chart can be saved
// with its caption and legend.
func TestDistributionsAndImages(t *testing.T) {
	t.Parallel()
	s := fixtures["put-get"]
	s.classes, s.phases = s.classes[:1], s.phases[:1]
	b := openPage(t, pageOf(t, made(s)))
	js[bool](b, `(() => { for (const e of document.querySelectorAll(".phase[open] details.part")) e.open = true; return true; })()`)
	b.Settle()
	b.checkDrawn("with each part opened")
	shares := js[[][]float64](b, `Object.values(JSON.parse(document.getElementById("data").textContent).tables)[0].latency.map((l) => l.bins.map(([, share]) => share))`)
	if len(shares) != s.arms {
		t.Fatalf("%d stores have a distribution, want %d", len(shares), s.arms)
	}
	saved := js[[]string](b, `(() => {
		const hrefs = [];
		const click = HTMLAnchorElement.prototype.click;
		HTMLAnchorElement.prototype.click = function () { hrefs.push(this.download + " " + this.href); };
		for (const e of document.querySelectorAll(".phase[open] figure > .tools button")) e.click();
		HTMLAnchorElement.prototype.click = click;
		return hrefs;
	})()`)
	if len(saved) < 4 {
		t.Fatalf("%d charts can be saved", len(saved))
	}
	for _, one := range saved {
		name, href, _ := strings.Cut(one, " ")
		data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(href, "data:image/png;base64,"))
		if err != nil || !strings.HasSuffix(name, ".png") {
			t.Errorf("%.60s: %v", one, err)
			continue
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if size := picture.Bounds(); size.Dx() < 300 || size.Dy() < 300 { // the chart is 280 high
			t.Errorf("%s is %v", name, size)
		}
		keep(t, name, func() []byte { return data })
	}
}
