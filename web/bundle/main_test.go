package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The bundle is committed, so that building Assay takes no bundler; so it can be older than its
// sources.
func TestCommittedBundleIsFresh(t *testing.T) {
	bundle, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if len(bundle) != len(folders) {
		t.Fatalf("the bundle has %d files, want those of %v", len(bundle), folders)
	}
	for name, fresh := range bundle {
		committed, err := os.ReadFile(filepath.Join(folders[name], name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(committed, fresh) {
			t.Errorf("%s is older than web/: run go generate ./web/bundle", name)
		}
	}
}

func TestBundleIsSelfContained(t *testing.T) {
	bundle, err := build()
	if err != nil {
		t.Fatal(err)
	}
	forbidden := map[string][]string{
		"page.js":  {"</script", "<!--", "fetch(", "XMLHttpRequest", "importScripts", "import("},
		"page.css": {"</style", "@import", "url("},
		"live.js":  {"</script", "<!--", "XMLHttpRequest", "importScripts", "import(", "https:"},
	}
	for name, texts := range forbidden {
		for _, text := range texts {
			if bytes.Contains(bundle[name], []byte(text)) {
				t.Errorf("%s contains %q, which would end its tag or fetch something", name, text)
			}
		}
	}
	for _, name := range []string{"page.js", "live.js"} {
		if !bytes.Contains(bundle[name], []byte("Permission is hereby granted")) {
			t.Errorf("%s does not carry uPlot's licence", name)
		}
	}
}
