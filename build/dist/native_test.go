package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A package of native workers depends on what they load, and on Assay. The workers are stood in for by a
// program that loads a few libraries.
func TestNativePackage(t *testing.T) {
	program, err := exec.LookPath("dpkg-query")
	if err != nil {
		t.Skip("SKIPPED: no dpkg-query here, and so no Debian packages to depend on")
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	worker := file{nativeFolder + "assay-worker-x", content}
	libraries, glibc, err := needed([]file{worker, worker})
	if err != nil || !slices.Contains(libraries, "libc.so.6") || !strings.HasPrefix(glibc, "2.") || glibc == "2.0" {
		t.Fatalf("libraries %q, glibc %s, %v", libraries, glibc, err)
	}
	r := release{version: "1.2.3", when: time.Unix(1e9, 0).UTC(), natives: []file{worker}, files: []file{{documentation + "LICENSE", []byte("l")}}}
	var before []byte
	for range 2 {
		deb, err := nativePackage("deb", r)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !bytes.Equal(before, deb) {
			t.Error("twice not the same")
		}
		before = deb
	}
	path := filepath.Join(t.TempDir(), "native.deb")
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	control, err := exec.Command("dpkg-deb", "--info", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, control)
	}
	for _, part := range []string{"Package: assay-native", "Version: 1.2.3", "Depends: assay, ", "libc6 (>= " + glibc + ")"} {
		if !strings.Contains(string(control), part) {
			t.Errorf("no %q in\n%s", part, control)
		}
	}
	contents, err := exec.Command("dpkg-deb", "--contents", path).CombinedOutput()
	if err != nil || !strings.Contains(string(contents), "-rwxr-xr-x root/root") || !strings.Contains(string(contents), "."+worker.path) {
		t.Errorf("%v\n%s", err, contents)
	}
	if _, err := nativePackage("rpm", r); err != nil {
		t.Error(err)
	}
	depends, err := rpmDepends(libraries, glibc)
	if err != nil || !slices.Contains(depends, "libc.so.6()(64bit)") || !slices.Contains(depends, "assay") {
		t.Errorf("%q, %v", depends, err)
	}
}
