package server

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assay/internal/base/linux"
)

// initdb stands in for a program that makes the first files of a server. It counts its calls.
type initdb struct {
	calls int
	makes func(directory string) error // beside what each makes; nil: nothing
}

const logBytes = 1 << 20 // of the stand-in's log, which has room on the disk and nothing in it

// program is a fake server whose first files the stand-in makes.
func (d *initdb) program() Program {
	p := fake(honest)
	p.Initial = &Initial{
		Directory: "data",
		On:        func(i *Instance) string { return i.Options["memory_bytes"] },
		Make: func(_ context.Context, i *Instance) error {
			d.calls++
			return d.makeFiles(filepath.Join(i.Directory, "data"))
		},
	}
	p.Prepare = func(_ context.Context, i *Instance) error { // which finds them there
		return os.WriteFile(filepath.Join(i.Directory, "data", "own"), []byte(i.Endpoint()), 0o600)
	}
	return p
}

func (d *initdb) makeFiles(data string) (err error) {
	if err := errors.Join(os.Mkdir(data, 0o700), os.Mkdir(filepath.Join(data, "base"), 0o750)); err != nil {
		return err
	}
	for name, mode := range map[string]os.FileMode{"VERSION": 0o600, "base/1": 0o640, "base/empty": 0o600, "run": 0o711} {
		path := filepath.Join(data, name)
		text := strings.Repeat(name, 4000)
		if name == "base/empty" {
			text = ""
		}
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			return err
		}
	}
	if err := os.Symlink("base/1", filepath.Join(data, "link")); err != nil {
		return err
	}
	if err := makeHoles(filepath.Join(data, "log"), true); err != nil {
		return err
	}
	if err := makeHoles(filepath.Join(data, "sparse"), false); err != nil {
		return err
	}
	if d.makes != nil {
		return d.makes(data)
	}
	return nil
}

// makeHoles makes a file of which the middle was written. filled: it has room for the rest, too.
func makeHoles(path string, filled bool) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if filled {
		err := linux.Fallocate(int(file.Fd()), 0, 0, logBytes)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	_, err = file.WriteAt(bytes.Repeat([]byte("middle"), 10_000), logBytes/2)
	return errors.Join(err, file.Truncate(logBytes))
}

// found is a file, directory or link as it is found.
type found struct {
	mode   fs.FileMode
	text   string
	filled bool
	inode  uint64
}

