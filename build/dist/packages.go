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
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, ModTime: when, Size: int64(len(content)),
		Format: tar.FormatUSTAR}
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

// pack is what a deb or an rpm is made of.
type pack struct {
	name, description string
	processor         string
	depends           []string
	files             []packedFile
}

type packedFile struct {
	file
	mode os.FileMode
}

// assayPack is Assay itself: nothing is needed beside it.
func assayPack(r release, b binary) pack {
	p := pack{name: "assay", processor: b.processor, description: "measures key-value stores so that the number can be trusted\n" +
		"Assay drives the same operations at embedded engines, servers and client\nlibraries, checks what comes back, and says which is faster, and how sure that is.",
		files: []packedFile{{file{installed, b.content}, 0o755}}}
	for _, f := range r.files {
		p.files = append(p.files, packedFile{f, 0o644})
	}
	return p
}

// packaged is a deb or an rpm.
func packaged(format string, r release, p pack) ([]byte, error) {
	folder, err := os.MkdirTemp("", "assay-package-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	info := &nfpm.Info{Name: p.name, Arch: p.processor, Platform: "linux", Version: r.version, VersionSchema: "semver",
		Section: "utils", Priority: "optional", Maintainer: "Assay's developers", License: "Apache-2.0",
		Description: p.description, MTime: r.when, Overridables: nfpm.Overridables{Depends: p.depends}}
	for i, f := range p.files {
		from := filepath.Join(folder, fmt.Sprint(i))
		info.Contents = append(info.Contents, &nfpmfiles.Content{Source: from, Destination: f.path,
			FileInfo: &nfpmfiles.ContentFileInfo{Mode: f.mode, MTime: r.when, Owner: "root", Group: "root"}})
		if err := os.WriteFile(from, f.content, 0o600); err != nil {
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
