package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	nfpmfiles "github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const installed = "/usr/bin/assay"

// tarFile appends a file of root's.
func tarFile(w *tar.Writer, name string, mode int64, when time.Time, content []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, ModTime: when, Size: int64(len(content)), Format: tar.FormatUSTAR}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// archive is the binary with what stands beside it, in one folder.
func archive(stem string, r release, b binary) ([]byte, error) {
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	if err := tarFile(w, stem+"/assay", 0o755, r.when, b.content); err != nil {
		return nil, err
	}
	for _, f := range r.files {
		name := path.Base(f.path)
		switch {
		case strings.HasPrefix(f.path, "/usr/share/man/"):
			name = "man/man1/" + name
		case strings.HasPrefix(f.path, documentation):
			name = strings.TrimPrefix(f.path, documentation)
		default:
			name = "completion/" + name
		}
		if err := tarFile(w, stem+"/"+name, 0o644, r.when, f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zipped(plain.Bytes())
}

// packaged is a deb or an rpm.
func packaged(format string, r release, b binary) ([]byte, error) {
	folder, err := os.MkdirTemp("", "assay-package-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	info := &nfpm.Info{Name: "assay", Arch: b.processor, Platform: "linux", Version: r.version, VersionSchema: "semver",
		Section: "utils", Priority: "optional", Maintainer: "Assay's developers", License: "Apache-2.0",
		Description: "measures key-value stores so that the number can be trusted\n" +
			"Assay drives the same operations at embedded engines, servers and client\nlibraries, checks what comes back, and says which is faster, and how sure that is.",
		MTime: r.when}
	add := func(to string, mode os.FileMode, content []byte) error {
		from := filepath.Join(folder, fmt.Sprint(len(info.Contents)))
		info.Contents = append(info.Contents, &nfpmfiles.Content{Source: from, Destination: to,
			FileInfo: &nfpmfiles.ContentFileInfo{Mode: mode, MTime: r.when, Owner: "root", Group: "root"}})
		return os.WriteFile(from, content, 0o600)
	}
	if err := add(installed, 0o755, b.content); err != nil {
		return nil, err
	}
	for _, f := range r.files {
		if err := add(f.path, 0o644, f.content); err != nil {
			return nil, err
		}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return nil, err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return nil, err
	}
	info.RPM.BuildHost = "localhost"
	var out bytes.Buffer
	err = packager.Package(info, &out)
	return out.Bytes(), err
}
