package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
	"assay/internal/base/owned"
)

// Initial is what a program makes for each of its servers before anything in it is that server's own:
// a database's first files. A run makes them once, and each server of it begins with a copy ([Kept]).
type Initial struct {
	Directory string // that Make makes, by its name in Instance.Directory; nothing else is made
	// Make may use of the server only its program, its directory and what On tells: no port, no guard.
	Make func(ctx context.Context, i *Instance) error
	// On tells what the files depend on beside the program. Optional: nothing.
	On func(i *Instance) string
}

// Kept is what the programs of a run have made as their [Initial], for the next servers of the run.
// It stands in files without a name, which end with the process. Several goroutines may use it.
type Kept struct {
	where string
	mu    sync.Mutex
	trees map[origin]*tree
}

// origin is what initial files were made by.
type origin struct{ driver, binary, sha256, on string }

// NewKept returns a Kept that has nothing yet. Its files will stand on the disk of where, an existing
// directory.
func NewKept(where string) *Kept { return &Kept{where: where, trees: map[origin]*tree{}} }

// Close gives the files up.
func (k *Kept) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var failed []error
	for _, t := range k.trees {
		failed = append(failed, t.data.Close())
	}
	k.trees = nil
	return errors.Join(failed...)
}

// prepare makes what must be there before the program starts.
func (i *Instance) prepare(ctx context.Context, r Request) error {
	if i.Program.Initial != nil && i.Primary == nil { // a replica begins with its primary's files
		if err := i.initialise(ctx, r.Kept, r.SHA256); err != nil {
			return err
		}
	}
	if i.Program.Prepare == nil {
		return nil
	}
	return i.Program.Prepare(ctx, i)
}

// initialise makes the server's initial files. Those of the first server of a run are kept and then
// replaced by a copy: all servers begin with files that were written in the same way.
func (i *Instance) initialise(ctx context.Context, k *Kept, sha256 string) error {
	initial := i.Program.Initial
	if k == nil || sha256 == "" {
		return initial.Make(ctx, i)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	by := origin{driver: i.Program.Driver, binary: i.Binary, sha256: sha256}
	root := filepath.Join(i.Directory, initial.Directory)
	if initial.On != nil {
		by.on = initial.On(i)
	}
	made := k.trees[by]
	if made == nil {
		if err := initial.Make(ctx, i); err != nil {
			return err
		}
		var err error
		if made, err = keep(root, k.where); err != nil { // the next server makes its own: that is all
			_, _ = fmt.Fprintf(i.output.log, "%s: its initial files are not kept: %v\n", i.label, err)
			return nil
		}
		k.trees[by] = made
		if err := os.RemoveAll(root); err != nil {
			return err
		}
	}
	if err := made.copyTo(root); err != nil {
		return fmt.Errorf("copying initial files: %w", err)
	}
	return i.handOver() // Prepare may run programs on them
}

// tree is a directory as it was. What was in its files stands in one file, one piece behind the other.
type tree struct {
	entries []entry // the directory first, each below one before it
	data    *os.File
	bytes   int64 // of data
}

// entry is a file, a directory or a link of a tree.
type entry struct {
	name   string // below the tree's directory
	mode   fs.FileMode
	target string // of a link
	bytes  int64  // of a file
	// filled says that a file has room on the disk for its holes, too. A store makes its log so, for
	// writes that need no room to be found; a copy that had none there would be slower.
	filled bool
	pieces []piece // of a file: what is between its holes
}

// piece is a part of a file: from where on it stands there, and in the tree's data.
type piece struct{ at, from, bytes int64 }

const (
	keptBytesMax = 1 << 30 // of one tree: what is more is made anew for each server
	copyBytes    = 1 << 20 // at once
)

var errTooLarge = fmt.Errorf("they have more than %d bytes", keptBytesMax)

// keep makes a tree of a directory. Its file is on the disk when keep returns, so that no phase of a
// trial meets the writing of it.
func keep(root, where string) (t *tree, err error) {
	t = new(tree)
	if t.data, err = owned.NewFile(where); err != nil {
		return nil, err
	}
	buffer := make([]byte, copyBytes)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return t.add(root, path, d, buffer)
	})
	if err == nil {
		err = t.data.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, t.data.Close())
	}
	return t, nil
}

