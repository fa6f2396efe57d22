// Package nativebuild makes the native workers for the tests of all packages, once.
package nativebuild

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Folder is where `make native` puts the programs: in the folder of go.mod.
func Folder() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder := here; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return filepath.Join(folder, "bin", "native"), nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("no go.mod in %s or above it", here)
		}
	}
}

// Make makes targets of workers/c into the folder, and returns what make said. Only what has changed
// is compiled, and one caller waits for the other: packages are tested beside each other.
func Make(targets ...string) (folder, said string, err error) {
	if folder, err = Folder(); err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", "", err
	}
	lock, err := os.Open(folder)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", "", fmt.Errorf("waiting for %s: %w", folder, err)
	}
	arguments := append([]string{"--no-print-directory", "-k", "-j2", "-C", filepath.Join(folder, "..", "..", "workers", "c"), "OUT=" + folder}, targets...)
	command := exec.Command("make", arguments...)
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // the tests may run under make themselves
	output, err := command.CombinedOutput()
	return folder, string(output), err
}
