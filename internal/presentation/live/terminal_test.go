package live

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"assay/internal/evidence/record"
	"assay/internal/execution/event"
)

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// clocked is a board with a clock that the test sets.
func clocked() (*board, *time.Time) {
	now := time.Unix(0, 0)
	return &board{now: func() time.Time { return now }}, &now
}

func boardLines(b *board, columns, rows int) []string {
	return strings.Split(styles.ReplaceAllString(b.render(columns, rows), ""), "\n")
}

// wantLines compares, blind to spaces at the ends.
func wantLines(t *testing.T, got []string, want string) {
	t.Helper()
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestBoard(t *testing.T) {
	b, now := clocked()
	b.RunStarted(event.Run{Name: "six engines", Trials: 6, Estimate: 6 * time.Minute, Arms: []string{"bbolt", "pebble", "badger"}})
	b.TrialStarted(event.Trial{Number: 1, Of: 6, Arm: "bbolt", Cell: "D3", Phases: []string{"load", "read"}})
	*now = now.Add(time.Minute)
	wantLines(t, boardLines(b, 100, 24), `six engines  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0 of 6 trials done  about 5 min left
trial 1 of 6  bbolt D3  load  read
no operations yet
▸ bbolt     n=0
  pebble    n=0
  badger    n=0`)
	*now = now.Add(time.Minute)
	b.TrialEnded(event.TrialEnd{State: record.OK, Rate: pointer(1_234_567)})
	b.TrialStarted(event.Trial{Number: 2, Of: 6, Arm: "pebble", Cell: "D1", Phases: []string{"load", "read"}})
	b.TrialEnded(event.TrialEnd{State: record.Refused, Text: "can't reach D1"})
	b.TrialStarted(event.Trial{Number: 3, Of: 6, Arm: "badger", Cell: "D1", Phases: []string{"load", "read"}})
	b.PhaseStarted("read")
	for _, rate := range []float64{100, 50, 0, 200_000, 100_000} {
		b.Tick(event.Tick{Rate: rate, P99NS: pointer(12_345), Bad: 2, Elapsed: 5 * time.Second,
			Planned: 10 * time.Second})
	}
	b.Message("no memory limit: run as root")
	wantLines(t, boardLines(b, 100, 24), `six engines  ██████████░░░░░░░░░░░░░░░░░░░░  2 of 6 trials done, 1 not ok  about 4 min left
trial 3 of 6  badger D1  load  ▸read
100,000 op/s  p99 12.3 µs  errors 2  5/10 s  ▁▁ █▅
  bbolt     n=1   D3 1.23 M/s
  pebble    n=1   refused  can't reach D1
▸ badger    n=0
no memory limit: run as root`)
	b.RunEnded("stopped")
	wantLines(t, boardLines(b, 100, 24)[4:], "no memory limit: run as root\nstopped")
	b.RunStarted(event.Run{Name: "six engines", Directory: "results/six", Trials: 6})
	wantLines(t, boardLines(b, 100, 24)[1:2], "in results/six")
}

// A narrow terminal has fewer fields and shorter names, but no part of a number.
func TestBoardIsNarrow(t *testing.T) {
	b, now := clocked()
	b.RunStarted(event.Run{Name: "six engines, small values", Directory: "results/six-1234567890", Trials: 12})
	past := func(number int, arm string, end event.TrialEnd) {
		b.TrialStarted(event.Trial{Number: number, Of: 12, Arm: arm, Cell: "D1"})
		*now = now.Add(31 * time.Second)
		b.TrialEnded(end)
	}
	past(1, "bbolt", event.TrialEnd{State: record.OK, Rate: pointer(83_456)})
	past(2, "goleveldb", event.TrialEnd{State: record.OK, Rate: pointer(1_234_567)})
	past(3, "a-store-of-a-very-long-name", event.TrialEnd{State: record.Refused, Text: "can't reach D1 with its 16384 files"})
	b.TrialStarted(event.Trial{Number: 4, Of: 12, Arm: "goleveldb", Cell: "D1", Phases: []string{"load", "overwrite", "read"}})
	b.PhaseStarted("overwrite")
	for range 40 {
		b.Tick(event.Tick{Rate: 123_456, P99NS: pointer(12_345), Bad: 7, Elapsed: 55 * time.Second,
			Planned: 60 * time.Second})
	}
	b.Message("of 16384 files, 12000 are open")
	wantLines(t, boardLines(b, 40, 24), `six engi…  3 of 12 trials done, 1 not ok
in results/six-1234567890
trial 4 of 12  goleveldb D1  ▸overwrite
123,456 op/s  p99 12.3 µs  errors 7
  bbolt             n=1   D1 83.5 k/s
▸ goleveldb         n=1   D1 1.23 M/s
  a-store-of-a-ve…  refused
of 16384 files, 12000 are open`)
	wantLines(t, boardLines(b, 60, 24)[:1], "six engine…  3 of 12 trials done, 1 not ok  about 5 min left")
	wantLines(t, boardLines(b, 80, 24), `six engines, small val…  █░░░░░  3 of 12 trials done, 1 not ok  about 5 min left
in results/six-1234567890
trial 4 of 12  goleveldb D1  load  ▸overwrite  read
123,456 op/s  p99 12.3 µs  errors 7  55/60 s  ██████████████████████████████████
  bbolt                        n=1   D1 83.5 k/s
▸ goleveldb                    n=1   D1 1.23 M/s
  a-store-of-a-very-long-name  n=1   refused  can't reach D1 with its 16384 fil…
of 16384 files, 12000 are open`)
	wantLines(t, boardLines(b, 120, 24)[:1], "six engines, small values  ███████░░░░░░░░░░░░░░░░░░░░░░░  3 of 12 trials done, 1 not ok  about 5 min left")
	numbers := regexp.MustCompile(`[0-9][0-9.,/]*`)
	complete := numbers.FindAllString(strings.Join(boardLines(b, 400, 24), "\n"), -1)
	for columns := 1; columns <= 120; columns++ {
		text := strings.Join(boardLines(b, columns, 24), "\n")
		for _, number := range numbers.FindAllString(text, -1) {
			if !slices.Contains(complete, number) {
				t.Errorf("%d columns: %q is no number of the board:\n%s", columns, number, text)
			}
		}
	}
}

func TestBoardTimeLeft(t *testing.T) {
	b, now := clocked()
	b.RunStarted(event.Run{Trials: 10, Done: 5})
	if _, known := b.timeLeft(); known {
		t.Error("without an estimate, nothing is known")
	}
	b.TrialStarted(event.Trial{})
	*now = now.Add(time.Minute)
	b.TrialEnded(event.TrialEnd{})
	b.TrialStarted(event.Trial{})
	*now = now.Add(20 * time.Second)
	if got, _ := b.timeLeft(); got != 4*time.Minute-20*time.Second {
		t.Errorf("%v left", got)
	}
	*now = now.Add(time.Hour)
	if got, _ := b.timeLeft(); got != 3*time.Minute {
		t.Errorf("during a long trial: %v left", got)
	}
}

// Whatever happens and however small the terminal is, the board fits and is bounded.
func TestBoardFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, _ := clocked()
		b.RunStarted(event.Run{Name: rapid.String().Draw(t, "name"), Trials: rapid.IntRange(-1, 100).Draw(t, "trials")})
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			text := rapid.String().Draw(t, "text")
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				b.TrialStarted(event.Trial{Arm: text, Cell: text, Phases: []string{text}})
			case 1:
				b.PhaseStarted(text)
			case 2:
				b.Tick(event.Tick{Rate: rapid.Float64().Draw(t, "rate"), P99NS: pointer(rapid.Float64().Draw(t, "p99"))})
			case 3:
				b.TrialEnded(event.TrialEnd{State: record.Failed, Text: text})
			case 4:
				b.Message(text)
			case 5:
				b.RunEnded(text)
			}
		}
		columns, rows := rapid.IntRange(1, 120).Draw(t, "columns"), rapid.IntRange(1, 40).Draw(t, "rows")
		text := b.render(columns, rows)
		if width, height := lipgloss.Size(text); width > columns || height > max(rows-1, 1) {
			t.Fatalf("%d columns and %d rows in a terminal of %d and %d:\n%s", width, height, columns, rows, text)
		}
		if len(b.rates) > ratesKept || len(b.arms) > armsKept || len(b.messages) > messagesKept {
			t.Fatal("the board grows")
		}
	})
}

