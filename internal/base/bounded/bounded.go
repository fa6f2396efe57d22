// Package bounded reads what others made: files that a user names, and what programs print. Nothing of
// it may fill the memory, whatever stands there and however long it goes on.
package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// ErrTooMuch is wrapped by errors that say that there was more than the bound.
var ErrTooMuch = errors.New("too much to read")

// Read reads to the end, which must come after at most bytesMax bytes.
func Read(from io.Reader, bytesMax int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, bytesMax+1))
	if err == nil && int64(len(data)) > bytesMax {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrTooMuch, bytesMax)
	}
	return data, err
}

// ReadFile is [Read] of a file, which may also be a pipe or a device.
func ReadFile(name string, bytesMax int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := Read(file, bytesMax)
	if errors.Is(err, ErrTooMuch) {
		return nil, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return data, err
}

// lineBytesMax bounds a line that a file holds: a login, a token.
const lineBytesMax = 64 << 10

// Line returns the first line of a file, without its end.
func Line(name string) (string, error) {
	text, err := ReadFile(name, lineBytesMax)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// kernelBytesMax bounds what the kernel tells in one file: the longest are the maps of a process with
// hundreds of thousands of them.
const kernelBytesMax = 64 << 20

// Kernel reads a file of /proc, /sys or a control group.
func Kernel(name string) ([]byte, error) { return ReadFile(name, kernelBytesMax) }

// Find returns where a program is. It looks beyond PATH, which often lacks the directories of
// administration.
func Find(name string) (string, error) {
	for _, place := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if path, err := exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}

// outputBytesMax bounds what programs may answer: versions, and what is wrong, are a few lines.
const outputBytesMax = 64 << 10

// Output runs a command that prints little and returns what it prints to both its outputs. One that
// prints more than 64 KiB is killed; what came until then is returned with the error. It ends with this
// process, as all do that Assay starts: what lasts, and may start others, is package child's.
func Output(command *exec.Cmd) ([]byte, error) {
	o := &output{command: command}
	command.Stdout, command.Stderr = o, o
	err := run(command)
	return o.told(err)
}

// Outputs is [Output] of a command whose outputs are kept apart, each with that bound.
func Outputs(command *exec.Cmd) (stdout, stderr []byte, err error) {
	out, errs := &output{command: command}, &output{command: command}
	command.Stdout, command.Stderr = out, errs
	err = run(command)
	stderr, err = errs.told(err)
	stdout, err = out.told(err)
	return stdout, stderr, err
}

func run(command *exec.Cmd) error {
	dieWithParent(command)
	return command.Run()
}

func (o *output) told(err error) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		err = fmt.Errorf("%w: it printed more than %d bytes and was killed", ErrTooMuch, outputBytesMax)
	}
	return o.text.Bytes(), err
}

// output keeps what a command prints, up to the bound.
type output struct {
	command *exec.Cmd
	mu      sync.Mutex
	text    bytes.Buffer
	over    bool
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := outputBytesMax - o.text.Len()
	o.text.Write(text[:min(room, len(text))])
	if len(text) <= room {
		return len(text), nil
	}
	o.over = true
	_ = o.command.Process.Kill() // it runs: it has just printed
	return 0, ErrTooMuch
}
