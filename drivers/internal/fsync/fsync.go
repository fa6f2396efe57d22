// Package fsync makes files durable where an engine's own sync leaves some out. It is for engines
// whose locks are flock(2): closing a descriptor drops all of a process's POSIX record locks on the
// file, so that SQLite's files must never be opened from outside.
package fsync

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files syncs every regular file that stands directly in directory, and then the directory itself.
// fsync(2) writes a file's dirty pages whoever dirtied them, through a descriptor or a shared
// mapping. A file that goes away meanwhile is skipped: an engine deletes a log only when what it
// held is durable elsewhere.
func Files(directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return fmt.Errorf("list files to sync: %w", err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		if err := syncPath(filepath.Join(directory, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return Directory(directory)
}

// Directory makes the names in a directory durable: a new file that was synced can otherwise be
// gone after a power cut.
func Directory(directory string) error { return syncPath(directory) }

// Filesystem writes everything that the filesystem of directory has in memory, other programs'
// files too: slow, and the only way that opens none of the store's files.
func Filesystem(directory string) error {
	d, err := os.Open(directory)
	if err != nil {
		return fmt.Errorf("open directory to sync its filesystem: %w", err)
	}
	return errors.Join(syncfs(d), d.Close())
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open to sync: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