func TestScreen(t *testing.T) {
	b, _ := clocked()
	b.RunStarted(event.Run{Name: "x", Trials: 2})
	var model tea.Model = newScreen(b)
	if model.View().Content != "" {
		t.Error("it draws before it knows the terminal's size")
	}
	model, _ = model.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	view := model.View()
	if !strings.Contains(view.Content, "0 of 2 trials done") || view.Cursor == nil || view.AltScreen || !view.DisableBracketedPasteMode {
		t.Errorf("view: %+v", view)
	}
	if _, next := model.Update(frame{}); next == nil {
		t.Error("no frame comes after this one")
	}
	if _, next := model.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); next != nil {
		t.Error("a key does something; Ctrl-C is a signal")
	}
}

// pseudoTerminal returns both ends of a pseudo-terminal of 100 columns and 30 rows (pty(7)).
func pseudoTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 30}); err != nil {
		t.Fatal(err)
	}
	return user, program
}

// seen collects what a terminal was sent.
type seen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *seen) read(file *os.File) {
	block := make([]byte, 4096)
	for {
		n, err := file.Read(block)
		s.mu.Lock()
		s.text.Write(block[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *seen) wait(t *testing.T, part string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(styles.ReplaceAllString(s.String(), ""), part); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q was not shown; shown was %q", part, s.String())
		}
	}
}

func TestTerminal(t *testing.T) {
	for _, kind := range []string{"xterm-256color", "xterm-ghostty", "xterm-kitty"} {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("TERM", kind)
			user, program := pseudoTerminal(t)
			before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			var shown seen
			go shown.read(user)
			view := New(program)
			if _, ok := view.(*Terminal); !ok {
				t.Fatalf("for a terminal, New gives %T", view)
			}
			defer view.Close()
			view.RunStarted(event.Run{Name: "six engines", Trials: 60})
			view.TrialStarted(event.Trial{Number: 4, Of: 60, Arm: "pebble", Cell: "D1", Phases: []string{"read"}})
			shown.wait(t, "trial 4 of 60")
			during, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if *during != *before {
				t.Errorf("the terminal's settings are changed while it runs, so a kill would leave them so: %+v, before %+v", during, before)
			}
			view.Tick(event.Tick{Rate: 123456})
			shown.wait(t, "123,456 op/s")
			view.RunEnded("stopped")
			if err := view.Close(); err != nil {
				t.Fatal(err)
			}
			shown.wait(t, "stopped") // even the state just before Close is shown
			after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if *after != *before {
				t.Errorf("the terminal's settings were changed: %+v, before %+v", after, before)
			}
			for text := shown.String(); ; {
				_, rest, hidden := strings.Cut(text, "\x1b[?25l")
				if !hidden {
					break
				}
				drawn, _, again := strings.Cut(rest, "\x1b[?25h")
				if !again || strings.Contains(drawn, "\x1b[?25l") {
					t.Errorf("the cursor stays hidden after a frame: %q", rest)
				}
				text = rest
			}
			for sequence, what := range map[string]string{
				" q": "changes the cursor", "\x1b[?1049h": "takes the second screen", "\x1b[?2004h": "sets bracketed paste",
				"$p": "asks for a mode", "\x1b[c": "asks what the terminal is", "\x1b[?u": "asks for the keyboard", "\x1b[>4": "changes the keyboard",
			} {
				if strings.Contains(shown.String(), sequence) {
					t.Errorf("it %s: %q", what, shown.String())
				}
			}
		})
	}
}

