package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/owned"
	"assay/internal/experiment"
)

// runtimes are the programs that run containers, the best first: podman needs no daemon.
var runtimes = []string{"podman", "docker"}

// image is the container image that has a program, in place of a binary of this machine.
type image struct {
	reference string // as its runtime knows it: valkey/valkey:8
	program   string // in it: its path, or a name in its PATH
}

// ofImage returns the image that an experiment names in place of a binary.
func (p *Program) ofImage() (of image, is bool) {
	named, is := strings.CutPrefix(p.named, experiment.ImagePrefix)
	if !is {
		return of, false
	}
	of.reference, of.program, _ = strings.Cut(named, experiment.ImageProgram)
	if of.program == "" {
		of.program = p.likeliest(of.reference)
	}
	return of, true
}

// likeliest is the binary whose product an image is named after (valkey-server), or the first one.
func (p *Program) likeliest(reference string) string {
	var first string
	for _, name := range append(append([]string(nil), p.Binaries[1:]...), p.Others...) {
		name = path.Base(name)
		product, _, _ := strings.Cut(name, "-")
		if strings.Contains(reference, product) {
			return name
		}
		if first == "" {
			first = name
		}
	}
	return first
}

// findRuntime returns the program that runs containers here.
func findRuntime() (string, error) {
	for _, name := range runtimes {
		if found, err := exec.LookPath(name); err == nil {
			return filepath.Abs(found)
		}
	}
	return "", fmt.Errorf("a container runtime is %w: neither %s is in PATH", ErrNotInstalled, strings.Join(runtimes, " nor "))
}

// containerPatience is how long a runtime may take to answer, and a container to have its process.
const containerPatience = 30 * time.Second

// askRuntime returns what a container runtime prints. The error has what it complained of.
func askRuntime(runtime string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), containerPatience)
	defer cancel()
	command := exec.CommandContext(ctx, runtime, arguments...)
	command.WaitDelay = time.Second
	printed, complaint, err := bounded.Outputs(command)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w%s", filepath.Base(runtime), strings.Join(arguments[:min(len(arguments), 2)], " "),
			err, lastPrinted(complaint))
	}
	return strings.TrimSpace(string(printed)), nil
}

// digest returns the SHA-256 of an image. Assay pulls none: what a name means elsewhere may change in a run.
func (of image) digest() (string, error) {
	runtime, err := findRuntime()
	if err != nil {
		return "", err
	}
	id, err := askRuntime(runtime, "image", "inspect", "--format", "{{.Id}}", of.reference)
	if err != nil {
		return "", fmt.Errorf("looking at the image %s: %w\nAssay pulls no image: %s pull %s fetches it",
			of.reference, err, filepath.Base(runtime), of.reference)
	}
	return strings.TrimPrefix(id, "sha256:"), nil
}

// Digest returns the SHA-256 of the program that Find has found: of a binary what file says of it, and of an
// image its identifier.
func (p *Program) Digest(binary string, file func(path string) (string, error)) (string, error) {
	if of, is := p.ofImage(); is {
		return of.digest()
	}
	return file(binary)
}

// version asks the program of an image for its version.
func (of image) version(arguments []string) ([]byte, error) {
	runtime, err := findRuntime()
	if err != nil {
		return nil, err
	}
	if _, err := of.digest(); err != nil {
		return nil, err
	}
	asked := append([]string{"run", "--rm", "--pull", "never", "--network", "none"}, limits()...)
	asked = append(append(asked, "--entrypoint", of.program, of.reference), arguments...)
	printed, err := askRuntime(runtime, asked...)
	return []byte(printed), err
}

// container is one container of a server, or of a program that prepares its directory. It has the machine's
// network, so that nothing stands between the server and its clients, and the server's directory at the
// same path.
type container struct {
	runtime, name string
	note          *owned.Note
}

