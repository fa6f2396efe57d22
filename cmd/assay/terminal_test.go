package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/evidence/record"
)

// terminal is a pseudo-terminal (pty(7)) on which a run is watched.
type terminal struct {
	user, program *os.File
	shown         transcript
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("skipped: no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("skipped: no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 30}); err != nil {
		t.Fatal(err)
	}
	x := &terminal{user: user, program: program}
	go func() {
		block := make([]byte, 4096)
		for {
			n, err := user.Read(block)
			_, _ = x.shown.Write(block[:n]) // never fails
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the terminal:\n%s", x.text())
		}
		user.Close()
		program.Close() // some tests have closed them
	})
	return x
}

// on makes the terminal the one that controls a command, as a shell does.
func (x *terminal) on(c *exec.Cmd) {
	c.Stdin, c.Stdout, c.Stderr = x.program, x.program, x.program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.Env = append(os.Environ(), "TERM=xterm-256color")
}

func (x *terminal) settings(t *testing.T) unix.Termios {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(x.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *settings
}

var controls = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

func (x *terminal) text() string { return controls.ReplaceAllString(x.shown.String(), "") }

func (x *terminal) shows(t *testing.T, part string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(x.text(), part) }, func() string { return fmt.Sprintf("%q was not shown:\n%s", part, x.text()) })
}

// given checks that the terminal is as it was: settings, cursor, screen.
func (x *terminal) given(t *testing.T, before unix.Termios) {
	t.Helper()
	if after := x.settings(t); after != before {
		t.Errorf("the terminal's settings are %+v, they were %+v", after, before)
	}
	shown := x.shown.String()
	if strings.LastIndex(shown, "\x1b[?25l") > strings.LastIndex(shown, "\x1b[?25h") {
		t.Error("the cursor stays hidden")
	}
	if strings.Contains(shown, "\x1b[?1049h") {
		t.Error("the second screen was used")
	}
}

func TestBoardOnATerminal(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	before := x.settings(t)
	directory := filepath.Join(t.TempDir(), "run")
	p := start(t, x.on, "run", written(t, "one.yaml", paced), "--out", directory)
	x.shows(t, "of 3 trials done")
	x.shows(t, "in "+directory)
	x.shows(t, "▸update")
	x.shows(t, "op/s  p99 ")
	<-p.exited
	fine(t, ended{status: statusOf(t, p.err)}, directory)
	x.shows(t, directory+"/report.html")
	x.given(t, before)
	if strings.Contains(x.text(), "Rate: ") {
		t.Error("lines of progress are mixed into the board")
	}
}

// A terminal that does not understand escape codes gets none.
func TestReportOnATerminalWithoutEscapes(t *testing.T) {
	t.Parallel()
	directory := stillRun()
	for kind, escapes := range map[string]bool{"TERM=dumb": false, "TERM=": false, "TERM=xterm-256color": true} {
		x := newTerminal(t)
		p := start(t, func(c *exec.Cmd) {
			x.on(c)
			c.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "NO_COLOR=") })
			c.Env = append(c.Env, kind)
		}, "report", directory)
		<-p.exited
		if status := statusOf(t, p.err); status != 0 {
			t.Errorf("%s: status %d", kind, status)
		}
		x.shows(t, "(D1)")
		if got := strings.Contains(x.shown.String(), "\x1b"); got != escapes {
			t.Errorf("%s: escape codes %v, want %v", kind, got, escapes)
		}
	}
}

// The key itself, through the terminal: only Assay gets the signal, and its worker ends in peace.
func TestCtrlCOnATerminal(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	before := x.settings(t)
	directory := filepath.Join(t.TempDir(), "run")
	p := start(t, x.on, "run", written(t, "one.yaml", paced), "--out", directory)
	eventually(t, func() bool { return underWay(directory) }, func() string { return "no phase got under way:\n" + x.text() })
	if _, err := x.user.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	if status := statusOf(t, p.err); status != exitTrials {
		t.Errorf("status %d", status)
	}
	x.shows(t, "stopping;") // what changes on the board is sent in pieces: only short ones can be looked for
	x.shows(t, "assay run --resume "+directory)
	x.given(t, before)
	// On a slow machine the key may come between two trials: then none is interrupted, and some are
	// left to do.
	states := statesOf(readable(t, directory))
	if left := 3 - states[record.OK] - states[record.Marked]; states[record.Failed] > 0 ||
		states[record.Interrupted] > 1 || left == 0 {
		t.Errorf("states %v", states)
	}
	resumed(t, directory)
}

// The window is closed or the connection breaks: the run ends in order, and can be resumed.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	directory := filepath.Join(t.TempDir(), "run")
	p := start(t, x.on, "run", written(t, "one.yaml", paced), "--out", directory)
	eventually(t, func() bool { return underWay(directory) }, func() string { return "no phase got under way:\n" + x.text() })
	workers := p.workers(t)
	if err := x.program.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.user.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	if status := statusOf(t, p.err); status != exitTrials && status != exitFailed {
		t.Errorf("status %d", status)
	}
	gone(t, workers)
	run := readable(t, directory)
	if states := statesOf(run); states[record.Interrupted] > 1 ||
		run.Events[len(run.Events)-1].Kind != record.EventInterrupted {
		t.Errorf("states %v, last event %+v", states, run.Events[len(run.Events)-1])
	}
	resumed(t, directory)
}
