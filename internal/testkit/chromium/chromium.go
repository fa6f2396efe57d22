// Package chromium opens pages in a headless Chromium, one for all tests of a package, and tells
// what they complained of and asked for.
package chromium

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Page is a page in a tab of its own, with everything that it complained of or asked for.
type Page struct {
	T       *testing.T
	Context context.Context // of its tab
	Address string

	guard      sync.Mutex // the listener runs on a goroutine of chromedp's
	complaints []string
	requests   []string
}

// browser is the browser of all tests: it takes longer to start than most of them.
var browser struct {
	start   sync.Once
	context context.Context // nil: none is installed
	err     error
	stop    func()
}

// Main runs a package's tests, ends the browser that they opened and ends the process.
func Main(m *testing.M) {
	status := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(status)
}

func start() {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		return
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true))...)
	started, closeBrowser := chromedp.NewContext(allocator)
	browser.context, browser.stop = started, func() { closeBrowser(); stop() }
	browser.err = chromedp.Do(started)
}

// Open opens the page at an address in a window of 1280 × 900 pixels. Without Chromium the test is
// skipped, visibly.
func Open(t *testing.T, address string) *Page {
	t.Helper()
	browser.start.Do(start)
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	if browser.context == nil {
		t.Skip("skipped: no Chromium is installed, so the page was not opened")
	}
	tab, closeTab := chromedp.NewContext(browser.context)
	t.Cleanup(closeTab)
	limited, cancel := context.WithTimeout(tab, 8*time.Minute)
	t.Cleanup(cancel)
	p := &Page{T: t, Context: limited, Address: address}
	p.Do() // opens the tab, so that no event of the page is missed
	if err := chromedp.Listen(limited, p.listen); err != nil {
		t.Fatal(err)
	}
	p.Do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address))
	return p
}

// File returns the address of a file.
func File(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func (p *Page) listen(event any) {
	p.guard.Lock()
	defer p.guard.Unlock()
	switch e := event.(type) {
	case *cdpruntime.EventExceptionThrown:
		p.complaints = append(p.complaints, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *cdpruntime.EventConsoleAPICalled:
		p.complaints = append(p.complaints, fmt.Sprintf("console.%s was called", e.Type))
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

// Heard returns what the page complained of and what it asked for by now.
func (p *Page) Heard() (complaints, requests []string) {
	p.guard.Lock()
	defer p.guard.Unlock()
	return slices.Clone(p.complaints), slices.Clone(p.requests)
}

// Quiet checks that the page complained of nothing and asked for nothing but itself and what mine
// says is its own.
func (p *Page) Quiet(mine func(address string) bool) {
	p.T.Helper()
	complaints, requests := p.Heard()
	for _, complaint := range complaints {
		p.T.Errorf("the page complained: %s", complaint)
	}
	if !slices.Contains(requests, p.Address) {
		p.T.Errorf("the page's own request was not seen, so others might not be either: %q", requests)
	}
	for _, request := range requests {
		if request != p.Address && request != "data:," && !mine(request) {
			p.T.Errorf("the page asked for %s", request)
		}
	}
}

// Alone is a page that is one file.
func Alone(string) bool { return false }

// Do does steps in the page.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	if err := chromedp.Do(p.Context, steps...); err != nil {
		p.T.Fatal(err)
	}
}

// JS evaluates an expression in the page and waits for it if it is a promise.
func JS[T any](p *Page, expression string) T {
	p.T.Helper()
	result, err := chromedp.Run(p.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.T.Fatalf("%s: %v", expression, err)
	}
	return result
}

// Settle waits until what was asked for is drawn.
func (p *Page) Settle() {
	p.T.Helper()
	JS[bool](p, `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`)
}

// Screenshot returns the whole page as a PNG.
func (p *Page) Screenshot() []byte {
	p.T.Helper()
	png, err := chromedp.Run(p.Context, chromedp.FullScreenshot(100))
	if err != nil {
		p.T.Fatal(err)
	}
	return png
}
