package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"assay/internal/experiment"
	"assay/store"
)

// native is one program of workers/c and what it takes to build it. A test asks the built ones if
// they host just these drivers.
type native struct {
	program  string
	drivers  []string
	packages string // Debian's, and what must be done beside
}

// nativeNull is the driver that does nothing in the host that all programs of workers/c share.
const nativeNull = "null-c"

var natives = []native{
	{"tokyocabinet", []string{"tokyocabinet-hash", "tokyocabinet-btree", "tokyocabinet-fixed", "tokyocabinet-table"}, "libtokyocabinet-dev"},
	{"lmdb", []string{"lmdb"}, "liblmdb-dev"},
	{"rocksdb", []string{"rocksdb"}, "librocksdb-dev"},
	{"leveldb", []string{"leveldb"}, "libleveldb-dev"},
	{"wiredtiger", []string{"wiredtiger"}, "libwiredtiger-dev"},
	{"kyotocabinet", []string{"kyotocabinet-hash", "kyotocabinet-tree"}, "libkyotocabinet-dev"},
	{"berkeleydb", []string{"berkeleydb-btree", "berkeleydb-hash"}, "libdb5.3-dev"},
	{"sqlite", []string{"sqlite-c"}, "libsqlite3-dev"},
	{"redb", []string{"redb"}, "rustup && rustup default stable"},
	{"null", []string{nativeNull}, "libc6-dev"},
}

// nativeOf returns the program that hosts a native driver.
func nativeOf(driver string) (native, bool) {
	i := slices.IndexFunc(natives, func(n native) bool { return slices.Contains(n.drivers, driver) })
	if i < 0 {
		return native{}, false
	}
	return natives[i], true
}

// path returns where `make native` puts the program: native/ beside Assay's own.
func (n native) path() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(self), "native", "assay-worker-"+n.program)
}

func (n native) built() bool {
	info, err := os.Stat(n.path())
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func (n native) notBuilt() error {
	return fmt.Errorf("%w: its worker is not built (apt-get install gcc libjson-c-dev %s, then make native)", experiment.ErrNotHere, n.packages)
}

// describeNative asks a native worker what its driver says of itself.
func describeNative(n native, driver string) (store.Description, error) {
	if !n.built() {
		return store.Description{}, n.notBuilt()
	}
	return askWorker([]string{n.path()}, driver)
}

// nativeDescriptions asks all native workers that are built, at once.
func nativeDescriptions() (descriptions []store.Description, missing []native) {
	answers := make([][]store.Description, len(natives))
	var wait sync.WaitGroup
	for i, n := range natives {
		if !n.built() {
			missing = append(missing, n)
			continue
		}
		wait.Go(func() {
			for _, driver := range n.drivers {
				if d, err := describeNative(n, driver); err == nil {
					answers[i] = append(answers[i], d)
				} else {
					fmt.Fprintln(os.Stderr, "assay:", err)
				}
			}
		})
	}
	wait.Wait()
	return slices.Concat(answers...), missing
}

// allDescriptions are Assay's own drivers and the native ones; of those that are not built, the
// name alone.
func allDescriptions() []store.Description {
	native, missing := nativeDescriptions()
	all := append(descriptions(), native...)
	for _, n := range missing {
		for _, driver := range n.drivers {
			all = append(all, store.Description{Name: driver})
		}
	}
	return all
}
