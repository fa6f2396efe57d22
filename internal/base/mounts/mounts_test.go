package mounts

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const mountinfo = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
nonsense
28 27 0:30 /sub/dir /mnt/with\040space rw,noatime master:2 propagate_from:1 - btrfs /dev/my\011disk rw,compress=zstd
29 27 0:31 / /mnt ro - tmpfs none ro,size=4k
30 27 0:40 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw,lowerdir=/l,upperdir=/u
31 29 0:41 / /mnt rw - xfs /dev/vdb rw
`

func TestCovering(t *testing.T) {
	all := Parse(mountinfo)
	if len(all) != 6 {
		t.Fatalf("%d mounts", len(all))
	}
	for path, want := range map[string]Mount{
		"/":                                   all[1],
		"/home/x":                             all[1],
		"/process":                            all[1],
		"/mnt":                                all[5], // the later mount hides the earlier one
		"/mntx":                               all[1],
		"/mnt/with space/x":                   {"/sub/dir", "/mnt/with space", "rw,noatime,compress=zstd", "btrfs", "/dev/my\tdisk"},
		"/var/lib/docker/overlay2/x/merged/a": all[4],
	} {
		if got, found := Covering(all, path); !found || got != want {
			t.Errorf("%s is on %+v (%v), want %+v", path, got, found, want)
		}
	}
	if _, found := Covering(all[:1], "/x"); found {
		t.Error("found a mount where none is")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(mountinfo)
	f.Add(`1 2 3 \04 \999 rw - a b`)
	f.Fuzz(func(t *testing.T, text string) { Covering(Parse(text), "/x/y") })
}

func TestUnescape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.String().Draw(t, "path")
		var escaped strings.Builder
		for _, b := range []byte(plain) {
			if strings.IndexByte(" \t\n\\", b) >= 0 {
				fmt.Fprintf(&escaped, `\%03o`, b)
			} else {
				escaped.WriteByte(b)
			}
		}
		if got := unescape(escaped.String()); got != plain {
			t.Fatalf("%q became %q", plain, got)
		}
	})
}

func TestDecisive(t *testing.T) {
	for options, want := range map[string]string{
		"":                                   "",
		"rw,relatime,discard,resuid=65534":   "",
		"rw,relatime,data=journal,nobarrier": "data=journal,nobarrier",
		"rw,data=ordered,barrier=1":          "",
		"rw,barrier=0":                       "barrier=0",
		"rw,relatime,sync":                   "sync",
		"rw,subvol=/@home,space_cache=v2,nodatacow": "nodatacow",
		"rw,some_new_option":                        "some_new_option",
	} {
		if got := Decisive(options); got != want {
			t.Errorf("%s: %q, expected %q", options, got, want)
		}
	}
}
