package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"assay/internal/host"
	"assay/internal/spec"
)

// programs hashes the program of each worker of the experiment, and of each server that Assay
// starts, so that one that was built or installed anew in between is seen. What can't be read is
// left out: its trials will fail and say why.
func programs(e *spec.Experiment, o Options) map[string]string {
	hashes := map[string]string{}
	if len(o.Worker) > 0 {
		addHash(hashes, host.OwnProgram, o.Worker[0])
	}
	for _, s := range slices.Concat(e.Stores, e.Ceilings) {
		if s.Server != nil && o.Program != nil {
			program, _ := o.Program(s.Driver)
			if binary, err := program.Find(); err == nil {
				addHash(hashes, binary, binary)
			}
		}
		if len(s.Worker) == 0 {
			continue
		}
		addHash(hashes, s.Worker[0], s.Worker[0])
		if script := firstFile(s.Worker[1:]); script != "" {
			addHash(hashes, script, script)
		}
	}
	return hashes
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

// addHash adds the hash of a program, looked for as the system does when it starts it, under a
// name.
func addHash(hashes map[string]string, name, program string) {
	if _, done := hashes[name]; done {
		return
	}
	path, err := exec.LookPath(program)
	if err != nil {
		path = program // a script need not be executable
	}
	if hash, err := fileHash(path); err == nil {
		hashes[name] = hash
	}
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