// However many lines the board has, no line of an older frame stays in sight.
func TestTerminalLeavesNoOldLines(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	user, program := pseudoTerminal(t)
	emulator := vt.NewEmulator(100, 30)
	var shown seen
	go shown.read(user)
	view := NewTerminal(program)
	view.RunStarted(event.Run{Name: "six engines", Directory: "results/six", Trials: 5, Arms: []string{"bbolt", "pebble"}})
	for i := range 5 {
		view.TrialStarted(event.Trial{Number: i + 1, Of: 5, Arm: "pebble", Cell: "D1", Phases: []string{"read"}})
		shown.wait(t, fmt.Sprintf("trial %d of 5", i+1))
		view.TrialEnded(event.TrialEnd{State: record.Marked, Text: "marked"})
		view.Message(fmt.Sprintf("marked trial %d", i+1))
		shown.wait(t, fmt.Sprintf("%d of 5 trials done", i+1))
	}
	view.RunEnded("all trials have been run")
	if err := view.Close(); err != nil {
		t.Fatal(err)
	}
	shown.wait(t, "all trials have been run")
	if _, err := emulator.Write([]byte(shown.String())); err != nil {
		t.Fatal(err)
	}
	for _, once := range []string{"trials done", "in results/six", "marked trial 5", "all trials", "pebble"} {
		if n := strings.Count(emulator.String(), once); n != 1 {
			t.Errorf("%q stands %d times in sight:\n%s", once, n, emulator.String())
		}
	}
}

// A terminal that takes no output (Ctrl-S) must not stop the run, nor its end.
func TestTerminalNeverBlocks(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	_, program := pseudoTerminal(t)
	view := NewTerminal(program)
	view.RunStarted(event.Run{Name: strings.Repeat("long ", 20), Trials: 10_000})
	for i := range 10_000 {
		view.TrialStarted(event.Trial{Number: i})
		view.Tick(event.Tick{Rate: float64(i)})
		view.TrialEnded(event.TrialEnd{State: record.OK})
		if i%500 == 0 {
			time.Sleep(frameTime) // let frames fill the terminal's buffer
		}
	}
	view.Close() // may or may not say that the terminal takes no output: that depends on its buffer
}

func TestNewOfNoTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	view := New(file)
	if _, ok := view.(*Plain); !ok {
		t.Errorf("for a file, New gives %T", view)
	}
	if err := view.Close(); err != nil {
		t.Error(err)
	}
	t.Setenv("TERM", "dumb")
	_, program := pseudoTerminal(t)
	view = New(program)
	defer view.Close()
	if _, ok := view.(*Plain); !ok {
		t.Errorf("for a terminal that can't move its cursor, New gives %T", view)
	}
}
