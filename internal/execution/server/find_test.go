package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/execution/server"
)

func TestFind(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a program beside this one is found", func(t *testing.T) {
		p := server.Program{Driver: "beside", Binaries: []string{filepath.Base(self)}}
		if found, err := p.Find(); err != nil || found != self {
			t.Errorf("%q, %v; expected %q", found, err, self)
		}
	})
	t.Run("a program without what it needs is not installed", func(t *testing.T) {
		directory := t.TempDir()
		write := func(name string) {
			t.Helper()
			path := filepath.Join(directory, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		write("launcher")
		t.Setenv("PATH", directory)
		p := server.Program{Driver: "incomplete", Binaries: []string{"launcher"}, Needs: []string{"runtime", "jars/main-*.jar"}, Missing: "make it"}
		for _, made := range []string{"", "runtime", "jars/other-1.jar"} {
			if made != "" {
				write(made)
			}
			if _, err := p.Find(); !errors.Is(err, server.ErrNotInstalled) || !strings.Contains(err.Error(), "(make it)") {
				t.Errorf("with %q: %v", made, err)
			}
		}
		write("jars/main-1.jar")
		if found, err := p.Find(); err != nil || found != filepath.Join(directory, "launcher") {
			t.Errorf("%q, %v", found, err)
		}
	})
	for name, p := range map[string]server.Program{
		"apt-get install --no-install-recommends a b": {Packages: []string{"a", "b"}},
		"make it": {Missing: "make it"},
	} {
		t.Run("a missing one says: "+name, func(t *testing.T) {
			p.Driver, p.Binaries = "missing", []string{"no-such-program"}
			if _, err := p.Find(); !errors.Is(err, server.ErrNotInstalled) || !strings.Contains(err.Error(), "("+name+")") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A program that is named is the one that is started, or none: never what is installed beside it.
func TestANamedProgramIsNeverReplaced(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	installed := server.Program{Driver: "redis", Binaries: []string{self}, Packages: []string{"redis"}}
	for binary, want := range map[string]string{"": self, self: self, "no-such-server": "", filepath.Join(t.TempDir(), "gone"): ""} {
		named := installed.By(binary)
		found, err := named.Find()
		switch {
		case want != "" && (err != nil || found != want):
			t.Errorf("by %q: %q, %v", binary, found, err)
		case want == "" && (!errors.Is(err, server.ErrNotInstalled) || !strings.HasPrefix(err.Error(), binary)):
			t.Errorf("by %q: %q, %v", binary, found, err)
		}
	}
}
