package host

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// groupNames are the names of the cgroups that [LimitMemory] makes: the process, and when in ns since 1970.
var groupNames = regexp.MustCompile(`^assay-([0-9]{1,10})-([0-9]{19})$`)

func groupName(pid int, now time.Time) string { return fmt.Sprintf("assay-%d-%d", pid, now.UnixNano()) }

// RemoveOldMemoryGroups removes what conductors that were killed have left beside the cgroups that this process would make. It takes a
// cgroup only if its name is one that LimitMemory gives, the process in that name is gone and the cgroup holds no other: the kernel removes
// none that does. It returns the paths that it removed.
func RemoveOldMemoryGroups() []string {
	place, err := placeOf(os.Getpid())
	if err != nil {
		return nil // where none can be made, none are left
	}
	return removeOld(place.parent, time.Now())
}

// removeOld leaves alone what was made a moment ago: its process may not be there yet.
func removeOld(parent string, now time.Time) (removed []string) {
	const ageMin = 10 * time.Second
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		parts := groupNames.FindStringSubmatch(entry.Name())
		if parts == nil || !entry.IsDir() {
			continue
		}
		pid, pidErr := strconv.Atoi(parts[1])
		made, madeErr := strconv.ParseInt(parts[2], 10, 64)
		if pidErr != nil || madeErr != nil || ProcessAlive(pid) || now.Sub(time.Unix(0, made)) < ageMin {
			continue
		}
		if path := filepath.Join(parent, entry.Name()); os.Remove(path) == nil {
			removed = append(removed, path)
		}
	}
	return removed
}
