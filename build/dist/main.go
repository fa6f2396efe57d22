// Dist makes what Assay is handed on as: for each system and processor a static binary in an archive,
// for Linux also deb and rpm, those of the native workers where their libraries are, a container
// image of the binary alone, what is linked in (CycloneDX), and the SHA-256 of each.
//
//		dist ROOT OUT [SYSTEM/PROCESSOR…]
//
//	 1. main.go     what is made of which commit, in which order
//	 2. files.go    what stands beside the binary: manual pages, completion, licences
//	 3. packages.go archives, deb and rpm
//	 4. image.go    the container image, without a daemon
//	 5. parts.go    what is linked in
//	 6. native.go   deb and rpm of the native workers, for this machine's processor
//
// Two calls on one commit give the same bytes: each time is the commit's, each list sorted, each file
// root's. It is a module of its own, so that none of what it needs is Assay's.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// targets are built where none is named. On darwin, what measures embedded stores and analyses works.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: dist ROOT OUT [SYSTEM/PROCESSOR…]")
		os.Exit(2)
	}
	named := os.Args[3:]
	if len(named) == 0 {
		named = targets
	}
	if err := dist(os.Args[1], os.Args[2], named); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is what all files of one commit share.
type release struct {
	version string // as the binary reports it, without the v
	when    time.Time
	files   []file // beside the binary
	natives []file // the native workers of this machine's processor; none: they can't be built here
}

// binary is what was built for one target.
type binary struct {
	system, processor string
	path              string
	content           []byte
}

func dist(root, out string, named []string) error {
	if changed, err := git(root, "status", "--porcelain"); err != nil {
		return err
	} else if changed != "" {
		return fmt.Errorf("the tree has uncommitted changes: the build could not be reproduced:\n%s", changed)
	}
	seconds, err := git(root, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("time of the commit: %w", err)
	}
	work, err := os.MkdirTemp("", "assay-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var binaries []binary
	for _, target := range named {
		b, err := build(root, work, target)
		if err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	r := release{when: time.Unix(unix, 0).UTC()}
	info, err := buildinfo.ReadFile(binaries[0].path)
	if err != nil {
		return fmt.Errorf("version of the binary: %w", err)
	}
	r.version = strings.TrimPrefix(info.Main.Version, "v")
	for _, b := range binaries[1:] {
		other, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return fmt.Errorf("version of the binary: %w", err)
		}
		if other.Main.Version != info.Main.Version {
			return fmt.Errorf("%s/%s is %s, and the first is %s: somebody committed meanwhile", b.system, b.processor, other.Main.Version, info.Main.Version)
		}
	}
	if r.files, err = beside(root, work); err != nil {
		return err
	}
	if slices.Contains(named, here()) && runtime.GOOS == "linux" {
		if r.natives, err = natives(root, work); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	return write(out, r, binaries)
}

// build compiles one target.
func build(root, work, target string) (binary, error) {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return binary{}, fmt.Errorf("%q is no target; expected one like %s", target, targets[0])
	}
	b := binary{system: system, processor: processor, path: filepath.Join(work, system+"-"+processor, "assay")}
	fmt.Fprintln(os.Stderr, "building for", target)
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", b.path, "./cmd/assay")
	c.Dir, c.Stdout, c.Stderr = root, os.Stderr, os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOOS="+system, "GOARCH="+processor)
	if err := c.Run(); err != nil {
		return b, fmt.Errorf("building for %s: %w", target, err)
	}
	content, err := os.ReadFile(b.path)
	b.content = content
	return b, err
}

// write writes all files, and their SHA-256.
func write(out string, r release, binaries []binary) error {
	var names []string
	put := func(name string, make func() ([]byte, error)) error {
		content, err := make()
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), content, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, name)
		return nil
	}
	var linux []binary
	for _, b := range binaries {
		stem := fmt.Sprintf("assay-%s-%s-%s", r.version, b.system, b.processor)
		if err := errors.Join(
			put(stem+".tar.gz", func() ([]byte, error) { return archive(stem, r, b) }),
			put(stem+".cdx.json", func() ([]byte, error) { return parts(r, b) }),
		); err != nil {
			return err
		}
		if b.system != "linux" {
			continue
		}
		linux = append(linux, b)
		for _, format := range []string{"deb", "rpm"} {
			if err := put(stem+"."+format, func() ([]byte, error) { return packaged(format, r, assayPack(r, b)) }); err != nil {
				return err
			}
			if len(r.natives) == 0 || b.processor != runtime.GOARCH {
				continue
			}
			name := fmt.Sprintf("%s-%s-%s-%s.%s", nativeName, r.version, b.system, b.processor, format)
			if err := put(name, func() ([]byte, error) { return nativePackage(format, r) }); err != nil {
				return err
			}
		}
	}
	if len(linux) > 0 {
		if err := put("assay-"+r.version+"-image.tar", func() ([]byte, error) { return image(r, linux) }); err != nil {
			return err
		}
	}
	slices.Sort(names)
	var sums bytes.Buffer
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	if err := os.WriteFile(filepath.Join(out, "SHA256SUMS"), sums.Bytes(), 0o644); err != nil {
		return err
	}
	_, err := os.Stdout.Write(sums.Bytes())
	return err
}

func git(root string, arguments ...string) (string, error) {
	c := exec.Command("git", arguments...)
	c.Dir, c.Stderr = root, os.Stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// here is the target of this machine, whose binary can be run.
func here() string { return runtime.GOOS + "/" + runtime.GOARCH }
