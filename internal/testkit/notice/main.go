// Notice writes NOTICE: what is linked into bin/assay, and under which licences.
//
//	notice FILE
//
// The modules are those of the command for Linux on amd64; for other systems they are fewer or the
// same. Native and Java workers link what the machine has, which is not handed on.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

//go:generate go run . ../../../NOTICE

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "notice: expected the file to write")
		os.Exit(2)
	}
	text, err := notice()
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

// part is something that is linked in.
type part struct {
	name, version, folder string

	licences []string // SPDX identifiers
	texts    []string
}

func notice() ([]byte, error) {
	root, err := rootFolder()
	if err != nil {
		return nil, err
	}
	parts, err := modules(root)
	if err != nil {
		return nil, err
	}
	parts = append(parts, part{name: "uPlot", folder: filepath.Join(root, "web", "third_party", "uplot")})
	for i := range parts {
		if err := parts[i].read(); err != nil {
			return nil, err
		}
	}
	// The Go standard library is by the authors of its extensions, under the same text.
	system := slices.IndexFunc(parts, func(p part) bool { return p.name == "golang.org/x/sys" })
	if system < 0 {
		return nil, errors.New("golang.org/x/sys is not linked in, whose licence is that of the standard library")
	}
	library := parts[system]
	library.name, library.version = "the Go standard library", ""
	parts = append(parts, library)
	return write(parts), nil
}

// rootFolder is that of go.mod.
func rootFolder() (string, error) {
	file, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(file))), nil
}

// modules are those whose packages the command imports, directly or not.
func modules(root string) (parts []part, err error) {
	command := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/assay")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	lines := strings.Fields(strings.ReplaceAll(string(output), "\t", "|"))
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fields := strings.Split(line, "|")
		if len(fields) != 3 {
			return nil, fmt.Errorf("go list wrote %q, expected a module, its version and its folder", line)
		}
		parts = append(parts, part{name: fields[0], version: fields[1], folder: fields[2]})
	}
	return parts, nil
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice)([.-].*)?$`)
	readmeFile  = regexp.MustCompile(`(?i)^readme(\..*)?$`)
)

// read finds the part's licences: in the files that are named for it, or else in its readme.
func (p *part) read() error {
	for _, names := range []*regexp.Regexp{licenceFile, readmeFile} {
		entries, err := os.ReadDir(p.folder)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, entry := range entries {
			if entry.IsDir() || !names.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.folder, entry.Name()))
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			p.texts = append(p.texts, plain(text))
			for _, match := range licensecheck.Scan(text).Match {
				if !slices.Contains(p.licences, match.ID) {
					p.licences = append(p.licences, match.ID)
				}
			}
		}
		if len(p.licences) > 0 {
			return nil
		}
	}
	return errors.Join(errNoLicence, fmt.Errorf("%s %s in %s", p.name, p.version, p.folder))
}

var errNoLicence = errors.New("no licence was found")

// plain drops what differs between copies of one text: ends of lines, and what is blank at an end.
func plain(text []byte) string {
	lines := strings.Split(strings.ReplaceAll(string(bytes.TrimSpace(text)), "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Join(lines, "\n")
}

const rule = "================================================================================"

// write lists the parts, and then each text with those that it is of.
func write(parts []part) []byte {
	var out bytes.Buffer
	fmt.Fprint(&out, "Assay is licensed under Apache-2.0: see LICENSE.\n\nIts binary has these in it, whose licences follow. `make generate` writes this file.\n\n")
	var texts []string
	of := map[string][]string{}
	for _, p := range parts {
		fmt.Fprintf(&out, "%s  %s\n", strings.TrimSpace(p.name+" "+p.version), strings.Join(p.licences, ", "))
		for _, text := range p.texts {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], p.name)
		}
	}
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(of[text], "\n"), rule, text)
	}
	return out.Bytes()
}
