// Rename gives Assay's module another path, under which it can be fetched once it has a home: in go.mod, in
// every import, and where documents and tests show imports.
//
//	rename ROOT MODULE
//
// The path that it has is read from go.mod, so that it may be renamed again. Only files that git knows are
// changed, and only where a package of the module follows the path, or the path stands in a go.mod: assay
// is a word of its own in many other places. It is a module of its own, so that it still compiles when a
// rename was interrupted.
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
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: rename ROOT MODULE")
		os.Exit(2)
	}
	changed, err := rename(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files: the module is %s\n", changed, os.Args[2])
}

// modulePath is what Go takes for a path that can be fetched: its first element has a dot. A plain word, as
// Assay's own, is allowed too.
var modulePath = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)

// rename changes the files below root, and returns how many.
func rename(root, module string) (changed int, err error) {
	if !modulePath.MatchString(module) {
		return 0, fmt.Errorf("%q is no path of a module; expected one like example.org/assay", module)
	}
	listed, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	names := strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	declared := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(text)
	if declared == nil {
		return 0, errors.New("go.mod names no module")
	}
	old := string(declared[1])
	shown := imports(old, names)
	inMod := regexp.MustCompile(`(?m)(^|\s)` + regexp.QuoteMeta(old) + `(/\S*)?(\s|$)`)
	for _, name := range names {
		path := filepath.Join(root, name)
		var expression *regexp.Regexp
		with := "${1}" + module + "${2}"
		switch {
		case filepath.Base(name) == "go.mod":
			expression, with = inMod, with+"${3}"
		case slices.Contains([]string{".go", ".md", ".bazel", ".txt"}, filepath.Ext(name)):
			expression = shown
		default:
			continue
		}
		before, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		} else if err != nil {
			return changed, err
		}
		after := expression.ReplaceAll(before, []byte(with))
		if bytes.Equal(before, after) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return changed, err
		}
		if err := os.WriteFile(path, after, info.Mode()); err != nil {
			return changed, err
		}
		changed++
	}
	return changed, nil
}

// imports finds the path of the module where a package of it follows, behind a quotation mark, in Go and in
// documents. The folders are those that have Go files.
func imports(old string, names []string) *regexp.Regexp {
	folders := map[string]bool{}
	for _, name := range names {
		folder, rest, below := strings.Cut(name, "/")
		if below && strings.HasSuffix(rest, ".go") {
			folders[regexp.QuoteMeta(folder)] = true
		}
	}
	var sorted []string
	for folder := range folders {
		sorted = append(sorted, folder)
	}
	slices.Sort(sorted)
	return regexp.MustCompile("([\"`])" + regexp.QuoteMeta(old) + `(/(?:` + strings.Join(sorted, "|") + `)\b)`)
}