// contained is what a command in a container is made of.
func (i *Instance) contained(program string, arguments, environment []string) (c *container, command []string,
	err error) {
	of, is := i.Program.ofImage()
	if !is {
		return nil, nil, nil
	}
	c = &container{name: containerPrefix + strings.ToLower(rand.Text())}
	if c.runtime, err = findRuntime(); err != nil {
		return nil, nil, err
	}
	if c.note, err = owned.Write(owned.Thing{Kind: owned.Container, Path: c.runtime, By: c.name}); err != nil {
		return nil, nil, err
	}
	user := fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid())
	if i.user != nil {
		user = fmt.Sprintf("%d:%d", i.user.Uid, i.user.Gid)
	}
	command = []string{"run", "--rm", "--name", c.name, "--pull", "never", "--network", "host", "--user", user,
		"--volume", i.Directory + ":" + i.Directory, "--workdir", i.Directory}
	command = append(command, limits()...)
	if os.Geteuid() != 0 && filepath.Base(c.runtime) == "podman" {
		command = append(command, "--userns", "keep-id") // otherwise the user is another one in there
	}
	if len(i.cpus) > 0 {
		var list []string
		for _, cpu := range i.cpus {
			list = append(list, strconv.Itoa(cpu))
		}
		command = append(command, "--cpuset-cpus", strings.Join(list, ","))
	}
	for _, setting := range append([]string{"LC_ALL=C", "HOME=" + i.Directory}, environment...) {
		command = append(command, "--env", setting)
	}
	if program == i.Binary {
		program = of.program
	}
	return c, append(append(command, "--entrypoint", program, of.reference), arguments...), nil
}

// limits give a container this process's own limit of open files, which a server that is started without one
// has too. A runtime's defaults, that of processes too, are above what it may set on some machines.
func limits() (words []string) {
	for _, limit := range []struct {
		name     string
		resource int
		most     uint64
	}{{"nofile", unix.RLIMIT_NOFILE, math.MaxUint64}, {"nproc", unix.RLIMIT_NPROC, processesMost}} {
		var is unix.Rlimit
		if unix.Getrlimit(limit.resource, &is) == nil {
			words = append(words, "--ulimit", fmt.Sprintf("%s=%s:%s", limit.name, limitText(min(is.Cur, limit.most)),
				limitText(min(is.Max, limit.most))))
		}
	}
	return words
}

// processesMost is more than a server has, and no more than podman leaves to its containers.
const processesMost = 1 << 15

// limitText is -1 for no limit.
func limitText(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "-1"
	}
	return strconv.FormatUint(n, 10)
}

// containerPrefix begins the names of Assay's containers: no other is ever ended.
const containerPrefix = "assay-"

// first waits for the container's first process and returns its number on this machine.
func (c *container) first(exited <-chan struct{}) (pid int, err error) {
	for end := time.Now().Add(containerPatience); time.Now().Before(end); {
		var told string
		if told, err = askRuntime(c.runtime, "inspect", "--format", "{{.State.Pid}}", c.name); err == nil {
			if pid, err = strconv.Atoi(told); err == nil && pid > 0 {
				return pid, nil
			}
		}
		select {
		case <-exited:
			return 0, nil // who asks for it learns how it ended
		case <-time.After(askEvery):
		}
	}
	return 0, fmt.Errorf("the container %s has no process after %v: %w", c.name, containerPatience, err)
}

func (c *container) signal(s syscall.Signal) error {
	_, err := askRuntime(c.runtime, "kill", "--signal", strconv.Itoa(int(s)), c.name)
	return err
}

// remove ends the container, if it still runs.
func (c *container) remove() error {
	if c == nil {
		return nil
	}
	err := RemoveContainer(owned.Thing{Path: c.runtime, By: c.name})
	if err != nil {
		c.note.Keep()
		return err
	}
	c.note.Done()
	return nil
}

// RemoveContainer ends and removes a container of Assay's that is noted down, if it is still there.
func RemoveContainer(t owned.Thing) error {
	if !strings.HasPrefix(t.By, containerPrefix) {
		return errors.New("it does not have the name of one of Assay's containers")
	}
	_, err := askRuntime(t.Path, "rm", "--force", t.By)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such container") {
		return nil
	}
	return err
}
