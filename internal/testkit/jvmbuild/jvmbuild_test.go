package jvmbuild

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestStaleBuildIsReported(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("pom.xml", "a")
	write("host/Walker.java", "b")
	write("java_test.go", "no source")
	listed := fmt.Appendf(nil, "%x  ./host/Walker.java\n%x  ./pom.xml\n", sha256.Sum256([]byte("b")), sha256.Sum256([]byte("a")))
	wants := func(what, want string) {
		t.Helper()
		if path, err := changed(listed, folder); err != nil || path != want {
			t.Errorf("%s: %q, %v; expected %q", what, path, err, want)
		}
	}
	wants("nothing", "")
	write("host/Walker.java", "c")
	wants("another text", "host/Walker.java")
	write("host/Walker.java", "b")
	write("host/New.java", "")
	wants("a new file", "host/New.java")
	if err := os.Remove(filepath.Join(folder, "host/New.java")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "pom.xml")); err != nil {
		t.Fatal(err)
	}
	wants("a file that is gone", "pom.xml")
}
