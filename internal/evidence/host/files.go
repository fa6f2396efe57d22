package host

import (
	"fmt"
	"syscall"

	"assay/internal/base/format"
)

// RaiseFiles lets this process, and those that it starts from now on, have so many files open. The
// error says how many it may.
func RaiseFiles(need uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	most := limit.Max
	// Also where the soft limit is enough: Go has raised it for this process alone, and a process
	// that it starts gets the old one, unless this process has set its own.
	limit.Cur = min(max(need, limit.Cur), limit.Max)
	if need > limit.Max {
		limit.Cur, limit.Max = need, need
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("a process needs %s open files, and the limit is %s: raise it (ulimit -Hn), or run as root: %w",
			format.Count(need), format.Count(most), err)
	}
	return nil
}
