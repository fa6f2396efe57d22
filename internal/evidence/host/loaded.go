package host

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"assay/internal/base/bounded"
)

// Digests hashes files, each once as long as it is the same file. Its methods may be called at once.
type Digests struct {
	mutex sync.Mutex
	known map[fileIdentity]string
}

// fileIdentity is what changes when a file is written or replaced.
type fileIdentity struct {
	device, inode uint64
	bytes         int64
	modifiedNS    int64
}

// File returns the SHA-256 of a file, in hexadecimal.
func (d *Digests) File(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	is, told := identity(info)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if sum, there := d.known[is]; told && there {
		return sum, nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if told {
		if d.known == nil {
			d.known = map[fileIdentity]string{}
		}
		d.known[is] = sum
	}
	return sum, nil
}

// Loaded returns one SHA-256 of all that a store's processes run: of each its program, the libraries that
// it has mapped, and the archives of Java classes that it has open; and of the files among the words of
// command, which an interpreter runs. Where the files stand is no part of it. An error says what could not
// be read: then it is not known what runs.
func (d *Digests) Loaded(pids []int, command []string) (string, error) {
	if len(pids) == 0 {
		return "", errors.New("no process runs it")
	}
	var sums []string
	for _, word := range command {
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			sum, err := d.File(word)
			if err != nil {
				return "", err
			}
			sums = append(sums, sum)
		}
	}
	for _, pid := range pids {
		files, err := loadedFiles(pid)
		if err != nil {
			return "", fmt.Errorf("find what process %d runs: %w", pid, err)
		}
		for _, path := range files {
			sum, err := d.File(path)
			if err != nil {
				return "", fmt.Errorf("hash what process %d runs: %w", pid, err)
			}
			sums = append(sums, sum)
		}
	}
	slices.Sort(sums)
	all := sha256.Sum256([]byte(strings.Join(slices.Compact(sums), "\n")))
	return hex.EncodeToString(all[:]), nil
}

// loadedFiles are the files that a process runs. Links of /proc are left as they are where the file's own
// name is gone.
func loadedFiles(pid int) (files []string, err error) {
	in := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
	program, err := os.Readlink(in("exe"))
	if err != nil {
		return nil, err
	}
	files = append(files, in("exe"))
	maps, err := bounded.Kernel(in("maps"))
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		if path := mappedProgram(lines.Text()); path != "" && path != program && !ofJava(program, path) {
			files = append(files, path)
		}
	}
	descriptors, err := os.ReadDir(in("fd"))
	if err != nil {
		return nil, err
	}
	for _, descriptor := range descriptors {
		if path, err := os.Readlink(in("fd/" + descriptor.Name())); err == nil && strings.HasSuffix(path, ".jar") {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// mappedProgram is the file that a line of /proc/PID/maps (proc_pid_maps(5)) maps as a program; "": none.
func mappedProgram(line string) string {
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.Contains(fields[1], "x") || !filepath.IsAbs(fields[5]) {
		return ""
	}
	path := line[strings.Index(line, fields[5]):]
	if isGenerated(path) {
		return ""
	}
	return path
}

// isGenerated reports whether what is mapped is code that the process made at run time, in a file that never had
// a name for long: so do libffi's closures, and memfd_create(2). A library whose file is gone is none.
func isGenerated(path string) bool {
	name, gone := strings.CutSuffix(path, " (deleted)")
	if !gone {
		return false
	}
	return strings.HasPrefix(name, "/memfd:") || strings.HasPrefix(filepath.Base(name), "ffi") && !strings.Contains(name, ".so")
}

// ofJava reports whether a library is one that a Java machine brings itself and loads when it first needs it:
// its program and its core, which are hashed, tell its version.
func ofJava(program, library string) bool {
	home := filepath.Dir(filepath.Dir(program))
	return filepath.Base(program) == "java" && strings.HasPrefix(library, home+"/") && filepath.Base(library) != "libjvm.so"
}

func identity(info fs.FileInfo) (fileIdentity, bool) {
	s, told := info.Sys().(*syscall.Stat_t)
	if !told {
		return fileIdentity{}, false
	}
	return fileIdentity{uint64(s.Dev), s.Ino, info.Size(), info.ModTime().UnixNano()}, true
}
