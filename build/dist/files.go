package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// file stands beside the binary; its path is the one that packages install it at.
type file struct {
	path    string
	content []byte
}

// completions are the shells whose completion is made, and where each looks for it.
var completions = []struct{ shell, path string }{
	{"bash", "/usr/share/bash-completion/completions/assay"},
	{"fish", "/usr/share/fish/vendor_completions.d/assay.fish"},
	{"zsh", "/usr/share/zsh/vendor-completions/_assay"},
}

// beside makes what stands beside the binary, by a binary for this machine.
func beside(root, work string) (files []file, err error) {
	own, err := build(root, work, here())
	if err != nil {
		return nil, err
	}
	pages := filepath.Join(work, "man")
	if err := exec.Command(own.path, "man", pages).Run(); err != nil {
		return nil, fmt.Errorf("manual pages: %w", err)
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(pages, e.Name()))
		if err != nil {
			return nil, err
		}
		if content, err = zipped(content); err != nil {
			return nil, err
		}
		files = append(files, file{"/usr/share/man/man1/" + e.Name() + ".gz", content})
	}
	for _, c := range completions {
		text, err := exec.Command(own.path, "completion", c.shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", c.shell, err)
		}
		files = append(files, file{c.path, text})
	}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{documentation + name, content})
	}
	documents, err := documentsOf(root)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	files = append(files, documents...)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

const documentation = "/usr/share/doc/assay/"

// documentsOf are all files of docs, with their folders: pages link to each other.
func documentsOf(root string) (files []file, err error) {
	docs := filepath.Join(root, "docs")
	err = filepath.WalkDir(docs, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files = append(files, file{documentation + filepath.ToSlash(name), content})
		return err
	})
	return files, err
}

// zipped compresses without a name or a time.
func zipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
