package server

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestServersStartAgainOnWhatTheyLeft(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ctx := context.Background()
	g, err := StartGroup(ctx, several(family, Independent), Request{Directory: t.TempDir(), Log: t.Output(), Class: "D1", Patience: long, Count: 2,
		Settings: map[string]string{"own": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(g.Members[1].Directory, "kept")
	if err := errors.Join(os.WriteFile(kept, nil, 0o600), g.Kill()); err != nil {
		t.Fatal(err)
	}
	if g.Running() {
		t.Error("they run after a kill")
	}
	was := []Instance{*g.Members[0], *g.Members[1]}
	if err := g.Restart(ctx, long); err != nil {
		t.Fatal(err)
	}
	for n, i := range g.Members {
		was := &was[n]
		if i.Endpoint() != was.Endpoint() || i.Directory != was.Directory || !maps.Equal(i.Settings, was.Settings) || i.PID() == was.PID() || i.Settings["own"] != "1" {
			t.Errorf("server %d is %+v, was %+v", n, i, was)
		}
	}
	if _, err := os.Stat(kept); err != nil || !g.Running() {
		t.Errorf("its directory was made anew, or it does not run: %v", err)
	}
	t.Run("in another place", func(t *testing.T) {
		if err := g.Close(long); err != nil {
			t.Fatal(err)
		}
		place := t.TempDir()
		if err := os.CopyFS(place, os.DirFS(filepath.Dir(g.Members[0].Directory))); err != nil {
			t.Fatal(err)
		}
		moved, told := 0, several(family, Independent)
		told.Move = func(_ context.Context, i *Instance) error {
			moved++
			return nil
		}
		left, err := Left(told, place, t.Output(), g.Remains())
		if err != nil {
			t.Fatal(err)
		}
		if err := left.Restart(ctx, long); err != nil {
			t.Fatal(err)
		}
		if first := left.Members[0]; filepath.Dir(first.Directory) != place || first.Port != g.Members[0].Port || moved != 2 || first.Settings["own"] != "1" {
			t.Errorf("after %d moves it is %+v", moved, first)
		}
		if err := left.Abort(); err != nil || left.Running() {
			t.Errorf("it runs on: %v", err)
		}
	})
	t.Run("without a directory", func(t *testing.T) {
		if err := os.RemoveAll(g.Members[1].Directory); err != nil {
			t.Fatal(err)
		}
		if err := g.Restart(ctx, long); !errors.Is(err, ErrDied) || g.Running() {
			t.Errorf("they started again: %v", err)
		}
	})
}
