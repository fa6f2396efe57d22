package experiment

import (
	"fmt"
	"regexp"
	"slices"
)

// Crash says how stores are cut off before they are measured, to prove their classes.
type Crash struct {
	Kind        string   `json:"kind"` // CrashKill or CrashPower
	Cuts        int      `json:"cuts"` // of each store, class and file system
	FileSystems []string `json:"file_systems,omitempty"`
	// MountOptions are those of each of the file systems; "": the kernel's.
	MountOptions string `json:"mount_options,omitempty"`
}

// What Crash.Kind may be.
const (
	CrashKill  = "kill"
	CrashPower = "power"
)

// StrictFileSystem is one of Assay's own, which keeps no more than POSIX says.
const StrictFileSystem = "posix"

// CutFileSystems are those whose disk's power can be cut; the first is the default.
var CutFileSystems = []string{"ext4", "xfs", "btrfs", StrictFileSystem}

var mountOptionsForm = regexp.MustCompile(`^[A-Za-z0-9_]+(=[A-Za-z0-9_.%-]+)?(,[A-Za-z0-9_]+(=[A-Za-z0-9_.%-]+)?)*$`)

// CheckMountOptions says why no file system is mounted with them; "": the kernel decides.
func CheckMountOptions(options string, fileSystems []string) string {
	const bytesMax = 200
	switch {
	case options == "":
		return ""
	case len(options) > bytesMax || !mountOptionsForm.MatchString(options):
		return fmt.Sprintf("%q are no mount options", options)
	case slices.Contains(fileSystems, StrictFileSystem):
		return StrictFileSystem + " takes no mount options: it is no file system of the kernel's"
	}
	return ""
}
