package jars

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stand puts a Maven of the test's own first, and a cache that is empty.
func stand(t *testing.T, script string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "mvn"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// copies does what copy-dependencies does, and counts how often it was asked.
const copies = `for a; do case $a in -DoutputDirectory=*) out=${a#-DoutputDirectory=};; *.pom|*pom.xml) pom=$a;; esac; done
echo asked >>"$XDG_CACHE_HOME/asked"
mkdir -p "$out" && cp "$pom" "$out/a-1.jar"
`

func TestResolve_fetches_once(t *testing.T) {
	stand(t, copies)
	for range 2 {
		folder, err := Resolve("g:a:1")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "a-1.jar"))
		if err != nil || !strings.Contains(string(text), "<groupId>g</groupId><artifactId>a</artifactId><version>1</version>") {
			t.Errorf("Maven was asked for %s, %v", text, err)
		}
	}
	asked, err := os.ReadFile(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "asked"))
	if err != nil || string(asked) != "asked\n" {
		t.Errorf("Maven was asked %q, %v", asked, err)
	}
}

func TestResolve_leaves_nothing_of_a_failure(t *testing.T) {
	stand(t, copies+"echo '[ERROR] Failed: Could not find artifact g:a:jar:1 in central'; exit 1")
	for range 2 { // the second finds no half of the first
		if _, err := Resolve("g:a:1"); !errors.Is(err, ErrNoVersion) || !strings.Contains(err.Error(), "g:a:1") {
			t.Errorf("%v", err)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "assay", "jars", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestResolve_says_why_Maven_failed(t *testing.T) {
	stand(t, "echo '[ERROR] the line is down'; echo '[ERROR] [Help 1]'; exit 1")
	if _, err := Resolve("g:a:1"); err == nil || !strings.Contains(err.Error(), "g:a:1 by Maven: the line is down") {
		t.Errorf("%v", err)
	}
}

func TestResolve_without_Maven(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := Resolve("g:a:1"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestParse_refuses(t *testing.T) {
	for _, coordinates := range []string{"", "g", "g:a", "g:a:1:jar", "g:a:", "g:../a:1", "g:a:1/2", "-g:a:1", "g:a:1 2", "g:a:<"} {
		if parts, err := Parse(coordinates); err == nil {
			t.Errorf("%q is %v", coordinates, parts)
		}
	}
}

// A jar of the cache that is another one than Maven fetched is no library of that version.
//
// Fault (run directory): a jar in the user's cache is not the one that Maven fetched
// Assay: refused, with the folder to remove
func TestJarThatHasChangedIsRefused(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	folder := filepath.Join(cache, "assay", "jars", "group_artifact_1.0")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	jar := filepath.Join(folder, "artifact-1.0.jar")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(jar, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("fetched")
	for range 2 { // the first time seals what an older version has fetched
		if found, err := Resolve("group:artifact:1.0"); err != nil || found != folder {
			t.Fatalf("%s, %v", found, err)
		}
	}
	write("another")
	if _, err := Resolve("group:artifact:1.0"); err == nil || !strings.Contains(err.Error(), "are not those that Maven fetched") {
		t.Errorf("another jar: %v", err)
	}
	write("fetched")
	if err := os.WriteFile(filepath.Join(folder, "more.jar"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve("group:artifact:1.0"); err == nil {
		t.Error("one more jar is taken")
	}
}
