package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the documents tell a reader to type is right: each `assay run` of the README, the tutorial
// and the recipes passes a dry run, and so does each whole experiment that they show.
func TestCommandsOfDocuments(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	commands := 0
	for _, page := range []string{"README.md", "docs/tutorial.md", "docs/cookbook.md", "docs/servers.md"} {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, experiment := range wholeExperiments(string(text)) {
			name := regexp.MustCompile(`(?m)^name: (\S+)`).FindStringSubmatch(experiment)[1] + ".yaml"
			if err := os.WriteFile(filepath.Join(directory, name), []byte(experiment), 0o600); err != nil {
				t.Fatal(err)
			}
			if e := assayIn(t, directory, "", "run", name, "--dry-run"); e.status != 0 {
				t.Errorf("%s shows an experiment that is refused:\n%s\n%s", page, experiment, e.stderr)
			}
		}
		for _, line := range runCommands(string(text)) {
			commands++
			if e := assayIn(t, directory, "", append(words(line), "--dry-run")...); e.status != 0 {
				t.Errorf("%s: assay %s: exit status %d\n%s", page, line, e.status, e.stderr)
			}
		}
	}
	if commands < 15 {
		t.Errorf("only %d commands were found", commands)
	}
}

// Commands that stand in a sentence exist, with the flags that they are shown with.
func TestCommandsInSentences(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	inline := regexp.MustCompile("`(?:bin/)?assay\\s([^`]+)`")
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range inline.FindAllStringSubmatch(string(text), -1) {
			parts := strings.Fields(match[1])
			c, _, err := command(io.Discard).Find(parts)
			if err != nil || !c.HasParent() {
				t.Errorf("%s: assay %s: no such command", page, match[1])
				continue
			}
			found++
			for _, part := range parts {
				flag, is := strings.CutPrefix(part, "--")
				flag, _, _ = strings.Cut(flag, "=")
				if !is || flag == "" {
					continue
				}
				if c.Flags().Lookup(flag) == nil && c.InheritedFlags().Lookup(flag) == nil {
					t.Errorf("%s: assay %s: no flag --%s", page, match[1], flag)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found", found)
	}
}

// blocks are the blocks of code in one language that a document shows.
func blocks(page, language string) (list []string) {
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		list = append(list, found[1])
	}
	return list
}

func wholeExperiments(page string) (list []string) {
	for _, block := range blocks(page, "yaml") {
		if strings.Contains("\n"+block, "\nname:") && strings.Contains(block, "\nphases:") {
			list = append(list, block)
		}
	}
	return list
}

// isToInstall reports whether a command names a server's program that the reader is yet to install.
func isToInstall(line string) bool {
	return strings.Contains(line, "@start=/opt/") || strings.Contains(line, "@git=")
}

// runCommands are the command lines that run something which is there to be run: no directory of
// results, and no file that the reader is yet to write.
func runCommands(page string) (list []string) {
	for _, block := range blocks(page, "sh") {
		for _, line := range strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			line, _, _ = strings.Cut(line, " #")
			line, _, _ = strings.Cut(line, "--out")
			line, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "bin/"), "assay ")
			if is && strings.HasPrefix(line, "run ") && !strings.Contains(line, "my.yaml") && !isToInstall(line) {
				list = append(list, strings.TrimSuffix(strings.TrimSpace(line), " --dry-run"))
			}
		}
	}
	return list
}
