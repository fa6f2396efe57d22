package pogreb

import (
	"errors"
	"os"

	"github.com/akrylysov/pogreb/fs"

	"assay/drivers/internal/fsync"
)

// syncedFiles is the library's file system, but that everything is durable before the lock file goes.
// Without a lock file the index is believed at the next open, and the library's Close writes its last
// files unsynced and then removes the lock: a power cut that keeps the removal and not the files leaves
// a database that does not open, or lacks records.
type syncedFiles struct {
	fs.FileSystem
	directory string
}

func (f syncedFiles) CreateLockFile(name string, mode os.FileMode) (lock fs.LockFile, existed bool, err error) {
	lock, existed, err = f.FileSystem.CreateLockFile(name, mode)
	if err != nil {
		return nil, existed, err
	}
	return syncedLock{lock, f.directory}, existed, nil
}

type syncedLock struct {
	fs.LockFile
	directory string
}

func (l syncedLock) Unlock() error {
	return errors.Join(fsync.Files(l.directory), l.LockFile.Unlock())
}
