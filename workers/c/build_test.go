package c_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/testkit/nativebuild"
)

// build is one way in which the native workers are compiled, once for all tests: without sanitizers,
// those of `make native`, which tests of other packages use as well.
type build struct {
	sanitize string
	once     sync.Once
	folder   string
	output   string
	err      error
}

var (
	plain   = &build{}
	address = &build{sanitize: "-fsanitize=address,undefined -fno-sanitize-recover=undefined"}
	thread  = &build{sanitize: "-fsanitize=thread"}
)

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "assay-native-"); err != nil {
		fmt.Fprintln(os.Stderr, "a folder for the programs:", err)
		os.Exit(1)
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set("6"); err != nil { // workers and disks are waited for
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(scratch) // programs in a folder for temporary files
	os.Exit(code)
}

// needCompiler skips where nothing can be built.
func needCompiler(t *testing.T) {
	t.Helper()
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	for _, program := range []string{strings.Fields(compiler)[0], "make"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s here (Debian: apt-get install gcc libc6-dev make libjson-c-dev)", program)
		}
	}
}

// make runs the Makefile of the workers in this way of compiling.
func (b *build) make(targets ...string) (output string, err error) {
	if b.sanitize == "" {
		b.folder, output, err = nativebuild.Make(targets...)
		return output, err
	}
	if b.folder == "" {
		if b.folder, err = os.MkdirTemp(scratch, "build-"); err != nil {
			return "", err
		}
	}
	arguments := append([]string{"--no-print-directory", "-j4", "OUT=" + b.folder, "SANITIZE=" + b.sanitize}, targets...)
	command := exec.Command("make", arguments...)
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // this test may run under make itself
	said, err := command.CombinedOutput()
	return string(said), err
}

// programs builds all workers that can be built, once.
func (b *build) programs(t *testing.T) {
	t.Helper()
	needCompiler(t)
	b.once.Do(func() {
		b.output, b.err = b.make("all", "vectors", "liar") // at once: make looks for all libraries each time
	})
	if b.err != nil {
		t.Fatalf("make: %v\n%s", b.err, b.output)
	}
	if strings.Contains(b.output, "missing  every-native-worker") {
		t.Skip(strings.TrimSpace(b.output))
	}
}

// worker returns the program of an engine, or skips with the line that would make it possible.
func (b *build) worker(t *testing.T, name string) string {
	t.Helper()
	b.programs(t)
	program := filepath.Join(b.folder, "assay-worker-"+name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	for line := range strings.Lines(b.output) {
		if strings.HasPrefix(line, "missing  "+name+":") {
			t.Skip(strings.TrimSpace(line))
		}
	}
	t.Fatalf("no program for %s, and no word on why:\n%s", name, b.output)
	return ""
}

// tool builds a program of the tests.
func (b *build) tool(t *testing.T, target, name string) string {
	t.Helper()
	b.programs(t)
	program := filepath.Join(b.folder, name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if output, err := b.make(target); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, output)
	}
	return program
}

func long() bool { return os.Getenv("ASSAY_LONG") == "1" }

// A copy of what was built is as new as the copy, and may be of other sources.
func TestCopyOfWhatWasBuiltIsBuiltAgain(t *testing.T) {
	program := filepath.Base(plain.worker(t, "null"))
	upToDate := func(folder string) bool {
		t.Helper()
		command := exec.Command("make", "--no-print-directory", "-q", "OUT="+folder, filepath.Join(folder, program))
		command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
		output, err := command.CombinedOutput()
		if err != nil && command.ProcessState.ExitCode() != 1 { // 1: something is to be done
			t.Fatalf("make -q: %v\n%s", err, output)
		}
		return err == nil
	}
	copied := t.TempDir()
	if output, err := exec.Command("cp", "-r", filepath.Join(plain.folder, "objects"), filepath.Join(plain.folder, program), copied).CombinedOutput(); err != nil {
		t.Fatalf("copying what was built: %v\n%s", err, output)
	}
	if !upToDate(plain.folder) {
		t.Error("what has just been built is built again")
	}
	if upToDate(copied) {
		t.Error("a copy in another folder counts as built from these sources")
	}
}
