package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/execution/server"
	"assay/internal/experiment"
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
func TestNamedProgramIsNeverReplaced(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	installed := server.Program{Driver: "redis", Binaries: []string{self}, Packages: []string{"redis"}}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for binary, why := range map[string]string{plain: "is not executable", t.TempDir(): "is a directory", plain + "-gone": "there is no such file"} {
		named := installed.By(binary)
		if found, err := named.Find(); !errors.Is(err, experiment.ErrNoProgram) || !strings.Contains(err.Error(), binary+": ") || !strings.Contains(err.Error(), why) {
			t.Errorf("by %q: %q, %v", binary, found, err)
		}
	}
	for binary, want := range map[string]string{"": self, self: self, "no-such-server": ""} {
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

// script writes a program, and returns its path.
func script(t *testing.T, directory, name, text string) string {
	t.Helper()
	path := filepath.Join(directory, name)
	if err := errors.Join(os.MkdirAll(directory, 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestIdentify(t *testing.T) {
	p := server.Program{Driver: "redis", Tells: regexp.MustCompile(`(?m)^(\w+) server v=`)}
	for name, c := range map[string]struct{ script, product, version, wrong string }{
		"its own":        {`echo "Redis server v=7.0.15 sha=0"`, "redis", "7.0.15", ""},
		"a fork":         {`echo "a warning"; echo "Valkey server v=9.1.2"`, "valkey", "9.1.2", ""},
		"another kind":   {`echo "memcached 1.6.18"`, "", "", `is another program than redis: asked for its version, it prints "memcached 1.6.18"`},
		"no version":     {`echo "Redis server v=none"`, "", "", "no version in"},
		"a silent death": {`kill -9 $$`, "", "", "signal: killed"},
		"last words":     {`echo one; echo two >&2; exit 1`, "", "", "exit status 1; it last wrote: one | two"},
	} {
		t.Run(name, func(t *testing.T) {
			told, err := p.Identify(t.Context(), script(t, t.TempDir(), "program", c.script))
			switch {
			case c.wrong == "" && (err != nil || told.Product != c.product || told.Version != c.version):
				t.Errorf("%+v, %v", told, err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("%v, want %s", err, c.wrong)
			}
		})
	}
}

// Every binary is listed once, that which is started first.
func TestAllBinaries(t *testing.T) {
	place := t.TempDir()
	first := script(t, filepath.Join(place, "a"), "assay-test-server", "")
	second := script(t, filepath.Join(place, "b"), "assay-test-server", "")
	fork := script(t, filepath.Join(place, "b"), "assay-test-fork", "")
	versioned := script(t, filepath.Join(place, "opt", "9", "bin"), "server", "")
	if err := os.Symlink(first, filepath.Join(place, "b", "assay-test-alias")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(place, "a")+":"+filepath.Join(place, "b"))
	p := server.Program{Driver: "d", Binaries: []string{"assay-test-server", "assay-test-alias", filepath.Join(place, "opt", "*", "bin", "server")},
		Others: []string{"assay-test-fork"}}
	if all, want := p.All(), []string{first, second, versioned, fork}; !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
	named := p.By("no-such-server")
	if all := named.All(); len(all) > 0 {
		t.Errorf("of a program that is not there: %q", all)
	}
}
