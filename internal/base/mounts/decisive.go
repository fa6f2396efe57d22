package mounts

import (
	"slices"
	"strings"
)

// harmless are the options that change nothing in what a crash takes of written data: access times, rights,
// who may use the rest of the space, how free space is found, and the defaults of ext4, XFS and btrfs.
// Those that end in "=" have a value.
var harmless = []string{
	"rw", "relatime", "noatime", "strictatime", "nodiratime", "nosuid", "nodev", "noexec", "seclabel", "discard", "nodiscard", "user_xattr",
	"acl", "barrier", "barrier=1", "data=ordered", "delalloc", "errors=", "resuid=", "resgid=", "resv_strict", "stripe=", "noinit_itable", "nouuid", "size=", "nr_inodes=",
	"mode=", "uid=", "gid=", "quota", "usrquota", "grpquota", "prjquota", "noquota", "attr2", "inode32", "inode64", "logbufs=", "logbsize=", "sunit=", "swidth=",
	"ssd", "ssd_spread", "nossd", "space_cache", "space_cache=", "subvol=", "subvolid=",
}

// Decisive returns the options of a mount that may decide what a crash takes, in the order of their names:
// all but those that are known to change nothing in it.
func Decisive(options string) string {
	var all []string
	for option := range strings.SplitSeq(options, ",") {
		name, _, _ := strings.Cut(option, "=")
		if option != "" && !slices.Contains(harmless, option) && !slices.Contains(harmless, name+"=") {
			all = append(all, option)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}
