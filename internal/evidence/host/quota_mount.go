package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
	"assay/internal/base/mounts"
	"assay/internal/base/owned"
)

// How a QuotaMount is made.
const (
	QuotaLoop  = "loop"  // ext4 in an image file, over a loop device: loop(4)
	QuotaTmpfs = "tmpfs" // in memory: tmpfs(5)
)

// ErrNoQuotaMount is wrapped by what CheckQuotaMount says where no file system may be mounted.
var ErrNoQuotaMount = errors.New("no file system of a stated size can be mounted here")

// QuotaMount is a file system of a stated size. Its files stand in one directory, which the caller
// makes and removes.
type QuotaMount struct {
	By        string // QuotaLoop or QuotaTmpfs
	Directory string // holds the image file and the mount point, and perhaps other files that are left alone
	Bytes     int64  // of the image or of the tmpfs: what the file system keeps for itself is part of it
}

const (
	quotaImage  = "quota.img"
	quotaPoint  = "quota"
	quotaSource = "assay-quota" // what the mount table names as the source of a tmpfs
)

// Point returns where the file system is mounted.
func (q QuotaMount) Point() string { return filepath.Join(q.Directory, quotaPoint) }

func (q QuotaMount) image() string { return filepath.Join(q.Directory, quotaImage) }

// Mount makes the file system and mounts it. After an error, nothing is mounted; files may be left,
// which Unmount removes.
func (q QuotaMount) Mount() error {
	err := os.Mkdir(q.Point(), 0o755)
	if err == nil && q.By == QuotaTmpfs {
		options := fmt.Sprintf("size=%d,mode=0755", q.Bytes)
		if err = linux.Mount(quotaSource, q.Point(), "tmpfs", linux.MS_NODEV|linux.MS_NOSUID, options); err != nil {
			err = fmt.Errorf("mount a tmpfs: %w", err)
		}
	} else if err == nil {
		err = q.mountLoop()
	}
	if err != nil {
		return fmt.Errorf("make a file system of %d bytes in %s: %w", q.Bytes, q.Directory, err)
	}
	return nil
}

func (q QuotaMount) mountLoop() error {
	free, err := FreeBytes(q.Directory)
	if err != nil {
		return err
	}
	if free < uint64(q.Bytes) { // the image is sparse: it would meet the full disk below it as an I/O error
		return fmt.Errorf("only %d bytes are free: %w", free, unix.ENOSPC)
	}
	image, err := os.OpenFile(q.image(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := image.Truncate(q.Bytes); err != nil {
		return err
	}
	mkfs, err := findMkfs()
	if err != nil {
		return err
	}
	// All tables are written now: ext4 would else write them in the background of the trial.
	command := exec.Command(mkfs, "-F", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", q.image())
	if output, err := bounded.Output(command); err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, strings.TrimSpace(string(output)))
	}
	device, err := AttachLoop(image)
	if err != nil {
		return err
	}
	// Once nothing has the device open or mounted, the kernel frees it: after a kill, too.
	defer device.Close()
	if err := linux.Mount(device.Name(), q.Point(), "ext4", linux.MS_NODEV|linux.MS_NOSUID, ""); err != nil {
		return fmt.Errorf("mount %s: %w", device.Name(), err)
	}
	return nil
}

// AttachLoop gives an image file to a free loop device and returns that one, open. Once
// nothing has the device open or mounted, the kernel frees it.
func AttachLoop(image *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	const tries = 100 // another program may take the free device first
	for try := 1; ; try++ {
		number, err := linux.IoctlRetInt(int(control.Fd()), linux.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", number), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		config := linux.LoopConfig{Fd: uint32(image.Fd()), Info: linux.LoopInfo64{Flags: linux.LO_FLAGS_AUTOCLEAR}}
		copy(config.Info.File_name[:len(config.Info.File_name)-1], image.Name())
		if err = linux.IoctlLoopConfigure(int(device.Fd()), &config); err == nil {
			return device, nil
		}
		device.Close()
		if try == tries || !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("set up %s: %w", device.Name(), err)
		}
	}
}

// Unmount unmounts the file system, if it is mounted, and removes its image and mount point, if
// they are there. What another program has mounted at the point is left alone, and is an error.
func (q QuotaMount) Unmount() error {
	if err := q.detach(); err != nil {
		return fmt.Errorf("unmount %s: %w", q.Point(), err)
	}
	for _, path := range []string{q.image(), q.Point()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the file system of %s: %w", q.Directory, err)
		}
	}
	return nil
}

func (q QuotaMount) detach() error {
	directory, err := filepath.Abs(q.Directory)
	if err != nil {
		return err
	}
	if directory, err = filepath.EvalSymlinks(directory); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	point := filepath.Join(directory, quotaPoint)
	seen, err := mounts.Seen()
	if err != nil {
		return err
	}
	m, found := mounts.Covering(seen, point)
	if !found || m.Point != point {
		return nil
	}
	if !q.made(m, filepath.Join(directory, quotaImage)) {
		return fmt.Errorf("%s on %s is mounted there, which Assay did not make", m.FileSystem, m.Source)
	}
	err = unix.Unmount(point, linux.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EBUSY) { // a worker that was killed a moment ago, or hangs in the kernel
		err = unix.Unmount(point, linux.UMOUNT_NOFOLLOW|linux.MNT_DETACH)
	}
	return err
}

// made says if a mount is of the kind and, where it has one, of the image file of q.
func (q QuotaMount) made(m mounts.Mount, image string) bool {
	if q.By == QuotaTmpfs {
		return m.FileSystem == "tmpfs" && m.Source == quotaSource
	}
	file, err := mounts.LoopFile(m.Source)
	return err == nil && (file == image || file == image+" (deleted)")
}

func findMkfs() (string, error) {
	path, err := bounded.Find("mkfs.ext4")
	if err != nil {
		return "", fmt.Errorf("%w: apt-get install e2fsprogs", err)
	}
	return path, nil
}

// CheckQuotaMount tries out how a file system of a stated size can be mounted below directory, and
// leaves nothing behind. Where it is QuotaTmpfs, whyNotLoop says why. The error wraps
// ErrNoQuotaMount.
func CheckQuotaMount(directory string) (by, whyNotLoop string, err error) {
	if _, err := findMkfs(); err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrNoQuotaMount, err)
	}
	loopErr := tryQuotaMount(directory, QuotaLoop)
	if loopErr == nil {
		return QuotaLoop, "", nil
	}
	if tmpfsErr := tryQuotaMount(directory, QuotaTmpfs); tmpfsErr != nil {
		return "", "", fmt.Errorf("%w: %w; %w", ErrNoQuotaMount, loopErr, tmpfsErr)
	}
	return QuotaTmpfs, loopErr.Error(), nil
}

func tryQuotaMount(directory, by string) error {
	place, err := owned.NewDirectory(directory, "mount")
	if err != nil {
		return err
	}
	q := QuotaMount{By: by, Directory: place.Path, Bytes: 1 << 20}
	note, err := owned.Write(owned.Thing{Kind: owned.Mount, Path: place.Path, By: by})
	if err != nil {
		return errors.Join(err, place.Remove())
	}
	if err = errors.Join(q.Mount(), q.Unmount()); err == nil {
		note.Done()
	} else if unmountErr := q.Unmount(); unmountErr != nil {
		note.Keep()
	} else {
		note.Done()
	}
	return errors.Join(err, place.Remove())
}
