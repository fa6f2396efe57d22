package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/server"
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
