package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/experiment"
	"assay/store"
)

// ErrNotInstalled is wrapped by the error of [Program.Find], and by that of a Prepare that misses a
// program.
var ErrNotInstalled = errors.New("not installed")

// systemDirectories are where distributions put servers, also where PATH leaves them out.
var systemDirectories = []string{"/usr/sbin", "/usr/local/sbin", "/sbin"}

// Find returns the path of the program's binary. It starts nothing.
func (p *Program) Find() (binary string, err error) {
	if p.Linked {
		return os.Executable()
	}
	if _, is := p.ofImage(); is {
		_, err := findRuntime()
		return p.named, err
	}
	if p.named != "" && strings.ContainsRune(p.named, '/') {
		if !executable(p.named) {
			return "", p.whyNamedIsNone()
		}
		return filepath.Abs(p.named)
	}
	directories := systemDirectories
	if self, err := os.Executable(); err == nil {
		directories = append([]string{filepath.Dir(self)}, directories...) // what make builds stands beside Assay
	}
	for _, name := range p.Binaries {
		if strings.ContainsRune(name, '/') {
			if found := newest(name); found != "" && p.complete(found) {
				return found, nil
			}
			continue
		}
		if found, err := exec.LookPath(name); err == nil {
			if found, err = filepath.Abs(found); err != nil || p.complete(found) {
				return found, err
			}
		}
		for _, directory := range directories {
			if found := filepath.Join(directory, name); executable(found) && p.complete(found) {
				return found, nil
			}
		}
	}
	if p.named != "" {
		return "", fmt.Errorf("%s is %w: no such program in PATH", p.named, ErrNotInstalled)
	}
	return "", fmt.Errorf("%s is %w (%s)", p.Driver, ErrNotInstalled, p.Install())
}

// whyNamedIsNone says what is wrong with the path that somebody names.
func (p *Program) whyNamedIsNone() error {
	switch info, err := os.Stat(p.named); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w at %s: there is no such file", experiment.ErrNoProgram, p.named)
	case err != nil:
		return fmt.Errorf("%w at %s: %w", experiment.ErrNoProgram, p.named, err)
	case info.IsDir():
		return fmt.Errorf("%w at %s: it is a directory", experiment.ErrNoProgram, p.named)
	}
	return fmt.Errorf("%w at %s: it is not executable", experiment.ErrNoProgram, p.named)
}

// All returns every binary of the program on this machine, that of Find first: also those of other
// versions, and of other programs that speak the driver's protocol. A file is listed once.
func (p *Program) All() (binaries []string) {
	first, err := p.Find()
	if err != nil || p.Linked {
		return nil
	}
	seen := map[string]bool{}
	add := func(binary string) {
		real, err := filepath.EvalSymlinks(binary)
		if err == nil && !seen[real] && executable(real) && p.complete(binary) {
			seen[real] = true
			binaries = append(binaries, binary)
		}
	}
	add(first)
	directories := append(filepath.SplitList(os.Getenv("PATH")), systemDirectories...)
	for _, name := range slices.Concat(p.Binaries, p.Others) {
		if strings.ContainsRune(name, '/') {
			matches, _ := filepath.Glob(name) // fails for a bad pattern only
			for _, found := range matches {
				add(found)
			}
			continue
		}
		for _, directory := range directories {
			if filepath.IsAbs(directory) {
				add(filepath.Join(directory, name))
			}
		}
	}
	return binaries
}

// By returns the program with a binary that somebody names, by its path, by a name in PATH or by the image
// that has it; "": with its own. What is installed under another name is then never started in its place.
func (p Program) By(binary string) Program {
	if binary == "" {
		return p
	}
	p.named, p.Binaries, p.Needs = binary, append([]string{binary}, p.Binaries...), nil
	if !strings.HasPrefix(binary, experiment.ImagePrefix) {
		p.Binaries = p.Binaries[:1]
	}
	return p
}

