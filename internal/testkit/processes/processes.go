// Package processes looks at the processes that a test has started.
package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Running reports whether a process runs. One that has ended does not, waited for or not: where a
// process is a subreaper, orphans that end stay its children.
func Running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// Children returns the children of a process that run. Each of its threads has those that it forked.
func Children(t testing.TB, pid int) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatalf("%s: %v", list, err)
			}
			if Running(child) {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// WithArgument returns the processes that run and have an argument.
func WithArgument(t testing.TB, argument string) (pids []int) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), argument) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry))); err == nil && Running(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
