package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mount is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	root       string // the directory of the file system that is mounted
	point      string
	options    string // of this mount, then what the file system adds
	filesystem string
	device     string
}

// mountOf returns the mount that holds path.
func mountOf(path string) (mount, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return mount{}, err
	}
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return mount{}, fmt.Errorf("find the mount of %s: %w", path, err)
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mount{}, err
	}
	m, found := covering(parseMounts(string(text)), absolute)
	if !found {
		return mount{}, fmt.Errorf("find the mount of %s: no mount point is above it", path)
	}
	return m, nil
}

// covering returns the mount with the longest mount point that is path or above it. Of several at
// one point, the last one hides those before it.
func covering(mounts []mount, path string) (mount, bool) {
	var best mount
	found := false
	for _, m := range mounts {
		above := m.point == path || m.point == "/" || strings.HasPrefix(path, m.point+"/")
		if above && len(m.point) >= len(best.point) {
			best, found = m, true
		}
	}
	return best, found
}

// parseMounts leaves out lines that it can't read. procfs' parser is not used: it keeps options as
// a map, which loses their order, and leaves escaped spaces in mount points as they are.
func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 6 || len(right) < 2 {
			continue
		}
		m := mount{root: unescape(left[3]), point: unescape(left[4]), options: left[5], filesystem: right[0], device: unescape(right[1])}
		if len(right) > 2 {
			m.options = joinOptions(m.options, right[2])
		}
		mounts = append(mounts, m)
	}
	return mounts
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
