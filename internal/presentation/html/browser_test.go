package html

import (
	"os"
	"path/filepath"
	"testing"

	"assay/internal/testkit/chromium"
)

func TestMain(m *testing.M) { chromium.Main(m) }

// browser is a report in Chromium, and the checks of it.
type browser struct{ *chromium.Page }

// openPage writes the page to a file and opens it in a tab.
func openPage(t *testing.T, html string) browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	return browser{chromium.Open(t, chromium.File(file))}
}

func js[T any](b browser, expression string) T {
	b.T.Helper()
	return chromium.JS[T](b.Page, expression)
}

func (b browser) shoot(name string) {
	b.T.Helper()
	keep(b.T, name, b.Screenshot)
}
