package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"assay/internal/evidence/host"
	"assay/internal/experiment"
)

// programs hashes the program of each worker of the experiment, and of each server that Assay
// starts, so that one that was built or installed anew in between is seen. What can't be read is
// left out: its trials will fail and say why.
func programs(e *experiment.Experiment, o Options) map[string]string {
	h := hasher{hashes: map[string]string{}, files: map[string]string{}, hash: o.hash}
	if h.hash == nil {
		h.hash = fileHash
	}
	if len(o.Worker) > 0 {
		h.add(host.OwnProgram, o.Worker[0])
	}
	for _, s := range slices.Concat(e.Stores, e.Ceilings) {
		if s.Server != nil && o.Program != nil {
			program, _ := o.Program(s.Driver)
			program = program.By(s.Server.Program)
			if binary, err := program.Find(); err == nil {
				h.add(binary, binary)
			}
		}
		if len(s.Worker) == 0 {
			continue
		}
		h.add(s.Worker[0], s.Worker[0])
		if script := firstFile(s.Worker[1:]); script != "" {
			h.add(script, script)
		}
	}
	return h.hashes
}

// firstFile returns the first of a command's arguments that is a file: what an interpreter is to
// run; "": none is.
func firstFile(arguments []string) string {
	for _, argument := range arguments {
		if info, err := os.Stat(argument); err == nil && info.Mode().IsRegular() {
			return argument
		}
	}
	return ""
}

// hasher hashes each file once: Assay's own program is the worker of many stores, and has 60 MB.
type hasher struct {
	hashes map[string]string // name → hash
	files  map[string]string // path → hash
	hash   func(path string) (string, error)
}

// add adds the hash of a program, looked for as the system does when it starts it, under a name.
func (h hasher) add(name, program string) {
	path, err := exec.LookPath(program)
	if err != nil {
		path = program // a script need not be executable
	}
	if _, done := h.files[path]; !done {
		hash, err := h.hash(path)
		if err != nil {
			return
		}
		h.files[path] = hash
	}
	h.hashes[name] = h.files[path]
}

func fileHash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash a worker's program: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("hash the worker's program %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
