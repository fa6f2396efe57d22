package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// nativeName is the package of the native workers. They link the engines' libraries, which it depends on.
const nativeName = "assay-native"

// nativeFolder is where Assay looks for workers that a package has installed: lib/assay beside bin.
const nativeFolder = "/usr/lib/assay/native/"

// natives builds the native workers for this machine's processor, without symbols: then no path of this
// machine is in them. Where a library or the compiler is missing it says what installs it, and there are
// none: a package lacks no engine that another one of its version has.
func natives(root, work string) (files []file, err error) {
	out := filepath.Join(work, "native")
	make := exec.Command("make", "-s", "-C", filepath.Join(root, "workers", "c"), "OUT="+out, "CFLAGS=-O2", "packaged")
	if said, err := make.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "no %s: the native workers can't be built here\n%s", nativeName, said)
		return nil, nil
	}
	programs, err := filepath.Glob(filepath.Join(out, "assay-worker-*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(programs)
	if said, err := exec.Command("strip", append([]string{"--strip-all"}, programs...)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("strip: %w: %s", err, said)
	}
	for _, program := range programs {
		content, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		files = append(files, file{nativeFolder + filepath.Base(program), content})
	}
	return files, nil
}

// nativePackage is the deb or rpm of the native workers.
func nativePackage(format string, r release) ([]byte, error) {
	libraries, glibc, err := needed(r.natives)
	if err != nil {
		return nil, err
	}
	depends := debDepends
	if format == "rpm" {
		depends = rpmDepends
	}
	p := pack{name: nativeName, processor: runtime.GOARCH, description: "Assay's workers for engines in C and C++\n" +
		"Programs in which Assay measures Tokyo Cabinet, LMDB, RocksDB, LevelDB, WiredTiger,\nKyoto Cabinet, Berkeley DB and SQLite, each by its own library."}
	if p.depends, err = depends(libraries, glibc); err != nil {
		return nil, err
	}
	for _, f := range r.natives {
		p.files = append(p.files, packedFile{f, 0o755})
	}
	for _, f := range r.files {
		if name := strings.TrimPrefix(f.path, documentation); name == "LICENSE" || name == "NOTICE" {
			p.files = append(p.files, packedFile{file{"/usr/share/doc/" + nativeName + "/" + name, f.content}, 0o644})
		}
	}
	return packaged(format, r, p)
}

// needed are the names of the libraries that programs load, sorted, and the newest version of glibc's
// symbols that they use: "2.34".
func needed(programs []file) (libraries []string, glibc string, err error) {
	newest := 0
	for _, f := range programs {
		program, err := elf.NewFile(bytes.NewReader(f.content))
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.path, err)
		}
		names, err := program.ImportedLibraries()
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.path, err)
		}
		libraries = append(libraries, names...)
		symbols, err := program.ImportedSymbols()
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.path, err)
		}
		for _, s := range symbols {
			minor, is := strings.CutPrefix(s.Version, "GLIBC_2.")
			if number, err := strconv.Atoi(minor); is && err == nil { // three numbers are older than all of two
				newest = max(newest, number)
			}
		}
	}
	slices.Sort(libraries)
	return slices.Compact(libraries), fmt.Sprint("2.", newest), nil
}

// debDepends are the packages of this Debian that have the libraries, and Assay's own.
func debDepends(libraries []string, glibc string) ([]string, error) {
	depends := []string{"assay"}
	for _, library := range libraries {
		said, err := exec.Command("dpkg-query", "--search", "*/"+library).Output()
		if err != nil {
			return nil, fmt.Errorf("the package of %s: %w", library, err)
		}
		line, _, _ := strings.Cut(string(said), "\n")
		name, _, named := strings.Cut(line, ":")
		if !named {
			return nil, fmt.Errorf("the package of %s: dpkg-query answers %q", library, line)
		}
		if name == "libc6" {
			name += " (>= " + glibc + ")"
		}
		depends = append(depends, name)
	}
	slices.Sort(depends)
	return slices.Compact(depends), nil
}

// rpmDepends are what packages of RPM provide that have the libraries, whatever they are called.
func rpmDepends(libraries []string, glibc string) ([]string, error) {
	depends := []string{"assay", "libc.so.6(GLIBC_" + glibc + ")(64bit)"}
	for _, library := range libraries {
		depends = append(depends, library+"()(64bit)")
	}
	slices.Sort(depends)
	return depends, nil
}
