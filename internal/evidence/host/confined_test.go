package host

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestConfinement(t *testing.T) {
	write := func(root, name, text string) {
		t.Helper()
		name = filepath.Join(root, "7", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const stat = "7 (a (b) c) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 NICE 3 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 PRIO POLICY 0 0 0\n"
	read := func(change func(root string)) Confinement {
		root := t.TempDir()
		write(root, "cgroup", "9:memory:/assay/a\n0::/x\n")
		write(root, "limits", "Limit  Soft Limit  Hard Limit\nMax open files  1024  4096  files\n")
		write(root, "stat", strings.NewReplacer("NICE", "0", "PRIO", "0", "POLICY", "0").Replace(stat))
		write(root, "task/7/status", "Name:\ta\nCpus_allowed_list:\t0-3\n")
		write(root, "task/8/status", "Name:\ta\nCpus_allowed_list:\t0-3\n")
		change(root)
		c, known := confinementOf(roots{proc: root}, 7)
		if !known {
			t.Fatalf("not known: %+v", c)
		}
		return c
	}
	before := read(func(string) {})
	for name, c := range map[string]struct {
		change func(root string)
		want   []Confined
	}{
		"nothing":                   {func(string) {}, nil},
		"a thread that pins itself": {func(root string) { write(root, "task/8/status", "Cpus_allowed_list:\t2\n") }, nil},
		"all of them pinned to one": {func(root string) {
			write(root, "task/7/status", "Cpus_allowed_list:\t2\n")
			write(root, "task/8/status", "Cpus_allowed_list:\t2\n")
		}, []Confined{{ConfinedCPUs, "0,1,2,3", "2"}}},
		"moved out of its cgroup": {func(root string) { write(root, "cgroup", "9:memory:/\n0::/x\n") }, []Confined{{ConfinedCgroup, "9:memory:/assay/a", "9:memory:/"}}},
		"another limit": {func(root string) {
			write(root, "limits", "Limit  Soft Limit  Hard Limit\nMax open files  99  4096  files\n")
		}, []Confined{{ConfinedLimits, "Max open files 1024 4096 files", "Max open files 99 4096 files"}}},
		"a lower priority": {func(root string) {
			write(root, "stat", strings.NewReplacer("NICE", "10", "PRIO", "0", "POLICY", "0").Replace(stat))
		}, []Confined{{ConfinedScheduling, "policy 0, priority 0, nice 0", "policy 0, priority 0, nice 10"}}},
	} {
		if got := read(c.change).Since(before); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	group := t.TempDir()
	for _, limit := range []string{"157286400\n", "1073741824\n"} {
		if err := os.MkdirAll(filepath.Join(group, "assay", "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(group, "assay", "memory.limit_in_bytes"), []byte(limit), 0o600); err != nil {
			t.Fatal(err)
		}
		limited := read(func(root string) {
			write(root, "../self/mountinfo", "30 24 0:27 / "+group+" rw - cgroup cgroup rw,memory\n")
		})
		file := "memory.limit_in_bytes of " + filepath.Join(group, "assay") + ": "
		if limit[0] == '1' && limit[1] == '5' {
			before = limited
		} else if got, want := limited.Since(before), []Confined{{ConfinedGroup, file + "157286400", file + "1073741824"}}; !reflect.DeepEqual(got, want) {
			t.Errorf("a cgroup's limit that is raised: %+v, want %+v", got, want)
		}
	}
	root := t.TempDir()
	write(root, "cgroup", "9:memory:/\n")
	write(root, "limits", "Limit\n")
	write(root, "task/7/status", "Cpus_allowed_list:\t0-3\n")
	for _, ending := range []string{strings.Replace(stat, ") S 1 7 7 0 -1 0 ", ") Z 1 7 7 0 -1 0 ", 1), strings.Replace(stat, ") S 1 7 7 0 -1 0 ", ") R 1 7 7 0 -1 4 ", 1)} {
		write(root, "stat", strings.NewReplacer("NICE", "0", "PRIO", "0", "POLICY", "0").Replace(ending))
		if c, known := confinementOf(roots{proc: root}, 7); known {
			t.Errorf("a process that ends: %+v", c)
		}
	}
	if _, known := confinementOf(roots{proc: t.TempDir()}, 7); known {
		t.Error("a process that is not there is known")
	}
}
