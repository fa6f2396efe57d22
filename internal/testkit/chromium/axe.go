package chromium

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"assay/internal/base/bounded"
)

// axeVariable names axe-core's script, in place of the one that make axe fetches.
const axeVariable = "ASSAY_AXE"

// axeBytesMax is several times the script's length.
const axeBytesMax = 16 << 20

// axe returns the script of axe-core, and skips the test where it is not here: it is fetched by npm, and no
// part of Assay.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv(axeVariable)
	for folder := "."; path == ""; folder = filepath.Join("..", folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			path = filepath.Join(folder, "bin", "axe", "node_modules", "axe-core", "axe.min.js")
		}
	}
	script, err := bounded.ReadFile(path, axeBytesMax)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("SKIPPED: no axe-core is here to check the page with; make axe fetches it")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// Accessible holds the page against axe-core's rules, in the light and in the dark: no violation of them may be
// critical or serious. It is the last step of a test: where axe-core is not here, the test is skipped.
func (p *Page) Accessible() {
	p.T.Helper()
	JS[string](p, axe(p.T)+"; axe.version")
	for _, scheme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(p.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
			p.T.Fatal(err)
		}
		p.Settle()
		found := JS[[]string](p, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations
			.filter((v) => v.impact === "critical" || v.impact === "serious")
			.map((v) => v.impact + " " + v.id + " (" + v.nodes.length + "): " + v.nodes.slice(0, 3).map((n) => n.target.join(" ") + ": " + n.any.concat(n.all, n.none).map((c) => c.message).join("; ")).join(" | ")))`)
		if len(found) > 0 {
			p.T.Errorf("in the %s axe finds\n%s", scheme, strings.Join(found, "\n"))
		}
	}
}
