package experiment

import "slices"

// Crash says how stores are cut off before they are measured, to prove their classes.
type Crash struct {
	Kind        string   `json:"kind"` // CrashKill or CrashPower
	Cuts        int      `json:"cuts"` // of each store, class and file system
	FileSystems []string `json:"file_systems,omitempty"`
}

// What Crash.Kind may be.
const (
	CrashKill  = "kill"
	CrashPower = "power"
)

const (
	defaultCuts = 20
	cutsMax     = 100_000
)

// StrictFileSystem is one of Assay's own, which keeps no more than POSIX says.
const StrictFileSystem = "posix"

// CutFileSystems are those whose disk's power can be cut; the first is the default.
var CutFileSystems = []string{"ext4", "xfs", "btrfs", StrictFileSystem}

var crashKinds = []string{CrashKill, CrashPower}

// CrashFile is how stores are cut off.
type CrashFile struct {
	Kind        CrashKindForm       `yaml:"kind" jsonschema_description:"kill: the store's process, or its server, ends by kill -9. power: the power of its disk is cut."`
	Cuts        *Count              `yaml:"cuts" jsonschema_description:"How often each store is cut off in each class. Default: 20."`
	FileSystems []CutFileSystemForm `yaml:"file_systems" jsonschema_description:"Of power cuts: the file systems of the disk, ext4, xfs, btrfs or posix, one after the other. Default: [ext4]."`
}

func (f *CrashKindForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "kind of cut", crashKinds)
}

func (f *CutFileSystemForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "file system", CutFileSystems)
}

// crash resolves how stores are cut off; nil: they are not.
func (r *resolver) crash() *Error {
	f, here := r.file.Crash, []string{"crash"}
	if r.root.field("crash") == nil || r.root.field("crash").kind == null {
		return nil
	}
	if f.Kind == "" {
		return r.fail(here, "the kind of cut is missing").hint("expected kind: kill or kind: power")
	}
	cuts := orCount64(f.Cuts, defaultCuts)
	if cuts < 1 || cuts > cutsMax {
		return r.fail(append(here, "cuts"), "%d cuts can't be made", cuts).hint("expected from 1 to %d", cutsMax)
	}
	c := &Crash{Kind: string(f.Kind), Cuts: int(cuts)}
	for _, name := range f.FileSystems {
		if !slices.Contains(c.FileSystems, string(name)) {
			c.FileSystems = append(c.FileSystems, string(name))
		}
	}
	switch {
	case c.Kind == CrashKill && len(c.FileSystems) > 0:
		return r.fail(append(here, "file_systems"), "a kill leaves the disk as it is: it takes no file systems").hint("expected kind: power, or no file_systems")
	case c.Kind == CrashPower && len(c.FileSystems) == 0:
		c.FileSystems = CutFileSystems[:1]
	}
	r.e.Crash = c
	return nil
}
