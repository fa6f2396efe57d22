package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// intoFull runs the command with a full device as standard output.
func intoFull(t *testing.T, arguments ...string) ended {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	defer full.Close()
	p := start(t, func(c *exec.Cmd) {
		c.Dir, c.Stdout = t.TempDir(), full
		c.Stdin = strings.NewReader("time_s,rate\n1,5\n2,5\n")
	}, arguments...)
	return p.end(t)
}

// fullDevice makes a device like /dev/full, of the test's own: a test that fails must not replace
// the machine's.
func fullDevice(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "full")
	if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 7))); err != nil {
		t.Skipf("skipped: no device can be made here: %v", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("skipped: devices can't be opened here: %v", err)
	}
	file.Close()
	return path
}

// Who asked and has not got the answer learns of it, whatever he asked.
func TestFullStandardOutput(t *testing.T) {
	t.Parallel()
	directory := stillRun()
	for _, arguments := range [][]string{
		{"--help"}, {"run", "--help"}, {"--version"}, {}, {"help", "run"}, {"completion", "bash"},
		{"report", directory}, {"report", directory, "--html", "-"}, {"report", directory, "--format", "json"},
		{"report", directory, "--format", "csv"}, {"report", directory, "--format", "benchfmt"},
		{"report", directory, "--html", "page.html"}, {"analyze", "-"}, {"analyze", "--format", "json", "-"},
		{"drivers"}, {"drivers", "bbolt"}, {"drivers", "--json"}, {"presets"}, {"presets", "smoke"}, {"schema"}, {"doctor"},
		{"compare", "--run", directory, "still", "changed"}, {"compare", "--json", "--run", directory, "still", "changed"},
		{"init"}, {"init", "-"}, {"run", "smoke", "--dry-run"}, {"conformance", "--driver", "null"},
	} {
		t.Run(strings.Join(arguments, " "), func(t *testing.T) {
			t.Parallel()
			intoFull(t, arguments...).wants(t, exitFailed, "assay: ", "no space left on device")
		})
	}
}

// A run whose table can't be printed is kept, and says where.
func TestRunWithAFullStandardOutput(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	e := intoFull(t, "run", written(t, "one.yaml", oneStore), "--out", directory)
	e.wants(t, exitFailed, "no space left on device", "assay report "+directory)
	readable(t, directory)
	if _, err := os.Stat(filepath.Join(directory, "report.html")); err != nil {
		t.Error(err)
	}
}

// linksOfPage are all that differs between pages of one run: they lead from where a page stands.
var linksOfPage = regexp.MustCompile(`"[^"]*trials/|"base":"[^"]*"`)

func samePage(a, b string) bool {
	return linksOfPage.ReplaceAllString(a, "") == linksOfPage.ReplaceAllString(b, "")
}

func TestHTMLReportGoesWhereItWasSent(t *testing.T) {
	t.Parallel()
	run := stillRun()
	page := assay(t, "report", run, "--html", "-")
	page.wants(t, 0)
	if !strings.HasSuffix(strings.TrimSpace(page.stdout), "</html>") {
		t.Fatalf("--html - does not end with the page: %q", page.stdout[max(0, len(page.stdout)-200):])
	}
	whole := func(t *testing.T, path string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || !samePage(string(text), page.stdout) {
			t.Errorf("%s has %d bytes, want %d (%v)", path, len(text), len(page.stdout), err)
		}
	}
	link := func(t *testing.T, to string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stays := func(t *testing.T, path string) {
		t.Helper()
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is no link any more (%v)", path, err)
		}
	}

	t.Run("standard output", func(t *testing.T) {
		here := t.TempDir()
		for _, name := range []string{"-", "/dev/stdout"} {
			if e := assayIn(t, here, "", "report", run, "--html", name); !samePage(e.stdout, page.stdout) {
				t.Errorf("%s: %d bytes, want the page of %d bytes alone", name, len(e.stdout), len(page.stdout))
			}
		}
		if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
			t.Errorf("it left %v (%v)", left, err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		path := written(t, "page.html", "old")
		e := assay(t, "report", run, "--html", path)
		e.wants(t, 0)
		wantParts(t, "standard output", e.stdout, "Report: "+path)
		whole(t, path)
	})
	t.Run("a link to a file", func(t *testing.T) {
		path := written(t, "page.html", "old")
		name := link(t, path)
		assay(t, "report", run, "--html", name).wants(t, 0)
		stays(t, name)
		whole(t, path)
	})
	t.Run("a link to a file that is not there yet", func(t *testing.T) {
		name := link(t, "beside.html")
		assay(t, "report", run, "--html", name).wants(t, 0)
		stays(t, name)
		whole(t, filepath.Join(filepath.Dir(name), "beside.html"))
	})
	t.Run("a link to a device", func(t *testing.T) {
		device := fullDevice(t)
		name := link(t, device)
		assay(t, "report", run, "--html", name).wants(t, exitFailed, name, "no space left on device")
		stays(t, name)
		assay(t, "report", run, "--html", device).wants(t, exitFailed, device, "no space left on device")
		if info, err := os.Lstat(device); err != nil || info.Mode().Type() != os.ModeDevice|os.ModeCharDevice {
			t.Errorf("it is no device any more: %v, %v", info, err)
		}
	})
	t.Run("a pipe", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		read := make(chan string)
		go func() {
			text, err := os.ReadFile(path)
			if err != nil {
				text = []byte(err.Error())
			}
			read <- string(text)
		}()
		assay(t, "report", run, "--html", path).wants(t, 0)
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Type() != os.ModeNamedPipe {
			t.Fatalf("it is no pipe any more: %v, %v", info, err) // no writer would ever come
		}
		if text := <-read; !samePage(text, page.stdout) {
			t.Errorf("%d bytes came out of the pipe, want %d", len(text), len(page.stdout))
		}
	})
	t.Run("a circle of links", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "circle")
		if err := os.Symlink(name, name); err != nil {
			t.Fatal(err)
		}
		assay(t, "report", run, "--html", name).wants(t, exitFailed, name, "too many")
	})
	t.Run("a directory", func(t *testing.T) {
		path := t.TempDir()
		assay(t, "report", run, "--html", path).wants(t, exitFailed, path, "is a directory")
	})
}

