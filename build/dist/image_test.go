package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const said = "it starts"

// The image is an OCI layout whose digests are right, and its layer is all that its entry point needs:
// unpacked into an empty folder, which is its root then, it starts.
func TestImage(t *testing.T) {
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { print(\""+said+"\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	r := release{version: "1", when: time.Unix(1e9, 0).UTC(), files: []file{{"/usr/share/doc/assay/LICENSE", []byte("licence")}}}
	packed, err := image(r, []binary{{system: runtime.GOOS, processor: runtime.GOARCH, content: content}})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	unpack(t, bytes.NewReader(packed), folder)
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	names, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := outer.ImageIndex(names.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	images, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if p := images.Manifests[0].Platform; p == nil || p.OS != runtime.GOOS || p.Architecture != runtime.GOARCH ||
		images.Manifests[0].MediaType != types.OCIManifestSchema1 {
		t.Errorf("%+v", images.Manifests[0])
	}
	one, err := inner.Image(images.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := one.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; len(c.Entrypoint) != 1 || c.Entrypoint[0] != installed || c.WorkingDir != "/work" || !config.Created.Equal(r.when) {
		t.Errorf("config: %+v", config)
	}
	layers, err := one.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	plain, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	unpack(t, plain, root)
	for name, mode := range map[string]os.FileMode{"root": 0o700, "tmp": 0o777 | os.ModeSticky, "work": 0o777, installed: 0o755, "usr/share/doc/assay/LICENSE": 0o644} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode()&^os.ModeDir != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	start := exec.Command(config.Config.Entrypoint[0])
	start.Dir, start.Env = config.Config.WorkingDir, config.Config.Env
	start.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	out, err := start.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("SKIPPED: no other root can be had here: %v", err)
	}
	if err != nil || string(out) != said {
		t.Errorf("it said %q: %v", out, err)
	}
}

// The same archive in Docker's own form, for versions that read no layout: each processor has a tag.
func TestImageInDockersForm(t *testing.T) {
	r := release{version: "1", when: time.Unix(1e9, 0).UTC()}
	packed, err := image(r, []binary{{system: "linux", processor: "amd64", content: []byte("a")}, {system: "linux", processor: "arm64", content: []byte("b")}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	for tag, processor := range map[string]string{"assay:latest": "amd64", "assay:latest-arm64": "arm64"} {
		named, err := name.NewTag(tag)
		if err != nil {
			t.Fatal(err)
		}
		one, err := tarball.ImageFromPath(path, &named)
		if err != nil {
			t.Fatalf("%s: %v", tag, err)
		}
		if err := validate.Image(one); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
		if config, err := one.ConfigFile(); err != nil || config.Architecture != processor ||
			config.Config.Entrypoint[0] != installed {
			t.Errorf("%s: %+v, %v", tag, config, err)
		}
	}
}

// unpack takes a tar archive apart.
func unpack(t *testing.T, archive io.Reader, folder string) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path, mode := filepath.Join(folder, h.Name), h.FileInfo().Mode()
		if strings.HasSuffix(h.Name, "/") {
			err = os.Mkdir(path, 0o700)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600))
			}
		}
		if err = errors.Join(err, os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// Packages bring the pages with their folders, so that the links of one to another hold; an image brings
// licences alone.
func TestPackagesContainTheDocuments(t *testing.T) {
	documents, err := documentsOf("../..")
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, f := range documents {
		paths[f.path] = true
	}
	for _, name := range []string{"docs/README.md", "docs/servers/redis.md", "docs/workflows/go.yml"} {
		if !paths[documentation+name] {
			t.Errorf("%s is missing", name)
		}
	}
	r := release{version: "1", when: time.Unix(1e9, 0).UTC(), files: documents}
	packed, err := archive("assay-1", r, binary{content: []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	unpack(t, plain, folder)
	if _, err := os.Stat(filepath.Join(folder, "assay-1", "docs", "servers", "redis.md")); err != nil {
		t.Error(err)
	}
}
