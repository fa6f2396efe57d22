package read_test

import (
	"reflect"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
)

func TestCrash(t *testing.T) {
	for text, want := range map[string]*experiment.Crash{
		"crash=null":                     nil,
		"crash={kind: kill}":             {Kind: "kill", Cuts: 20},
		"crash={kind: power, cuts: 200}": {Kind: "power", Cuts: 200, FileSystems: []string{"ext4"}},
		"crash={kind: power, file_systems: [xfs, btrfs, xfs]}":        {Kind: "power", Cuts: 20, FileSystems: []string{"xfs", "btrfs"}},
		"crash={kind: power, mount_options: 'data=journal,commit=1'}": {Kind: "power", Cuts: 20, FileSystems: []string{"ext4"}, MountOptions: "data=journal,commit=1"},
	} {
		if e := mustLoad(t, small, text); !reflect.DeepEqual(e.Crash, want) {
			t.Errorf("%s is %+v, expected %+v", text, e.Crash, want)
		}
	}
	for text, want := range map[string]string{
		"crash={cuts: 5}":                                                 "expected kind: kill or kind: power",
		"crash={kind: kil}":                                               `did you mean "kill"?`,
		"crash={kind: kill, cuts: 0}":                                     "expected from 1 to",
		"crash={kind: kill, file_systems: [xfs]}":                         "a kill leaves the disk as it is",
		"crash={kind: power, file_systems: [ext3]}":                       `"ext3"`,
		"crash={kind: kill, mount_options: sync}":                         "a kill leaves the disk as it is",
		"crash={kind: power, mount_options: 'a b'}":                       "no mount options",
		"crash={kind: power, file_systems: [posix], mount_options: sync}": "posix takes no mount options",
	} {
		_, err := read.Load([]byte(small), "small.yaml", []string{text}, fakeDrivers())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", text, err, want)
		}
	}
}
