package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNotice_is_of_what_is_linked_in(t *testing.T) {
	text, err := notice()
	if err != nil {
		t.Fatal(err)
	}
	root, err := rootFolder()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(text, kept) {
		return
	}
	now, was := strings.Split(string(text), "\n"), strings.Split(string(kept), "\n")
	for i := range min(len(now), len(was)) {
		if now[i] != was[i] {
			t.Fatalf("NOTICE is not of what is linked in: `make generate` writes it. Line %d is %q, expected %q", i+1, was[i], now[i])
		}
	}
	t.Fatalf("NOTICE is not of what is linked in: `make generate` writes it. It has %d lines, expected %d", len(was), len(now))
}

func TestRead(t *testing.T) {
	const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation " +
		"files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, " +
		"publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, " +
		"subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial " +
		"portions of the Software.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED " +
		"TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT " +
		"HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR " +
		"IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		found []string // nil: errNoLicence
		texts int
	}{
		{"a file of its name", map[string]string{"LICENSE": mit, "NOTICE.txt": "by somebody", "README.md": mit}, []string{"MIT"}, 2},
		{"the readme alone", map[string]string{"README.md": "# it\n\n" + mit}, []string{"MIT"}, 1},
		{"an unknown text", map[string]string{"LICENSE": "do as you like"}, nil, 0},
		{"none", map[string]string{"licensed.go": mit}, nil, 0},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := part{name: "x", folder: folder}
			err := p.read()
			if errors.Is(err, errNoLicence) != (c.found == nil) || err != nil && c.found != nil {
				t.Fatal(err)
			}
			if err == nil && (!slices.Equal(p.licences, c.found) || len(p.texts) != c.texts) {
				t.Errorf("%v, %d texts", p.licences, len(p.texts))
			}
		})
	}
}