func (t *tree) add(root, path string, d fs.DirEntry, buffer []byte) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	e := entry{mode: info.Mode()}
	if e.name, err = filepath.Rel(root, path); err != nil {
		return err
	}
	switch e.mode.Type() {
	case fs.ModeDir:
	case fs.ModeSymlink:
		e.target, err = os.Readlink(path)
	case 0:
		e.bytes = info.Size()
		if stat, is := info.Sys().(*syscall.Stat_t); is {
			e.filled = stat.Blocks*512 >= e.bytes
		}
		err = t.addFile(path, &e, buffer)
	default:
		err = fmt.Errorf("%s is neither a file nor a directory or a link", path)
	}
	t.entries = append(t.entries, e)
	return err
}

// addFile adds what is between a file's holes.
func (t *tree) addFile(path string, e *entry, buffer []byte) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for at := int64(0); at < e.bytes; {
		p := piece{from: t.bytes}
		if p.at, err = file.Seek(at, linux.SEEK_DATA); errors.Is(err, unix.ENXIO) {
			break // a hole up to its end
		}
		if err != nil {
			return err
		}
		if at, err = file.Seek(p.at, linux.SEEK_HOLE); err != nil {
			return err
		}
		p.bytes = at - p.at
		if t.bytes += p.bytes; t.bytes > keptBytesMax {
			return errTooLarge
		}
		if err := copyPiece(t.data, p.from, file, p.at, p.bytes, buffer); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		e.pieces = append(e.pieces, p)
	}
	return nil
}

// copyPiece copies bytes by writing them anew: files that shared blocks with others would be slower
// to write to than a store's own.
func copyPiece(to *os.File, toAt int64, from *os.File, fromAt, bytes int64, buffer []byte) error {
	n, err := io.CopyBuffer(io.NewOffsetWriter(to, toAt), io.NewSectionReader(from, fromAt, bytes), buffer)
	if err == nil && n < bytes {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// copyTo makes a directory like the tree's. Its files are those of this process's user.
func (t *tree) copyTo(root string) error {
	buffer := make([]byte, copyBytes)
	for _, e := range t.entries {
		path := filepath.Join(root, e.name)
		var err error
		switch e.mode.Type() {
		case fs.ModeDir:
			err = os.Mkdir(path, 0o700)
		case fs.ModeSymlink:
			err = os.Symlink(e.target, path)
		default:
			err = t.copyFile(path, &e, buffer)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range slices.Backward(t.entries) { // after what is in it: a mode may keep this process out
		if e.mode.IsDir() {
			if err := os.Chmod(filepath.Join(root, e.name), e.mode); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tree) copyFile(path string, e *entry, buffer []byte) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, createdMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if e.filled && e.hasHoles() {
		// Where the file system can't do that, it could not for the store either.
		if err := linux.Fallocate(int(file.Fd()), 0, 0, e.bytes); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("making room for %s: %w", path, err)
		}
	}
	for _, p := range e.pieces {
		if err := copyPiece(file, p.at, t.data, p.from, p.bytes, buffer); err != nil {
			return err
		}
	}
	if e.endsInHole() {
		if err := file.Truncate(e.bytes); err != nil {
			return err
		}
	}
	// It is written from now on, and not in a phase; where that can't be asked for, when the kernel likes.
	_ = linux.SyncFileRange(int(file.Fd()), 0, 0, linux.SYNC_FILE_RANGE_WRITE)
	if e.mode == createdMode {
		return nil
	}
	return file.Chmod(e.mode)
}

// createdMode is of a file that is being written, and of most files of databases.
const createdMode fs.FileMode = 0o600

func (e *entry) hasHoles() bool {
	bytes := int64(0)
	for _, p := range e.pieces {
		bytes += p.bytes
	}
	return bytes < e.bytes
}

func (e *entry) endsInHole() bool {
	end := int64(0)
	if n := len(e.pieces); n > 0 {
		end = e.pieces[n-1].at + e.pieces[n-1].bytes
	}
	return end < e.bytes
}
