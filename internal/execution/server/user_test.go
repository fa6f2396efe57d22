package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/store"
)

// asNobody is a program that must not run as root, and never gets beyond its preparation.
func asNobody(prepare func(ctx context.Context, i *Instance) error) Program {
	return Program{
		Driver: "sleep", Binaries: []string{"sleep"}, Packages: []string{"coreutils"}, NotAsRoot: []string{"no-such-user", "nobody"},
		Asked: func(*Instance) map[string]string { return nil }, Prepare: prepare,
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root starts servers as other users")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
}

// Fault (servers): Assay is root
// Assay: servers run as other users, unless those have no access to the data or the program
// With: server.TestServerIsNotRootWhereItNeedNotBe
func TestServerThatMustNotBeRootHasAnotherUser(t *testing.T) {
	needRoot(t)
	directory, err := os.MkdirTemp("", "assay-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	p := asNobody(func(ctx context.Context, i *Instance) error {
		return errors.Join(i.Run(ctx, "sh", "-c", "id -un > who; id -G >> who; env >> who; pwd >> who"), enough)
	})
	_, err = Start(context.Background(), p, Request{Directory: directory, Log: io.Discard, Class: store.D0,
		Patience: long})
	if !errors.Is(err, enough) {
		t.Fatalf("starting gave %v", err)
	}
	own := filepath.Join(directory, directoryName)
	text, err := os.ReadFile(filepath.Join(own, "who"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(text), "\n"); lines[0] != "nobody" || strings.Contains(lines[1], " ") || lines[1] == "0" {
		t.Errorf("it ran as %q, in the groups %q", lines[0], lines[1])
	}
	if !strings.Contains(string(text), "\n"+own+"\n") || strings.Contains(string(text), "XDG_STATE_HOME") {
		t.Errorf("its directory or environment is not its own:\n%s", text)
	}
}

func TestDirectoryThatTheServersUserCantEnterIsRefused(t *testing.T) {
	needRoot(t)
	closed := filepath.Join(t.TempDir(), "closed")
	inner := filepath.Join(closed, "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	p := asNobody(func(context.Context, *Instance) error { return errors.New("it was prepared") })
	_, err := Start(context.Background(), p, Request{Directory: inner, Log: io.Discard, Class: store.D0,
		Patience: long})
	if err == nil || !strings.Contains(err.Error(), "has no access to "+inner) || !strings.Contains(err.Error(), "--data DIR") {
		t.Errorf("starting gave %v", err)
	}
}

// A program that may be root is not, where the other user can enter.
func TestServerIsNotRootWhereItNeedNotBe(t *testing.T) {
	needRoot(t)
	for name, c := range map[string]struct {
		mode os.FileMode
		who  string
	}{"open": {0o711, "nobody"}, "closed": {0o700, "root"}} {
		t.Run(name, func(t *testing.T) {
			directory, err := os.MkdirTemp("", "assay-user-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(directory) })
			if err := os.Chmod(directory, c.mode); err != nil {
				t.Fatal(err)
			}
			enough := errors.New("enough")
			p := asNobody(func(ctx context.Context, i *Instance) error {
				if err := os.WriteFile(filepath.Join(i.Directory, "made"), nil, 0o600); err != nil {
					return err
				}
				return errors.Join(i.handOver(), i.Run(ctx, "sh", "-c", "id -un > who; cat made"), enough)
			})
			p.MayBeRoot = true
			_, err = Start(context.Background(), p, Request{Directory: directory, Log: io.Discard, Class: store.D0,
				Patience: long})
			if !errors.Is(err, enough) || strings.Contains(err.Error(), "running sh") {
				t.Fatalf("starting gave %v", err)
			}
			if who, err := os.ReadFile(filepath.Join(directory, directoryName, "who")); err != nil || strings.TrimSpace(string(who)) != c.who {
				t.Errorf("it ran as %q, expected %s: %v", who, c.who, err)
			}
		})
	}
}
