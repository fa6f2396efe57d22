package live

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	framesPerSecond = 10
	frameTime       = time.Second / framesPerSecond
)

// Terminal shows a board on a terminal, in place, and leaves its last state there.
//
// It changes nothing about the terminal that would have to be set back: it reads no keys (so there
// is no raw mode, and Ctrl-C stays a signal, see [Interrupts]), asks the terminal nothing, hides
// the cursor only within a frame and uses no second screen. Thus a panic anywhere, or a kill,
// leaves a terminal that works.
type Terminal struct {
	board
	program *tea.Program
	done    chan struct{}

	closing sync.Once
	mu      sync.Mutex
	err     error
}

// NewTerminal draws on file, which must be a terminal, until Close.
func NewTerminal(file *os.File) *Terminal {
	t := &Terminal{board: board{now: time.Now}, done: make(chan struct{})}
	t.program = tea.NewProgram(newScreen(&t.board), tea.WithInput(nil), tea.WithOutput(file),
		tea.WithFPS(framesPerSecond),
		tea.WithoutSignalHandler(), tea.WithEnvironment(quiet(os.Environ())))
	go func() {
		defer close(t.done)
		if _, err := t.program.Run(); err != nil {
			t.mu.Lock()
			t.err = fmt.Errorf("show progress: %w", err)
			t.mu.Unlock()
		}
	}()
	return t
}

// Close draws the last state.
func (t *Terminal) Close() error {
	t.closing.Do(func() { go t.program.Quit() })
	select {
	case <-t.done:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.err
	case <-time.After(closePatience): // somebody pressed Ctrl-S, say
		go t.program.Kill()
		return errors.New("show progress: the terminal takes no output")
	}
}

// quiet makes an environment in which bubbletea does not ask the terminal what it can do: the
// answer would come as input, which is not read, and end up on the user's next command line.
// (Its shouldQuerySynchronizedOutput decides by these.)
func quiet(environment []string) []string {
	environment = slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		askedByName := func(terminal string) bool { return strings.Contains(value, terminal) }
		return name == "WT_SESSION" || name == "TERM" && slices.ContainsFunc([]string{"ghostty",
			"wezterm", "alacritty", "kitty", "rio"}, askedByName)
	})
	if !slices.ContainsFunc(environment, func(variable string) bool { return strings.HasPrefix(variable, "TERM=") }) {
		environment = append(environment, "TERM=xterm-256color") // what all of those understand
	}
	return append(environment, "SSH_TTY=")
}

// screen is the board as bubbletea wants it.
type screen struct {
	board         *board
	columns, rows int
	// tallest is the most lines that a frame had. Each later one has as many: bubbletea 2.0.9 begins a
	// frame of fewer lines too far down, and what stood above it stays.
	tallest *int
}

func newScreen(b *board) screen { return screen{board: b, tallest: new(int)} }

type frame struct{}

func nextFrame() tea.Cmd { return tea.Tick(frameTime, func(time.Time) tea.Msg { return frame{} }) }

func (s screen) Init() tea.Cmd { return nextFrame() }

func (s screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		s.columns, s.rows = message.Width, message.Height
	case frame:
		return s, nextFrame()
	}
	return s, nil
}

func (s screen) View() tea.View {
	// Before the size is known there is nothing that surely fits.
	if s.columns == 0 || s.rows == 0 {
		return tea.NewView("")
	}
	text := s.board.render(s.columns, s.rows)
	*s.tallest = min(max(*s.tallest, strings.Count(text, "\n")), max(s.rows-2, 0))
	text += strings.Repeat("\n", max(*s.tallest-strings.Count(text, "\n"), 0))
	view := tea.NewView(text + "\n")
	// DECSCUSR's parameter is 2 × shape + 1, and 1 more if it does not blink: this one comes to 0,
	// which is what the renderer takes for "as it is", so that it sends nothing. Any other would be
	// left in the terminal by a kill.
	const shapeAsItIs = -1
	view.Cursor = &tea.Cursor{Position: tea.Position{Y: strings.Count(text, "\n") + 1}, Shape: shapeAsItIs}
	view.DisableBracketedPasteMode = true
	return view
}
