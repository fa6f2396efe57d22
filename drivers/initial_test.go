package drivers_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assay/drivers"
	"assay/internal/execution/server"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// layout lists the files of a directory: their modes, owners and sizes, and whether they have room on
// the disk for all of it.
func layout(root string) (lines []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		stat, size := info.Sys().(*syscall.Stat_t), info.Size()
		if info.IsDir() {
			size = 0
		}
		lines = append(lines, fmt.Sprintf("%s %v %d:%d %d %v", name, info.Mode(), stat.Uid, stat.Gid, size, stat.Blocks*512 >= size))
		return err
	})
	return lines, err
}

// What a real database's next server gets is as its program makes it, and serves.
func TestInitialFilesOfRealServers(t *testing.T) {
	for _, p := range drivers.Programs() {
		if p.Initial == nil {
			continue
		}
		t.Run(p.Driver, func(t *testing.T) {
			t.Parallel()
			if _, err := p.Find(); err != nil {
				t.Skipf("SKIPPED: %v", err)
			}
			directory, err := os.MkdirTemp("", "assay-initial-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(directory) })
			if err := os.Chmod(directory, 0o711); err != nil { // the server may run as another user
				t.Fatal(err)
			}
			kept := server.NewKept(directory)
			var made, given []string // as its program makes them, and as a server gets them
			initial, prepare := *p.Initial, p.Prepare
			calls := 0
			watched := initial
			watched.Make = func(ctx context.Context, i *server.Instance) (err error) {
				calls++
				if err := initial.Make(ctx, i); err != nil {
					return err
				}
				made, err = layout(filepath.Join(i.Directory, initial.Directory))
				return err
			}
			p.Initial = &watched
			p.Prepare = func(ctx context.Context, i *server.Instance) (err error) {
				if given, err = layout(filepath.Join(i.Directory, initial.Directory)); err != nil {
					return err
				}
				return prepare(ctx, i)
			}
			for n := range 2 {
				i, err := server.Start(t.Context(), p, server.Request{Directory: directory, Log: t.Output(),
					Class: store.D3, Patience: servertest.Patience, Kept: kept, SHA256: "of this test"})
				if err != nil {
					t.Fatal(err) // it has answered to the role that the start made, and told its settings
				}
				if err := i.Stop(servertest.Patience); err != nil {
					t.Error(err)
				}
				if calls != 1 || len(made) < 10 || !slices.Equal(made, given) {
					t.Errorf("start %d, the files made %d times: made\n%s\ngiven\n%s", n+1, calls, strings.Join(made, "\n"), strings.Join(given, "\n"))
				}
			}
			if err := kept.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
