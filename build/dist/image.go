package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// dockerImage is one image of manifest.json, which Docker's own image store reads: versions before 25 know
// no other form. Its files are the layout's.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// dockerImageOf names the files of an image. Docker's form has no place for several processors: the first
// has the tag latest, each other one a tag of its own.
func dockerImageOf(one v1.Image, processor string, first bool) (d dockerImage, err error) {
	manifest, err := one.Manifest()
	if err != nil {
		return d, err
	}
	blob := func(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }
	tag := "assay:latest"
	if !first {
		tag += "-" + processor
	}
	d = dockerImage{Config: blob(manifest.Config.Digest), RepoTags: []string{tag}}
	for _, layer := range manifest.Layers {
		d.Layers = append(d.Layers, blob(layer.Digest))
	}
	return d, nil
}

// image is an image for all processors, as a tar archive that docker load, podman load and skopeo read: the
// binary, its licences, and the folders that it writes to. It is an OCI layout and Docker's form in one.
func image(r release, linux []binary) ([]byte, error) {
	index := mutate.AppendManifests(empty.Index)
	var docker []dockerImage
	for _, b := range linux {
		one, err := imageOf(r, b)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.system, Architecture: b.processor}}})
		d, err := dockerImageOf(one, b.processor, len(docker) == 0)
		if err != nil {
			return nil, err
		}
		docker = append(docker, d)
	}
	folder, err := os.MkdirTemp("", "assay-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	named := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"org.opencontainers.image.ref.name": "assay:latest", "io.containerd.image.name": "docker.io/library/assay:latest"}}})
	if _, err := layout.Write(folder, named); err != nil {
		return nil, fmt.Errorf("image layout: %w", err)
	}
	text, err := json.Marshal(docker)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "manifest.json"), text, 0o600); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err = filepath.WalkDir(folder, func(place string, e fs.DirEntry, err error) error { // in the order of names
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(place)
		if err != nil {
			return err
		}
		return tarFile(w, strings.TrimPrefix(place, folder+"/"), 0o644, r.when, content)
	})
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

func imageOf(r release, b binary) (v1.Image, error) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, folder := range []struct {
		name string
		mode int64
	}{{"root/", 0o700}, {"tmp/", 0o1777}, {"work/", 0o777}} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder.name, Mode: folder.mode,
			ModTime: r.when, Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
	}
	if err := tarFile(w, strings.TrimPrefix(installed, "/"), 0o755, r.when, b.content); err != nil {
		return nil, err
	}
	for _, f := range r.files {
		if path.Dir(f.path)+"/" == documentation { // licences: who reads the pages has no container
			if err := tarFile(w, strings.TrimPrefix(f.path, "/"), 0o644, r.when, f.content); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	},
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	// Without these it would be Docker's manifest in an OCI layout.
	bare := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	one, err := mutate.AppendLayers(bare, layer)
	if err != nil {
		return nil, err
	}
	config, err := one.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.system, b.processor, v1.Time{Time: r.when}
	config.Config = v1.Config{Entrypoint: []string{installed}, WorkingDir: "/work", Env: []string{"HOME=/root", "PATH=/usr/bin"},
		Labels: map[string]string{"org.opencontainers.image.title": "Assay", "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version": r.version}}
	return mutate.ConfigFile(one, config)
}
