package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"assay/internal/experiment/read"
	"assay/store"
)

// sideProgram is a worker beside Assay's own program and what it takes to build it: of workers/c, or of
// workers/java. A test asks the built ones if they host just these drivers.
type sideProgram struct {
	program  string
	drivers  []string
	packages string   // of a native one: Debian's, and what must be done beside
	servers  []string // of clients for the JVM: for each of drivers, the one whose server Assay starts for it
}

// nativeNull is the driver that does nothing in the host that all programs of workers/c share, and
// jvmNull the one in the host that all of workers/java share, which is the program jvmHost.
const (
	nativeNull = "null-c"
	jvmNull    = "null-java"
	jvmHost    = "host"
)

var natives = []sideProgram{
	{program: "tokyocabinet", drivers: []string{"tokyocabinet-hash", "tokyocabinet-btree", "tokyocabinet-fixed", "tokyocabinet-table"}, packages: "libtokyocabinet-dev"},
	{program: "lmdb", drivers: []string{"lmdb"}, packages: "liblmdb-dev"},
	{program: "rocksdb", drivers: []string{"rocksdb"}, packages: "librocksdb-dev"},
	{program: "leveldb", drivers: []string{"leveldb"}, packages: "libleveldb-dev"},
	{program: "wiredtiger", drivers: []string{"wiredtiger"}, packages: "libwiredtiger-dev"},
	{program: "kyotocabinet", drivers: []string{"kyotocabinet-hash", "kyotocabinet-tree"}, packages: "libkyotocabinet-dev"},
	{program: "berkeleydb", drivers: []string{"berkeleydb-btree", "berkeleydb-hash"}, packages: "libdb5.3-dev"},
	{program: "sqlite", drivers: []string{"sqlite-c"}, packages: "libsqlite3-dev"},
	{program: "redb", drivers: []string{"redb"}, packages: "rustup && rustup default stable"},
	{program: "null", drivers: []string{nativeNull}, packages: "libc6-dev"},
}

var jvmPrograms = []sideProgram{
	{program: jvmHost, drivers: []string{"memory-java", jvmNull}},
	{program: "whalin", drivers: []string{"whalin"}, servers: []string{"memcached"}},
	{program: "spymemcached", drivers: []string{"spymemcached"}, servers: []string{"memcached"}},
	{program: "xmemcached", drivers: []string{"xmemcached"}, servers: []string{"memcached"}},
	{program: "folsom", drivers: []string{"folsom"}, servers: []string{"memcached"}},
	{program: "jedis", drivers: []string{"jedis"}, servers: []string{"redis"}},
	{program: "lettuce", drivers: []string{"lettuce"}, servers: []string{"redis"}},
	{program: "mvstore", drivers: []string{"mvstore"}},
	{program: "jdbc", drivers: []string{"jdbc-mariadb", "jdbc-mysql", "jdbc-postgres"}, servers: []string{"mariadb", "mariadb", "postgres"}},
	{program: "rocksdb", drivers: []string{"rocksdb-java"}},
	{program: "tokyocabinet", drivers: []string{"tokyocabinet-hash-java", "tokyocabinet-btree-java", "tokyocabinet-fixed-java", "tokyocabinet-table-java"}},
	{program: "lmdb", drivers: []string{"lmdb-java"}},
	{program: "mongodb", drivers: []string{"mongodb-java"}, servers: []string{"mongodb"}},
	{program: "cassandra", drivers: []string{"cassandra-java"}, servers: []string{"cassandra"}},
	{program: "riak", drivers: []string{"riak-java"}, servers: []string{"riak"}},
}

// What Debian has for the JVM.
const (
	jdkInstall   = "apt-get install --no-install-recommends maven openjdk-17-jdk-headless"
	jreInstall   = "apt-get install --no-install-recommends openjdk-17-jre-headless"
	mavenInstall = "apt-get install --no-install-recommends maven"
)

// hostedOf returns the program that hosts a driver of workers/c or workers/java.
func hostedOf(driver string) (sideProgram, bool) {
	for _, n := range slices.Concat(natives, jvmPrograms) {
		if slices.Contains(n.drivers, driver) {
			return n, true
		}
	}
	return sideProgram{}, false
}

// onJVM reports whether the program is one of workers/java.
func (n sideProgram) onJVM() bool { return n.packages == "" }

// installedFolder is where packages put native/, as seen from the folder of Assay's own program.
const installedFolder = "../lib/assay"

// path returns where `make native` or `make jvm` puts the program: native/ or jvm/ beside Assay's own. Where none
// is there, it is where a package has installed it.
func (n sideProgram) path() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	folder := "native"
	if n.onJVM() {
		folder = "jvm"
	}
	here, program := filepath.Dir(self), filepath.Join(folder, "assay-worker-"+n.program)
	beside, installed := filepath.Join(here, program), filepath.Join(here, installedFolder, program)
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	if _, err := os.Stat(installed); err == nil {
		return installed
	}
	return beside
}

func (n sideProgram) built() bool {
	info, err := os.Stat(n.path())
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// usable reports whether the program can be started here.
func (n sideProgram) usable() bool {
	if n.onJVM() {
		if _, err := exec.LookPath("java"); err != nil {
			return false
		}
	}
	return n.built()
}

// remedy is what makes a program usable that is not.
func (n sideProgram) remedy() string {
	switch {
	case !n.onJVM():
		return fmt.Sprintf("apt-get install gcc libjson-c-dev %s, then make native", n.packages)
	case !n.built():
		return jdkInstall + ", then make jvm"
	default:
		return jreInstall
	}
}

func (n sideProgram) notHere() error {
	what := "its worker is not built"
	if n.built() {
		what = "there is no java"
	}
	return fmt.Errorf("%w: %s (%s)", read.ErrNotHere, what, n.remedy())
}

// describeHosted asks a program, started by command, what its driver says of itself.
func describeHosted(n sideProgram, command []string, driver string) (store.Description, error) {
	if !n.usable() {
		return store.Description{}, n.notHere()
	}
	return askWorker(command, driver)
}

// hostedDescriptions asks all programs that are usable here, at once.
func hostedDescriptions() (descriptions []store.Description, missing []sideProgram) {
	all := slices.Concat(natives, jvmPrograms)
	answers := make([][]store.Description, len(all))
	var wait sync.WaitGroup
	for i, n := range all {
		if !n.usable() {
			missing = append(missing, n)
			continue
		}
		wait.Go(func() {
			described, err := describeWorker([]string{n.path()})
			if err != nil {
				fmt.Fprintf(os.Stderr, "assay: %s: %v\n", n.program, err)
			}
			for _, d := range described.Drivers {
				if slices.Contains(n.drivers, d.Name) { // the host's are in each program of workers/java
					answers[i] = append(answers[i], d)
				}
			}
		})
	}
	wait.Wait()
	return slices.Concat(answers...), missing
}

// allDescriptions are Assay's own drivers and the hosted ones; of those that are not usable here, the
// name alone.
func allDescriptions() []store.Description {
	others, missing := hostedDescriptions()
	all := append(descriptions(), others...)
	for _, n := range missing {
		for _, driver := range n.drivers {
			all = append(all, store.Description{Name: driver})
		}
	}
	return all
}
