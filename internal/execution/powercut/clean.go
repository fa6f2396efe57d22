package powercut

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
)

// Clean unmounts what a rig has mounted below its directory. Its process is gone by then, or is about
// to: a process that waits for one of its disks gets an error.
func Clean(directory string) error {
	return errors.Join(detach(filepath.Join(directory, mountPlace), isOnLoop), detach(filepath.Join(directory,
		disksPlace), isOwnFUSE))
}

func isOnLoop(source, kind string) bool {
	_, known := FileSystems[kind]
	return known && strings.HasPrefix(source, "/dev/loop")
}

func isOwnFUSE(source, kind string) bool {
	return source == MountName && isFUSE(kind)
}

func isFUSE(kind string) bool { return strings.HasPrefix(kind, "fuse") }

// detach takes a mount away, if it is there and is of the rig's.
func detach(point string, own func(source, kind string) bool) error {
	for {
		source, kind, there, err := mounts.On(point)
		if err != nil || !there {
			return err
		}
		if !own(source, kind) {
			return fmt.Errorf("%s on %s is mounted on %s, which is none of a power-cut rig's", kind, source, point)
		}
		// Forced, what waits for an answer of FUSE's process gets an error, also where that can't answer.
		err = unix.Unmount(point, linux.UMOUNT_NOFOLLOW|linux.MNT_DETACH|linux.MNT_FORCE)
		if errors.Is(err, unix.EPERM) && isFUSE(kind) { // not root's: the helper that mounted it takes it away
			err = helperUnmounts(point)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
}

// mountHelper mounts FUSE for who is not root. It is of Debian's package fuse3.
const mountHelper = "fusermount3"

func helperUnmounts(point string) error {
	path, err := bounded.Find(mountHelper)
	if err != nil {
		return err
	}
	if output, err := bounded.Output(exec.Command(path, "-u", "-z", "--", point)); err != nil {
		return fmt.Errorf("%s: %w: %s", mountHelper, err, strings.TrimSpace(string(output)))
	}
	return nil
}