// A write that fails halfway leaves what stood there.
func TestWriteTargetKeepsWhatItCannotReplace(t *testing.T) {
	t.Parallel()
	path := written(t, "page.html", "old")
	broken := errors.New("broken")
	err := writeTarget(path, io.Discard, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	if text, readErr := os.ReadFile(path); !errors.Is(err, broken) || string(text) != "old" || readErr != nil {
		t.Errorf("%q, %v, %v", text, err, readErr)
	}
	fresh := filepath.Join(filepath.Dir(path), "fresh.yaml")
	if err := writeNew(fresh, io.Discard, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the file there is %v (%v)", left, err)
	}
}

func TestInitGoesWhereItWasSent(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	printed := assayIn(t, here, "", "init", "-")
	printed.wants(t, 0)
	assayIn(t, here, printed.stdout, "run", "-", "--dry-run").wants(t, 0)
	if again := assayIn(t, here, "", "init", "/dev/stdout"); again.stdout != printed.stdout {
		t.Errorf("init /dev/stdout prints something else:\n%s", again.stdout)
	}
	if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
	link := filepath.Join(here, "link.yaml")
	if err := os.Symlink("real.yaml", link); err != nil {
		t.Fatal(err)
	}
	assayIn(t, here, "", "init", "link.yaml").wants(t, 0)
	if text, err := os.ReadFile(filepath.Join(here, "real.yaml")); err != nil || !bytes.Equal(text, []byte(printed.stdout)) {
		t.Errorf("behind the link there are %d bytes, %v", len(text), err)
	}
	assayIn(t, here, "", "init", "link.yaml").wants(t, exitUsage, "exists")
	assayIn(t, here, "", "init", "/nonexistent/x.yaml").wants(t, exitFailed, "/nonexistent/x.yaml", "no such file")
	device := fullDevice(t)
	assayIn(t, here, "", "init", device).wants(t, exitFailed, device, "no space left on device")
}

// A report that Assay is killed in leaves the one before it whole; what was written of it is
// removed by the next clean-up.
func TestKillWhileAReportIsWritten(t *testing.T) {
	t.Parallel()
	directory, state := t.TempDir(), "XDG_STATE_HOME="+t.TempDir()
	path := filepath.Join(directory, "report.html")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "half-a-report", path)
	c.Env = append(os.Environ(), state)
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if killErr := c.Process.Kill(); err != nil || killErr != nil || line != "written <nil>\n" {
		t.Fatalf("%q, %v, %v", line, err, killErr)
	}
	_ = c.Wait() // killed
	names := func() (names []string) {
		entries, err := os.ReadDir(directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if found := names(); len(found) != 2 {
		t.Fatalf("the kill was to leave half a file beside the report: %v", found)
	}
	clean := exec.Command(program, "doctor", "--clean")
	clean.Env = append(os.Environ(), state)
	if output, err := clean.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
	if found := names(); len(found) != 1 || found[0] != "report.html" {
		t.Errorf("left: %v", found)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "before" {
		t.Errorf("%q, %v", content, err)
	}
}
