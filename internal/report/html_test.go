package report

import (
	"bytes"
	"fmt"
	"os"
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
	for _, table := range v.Tables {
		for _, part := range []string{".overlay", ".nines", ".multiple"} {
			if ink := b.inkOf("#" + table.ID + " " + part); ink < 500 {
				t.Errorf("%s of %s has %d drawn pixels", part, table.ID, ink)
			}
		}
	}
	b.checkTexts(v)
	b.checkLinks(v)
	b.checkArmToggle(v.Tables[0].ID)
	b.checkZoom(v.Tables[0].ID)
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
	for _, f := range v.Findings {
		if !strings.Contains(findings, f.Sentence) {
			b.t.Errorf("the page lacks the finding %q", f.Sentence)
		}
	}
	for _, table := range v.Tables {
		text := js[string](b, fmt.Sprintf(`document.querySelector("#%s .scroll").textContent`, table.ID))
		for _, row := range table.Rows {
			if !strings.Contains(text, row.Arm) {
				b.t.Errorf("the table %s lacks %s", table.ID, row.Arm)
			}
			for _, reason := range row.Reasons {
				if row.Standing != Reference && !strings.Contains(text, reason) {
					b.t.Errorf("the table %s does not say of %s: %s", table.ID, row.Arm, reason)
				}
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
	b.shoot("zoomed.png")
	b.do(chromedp.Click(chromedp.CSS("#" + table + " .unzoom")))
	b.settle()
	if span := js[float64](b, shown); span < 55 {
		b.t.Errorf("after going back, %.1f s of 60 are shown", span)
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
	run.Environment.CPU, run.Environment.Command = hostile, []string{"assay", hostile}
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
