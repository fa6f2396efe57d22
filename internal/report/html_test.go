package report

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/record"
	"assay/internal/record/recordtest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// exampleView is the report of recordtest's example.
func exampleView(t *testing.T) View {
	t.Helper()
	view, err := Build(recordtest.Run(recordtest.Example()))
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func htmlOf(t *testing.T, v View) string {
	t.Helper()
	var page strings.Builder
	if err := HTML(&page, v); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestPageInABrowser(t *testing.T) {
	v := exampleView(t)
	b := openPage(t, htmlOf(t, v))
	b.drawEverything()
	b.shoot("light.png")
	js[bool](b, `(document.querySelectorAll("details").forEach((e) => { e.open = true; }), true)`)
	b.settle()
	b.shoot("open.png")
	js[bool](b, `(document.querySelectorAll("details").forEach((e) => { e.open = false; }), true)`)
	for _, table := range v.Tables {
		for _, part := range []string{".overlay", ".nines", ".multiple"} {
			if ink := b.inkOf("#" + table.ID + " " + part); ink < 500 {
				t.Errorf("%s of %s has %d drawn pixels", part, table.ID, ink)
			}
		}
	}
	b.checkTexts(v)
	b.checkLinks(v)
	b.checkGlance(v)
	b.checkArmToggle(v.Tables[0].ID)
	b.checkZoom(v.Tables[0].ID)
	b.checkBeside(v.Tables[0].ID)
	b.checkCells(1280, 1024, 400)
	b.checkNavigation()
	b.checkTheme()
	b.checkSystemTheme()
	b.checkNarrow()
	b.checkPrint(v)
	b.quiet()
}

// checkTexts: findings, refusals and failures stand on the page as the view has them.
func (b *browser) checkTexts(v View) {
	b.t.Helper()
	findings := js[string](b, `document.querySelector("#findings").textContent`)
	if len(v.Findings) == 0 {
		b.t.Error("the example has no findings, so none could be checked")
	}
	for _, g := range v.Groups {
		if !strings.Contains(findings, g.Sentence) {
			b.t.Errorf("the page lacks what several findings say together: %q", g.Sentence)
		}
	}
	for _, h := range v.Headlines {
		if answers := js[string](b, `document.querySelector(".answers").textContent`); !strings.Contains(answers, h.Sentence) {
			b.t.Errorf("the page lacks the answer %q", h.Sentence)
		}
	}
	for _, f := range v.Findings {
		if !strings.Contains(findings, f.Sentence) {
			b.t.Errorf("the page lacks the finding %q", f.Sentence)
		}
	}
	for _, table := range v.Tables {
		text := js[string](b, fmt.Sprintf(`document.querySelector("#%s").textContent`, table.ID))
		for _, row := range table.Rows {
			if !strings.Contains(text, row.Arm) {
				b.t.Errorf("the table %s lacks %s", table.ID, row.Arm)
			}
			for _, reason := range row.Reasons {
				if row.Standing != Reference && row.Rate != nil && !strings.Contains(text, reason) {
					b.t.Errorf("the table %s does not say of %s: %s", table.ID, row.Arm, reason)
				}
			}
		}
		for _, n := range notesOf(table) {
			if !strings.Contains(text, n.Lead()+n.Text()) {
				b.t.Errorf("beneath the table %s there is no %q", table.ID, n.Lead()+n.Text())
			}
		}
	}
}

// checkLinks: every planned trial is on the page, and every one that left data is linked to it.
func (b *browser) checkLinks(v View) {
	b.t.Helper()
	links := map[string]bool{}
	for _, link := range js[[]string](b, `[...document.querySelectorAll("a")].map((a) => decodeURIComponent(a.getAttribute("href")))`) {
		links[link] = true
		if strings.HasPrefix(link, "#") {
			if !js[bool](b, fmt.Sprintf(`document.getElementById(%q) !== null`, link[1:])) {
				b.t.Errorf("the link %s leads nowhere", link)
			}
			continue
		}
		if !strings.HasPrefix(link, "trials/") {
			b.t.Errorf("the page links to %s", link)
		}
	}
	for _, trial := range v.Trials {
		for _, file := range []string{"trial.json", "series.jsonl"} {
			if !links["trials/"+trial.ID+"/"+file] {
				b.t.Errorf("the page has no link to %s of %s", file, trial.ID)
			}
		}
	}
	if squares := js[int](b, `document.querySelectorAll(".matrix .square").length`); squares != len(v.Trials) {
		b.t.Errorf("the matrix has %d trials of %d", squares, len(v.Trials))
	}
}

func (b *browser) checkArmToggle(table string) {
	b.t.Helper()
	before := b.inkOf("#" + table + " .overlay")
	button := "#" + table + " .legend button"
	b.do(chromedp.ScrollIntoView(chromedp.CSS(button)), chromedp.Click(chromedp.CSS(button)))
	if pressed := js[string](b, fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-pressed")`, button)); pressed != "false" {
		b.t.Errorf("after a click, the arm's button has aria-pressed=%s", pressed)
	}
	b.settle()
	if after := b.inkOf("#" + table + " .overlay"); after == before || after == 0 {
		b.t.Errorf("the plot has %d drawn pixels with all arms and %d with one hidden", before, after)
	}
	b.do(chromedp.Click(chromedp.CSS(button)))
	b.settle()
	scale := "#" + table + " .scale"
	b.do(chromedp.Click(chromedp.CSS(scale)))
	b.settle()
	if text := js[string](b, fmt.Sprintf(`document.querySelector(%q).textContent`, scale)); text != "Linear scale" {
		b.t.Errorf("on a log scale the button offers %q", text)
	}
	b.do(chromedp.Click(chromedp.CSS(scale)))
	b.settle()
}

// checkZoom drags over the plot and goes back by the button.
func (b *browser) checkZoom(table string) {
	b.t.Helper()
	place := js[[]float64](b, fmt.Sprintf(`(() => { const e = document.querySelector("#%s .overlay .u-over"); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return [r.left + r.width * 0.3, r.left + r.width * 0.6, r.top + r.height / 2]; })()`, table))
	b.do(chromedp.DragAndDropXY(place[0], place[2], place[1], place[2], 5))
	b.settle()
	shown := fmt.Sprintf(`(() => { const s = document.querySelector("#%s .overlay").plot.scales.x; return s.max - s.min; })()`, table)
	if span := js[float64](b, shown); span < 10 || span > 25 {
		b.t.Errorf("dragging over three tenths of 60 s shows %.1f s", span)
	}
	other := fmt.Sprintf(`(() => { const s = document.querySelector("#%s .multiple > div").plot.scales.x; return s.max - s.min; })()`, table)
	if span := js[float64](b, other); span > 25 {
		b.t.Errorf("the small plots did not follow: they show %.1f s", span)
	}
	if left := js[int](b, `[...document.querySelectorAll(".u-select")].filter((e) => e.offsetWidth > 0).length`); left > 0 {
		b.t.Errorf("%d plots still show what was dragged over", left)
	}
	beneath := fmt.Sprintf(`[...document.querySelectorAll("#%s .beside [role=img]")].map((e) => e.plot.scales.x.max - e.plot.scales.x.min)`, table)
	for i, span := range js[[]float64](b, beneath) {
		if span > 25 {
			b.t.Errorf("the plot %d under the rate did not follow: it shows %.1f s", i, span)
		}
	}
	b.shoot("zoomed.png")
	b.do(chromedp.Click(chromedp.CSS("#" + table + " .unzoom")))
	b.settle()
	if span := js[float64](b, shown); span < 55 {
		b.t.Errorf("after going back, %.1f s of 60 are shown", span)
	}
}

// checkGlance: every table has a column that leads to it, and every measured arm a row.
func (b *browser) checkGlance(v View) {
	b.t.Helper()
	links := js[[]string](b, `[...document.querySelectorAll("#glance thead a")].map((a) => a.hash.slice(1))`)
	if len(links) != len(v.Tables) {
		b.t.Errorf("at a glance there are %d tables of %d", len(links), len(v.Tables))
	}
	text := js[string](b, `document.querySelector("#glance").textContent`)
	for _, store := range v.Stores {
		if !strings.Contains(text, store.Arm) {
			b.t.Errorf("at a glance, %s is not seen", store.Arm)
		}
	}
	if bottom := js[float64](b, `document.querySelector("#glance tbody").getBoundingClientRect().bottom + scrollY`); bottom > 900 {
		b.t.Errorf("the first screen of 900 pixels ends above the overview, which ends at %.0f", bottom)
	}
}

// checkBeside chooses a series to stand under the rate, and takes it away again.
func (b *browser) checkBeside(table string) {
	b.t.Helper()
	drawn := fmt.Sprintf(`document.querySelectorAll("#%s .beside canvas").length`, table)
	before := js[int](b, drawn)
	if before != shownMax {
		b.t.Errorf("%d series stand under the rate, want %d", before, shownMax)
	}
	if ink := b.inkOf("#" + table + " .beside"); ink < 200 {
		b.t.Errorf("the plot under the rate has %d drawn pixels", ink)
	}
	offered := js[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#%s .choices button")].map((e) => e.textContent)`, table))
	for _, title := range []string{"CPU", "Memory (RSS)", "Host writes", "p99", "Disk"} {
		if !slices.Contains(offered, title) {
			b.t.Errorf("%s is not offered: %q", title, offered)
		}
	}
	if missing := js[string](b, fmt.Sprintf(`document.querySelector("#%s .unmeasured").textContent`, table)); !strings.Contains(missing, "Steal") {
		b.t.Errorf("that steal was not measured is not said: %q", missing)
	}
	press := fmt.Sprintf(`(() => { const e = [...document.querySelectorAll("#%s .choices button")].find((e) => e.textContent === "p99"); e.click(); return e.getAttribute("aria-pressed"); })()`, table)
	if pressed := js[string](b, press); pressed != "true" {
		b.t.Errorf("a chosen series has aria-pressed=%s", pressed)
	}
	js[bool](b, fmt.Sprintf(`(document.querySelector("#%s .beside").scrollIntoView({block: "center"}), true)`, table))
	b.settle()
	if after := js[int](b, drawn); after != before+1 {
		b.t.Errorf("with one more chosen, %d series are drawn", after)
	}
	js[string](b, press)
}

// checkCells: at no width does a table's text leave its cell, and on a wide window no table needs to be scrolled.
func (b *browser) checkCells(widths ...int) {
	b.t.Helper()
	for _, width := range widths {
		b.do(chromedp.EmulateViewport(int64(width), 900))
		b.settle()
		for _, cell := range js[[]string](b, overflowing) {
			b.t.Errorf("at a width of %d, a cell is too small for its text: %s", width, cell)
		}
		if wide := js[int](b, `document.documentElement.scrollWidth`); wide > width {
			b.t.Errorf("at a width of %d the page is %d wide", width, wide)
		}
		if width >= 1280 {
			for _, table := range js[[]string](b, `[...document.querySelectorAll("main .scroll, .glance")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.trim().slice(0, 40))`) {
				b.t.Errorf("at a width of %d a table must be scrolled: %s", width, table)
			}
		}
	}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.settle()
}

// checkNavigation: where the sections don't fit, the bar fades and has buttons that lead to the last one; where they do, it has none.
func (b *browser) checkNavigation() {
	b.t.Helper()
	const state = `(() => { const bar = document.querySelector("nav ul"); const fits = bar.scrollWidth <= bar.clientWidth + 2;
		const buttons = [...document.querySelectorAll("nav .along")].filter((e) => e.checkVisibility()).length;
		return [fits ? 1 : 0, buttons, bar.classList.contains("more-before") ? 1 : 0, bar.classList.contains("more-after") ? 1 : 0]; })()`
	for width, want := range map[int64][]int{1900: {1, 0, 0, 0}, 500: {0, 2, 0, 1}} {
		b.do(chromedp.EmulateViewport(width, 900))
		js[bool](b, `(document.querySelector("nav ul").scrollTo({ left: 0, behavior: "instant" }), true)`)
		b.settle()
		if got := js[[]int](b, state); !slices.Equal(got, want) {
			b.t.Errorf("at a width of %d, the navigation (fits, buttons, more before, more after) is %v, want %v", width, got, want)
		}
	}
	b.do(chromedp.EmulateViewport(500, 900))
	b.settle()
	const later = `(() => { const button = document.querySelector("nav [data-along='1']"); if (button.disabled) return true; button.click(); return false; })()`
	for range 60 {
		if js[bool](b, later) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if seen := js[bool](b, `(() => { const bar = document.querySelector("nav ul").getBoundingClientRect(); return document.querySelector("nav li:last-child a").getBoundingClientRect().right <= bar.right + 2; })()`); !seen {
		b.t.Error("the button for later sections does not lead to the last one")
	}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.settle()
}

// overflowing lists the cells whose text is wider than they are, or lies outside of them. Texts for screen readers only have
// no place, so they are taken away while it looks.
const overflowing = `(() => {
	const without = document.createElement("style");
	without.textContent = ".unseen { display: none }";
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

// The check above must see what it is there for.
func TestOverflowIsSeen(t *testing.T) {
	b := openPage(t, `<!doctype html><title>narrow</title><style>table { table-layout: fixed; width: 40px } i { display: inline-block; width: 1ch }</style>
		<table><tr><td>abcdefghijkl<td>x</table><table style="width:90px"><tr><td>1<i>.000256</i><td>5</table>`)
	if seen := js[[]string](b, overflowing); len(seen) != 2 {
		t.Errorf("of two cells that are too small, these were seen: %q", seen)
	}
}

const background = `getComputedStyle(document.body).backgroundColor`

func (b *browser) checkTheme() {
	b.t.Helper()
	light := js[string](b, background)
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	if dark := js[string](b, background); dark == light {
		b.t.Errorf("the theme's button leaves the page at %s", light)
	}
	b.shoot("dark.png")
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	if again := js[string](b, background); again != light {
		b.t.Errorf("the theme's button goes from %s to %s", light, again)
	}
}

func (b *browser) checkSystemTheme() {
	b.t.Helper()
	js[bool](b, `(localStorage.clear(), delete document.documentElement.dataset.theme)`)
	light := js[string](b, background)
	b.media("", "dark")
	if dark := js[string](b, background); dark == light {
		b.t.Errorf("under a dark system theme the page stays at %s", light)
	}
	b.media("", "light")
}

// media emulates a medium ("print", or "" for the screen) and a system theme.
func (b *browser) media(medium, scheme string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) checkNarrow() {
	b.t.Helper()
	const width = 400
	b.do(chromedp.EmulateViewport(width, 860, chromedp.EmulateMobile, chromedp.EmulateScale(2)), chromedp.Reload())
	b.drawEverything()
	if wide := js[int](b, `document.documentElement.scrollWidth`); wide > width {
		b.t.Errorf("on a screen of %d pixels the page is %d wide", width, wide)
	}
	b.shoot("narrow.png")
}

func (b *browser) checkPrint(v View) {
	b.t.Helper()
	const paper = 703 // A4 less its margins, at 96 dots an inch
	b.do(chromedp.EmulateViewport(paper, 1000), chromedp.Reload())
	b.media("print", "dark")
	js[bool](b, `dispatchEvent(new Event("beforeprint"))`)
	b.settle()
	if wide := js[int](b, `document.documentElement.scrollWidth`); wide > paper {
		b.t.Errorf("on paper of %d pixels the page is %d wide", paper, wide)
	}
	if js[bool](b, `document.querySelector("nav").checkVisibility()`) {
		b.t.Error("the navigation is printed")
	}
	if colour := js[string](b, background); colour != "rgb(253, 253, 251)" {
		b.t.Errorf("paper is printed as %s", colour)
	}
	last := v.Tables[len(v.Tables)-1].ID
	if ink := b.inkOf("#" + last + " .overlay"); ink < 500 {
		b.t.Errorf("the last plot is printed with %d drawn pixels, though nobody scrolled to it", ink)
	}
	for _, heading := range js[[]string](b, `[...document.querySelectorAll("h2, h3")].filter((e) => getComputedStyle(e).breakBefore !== "auto").map((e) => e.textContent)`) {
		b.t.Errorf("a page is begun for %q, however much room the one before has", heading)
	}
	const half = 510 // of a page
	for _, kept := range js[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter((e) => getComputedStyle(e).breakInside === "avoid" && e.offsetHeight > %d).map((e) => e.offsetHeight + " pixels of " + e.tagName + " " + e.textContent.trim().slice(0, 40))`, half)) {
		b.t.Errorf("what may not break takes more than half a page, and so leaves one half empty: %s", kept)
	}
	b.shoot("print.png")
	js[bool](b, `dispatchEvent(new Event("afterprint"))`)
	b.media("", "light")
	pdf, err := chromedp.Run(b.context, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	if err != nil {
		b.t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF")) {
		b.t.Errorf("the print begins with %q", pdf[:min(len(pdf), 8)])
	}
	keep(b.t, "print.pdf", func() []byte { return pdf })
}

// The tables are written by Go and the plots by the page: both must write a number the same way.
func TestPageWritesNumbersAsGoDoes(t *testing.T) {
	source, err := os.ReadFile("../../web/page/number.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openPage(t, "<!doctype html><title>numbers</title><script>"+strings.ReplaceAll(string(source), "export ", "")+"</script>")
	for _, unit := range []string{"", "s", "B"} {
		for _, v := range []float64{0, 1, 9.999, 99.96, 999.4, 999.6, 1234, 15.8e-6, 0.0123, 0.5, 412345, 1.4249e6, 3e15, -2500} {
			if got := js[string](b, fmt.Sprintf("si(%g, %q)", v, unit)); got != si(v, unit) {
				t.Errorf("the page writes %g as %q, Go as %q", v, got, si(v, unit))
			}
		}
	}
}

// The checks above see requests and complaints only if the listener does: this page makes both.
func TestBrowserHearsRequestsAndComplaints(t *testing.T) {
	b := openPage(t, `<!doctype html><title>loud</title><script>
		fetch("http://127.0.0.1:9/").catch(() => {}); console.error("loud"); setTimeout(() => { throw new Error("thrown") })</script>`)
	for range 100 {
		b.guard.Lock()
		requests, complaints := len(b.requests), len(b.complaints)
		b.guard.Unlock()
		if requests >= 2 && complaints >= 2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("of a request, a console error and an exception, the listener heard: requests %q, complaints %q", b.requests, b.complaints)
}

// hostile is put wherever a run has a text of its user's or of a store's.
const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "`&\u2028"

func hostileRun() *record.Run {
	shape := recordtest.Example()
	shape.Classes, shape.Blocks, shape.Seconds = shape.Classes[:1], 2, 20
	shape.Arms = shape.Arms[:3]
	shape.Arms[0].Name = "a" + hostile
	shape.Arms[1].Fails = func(_ recordtest.Class, block int) string { return hostile }
	run := recordtest.Run(shape)
	run.Header.Name, run.Experiment.About = hostile, hostile
	run.Environment.CPU, run.Environment.Command = hostile, []string{"assay", "run", "--set", hostile}
	run.Missing = []string{hostile}
	run.Experiment.Stores[0].Description.Note = hostile
	return run
}

func TestHostileTextsStayTexts(t *testing.T) {
	v, err := Build(hostileRun())
	if err != nil {
		t.Fatal(err)
	}
	html := htmlOf(t, v)
	if n := strings.Count(html, "<script"); n != 2 {
		t.Errorf("the page has %d script elements, want the data and the program", n)
	}
	if strings.Contains(html, "<img") {
		t.Error("a text became an element")
	}
	b := openPage(t, html)
	b.drawEverything()
	if title := js[string](b, `document.querySelector("h1").textContent`); title != hostile {
		t.Errorf("the title reads %q", title)
	}
	if command := js[string](b, `document.querySelector("#command-0").textContent`); !strings.Contains(command, "<img src=x onerror=alert(2)>") {
		t.Errorf("the command reads %q", command)
	}
	if arm := js[string](b, `JSON.parse(document.getElementById("report-data").textContent).stores[0].arm`); arm != "a"+hostile {
		t.Errorf("the data's first arm reads %q", arm)
	}
	b.quiet()
}

// A run of many trials must open as a small one does: plots are thinned out, and the page says so.
func TestPageOfManyTrials(t *testing.T) {
	shape := recordtest.Example()
	shape.Blocks, shape.Seconds = 17, 240
	run := recordtest.Run(shape)
	if len(run.Plan) < 500 {
		t.Fatalf("the run has %d trials, too few to show anything", len(run.Plan))
	}
	v, err := Build(run)
	if err != nil {
		t.Fatal(err)
	}
	points := 0
	for _, table := range v.Tables {
		for _, s := range table.Series {
			points += len(s.At)
		}
	}
	if points > viewPointsMax {
		t.Errorf("the page has %d points, more than %d", points, viewPointsMax)
	}
	if len(v.Gaps) == 0 || !strings.Contains(v.Gaps[len(v.Gaps)-1], "drawn with fewer points") {
		t.Errorf("the page does not say that plots are thinned out: %q", v.Gaps)
	}
	html := htmlOf(t, v)
	if megabytes := float64(len(html)) / 1e6; megabytes > 12 {
		t.Errorf("the page of %d trials has %.1f MB", len(run.Plan), megabytes)
	}
	b := openPage(t, html)
	last := "#" + v.Tables[len(v.Tables)-1].ID + " .overlay"
	b.do(chromedp.ScrollIntoView(chromedp.CSS(last)))
	b.settle()
	if ink := b.inkOf(last); ink < 500 {
		t.Errorf("the last plot has %d drawn pixels", ink)
	}
	b.quiet()
}
