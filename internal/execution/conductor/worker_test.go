package conductor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/evidence/host"
	"assay/internal/execution/control"
)

// The test binary is the worker: its first arguments say what kind. Kinds are scripts, so that each
// one is what it looks like, and no mistake of package worker can hide one of this package.
const asWorker = "as-worker"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asWorker {
		os.Exit(kinds[os.Args[2]](bufio.NewScanner(os.Stdin)))
	}
	if len(os.Args) > 2 && os.Args[1] == asConductor {
		os.Exit(conduct(strings.TrimPrefix(os.Args[2], "sleep-")))
	}
	os.Exit(m.Run())
}

const asConductor = "as-conductor"

// conduct has a worker that puts a process into the background, says so and waits to be killed.
func conduct(seconds string) int {
	w, err := Start([]string{"sh", "-c", "setsid sleep " + seconds + " & cat"}, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for len(running(seconds)) == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready", w.PID())
	time.Sleep(time.Hour)
	return 0
}

// answer writes a good reply to the request of an id.
func answer(id int) { fmt.Printf(`{"id":%d,"ok":true,"result":{"contract":1,"worker":"w"}}`+"\n", id) }

var kinds = map[string]func(requests *bufio.Scanner) int{
	"honest": func(requests *bufio.Scanner) int {
		for id := 1; requests.Scan(); id++ {
			answer(id)
		}
		return 0
	},
	"refuses": func(requests *bufio.Scanner) int {
		for id := 1; requests.Scan(); id++ {
			fmt.Printf(`{"id":%d,"ok":false,"error":{"class":"refused","message":"not here"}}`+"\n", id)
		}
		return 0
	},
	"silent":      func(requests *bufio.Scanner) int { return silence(requests) },
	"exits":       func(requests *bufio.Scanner) int { requests.Scan(); return 3 },
	"exits-early": func(*bufio.Scanner) int { return 0 },
	"panics":      func(requests *bufio.Scanner) int { requests.Scan(); panic("no space left\non the device") },
	"last-words": func(requests *bufio.Scanner) int {
		requests.Scan()
		fmt.Fprint(os.Stderr, "a note\nthe file is damaged")
		return 6
	},
	"answers-exit": func(requests *bufio.Scanner) int { requests.Scan(); answer(1); return 4 },
	"garbage":      func(requests *bufio.Scanner) int { requests.Scan(); fmt.Println("hello"); return silence(requests) },
	"neither": func(requests *bufio.Scanner) int {
		requests.Scan()
		fmt.Println(`{"id":1,"ok":false}`)
		return silence(requests)
	},
	"wrong-id": func(requests *bufio.Scanner) int { requests.Scan(); answer(7); return silence(requests) },
	"bad-result": func(requests *bufio.Scanner) int {
		requests.Scan()
		fmt.Println(`{"id":1,"ok":true,"result":{"contract":"one"}}`)
		return silence(requests)
	},
	"long-line": func(requests *bufio.Scanner) int {
		requests.Scan()
		for range control.LineBytesMax >> 20 {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
		fmt.Println("x")
		return silence(requests)
	},
	"closes-stdout": func(requests *bufio.Scanner) int { requests.Scan(); os.Stdout.Close(); return silence(requests) },
	"never-ends": func(requests *bufio.Scanner) int {
		for id := 1; requests.Scan(); id++ {
			answer(id)
		}
		time.Sleep(time.Hour)
		return 0
	},
	"stderr": func(requests *bufio.Scanner) int {
		requests.Scan()
		fmt.Fprint(os.Stderr, strings.Repeat("flood\n", 50_000))
		answer(1)
		return 0
	},
	// Leaves a child behind that has left the process group and holds standard output open.
	"orphan": func(requests *bufio.Scanner) int {
		requests.Scan()
		child := exec.Command(os.Args[0], asWorker, "sleeper")
		child.Stdout = os.Stdout
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Fprint(os.Stderr, child.Process.Pid)
		return 5
	},
	// Leaves processes behind by each way out: of the group, of the session, of the parent, of the
	// environment.
	"leaves": func(requests *bufio.Scanner) int {
		requests.Scan()
		for _, leave := range []string{"sleep 3600 &", "setsid sleep 3601 &", "(setsid sh -c 'sleep 3602 & sleep 3603' &) ; :", "env -i setsid sleep 3604 &"} {
			child := exec.Command("sh", "-c", leave)
			if err := child.Run(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		answer(1)
		for requests.Scan() {
		}
		return 0
	},
	"sleeper": func(*bufio.Scanner) int { time.Sleep(2 * long); return 0 },
}

// silence reads on without an answer, until the end of input.
func silence(requests *bufio.Scanner) int {
	for requests.Scan() {
	}
	return 0
}

// long is a timeout that no test waits for; short one that is waited for.
const (
	long  = 30 * time.Second
	short = 200 * time.Millisecond
)

func start(t *testing.T, kind string) *Worker { return startWithLog(t, kind, io.Discard) }

func startWithLog(t *testing.T, kind string, log io.Writer) *Worker {
	t.Helper()
	w, err := Start([]string{os.Args[0], asWorker, kind}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Kill()
		_ = w.End(long) // it was killed
	})
	return w
}

func describe(w *Worker, timeout time.Duration) (control.Described, error) {
	var d control.Described
	err := w.Call(control.Request{Command: control.CommandDescribe}, timeout, &d)
	return d, err
}

func TestCallsAndEnd(t *testing.T) {
	w := start(t, "honest")
	for range 3 {
		if d, err := describe(w, long); err != nil || d.Contract != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if err := w.End(long); err != nil {
		t.Errorf("end: %v", err)
	}
	if err := w.End(long); err != nil {
		t.Errorf("a second end: %v", err)
	}
}

func TestRefusalIsNoBreak(t *testing.T) {
	w := start(t, "refuses")
	for range 2 {
		var no *control.Error
		if _, err := describe(w, long); !errors.As(err, &no) || no.Class != control.ClassRefused {
			t.Fatalf("%v", err)
		}
	}
}

func TestPendingCanBeWaitedForAgain(t *testing.T) {
	w := start(t, "silent")
	p, err := w.Send(control.Request{Command: control.CommandDescribe})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if done, err := p.Wait(short/10, nil); done || err != nil {
			t.Fatalf("done %v, %v", done, err)
		}
	}
	w.Kill()
	if done, err := p.Wait(long, nil); !done || !errors.Is(err, ErrDied) {
		t.Errorf("after kill: done %v, %v", done, err)
	}
}

// Each kind breaks the conversation in its own way; the first error says how, and stays.
func TestBreaks(t *testing.T) {
	for _, c := range []struct {
		kind, says string
		is         error
		timeout    time.Duration
	}{
		{"silent", "took longer", ErrHung, short},
		{"exits", "exit status 3", ErrDied, long},
		{"exits-early", "status 0", ErrDied, long},
		{"panics", "exit status 2; it last wrote: panic: no space left", ErrDied, long},
		{"last-words", "exit status 6; it last wrote: the file is damaged", ErrDied, long},
		{"garbage", "hello", nil, long},
		{"neither", "without an error", nil, long},
		{"wrong-id", "answered request 7", nil, long},
		{"bad-result", "can't be read", nil, long},
		{"long-line", "longer than", control.ErrLineTooLong, long},
		{"closes-stdout", "closed its standard output", nil, long},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			w := start(t, c.kind)
			_, err := describe(w, c.timeout)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, expected %q", err, c.says)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			if _, again := describe(w, c.timeout); again == nil || !strings.Contains(again.Error(), c.says) {
				t.Errorf("the second call: %v", again)
			}
		})
	}
}

