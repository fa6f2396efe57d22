// Package presets has the experiments that ship with Assay. Each is an ordinary experiment file:
// `assay init` copies are edited, `--set` changes them, and their comments say why they are as they
// are.
package presets

import (
	"embed"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"assay/internal/base/format"
)

//go:embed *.yaml
var files embed.FS

// Preset is one shipped experiment.
type Preset struct {
	Name    string // as given to `assay run`
	Summary string // the first line of what it is about
}

// Names returns the presets' names, sorted. Each command asks for them as it starts: no file is read.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("presets: listing what is embedded: " + err.Error())
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return names
}

// All returns the presets, by name.
func All() []Preset {
	var presets []Preset
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			panic("presets: reading what is embedded: " + err.Error())
		}
		var head struct {
			About string `yaml:"about"`
		}
		if err := yaml.Unmarshal(text, &head); err != nil {
			panic("presets: " + name + ": " + err.Error())
		}
		summary, _, _ := strings.Cut(strings.TrimSpace(head.About), "\n")
		presets = append(presets, Preset{Name: name, Summary: summary})
	}
	return presets
}

// Source returns a preset's file. The error of an unknown name says which name was probably meant.
func Source(name string) ([]byte, error) {
	if !strings.ContainsAny(name, "/\\.*") {
		if text, err := files.ReadFile(name + ".yaml"); err == nil {
			return text, nil
		}
	}
	names := Names()
	if near := format.Nearest(name, names); near != "" {
		return nil, fmt.Errorf("unknown preset %q\ndid you mean %q?", name, near)
	}
	return nil, fmt.Errorf("unknown preset %q\nexpected one of %s", name, strings.Join(names, ", "))
}