// complete reports whether what the binary needs is there.
func (p *Program) complete(binary string) bool {
	real, err := filepath.EvalSymlinks(binary)
	if err != nil {
		return false
	}
	for _, name := range p.Needs {
		if !strings.ContainsRune(name, '/') {
			if _, err := exec.LookPath(name); err != nil {
				return false
			}
			continue
		}
		if found, err := filepath.Glob(filepath.Join(filepath.Dir(real), name)); err != nil || len(found) == 0 {
			return false
		}
	}
	return true
}

// Install returns the line that installs the program, or another way to get it.
func (p *Program) Install() string {
	if len(p.Packages) == 0 {
		return p.Missing
	}
	return "apt-get install --no-install-recommends " + strings.Join(p.Packages, " ")
}

// newest returns the executable that a pattern matches, of several the one whose path has the
// highest number where they differ: /usr/lib/postgresql/15 comes after /usr/lib/postgresql/9.
func newest(pattern string) (best string) {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return ""
	}
	for _, m := range matches {
		if executable(m) && (best == "" || later(m, best)) {
			best = m
		}
	}
	return best
}

var digits = regexp.MustCompile(`[0-9]+`)

func later(a, b string) bool {
	of := func(text string) []string { return digits.FindAllString(text, -1) }
	for i := range min(len(of(a)), len(of(b))) {
		x, errX := strconv.ParseUint(of(a)[i], 10, 64)
		y, errY := strconv.ParseUint(of(b)[i], 10, 64)
		if errX == nil && errY == nil && x != y {
			return x > y
		}
	}
	return len(of(a)) > len(of(b))
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// versionPatience is how long a program may take to print its version.
const versionPatience = 10 * time.Second

var versionText = regexp.MustCompile(`[0-9]+(\.[0-9]+)+[0-9A-Za-z.+~-]*`)

// Identity is what a binary prints when it is asked for its version.
type Identity struct {
	Product string // that speaks the driver's protocol: "valkey"; the driver's name, if it does not say
	Version string
}

// Identify asks a binary for its version. The error says so if it is another program than one that speaks
// the driver's protocol.
func (p *Program) Identify(ctx context.Context, binary string) (told Identity, err error) {
	arguments := p.VersionArguments
	if len(arguments) == 0 {
		arguments = []string{"--version"}
	}
	var printed []byte
	if of, is := p.ofImage(); is {
		printed, err = of.version(arguments)
	} else {
		ctx, cancel := context.WithTimeout(ctx, versionPatience)
		defer cancel()
		command := exec.CommandContext(ctx, binary, arguments...)
		command.WaitDelay = time.Second
		printed, err = bounded.Output(command)
	}
	if err != nil {
		return told, fmt.Errorf("asking %s for its version: %w%s", binary, err, lastPrinted(printed))
	}
	told.Product = p.Driver
	if p.Tells != nil {
		groups := p.Tells.FindSubmatch(printed)
		if groups == nil {
			return told, fmt.Errorf("%s is another program than %s: asked for its version, it prints %q", binary, p.Driver, firstLine(printed))
		}
		if len(groups) > 1 {
			told.Product = strings.ToLower(string(groups[1]))
		}
	}
	if told.Version = versionText.FindString(string(printed)); told.Version == "" {
		return told, fmt.Errorf("asking %s for its version: no version in %q", binary, firstLine(printed))
	}
	return told, nil
}

// lastPrinted is what a program printed before it failed, its last lines, as the end of a sentence.
func lastPrinted(text []byte) string {
	o := output{log: io.Discard}
	_, _ = o.Write(text) // nothing fails there
	o.end()
	if words := o.lastWords(); words != "" {
		return "; it last wrote: " + words
	}
	return ""
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

// resolve returns a value for each option: the experiment's, the class's, or the default.
func (p *Program) resolve(class store.Durability, given map[string]string) (store.Options, error) {
	chosen := map[string]string{}
	if p.Class != nil {
		classOptions, reached := p.Class(class)
		if !reached {
			return nil, fmt.Errorf("no setting of %s gives %s: %w", p.Driver, class, store.ErrRefused)
		}
		for name, value := range classOptions {
			chosen[name] = value
		}
	}
	for name, value := range given {
		chosen[name] = value
	}
	return store.Resolve(p.Options, chosen)
}
