package html

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a page in a headless Chromium, with everything that it complained of or asked for.
type browser struct {
	t       *testing.T
	context context.Context
	address string // of the page

	guard      sync.Mutex // the listener runs on a goroutine of chromedp's
	complaints []string
	requests   []string
}

// chromium is the browser of all tests: it takes longer to start than most of them.
var chromium struct {
	start   sync.Once
	context context.Context // nil: none is installed
	err     error
	stop    func()
}

func TestMain(m *testing.M) {
	status := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(status)
}

func startChromium() {
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
	chromium.context, chromium.stop = started, func() { closeBrowser(); stop() }
	chromium.err = chromedp.Do(started)
}

// openPage writes the page to a file and opens it in a tab. Without Chromium the test is skipped,
// visibly.
func openPage(t *testing.T, html string) *browser {
	t.Helper()
	chromium.start.Do(startChromium)
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	if chromium.context == nil {
		t.Skip("skipped: no Chromium is installed, so the page was not opened")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	tab, closeTab := chromedp.NewContext(chromium.context)
	t.Cleanup(closeTab)
	limited, cancel := context.WithTimeout(tab, 8*time.Minute)
	t.Cleanup(cancel)
	b := &browser{t: t, context: limited, address: (&url.URL{Scheme: "file", Path: file}).String()}
	b.do() // opens the tab, so that no event of the page is missed
	if err := chromedp.Listen(limited, b.listen); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.address))
	return b
}

func (b *browser) listen(event any) {
	b.guard.Lock()
	defer b.guard.Unlock()
	switch e := event.(type) {
	case *cdpruntime.EventExceptionThrown:
		b.complaints = append(b.complaints, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *cdpruntime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprintf("console.%s was called", e.Type))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// quiet checks that the page complained of nothing and asked for nothing but itself.
func (b *browser) quiet() {
	b.t.Helper()
	b.guard.Lock()
	defer b.guard.Unlock()
	for _, complaint := range b.complaints {
		b.t.Errorf("the page complained: %s", complaint)
	}
	if !slices.Contains(b.requests, b.address) {
		b.t.Errorf("the page's own request was not seen, so others might not be either: %q", b.requests)
	}
	for _, request := range b.requests {
		if request != b.address && request != "data:," {
			b.t.Errorf("the page asked for %s", request)
		}
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.context, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// js evaluates an expression in the page and waits for it if it is a promise.
func js[T any](b *browser, expression string) T {
	b.t.Helper()
	result, err := chromedp.Run(b.context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return result
}

// settle waits until what was asked for is drawn.
func (b *browser) settle() {
	b.t.Helper()
	js[bool](b, `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`)
}

func (b *browser) shoot(name string) {
	b.t.Helper()
	keep(b.t, name, func() []byte {
		png, err := chromedp.Run(b.context, chromedp.FullScreenshot(100))
		if err != nil {
			b.t.Fatal(err)
		}
		return png
	})
}
