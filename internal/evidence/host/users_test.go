package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Programs are listed by name, over all their processes; a number that another process got since, and
// this process itself, are not counted.
func TestLargestUsers(t *testing.T) {
	root := t.TempDir()
	stat := func(pid int, name string, ticks, start int) {
		t.Helper()
		directory := filepath.Join(root, fmt.Sprint(pid))
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		fields := make([]string, 52-2)
		for i := range fields {
			fields[i] = "0"
		}
		fields[0], fields[14-3], fields[22-3] = "S", fmt.Sprint(ticks), fmt.Sprint(start) // proc_pid_stat(5)
		text := fmt.Sprintf("%d (%s) %s\n", pid, name, strings.Join(fields, " "))
		if err := os.WriteFile(filepath.Join(directory, "stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stat(1, "browser", 100, 1)
	stat(2, "browser", 0, 2)
	stat(3, "indexer", 50, 3)
	stat(4, "sleeper", 50, 4)
	stat(5, "ended", 900, 5)
	stat(os.Getpid(), "assay", 0, 6)
	u := &Users{roots: roots{proc: root}}
	u.at, u.used, _ = u.look()
	u.at = u.at.Add(-10 * time.Second) // ten seconds later
	stat(1, "browser", 1100, 1)
	stat(2, "browser", 500, 2)
	stat(3, "indexer", 250, 3)
	stat(5, "newcomer", 2000, 50)
	stat(os.Getpid(), "assay", 2000, 6)
	largest := u.Largest(3)
	var told []string
	for _, user := range largest {
		told = append(told, fmt.Sprintf("%s %.1f", user.Name, user.CPUs))
	}
	if want := []string{"browser 1.5", "indexer 0.2"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	if one := u.Largest(1); len(one) != 1 || one[0].Name != "browser" {
		t.Errorf("%+v", one)
	}
}