// filesOf reads a directory, without what a stand-in's Prepare has written.
func filesOf(t *testing.T, root string) map[string]found {
	t.Helper()
	all := map[string]found{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || name == "own" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		f := found{mode: info.Mode(), inode: stat.Ino}
		switch info.Mode().Type() {
		case fs.ModeSymlink:
			f.text, err = os.Readlink(path)
		case 0:
			var text []byte
			text, err = os.ReadFile(path)
			f.text, f.filled = string(text), stat.Blocks*512 >= info.Size()
		}
		all[name] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// expectAlike holds files against others: they are the same, and none is the other's.
func expectAlike(t *testing.T, as, files map[string]found) {
	t.Helper()
	for name, want := range as {
		got, is := files[name]
		own := got.inode != want.inode
		got.inode = want.inode
		if !is || got != want || !own {
			t.Errorf("%s: mode %v, %d bytes, filled %v, of its own %v; expected %v, %d, %v, true",
				name, got.mode, len(got.text), got.filled, own, want.mode, len(want.text), want.filled)
		}
	}
	if len(files) != len(as) {
		t.Errorf("%d files, expected %d", len(files), len(as))
	}
}

// startOn starts a server of a program in a directory of its own, ends it, and returns its files' place.
func startOn(t *testing.T, p Program, r Request) (data string) {
	t.Helper()
	i, err := Start(t.Context(), p, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(long); err != nil {
		t.Error(err)
	}
	return filepath.Join(i.Directory, "data")
}

// Fault (servers): a server changes the files that it began with
// Assay: the next server begins with files as they were made
func TestInitialFilesAreMadeOnceARun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	where, d := t.TempDir(), new(initdb)
	fresh := filepath.Join(t.TempDir(), "data") // as the stand-in makes them
	if err := d.makeFiles(fresh); err != nil {
		t.Fatal(err)
	}
	want := filesOf(t, fresh)
	kept := NewKept(where)
	starts := func(name, digest string, options map[string]string, k *Kept, calls int) {
		t.Helper()
		r := request(t)
		r.Kept, r.SHA256, r.Options, d.calls = k, digest, options, 0
		data := startOn(t, d.program(), r)
		if d.calls != calls {
			t.Errorf("%s: the files were made %d times, expected %d", name, d.calls, calls)
		}
		expectAlike(t, want, filesOf(t, data))
		if err := os.WriteFile(filepath.Join(data, "base", "1"), []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(data, "VERSION")); err != nil {
			t.Fatal(err)
		}
	}
	more := map[string]string{"memory_bytes": "2MiB"}
	starts("the first", "a", nil, kept, 1)
	starts("another", "a", nil, kept, 0)
	starts("with another option that the files depend on", "a", more, kept, 1)
	starts("with that option again", "a", more, kept, 0)
	starts("with one that they do not depend on", "a", map[string]string{"sync": "true"}, kept, 0)
	starts("of another program", "b", nil, kept, 1)
	starts("of a program that is not known", "", nil, kept, 1)
	starts("of no run", "a", nil, nil, 1)
	if left, err := os.ReadDir(where); err != nil || len(left) > 0 {
		t.Errorf("a kill would leave %v, %v", left, err)
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
	expectNothingLeft(t, where)
	starts("of the next run", "a", nil, NewKept(where), 1)
}

func TestInitialFilesThatCantBeKept(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, c := range map[string]struct {
		where string
		makes func(data string) error
		says  string
	}{
		"no disk": {where: filepath.Join(t.TempDir(), "gone"), says: "no such file"},
		"a socket among them": {where: t.TempDir(), says: "is neither a file nor a directory or a link", makes: func(data string) error {
			listener, err := net.Listen("unix", filepath.Join(data, "socket"))
			if err != nil {
				return err
			}
			listener.(*net.UnixListener).SetUnlinkOnClose(false)
			return listener.Close()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, kept := &initdb{makes: c.makes}, NewKept(c.where)
			for n := range 2 {
				var log bytes.Buffer
				r := request(t)
				r.Log, r.Kept, r.SHA256 = &log, kept, "a"
				data := startOn(t, d.program(), r)
				if _, err := os.Stat(filepath.Join(data, "VERSION")); err != nil || d.calls != n+1 {
					t.Errorf("made %d times, %v; expected each server's own", d.calls, err)
				}
				if !strings.Contains(log.String(), "fake: its initial files are not kept: ") || !strings.Contains(log.String(), c.says) {
					t.Errorf("the log has %q, expected %q", log.String(), c.says)
				}
			}
			if err := kept.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A program that can't make its files, and one whose copy has no room, is not started.
func TestInitialFilesThatCantBeMade(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	broken := errors.New("initdb: no such luck")
	d, kept := &initdb{makes: func(string) error { return broken }}, NewKept(t.TempDir())
	r := request(t)
	r.Kept, r.SHA256 = kept, "a"
	if _, err := Start(t.Context(), d.program(), r); !errors.Is(err, broken) || !strings.Contains(err.Error(), "preparing its directory: ") {
		t.Errorf("starting gave %v", err)
	}
	d.makes = nil
	startOn(t, d.program(), r)
	for _, made := range kept.trees { // as of a disk that has lost what was kept
		if err := made.data.Truncate(0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Start(t.Context(), d.program(), r); err == nil || !strings.Contains(err.Error(), "copying initial files: ") {
		t.Errorf("starting gave %v", err)
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
}

// Where the server runs as another user, the copies are that user's before any program looks at them.
func TestInitialFilesAreTheServersUsers(t *testing.T) {
	needRoot(t)
	directory, err := os.MkdirTemp("", "assay-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	kept, enough := NewKept(t.TempDir()), errors.New("enough")
	var owners [2]string
	for n := range owners {
		p := asNobody(func(ctx context.Context, i *Instance) error {
			err := i.Run(ctx, "sh", "-c", "find data -printf '%u %m %p\n' | sort > who && cat data/1 >> who")
			text, readErr := os.ReadFile(filepath.Join(i.Directory, "who"))
			owners[n] = string(text)
			return errors.Join(err, readErr, enough)
		})
		p.Initial = &Initial{Directory: "data", Make: func(ctx context.Context, i *Instance) error {
			return i.Run(ctx, "sh", "-c", "umask 077 && mkdir data && echo one > data/1")
		}}
		r := Request{Directory: directory, Log: t.Output(), Patience: long, Kept: kept, SHA256: "a"}
		if _, err := Start(t.Context(), p, r); !errors.Is(err, enough) || strings.Contains(err.Error(), "exit status") {
			t.Fatalf("starting gave %v", err)
		}
	}
	want := []string{"nobody 600 data/1", "nobody 700 data", "one", ""}
	for n, got := range owners {
		if lines := strings.Split(got, "\n"); !slices.Equal(lines, want) {
			t.Errorf("start %d: %q, expected %q", n+1, lines, want)
		}
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
}
