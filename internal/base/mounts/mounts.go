// Package mounts says which file systems are mounted, and where.
package mounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/internal/base/bounded"
)

// Mount is one line of mountinfo (proc_pid_mountinfo(5)).
type Mount struct {
	Root       string // the directory of the file system that is mounted
	Point      string // where
	Options    string // of this mount, then what the file system adds
	FileSystem string // its kind
	Source     string // a device, or a name
}

// Seen returns the mounts that the calling thread sees, the later ones above the earlier.
func Seen() ([]Mount, error) {
	text, err := bounded.Kernel("/proc/thread-self/mountinfo")
	return Parse(string(text)), err
}

// Of returns the mount that holds path.
func Of(path string) (Mount, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Mount{}, err
	}
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return Mount{}, fmt.Errorf("find the mount of %s: %w", path, err)
	}
	all, err := Seen()
	if err != nil {
		return Mount{}, err
	}
	m, found := Covering(all, absolute)
	if !found {
		return Mount{}, fmt.Errorf("find the mount of %s: no mount point is above it", path)
	}
	return m, nil
}

// Covering returns the mount with the longest mount point that is path or above it. Of several at
// one point, the last one hides those before it.
func Covering(all []Mount, path string) (Mount, bool) {
	var best Mount
	found := false
	for _, m := range all {
		above := m.Point == path || m.Point == "/" || strings.HasPrefix(path, m.Point+"/")
		if above && len(m.Point) >= len(best.Point) {
			best, found = m, true
		}
	}
	return best, found
}

// On returns what is mounted on a path, the topmost where there are several.
func On(path string) (source, kind string, there bool, err error) {
	above, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, err
	}
	seen, err := Seen()
	if err != nil {
		return "", "", false, fmt.Errorf("look for a mount on %s: %w", path, err)
	}
	for _, m := range seen {
		if m.Point == filepath.Join(above, filepath.Base(path)) {
			source, kind, there = m.Source, m.FileSystem, true
		}
	}
	return source, kind, there, nil
}

// LoopFile returns the file of a loop device, as the kernel knows it. It may be gone, and then has
// " (deleted)" at its end.
func LoopFile(device string) (string, error) {
	file, err := bounded.Kernel(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	return strings.TrimSuffix(string(file), "\n"), err
}

// Parse reads the text of a mountinfo. It leaves out lines that it can't read. procfs' parser is not
// used: it keeps options as a map, which loses their order, and leaves escaped spaces in mount points
// as they are.
func Parse(text string) []Mount {
	var all []Mount
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 6 || len(right) < 2 {
			continue
		}
		m := Mount{
			Root: unescape(left[3]), Point: unescape(left[4]), Options: left[5],
			FileSystem: right[0], Source: unescape(right[1]),
		}
		if len(right) > 2 {
			m.Options = joinOptions(m.Options, right[2])
		}
		all = append(all, m)
	}
	return all
}

// joinOptions appends the options of b that a does not have.
func joinOptions(a, b string) string {
	have := strings.Split(a, ",")
	seen := map[string]bool{}
	for _, option := range have {
		seen[option] = true
	}
	for option := range strings.SplitSeq(b, ",") {
		if !seen[option] {
			have = append(have, option)
		}
	}
	return strings.Join(have, ",")
}

// unescape undoes the kernel's octal escapes of space, tab, newline and backslash: \040.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if code, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