// A worker that answers and then dies has answered: the reply is not lost over the death.
func TestReplyBeforeDeath(t *testing.T) {
	for range 20 {
		w := start(t, "answers-exit")
		if _, err := describe(w, long); err != nil {
			t.Fatal(err)
		}
		if _, err := describe(w, long); !errors.Is(err, ErrDied) {
			t.Fatalf("after its death: %v", err)
		}
	}
}

// The death of a worker is seen though a child of it, out of its group, holds its standard output
// open.
func TestDeathWithAnOrphan(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := startWithLog(t, "orphan", &log)
	_, err := describe(w, long)
	if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), "exit status 5") {
		t.Errorf("%v", err)
	}
	<-w.exited // the log is whole
	orphan, err := strconv.Atoi(log.String())
	if err != nil {
		t.Fatal(err)
	}
	if host.ProcessAlive(orphan) { // who adopts it may never wait for it: a zombie is gone
		t.Errorf("the orphan %d is left", orphan)
	}
}

func TestEndOfOneThatDoesNotEnd(t *testing.T) {
	w := start(t, "never-ends")
	if _, err := describe(w, long); err != nil {
		t.Fatal(err)
	}
	if err := w.End(short); !errors.Is(err, ErrHung) {
		t.Errorf("%v", err)
	}
	if err := syscall.Kill(w.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process is still there: %v", err)
	}
}

