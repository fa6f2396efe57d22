package read

import (
	"slices"

	"assay/internal/experiment"
)

var crashKinds = []string{experiment.CrashKill, experiment.CrashPower}

// CrashFile is how stores are cut off.
type CrashFile struct {
	Kind         CrashKindForm       `yaml:"kind" jsonschema_description:"kill: the store's process, or its server, ends by kill -9. power: the power of its disk is cut."`
	Cuts         *Count              `yaml:"cuts" jsonschema_description:"How often each store is cut off in each class. Default: 20."`
	FileSystems  []CutFileSystemForm `yaml:"file_systems" jsonschema_description:"Of power cuts: the file systems of the disk, ext4, xfs, btrfs or posix, one after the other. Default: [ext4]."`
	MountOptions *string             `yaml:"mount_options" jsonschema_description:"Of power cuts: options that the file systems are mounted with, as mount(8) takes them: data=journal,commit=1. Default: the kernel's own."`
}

func (f *CrashKindForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "kind of cut", crashKinds)
}

func (f *CutFileSystemForm) fromNode(n *node, path string) *Error {
	return oneOf((*string)(f), n, path, "file system", experiment.CutFileSystems)
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
	c := &experiment.Crash{Kind: string(f.Kind), Cuts: int(cuts)}
	for _, name := range f.FileSystems {
		if !slices.Contains(c.FileSystems, string(name)) {
			c.FileSystems = append(c.FileSystems, string(name))
		}
	}
	switch {
	case c.Kind == experiment.CrashKill && len(c.FileSystems) > 0:
		return r.fail(append(here, "file_systems"), "a kill leaves the disk as it is: it takes no file systems").hint("expected kind: power, or no file_systems")
	case c.Kind == experiment.CrashPower && len(c.FileSystems) == 0:
		c.FileSystems = experiment.CutFileSystems[:1]
	}
	if f.MountOptions != nil {
		c.MountOptions = *f.MountOptions
	}
	switch why := experiment.CheckMountOptions(c.MountOptions, c.FileSystems); {
	case c.Kind == experiment.CrashKill && c.MountOptions != "":
		return r.fail(append(here, "mount_options"), "a kill leaves the disk as it is: it takes no mount options").hint("expected kind: power, or no mount_options")
	case why != "":
		return r.fail(append(here, "mount_options"), "%s", why).hint("expected such as data=journal,commit=1")
	}
	r.e.Crash = c
	return nil
}
