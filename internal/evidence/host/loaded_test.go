package host

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// runCopy starts a copy of cat, waits until it has copied something, and ends it with the test.
func runCopy(t *testing.T, program string) int {
	t.Helper()
	command := exec.Command(program)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if _, err := in.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // all that it needs is loaded then
		t.Fatal(err)
	}
	return command.Process.Pid
}

func TestLoaded(t *testing.T) {
	directory := t.TempDir()
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("skipped: no cat here")
	}
	text, err := os.ReadFile(cat)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, same, other := write("one", text), write("same", text), write("other", append(text, 0))
	script := write("script", []byte("first"))
	var d Digests
	loaded := func(program string, command ...string) string {
		sum, err := d.Loaded([]int{runCopy(t, program)}, command)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := loaded(one)
	if loaded(same) != first {
		t.Error("the same program in another place is another one")
	}
	if loaded(other) == first {
		t.Error("a program of which one byte differs is the same")
	}
	interpreted := loaded(one, "python3", script)
	if interpreted == first {
		t.Error("the file that an interpreter runs is no part of it")
	}
	write("script", []byte("second"))
	if loaded(one, "python3", script) == interpreted {
		t.Error("a script that was written again is the same")
	}
	if sum, err := d.Loaded(nil, nil); err == nil {
		t.Errorf("nothing runs, and has the digest %s", sum)
	}
	if sum, err := d.Loaded([]int{1 << 30}, nil); err == nil {
		t.Errorf("a process that is not there has the digest %s", sum)
	}
}

func TestMappedProgram(t *testing.T) {
	for line, want := range map[string]string{
		"7f2c8a000000-7f2c8a200000 r-xp 00000000 fe:00 1835 /usr/lib/x86_64-linux-gnu/liblmdb.so.0": "/usr/lib/x86_64-linux-gnu/liblmdb.so.0",
		"7f2c8a000000-7f2c8a200000 r--p 00000000 fe:00 1835 /usr/lib/x86_64-linux-gnu/liblmdb.so.0": "",
		"7ffd1b7fe000-7ffd1b800000 r-xp 00000000 00:00 0                          [vdso]":           "",
		"7f2c8a000000-7f2c8a200000 r-xp 00000000 00:00 0 ":                                          "",
		"7f2c8a000000-7f2c8a200000 r-xp 00000000 fe:00 77 /opt/a store/lib engine.so":               "/opt/a store/lib engine.so",
		"7f2c8a000000-7f2c8a200000 r-xs 00000000 fe:00 9 /tmp/ffiZZZXUN (deleted)":                  "",
		"7f2c8a000000-7f2c8a200000 r-xs 00000000 00:01 9 /memfd:jit (deleted)":                      "",
		"7f2c8a000000-7f2c8a200000 r-xp 00000000 fe:00 9 /usr/lib/libffi.so.8 (deleted)":            "/usr/lib/libffi.so.8 (deleted)",
		"7f2c8a000000-7f2c8a200000 rw-s 00000000 fe:00 9 /var/data/data.mdb":                        "",
	} {
		if got := mappedProgram(line); got != want {
			t.Errorf("%s: %q, expected %q", line, got, want)
		}
	}
}
