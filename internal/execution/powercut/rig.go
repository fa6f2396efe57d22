package powercut

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/execution/child"
)

// FileSystems are those that a rig can make, with the program and the options that make them.
var FileSystems = map[string]FileSystem{
	// Tables are laid out at the first mount's leisure, if at all: the disk is full of zeros.
	"ext4": {Make: []string{"mkfs.ext4", "-F", "-q", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"},
		Options: "noinit_itable,nodiscard", Package: "e2fsprogs", Check: []string{"e2fsck", "-fy"}},
	"xfs":   {Make: []string{"mkfs.xfs", "-f", "-q", "-K"}, Options: "nodiscard,nouuid", Package: "xfsprogs"},
	"btrfs": {Make: []string{"mkfs.btrfs", "-f", "-q", "-K"}, Options: "nodiscard", Package: "btrfs-progs"},
}

// FileSystem says how one is made and mounted.
type FileSystem struct {
	Make    []string
	Options string   // of mounts
	Package string   // that brings the program
	Check   []string // repairs one; none: nothing does
}

// DefaultFileSystem is what most stores stand on.
const DefaultFileSystem = "ext4"

// Rig is a process that serves disks, and at most one of them that is mounted.
type Rig struct {
	place      *owned.Place
	note       *owned.Note
	fileSystem string
	options    string // of mounts, beside the file system's

	process *child.Child
	stdin   io.WriteCloser
	out     *json.Decoder
	stderr  *printed
	ended   chan struct{}
	ending  sync.Once

	mounted string // the disk that is mounted; "": none
}

// The places below a rig's directory.
const (
	disksPlace = "disks" // FUSE
	mountPlace = "mount" // the file system on a disk
)

// Start starts a rig below a directory, whose file systems are mounted with options, as mount(8) takes them
// ("" for none). command is that of the process that calls [Serve].
func Start(directory, fileSystem, options string, command []string) (_ *Rig, err error) {
	if _, known := FileSystems[fileSystem]; !known && fileSystem != Strict {
		return nil, fmt.Errorf("unknown file system %q: expected ext4, xfs, btrfs or posix", fileSystem)
	}
	if fileSystem == Strict && options != "" {
		return nil, fmt.Errorf("%s takes no mount options: it is no file system of the kernel's", Strict)
	}
	r := &Rig{fileSystem: fileSystem, options: options, ended: make(chan struct{}), stderr: &printed{}}
	if r.place, err = owned.NewDirectory(directory, "power-cut"); err != nil {
		return nil, err
	}
	if r.note, err = owned.Write(owned.Thing{Kind: owned.Rig, Path: r.place.Path}); err != nil {
		return nil, errors.Join(err, r.place.Remove())
	}
	for _, name := range []string{disksPlace, mountPlace} {
		if err := os.Mkdir(filepath.Join(r.place.Path, name), 0o700); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	if err := r.serve(command); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if _, err := r.ask(request{Mount: filepath.Join(r.place.Path, disksPlace)}); err != nil {
		closeErr := r.Close()
		if said := strings.TrimSpace(r.stderr.String()); said != "" { // of the helper that mounts
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, errors.Join(err, closeErr)
	}
	return r, nil
}

// printed is what the process has printed so far: it goes on while that is read.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (r *Rig) serve(command []string) error {
	program := exec.Command(command[0], command[1:]...)
	program.Stderr = r.stderr
	var err error
	if r.stdin, err = program.StdinPipe(); err != nil {
		return err
	}
	stdout, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	r.out = json.NewDecoder(stdout)
	if r.process, err = child.Start(program, child.Options{}); err != nil {
		return fmt.Errorf("start the process that serves the disks: %w", err)
	}
	return nil
}

// ask makes a request. The process answers each at once, or is gone.
func (r *Rig) ask(q request) (answer reply, err error) {
	if err := json.NewEncoder(r.stdin).Encode(q); err != nil {
		return answer, fmt.Errorf("the power-cut rig is gone: %w: %s", err, r.stderr)
	}
	if err := r.out.Decode(&answer); err != nil {
		return answer, fmt.Errorf("the power-cut rig is gone: %w: %s", err, r.stderr)
	}
	if answer.Error != "" {
		return answer, errors.New("power-cut rig: " + answer.Error)
	}
	return answer, nil
}

func (r *Rig) disk(name string) string { return filepath.Join(r.place.Path, disksPlace, name) }

// Directory is the rig's own, in which the disk is mounted.
func (r *Rig) Directory() string { return r.place.Path }

// Point is where the disk that is mounted has its files.
func (r *Rig) Point() string {
	if r.fileSystem == Strict {
		return r.disk(mountPlace)
	}
	return filepath.Join(r.place.Path, mountPlace)
}

// New makes a disk with an empty file system. It is recorded from the first byte on.
func (r *Rig) New(name string, size int64) error {
	strict := r.fileSystem == Strict
	if _, err := r.ask(request{New: &blank{name, size, strict}}); err != nil || strict {
		return err
	}
	make := FileSystems[r.fileSystem].Make
	path, err := bounded.Find(make[0])
	if err != nil {
		return fmt.Errorf("%w: apt-get install %s", err, FileSystems[r.fileSystem].Package)
	}
	command := append([]string{path}, make[1:]...)
	_, err = r.ask(request{Make: append(command, r.disk(name))})
	return err
}

// Mount mounts a disk, which makes its file system recover where it was cut off.
func (r *Rig) Mount(name string) error {
	if r.mounted != "" {
		return fmt.Errorf("disk %s is mounted", r.mounted)
	}
	if r.fileSystem == Strict { // it is a directory of what is mounted
		if _, err := r.ask(request{Show: name}); err != nil {
			return err
		}
		r.mounted = name
		return nil
	}
	file, err := os.OpenFile(r.disk(name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	device, err := host.AttachLoop(file)
	if err != nil {
		return err
	}
	defer device.Close() // once nothing has it open or mounted, the kernel frees it
	cache, err := bounded.Kernel(filepath.Join("/sys/block", filepath.Base(device.Name()), "queue/write_cache"))
	if kind := strings.TrimSpace(string(cache)); err != nil || kind != "write back" {
		return fmt.Errorf("%s has the write cache %q, expected write back: flushes would not be seen (%w)", device.Name(), kind, err)
	}
	flags, options := mountOptions(FileSystems[r.fileSystem].Options, r.options)
	if err := linux.Mount(device.Name(), r.Point(), r.fileSystem, linux.MS_NODEV|linux.MS_NOSUID|flags,
		options); err != nil {
		return &MountError{fmt.Errorf("mount %s (%s) on %s: %w", r.fileSystem, options, device.Name(), err)}
	}
	r.mounted = name
	return nil
}

// mountFlags are options that the kernel takes apart from those of a file system.
var mountFlags = map[string]uintptr{"sync": linux.MS_SYNCHRONOUS, "dirsync": linux.MS_DIRSYNC, "noatime": linux.MS_NOATIME, "nodiratime": linux.MS_NODIRATIME}

// mountOptions tells flags from a file system's options.
func mountOptions(own, asked string) (flags uintptr, options string) {
	all := strings.Split(own, ",")
	for option := range strings.SplitSeq(asked, ",") {
		if flag, known := mountFlags[option]; known {
			flags |= flag
		} else if option != "" {
			all = append(all, option)
		}
	}
	return flags, strings.Join(all, ",")
}

// Repair runs the file system's checker on a disk that did not mount. A torn superblock needs it: ext4
// writes it in place, over two sectors. The error says that there is no checker, or that it gave up.
func (r *Rig) Repair(name string) error {
	check := FileSystems[r.fileSystem].Check
	if len(check) == 0 {
		return fmt.Errorf("%s has no checker that repairs without being asked", r.fileSystem)
	}
	path, err := bounded.Find(check[0])
	if err != nil {
		return err
	}
	output, err := bounded.Output(exec.Command(path, append(check[1:len(check):len(check)], r.disk(name))...))
	var exit *exec.ExitError
	const repairedMax = 3 // fsck(8): 1 is errors corrected, 2 asks for a reboot as well
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= repairedMax {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", check[0], err, strings.TrimSpace(string(output)))
	}
	return nil
}

// MountError says that the file system could not recover: no store is to blame for that.
type MountError struct{ error }

func (e *MountError) Unwrap() error { return e.error }

// Unmount unmounts the disk, if one is.
func (r *Rig) Unmount() error {
	if r.mounted == "" {
		return nil
	}
	if r.fileSystem == Strict {
		r.mounted = ""
		return nil
	}
	if err := unmount(r.Point()); err != nil {
		return err
	}
	r.mounted = ""
	return nil
}

// unmount waits for what was killed a moment ago, and then takes the mount away from what remains.
func unmount(point string) (err error) {
	for range 100 {
		if err = unix.Unmount(point, linux.UMOUNT_NOFOLLOW); !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(point, linux.UMOUNT_NOFOLLOW|linux.MNT_DETACH)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", point, err)
	}
	return nil
}

// Sync writes everything of the mounted file system to its disk, and flushes it.
func (r *Rig) Sync() error {
	directory, err := os.Open(r.Point())
	if err != nil {
		return err
	}
	defer directory.Close()
	err = linux.Syncfs(int(directory.Fd()))
	if err != nil && r.fileSystem == Strict { // told once, of a page that an earlier life could not write
		err = linux.Syncfs(int(directory.Fd()))
	}
	if err != nil || r.fileSystem != Strict {
		return os.NewSyscallError("syncfs", err)
	}
	_, err = r.ask(request{Commit: r.mounted})
	return err
}

// Watch stamps events with the counters of a phase from now on, until the next Watch or Stop.
func (r *Rig) Watch(number int, trace, counters string) error {
	_, err := r.ask(request{Watch: &phase{number, trace, counters}})
	return err
}

// Count returns how many events a disk has seen. It is an error if the recording is full.
func (r *Rig) Count(name string) (events int, err error) {
	answer, err := r.ask(request{Count: name})
	return answer.Count, err
}

// Arm lets calls to the disk that is recorded fail from now on.
func (r *Rig) Arm(f Fault) error {
	_, err := r.ask(request{Fault: &f})
	return err
}

// Fault returns what became of the fault of a disk.
func (r *Rig) Fault(name string) (FaultSeen, error) {
	answer, err := r.ask(request{Faults: name})
	return answer.Seen, err
}

// Stop ends the recording of a disk, and returns it.
func (r *Rig) Stop(name string) ([]Event, error) {
	if _, err := r.ask(request{Stop: name}); err != nil {
		return nil, err
	}
	answer, err := r.ask(request{Events: name})
	return answer.Events, err
}

// Cut makes a disk as a cut leaves another one, and records it. The digest names its content.
func (r *Rig) Cut(name string, c Cut) (digest string, err error) {
	answer, err := r.ask(request{Cut: &c, Name: name})
	return answer.Digest, err
}

// Export writes the events of a disk before one into a new file: in the format of dm-log-writes,
// compressed by zstd. What the disk was when it was made comes first, as base entries.
func (r *Rig) Export(name string, at int, path string) (base int, err error) {
	answer, err := r.ask(request{Export: &file{Disk: name, Path: path, At: at}})
	return answer.Count, err
}

// Adopt makes a disk, of so many bytes, with the log of such a file. It is there to be cut.
func (r *Rig) Adopt(name, path string, bytes int64) error {
	_, err := r.ask(request{Adopt: &file{Disk: name, Path: path, Bytes: bytes}})
	return err
}

// Drop removes a disk that is not mounted.
func (r *Rig) Drop(name string) error {
	_, err := r.ask(request{Drop: name})
	return err
}

// closePatience is how long a rig may take to answer once it is to end.
const closePatience = 2 * time.Second

// EndsWith has a rig that does not end by itself soon after ctx end anyway: it may be stopped, and who
// asks it, or waits for one of its disks, would wait with it. The rig must then be closed. It returns what
// is to be called when ctx is none of the rig's any more.
func (r *Rig) EndsWith(ctx context.Context) (forget func() bool) {
	return context.AfterFunc(ctx, func() {
		select {
		case <-r.ended:
		case <-time.After(closePatience):
			r.process.Kill()
		}
	})
}

// Close takes everything away. It may be called in any state.
func (r *Rig) Close() (err error) {
	r.ending.Do(func() {
		defer close(r.ended)
		if r.process != nil { // what waits for its disks gets an error then
			late := time.AfterFunc(closePatience, r.process.Kill)
			defer late.Stop()
		}
		err = r.Unmount()
		if r.process != nil {
			// FUSE goes first: the process that serves it can't wait for itself.
			if unmountErr := detach(filepath.Join(r.place.Path, disksPlace), isOwnFUSE); unmountErr != nil {
				err = errors.Join(err, unmountErr)
			}
			_ = r.stdin.Close()
			r.process.Kill()
			_, _ = r.process.Wait() // it was killed
		}
		err = errors.Join(err, Clean(r.place.Path))
		if err != nil {
			r.note.Keep()
			return
		}
		r.note.Done()
		err = r.place.Remove()
	})
	return err
}

// Check says why no rig can be here; nil: one can. A strict file system needs no root where /dev/fuse is
// open to the user, and the helper that mounts is there.
func Check(directory, fileSystem, options string, command []string) error {
	if os.Geteuid() != 0 {
		if fileSystem != Strict {
			return errors.New("it needs root, for loop devices and mounts")
		}
		if _, err := bounded.Find(mountHelper); err != nil {
			return fmt.Errorf("it needs root, or %s: %w: apt-get install fuse3", mountHelper, err)
		}
	}
	devices := []string{"/dev/fuse"}
	if fileSystem != Strict {
		devices = append(devices, "/dev/loop-control")
	}
	for _, device := range devices {
		file, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	r, err := Start(directory, fileSystem, options, command)
	if err != nil {
		return err
	}
	const name, bytes = "check", 512 << 20
	err = r.New(name, bytes)
	if err == nil {
		err = r.Mount(name)
	}
	return errors.Join(err, r.Close())
}