// A worker that was asked nothing and ended with status 0 gives End nothing to complain of.
func TestEndOfOneThatHasEnded(t *testing.T) {
	w := start(t, "exits-early")
	<-w.exited
	if err := w.End(long); err != nil {
		t.Errorf("%v", err)
	}
}

func TestKillFromManyGoroutines(t *testing.T) {
	w := start(t, "honest")
	var all sync.WaitGroup
	for range 10 {
		all.Go(w.Kill)
	}
	all.Wait()
	if err := w.End(long); !errors.Is(err, ErrDied) {
		t.Errorf("%v", err)
	}
	w.Kill()
}

func TestStandardErrorGoesToTheLog(t *testing.T) {
	var log bytes.Buffer
	w := startWithLog(t, "stderr", &log)
	if _, err := describe(w, long); err != nil {
		t.Fatal(err)
	}
	if err := w.End(long); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(log.String(), "flood\n"); got != 50_000 {
		t.Errorf("%d of 50000 lines came to the log", got)
	}
}

func TestSendLine(t *testing.T) {
	w := start(t, "honest")
	p, err := w.SendLine("odd", func(id int64) []byte { return fmt.Appendf(nil, `{"id":%d,"odd":1}`, id) })
	if err != nil {
		t.Fatal(err)
	}
	if done, err := p.Wait(long, nil); !done || err != nil {
		t.Errorf("done %v, %v", done, err)
	}
}

func TestNoSuchProgram(t *testing.T) {
	for _, command := range [][]string{nil, {"/nonexistent/worker"}} {
		if w, err := Start(command, io.Discard); err == nil {
			w.Kill()
			t.Errorf("%q was started", command)
		}
	}
}

// What a JVM writes around the reason is not the reason.
func TestLastWordsOfAJVM(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"Unrecognized VM option 'Foo'\nError: Could not create the Java Virtual Machine.\nError: A fatal exception has occurred. Program will exit.\n", "Unrecognized VM option 'Foo'"},
		{"Error occurred during initialization of VM\nToo small maximum heap\n", "Too small maximum heap"},
		{"Exception in thread \"main\" java.lang.Error: why\n\tat a.B.c(B.java:1)\n\t... 3 more\n", "Exception in thread \"main\" java.lang.Error: why"},
		{"Terminating due to java.lang.OutOfMemoryError: Java heap space\ngc: 1 ms after the start\n", "Terminating due to java.lang.OutOfMemoryError: Java heap space"},
	} {
		words := &lastWords{log: io.Discard}
		if _, err := io.WriteString(words, c.written); err != nil {
			t.Fatal(err)
		}
		if got := words.String(); got != c.want {
			t.Errorf("%q is reported as %q, want %q", c.written, got, c.want)
		}
	}
}

// Variables that set a JVM's options have more weight than a stated heap: no worker gets them, and the log
// says which were there.
//
// Fault (left): `_JAVA_OPTIONS` or the like stands in the environment
// Assay: no worker gets it, and the log says so
func TestWorkersGetNoJVMOptionsOfTheEnvironment(t *testing.T) {
	t.Setenv("_JAVA_OPTIONS", "-Xmx64m")
	t.Setenv("JAVA_TOOL_OPTIONS", "-Xmx65m")
	t.Setenv("ASSAY_TEST_KEPT", "kept")
	var log bytes.Buffer
	w, err := Start([]string{"sh", "-c", `echo "options: $_JAVA_OPTIONS$JAVA_TOOL_OPTIONS$ASSAY_TEST_KEPT" >&2`}, &log)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.End(long) // it ends by itself
	if text := log.String(); !strings.Contains(text, "options: kept\n") || !strings.Contains(text, "workers don't get _JAVA_OPTIONS, JAVA_TOOL_OPTIONS:") {
		t.Errorf("the log is %q", text)
	}
}
