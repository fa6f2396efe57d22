// Package owned remembers what a process has made outside its memory, so that a kill leaves nothing
// for ever. A note is written before the thing is made and taken away after it is gone. It is a
// locked file: the kernel gives the lock up when the process ends, however that happens. Process
// numbers would not do: containers that share a directory count processes each for itself.
package owned

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
	"assay/internal/base/mounts"
)

// The kinds of things.
const (
	Run       = "run"       // a run directory that is written to
	Mount     = "mount"     // a file system that is tried out
	Group     = "cgroup"    //
	Data      = "data"      // a trial's data directory
	Keys      = "keys"      // of a trial, on a server that somebody else has started; Path is the run directory
	Server    = "server"    // the processes that have a directory open which was given to a server
	Container = "container" // that a server runs in; Path is the runtime's program, By the container's name
	Rig       = "rig"       // the directory of a power-cut rig: what is mounted below it
	Temporary = "temporary" // a file or a directory with all that is in it
	Worktree  = "worktree"  // a checkout in a temporary directory; By is the repository that has it registered
)

// Thing is what a note tells of.
type Thing struct {
	Kind string `json:"kind"`
	Path string `json:"path"`         // absolute
	By   string `json:"by,omitempty"` // of a mount: how it is made

	Detail json.RawMessage `json:"detail,omitempty"` // of keys: how they are deleted
}

// Note is a thing's note. Its owner holds it; of a note that [Left] returns, the owner is gone.
type Note struct {
	Thing
	path string
	file *os.File // locked
}

const (
	noteBytesMax = 16 << 20
	unwrittenMax = time.Minute // a note that is empty for longer was never written
)

// directory returns where the notes of this user stand.
func directory() (string, error) {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		if path, err := private(filepath.Join(state, "assay", "owned")); err == nil {
			return path, nil
		}
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		if path, err := private(filepath.Join(home, ".local", "state", "assay", "owned")); err == nil {
			return path, nil
		}
	}
	return private(filepath.Join(os.TempDir(), fmt.Sprintf("assay-%d", os.Geteuid()), "owned"))
}

// private makes a directory that is this user's alone: a note by another could name anything.
func private(path string) (string, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return "", err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR || int(stat.Uid) != os.Geteuid() || stat.Mode&0o022 != 0 {
		return "", fmt.Errorf("%s is not a directory of this user alone", path)
	}
	return path, nil
}

// Write notes a thing that is going to be made.
func Write(t Thing) (*Note, error) {
	where, err := directory()
	if err != nil {
		return nil, fmt.Errorf("note down %s: %w", t.Path, err)
	}
	for {
		note, err := write(where, t)
		if err != nil {
			return nil, fmt.Errorf("note down %s: %w", t.Path, err)
		}
		if note != nil {
			return note, nil
		}
	}
}

// write returns nil if another process took the note for a left one before it was locked.
func write(where string, t Thing) (_ *Note, err error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(where, rand.Text()+".json")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = errors.Join(os.Remove(path), file.Close()) // the first error says more
		}
	}()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return nil, err
	}
	if stat.Nlink == 0 {
		return nil, file.Close()
	}
	if _, err := file.Write(append(text, '\n')); err != nil {
		return nil, err
	}
	return &Note{t, path, file}, nil
}

// Done takes the note away: the thing is gone. A nil note has nothing to say.
func (n *Note) Done() {
	if n != nil {
		_ = os.Remove(n.path) // one that stays tells of a thing that is gone
		n.Keep()
	}
}

// Keep leaves the note for the next cleaning: the thing could not be removed.
func (n *Note) Keep() {
	if n != nil {
		_ = n.file.Close()
	}
}

// Left returns the notes of processes that are gone. The caller holds them until Done or Keep.
func Left() (left []*Note) {
	where, err := directory()
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") || !entry.Type().IsRegular() {
			continue
		}
		if note := take(filepath.Join(where, entry.Name())); note != nil {
			left = append(left, note)
		}
	}
	return left
}

func take(path string) *Note {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		_ = file.Close() // its owner lives
		return nil
	}
	note := &Note{path: path, file: file}
	text, err := bounded.Read(file, noteBytesMax)
	if err == nil && json.Unmarshal(text, &note.Thing) == nil && filepath.IsAbs(note.Path) {
		return note
	}
	// Killed before it was written, so that nothing was made; or about to be written.
	if info, err := file.Stat(); err == nil && time.Since(info.ModTime()) > unwrittenMax {
		note.Done()
	} else {
		note.Keep()
	}
	return nil
}

// prefix begins the names of temporary things, so that a note can't be made to name anything else.
const prefix = ".assay-"

// Place is a temporary file or directory.
type Place struct {
	Path string
	note *Note
}

// NewPlace chooses a name in directory and notes it. The caller makes the file or the directory,
// and calls Remove.
func NewPlace(directory, what string) (*Place, error) {
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return nil, err
	}
	p := &Place{Path: filepath.Join(absolute, prefix+what+"-"+rand.Text()[:12])}
	if p.note, err = Write(Thing{Kind: Temporary, Path: p.Path}); err != nil {
		return nil, err
	}
	return p, nil
}

// NewDirectory makes a temporary directory.
func NewDirectory(directory, what string) (*Place, error) {
	p, err := NewPlace(directory, what)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(p.Path, 0o700); err != nil {
		p.note.Done()
		return nil, err
	}
	return p, nil
}

// NewFile makes a file without a name in directory: what is written to it goes with the process.
func NewFile(directory string) (*os.File, error) {
	file, err := os.OpenFile(directory, os.O_RDWR|linux.O_TMPFILE, 0o600)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return file, err
	}
	p, err := NewPlace(directory, "file") // NFS, and old kernels of some others
	if err != nil {
		return nil, err
	}
	if file, err = os.OpenFile(p.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		p.note.Done()
		return nil, err
	}
	if err := p.Remove(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Replace writes a file whole: who reads it meanwhile finds the old one or the new one.
func Replace(path string, mode os.FileMode, write func(io.Writer) error) error {
	p, err := NewPlace(filepath.Dir(path), "new")
	if err != nil {
		return err
	}
	file, err := os.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return errors.Join(err, p.Remove())
	}
	if err = errors.Join(write(file), file.Chmod(mode), file.Close()); err == nil {
		err = os.Rename(p.Path, path)
	}
	return errors.Join(err, p.Remove())
}

// Remove removes what is there. If it was renamed, nothing is.
func (p *Place) Remove() error {
	if err := RemoveAll(p.Path); err != nil {
		p.note.Keep()
		return err
	}
	p.note.Done()
	return nil
}

// IsTemporary says whether a path is one that NewPlace gives.
func IsTemporary(path string) bool { return strings.HasPrefix(filepath.Base(path), prefix) }

// RemoveAll removes a tree as os.RemoveAll does, but nothing of it if something is mounted in it:
// that is another's.
func RemoveAll(path string) error {
	if err := CheckNoMounts(path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// CheckNoMounts is an error if something is mounted on path or below it.
func CheckNoMounts(path string) error {
	real, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	above, err := filepath.EvalSymlinks(filepath.Dir(real)) // not of the last part: a link is removed, not followed
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	real = filepath.Join(above, filepath.Base(real))
	seen, err := mounts.Seen()
	if err != nil {
		return fmt.Errorf("look for mounts below %s: %w", path, err)
	}
	for _, m := range seen {
		if m.Point == real || strings.HasPrefix(m.Point, real+"/") {
			return fmt.Errorf("%s is left as it is: something is mounted on %s", path, m.Point)
		}
	}
	return nil
}
