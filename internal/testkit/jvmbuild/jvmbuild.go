// Package jvmbuild finds the Java worker that `make jvm` built, for the tests of all packages.
package jvmbuild

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sums is what `make jvm` writes last: a digest of each file that the worker was built of.
const sums = "sources.sha256"

// Folder returns where `make jvm` put the programs and their jars. It skips the test where nothing is
// built or a program is missing, and fails it where something was built of other sources: what is
// tested then would not be what stands there.
func Folder(t *testing.T, programs ...string) string {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: no %s here (Debian: apt-get install --no-install-recommends maven openjdk-17-jdk-headless)", program)
		}
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	folder, sources := filepath.Join(root, "bin", "jvm"), filepath.Join(root, "workers", "java")
	listed, err := os.ReadFile(filepath.Join(folder, sums))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("skipped: the Java worker is not built: make jvm")
	}
	if err != nil {
		t.Fatal(err)
	}
	path, err := changed(listed, sources)
	if err != nil {
		t.Fatal(err)
	}
	if path != "" {
		t.Fatalf("the Java worker was built of another workers/java/%s: make jvm", path)
	}
	return folder
}

// changed names a file that is not what it was when sha256sum listed it.
func changed(listed []byte, folder string) (path string, err error) {
	before := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(listed)); lines.Scan(); {
		if digest, path, is := strings.Cut(lines.Text(), "  "); is {
			before[filepath.Clean(path)] = digest
		}
	}
	err = filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(at, ".go") {
			return err
		}
		name, err := filepath.Rel(folder, at)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		if before[name] != fmt.Sprintf("%x", sha256.Sum256(text)) {
			path = name
			return fs.SkipAll
		}
		delete(before, name)
		return nil
	})
	for name := range before {
		if err == nil && path == "" {
			path = name
		}
	}
	return path, err
}
