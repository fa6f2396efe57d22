package powercut

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
	"assay/internal/base/mounts"
)

// besideOthers runs a command that does not see what is mounted from files in FUSE file systems.
// mkfs.btrfs looks up the file of each loop device that is mounted, and gives up where it is in one
// whose process is gone: another rig's that was killed, or anybody else's. Which are gone isn't looked
// at, since a process that serves FUSE may not wait for what one serves, itself perhaps.
//
// It is for a process whose children all end before it returns: the thread that it takes does too, and
// the kernel ends what was started there and is to die with its parent (PR_SET_PDEATHSIG).
func besideOthers(command []string) error {
	done := make(chan error)
	var onThread func()
	onThread = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if linux.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread() // the first one stays, and /proc shows its mounts as the process's
			another := make(chan struct{})
			go func() { defer close(another); onThread() }()
			<-another
			return
		}
		done <- runBesideOthers(command)
	}
	go onThread()
	return <-done
}

func runBesideOthers(command []string) error {
	if err := hideOthers(); err != nil {
		return err
	}
	output, err := bounded.Output(exec.Command(command[0], command[1:]...))
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// hideOthers gives this thread mounts of its own and takes from them those of files in FUSE.
func hideOthers() error {
	if err := linux.Unshare(linux.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare mounts: %w", err)
	}
	if err := linux.Mount("", "/", "", linux.MS_REC|linux.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	seen, err := mounts.Seen()
	if err != nil {
		return err
	}
	for _, m := range seen {
		file, err := mounts.LoopFile(m.Source)
		if err != nil {
			continue // it is on no loop device
		}
		if below, found := mounts.Covering(seen, file); found && isFUSE(below.FileSystem) && m.Point != "/" {
			_ = unix.Unmount(m.Point, linux.UMOUNT_NOFOLLOW|linux.MNT_DETACH) // it may have gone with one above it
		}
	}
	return nil
}
