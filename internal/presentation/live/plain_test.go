package live

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/evidence/record"
	"assay/internal/execution/event"
)

func pointer(v float64) *float64 { return &v }

// aRun tells a view everything that it can be told.
func aRun(v event.View) {
	v.RunStarted(event.Run{Name: "six engines", Directory: "results/six", Trials: 60, Done: 3, Estimate: 70 * time.Minute})
	v.TrialStarted(event.Trial{Number: 4, Of: 60, Arm: "pebble", Cell: "D1", Phases: []string{"load", "read"}})
	v.PhaseStarted("load")
	v.Tick(event.Tick{Rate: 98765.4, Elapsed: time.Second})
	v.PhaseStarted("read")
	v.Tick(event.Tick{Rate: 123456, P99NS: pointer(12_345), Elapsed: 3 * time.Second, Planned: 10 * time.Second})
	v.Tick(event.Tick{Rate: 0, P99NS: pointer(1.5e9), Bad: 7, Conflicts: 31,
		Elapsed: 4 * time.Second, Planned: 10 * time.Second})
	v.TrialEnded(event.TrialEnd{State: record.Marked, Text: "7 values\nwere \x1b[31mwrong", Rate: pointer(120000)})
	v.TrialStarted(event.Trial{Number: 5, Of: 60, Arm: "bbolt", Cell: "D1"})
	v.TrialEnded(event.TrialEnd{State: record.Refused, Text: "can't reach D1"})
	v.Message("no memory limit: run as root")
	v.RunEnded("interrupted after 5 of 60 trials")
}

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		elapsed, planned time.Duration
		want             string
	}{
		{3 * time.Second, 10 * time.Second, "3/10 s"},
		{1500 * time.Millisecond, 2 * time.Second, "1.5/2.0 s"},
		{50 * time.Millisecond, 150 * time.Millisecond, "0.05/0.15 s"},
		{520 * time.Millisecond, 500 * time.Millisecond, "0.52/0.50 s"}, // the last operation ended after the deadline
		{0, 0, "0.00 s"},
		{1200 * time.Millisecond, 0, "1.2 s"},
		{90 * time.Second, 0, "90 s"},
	} {
		if got := span(c.elapsed, c.planned); got != c.want {
			t.Errorf("%v of %v is %q, want %q", c.elapsed, c.planned, got, c.want)
		}
	}
}

const plainWant = `Run: six engines  60 trials (3 done before, about 1 h 10 min)
Run directory: results/six
Rate: 98765 op/s  p99 –  errors 0  pebble D1 load 1.0 s  trial 4/60
Rate: 123456 op/s  p99 12.3 µs  errors 0  pebble D1 read 3/10 s  trial 4/60
Rate: 0 op/s  p99 1.50 s  errors 7  conflicts 31  pebble D1 read 4/10 s  trial 4/60
Trial: 4/60 pebble D1  marked  120000 op/s  7 values were ·[31mwrong
Trial: 5/60 bbolt D1  refused  can't reach D1
no memory limit: run as root
Run: interrupted after 5 of 60 trials
`

func TestPlain(t *testing.T) {
	var out strings.Builder
	p := NewPlain(&out)
	aRun(p)
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	p.Message("after the end")
	if out.String() != plainWant {
		t.Errorf("got\n%s\nwant\n%s", out.String(), plainWant)
	}
}

// rateLines gives a phase of ticks to a view and returns its lines of rates.
func rateLines(t *testing.T, ticks ...event.Tick) (lines []string) {
	t.Helper()
	var out strings.Builder
	p := NewPlain(&out)
	p.TrialStarted(event.Trial{Number: 1, Of: 2, Arm: "a", Cell: "D1"})
	p.PhaseStarted("read")
	for _, tick := range ticks {
		p.Tick(tick)
	}
	p.PhaseStarted("none") // a phase without a tick has no line
	p.TrialEnded(event.TrialEnd{State: record.OK})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "Rate: ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestPlainShowsALineASecond(t *testing.T) {
	every := func(distance, until time.Duration, rate float64) (ticks []event.Tick) {
		for at := distance; at <= until; at += distance {
			ticks = append(ticks, event.Tick{Rate: rate, Elapsed: at})
		}
		return ticks
	}
	for _, c := range []struct {
		name  string
		ticks []event.Tick
		lines int
	}{
		{"nothing", nil, 0},
		{"a short phase has one", every(50*time.Millisecond, 300*time.Millisecond, 10), 1},
		{"one tick", every(time.Millisecond, time.Millisecond, 10), 1},
		{"a second", every(50*time.Millisecond, time.Second, 10), 1},
		{"what is left of a second has none", every(50*time.Millisecond, 3500*time.Millisecond, 10), 3},
		{"a tick a second", every(time.Second, 20*time.Second, 10), 20},
		{"a tick in five seconds", every(5*time.Second, 20*time.Second, 10), 4},
		{"ticks that are late and early", []event.Tick{{Elapsed: 999 * time.Millisecond}, {Elapsed: 2003 * time.Millisecond}, {Elapsed: 2998 * time.Millisecond}, {Elapsed: 4001 * time.Millisecond}}, 4},
	} {
		if lines := rateLines(t, c.ticks...); len(lines) != c.lines {
			t.Errorf("%s: %d lines, want %d:\n%s", c.name, len(lines), c.lines, strings.Join(lines, ""))
		}
	}
}

// A line stands for all that happened since the one before.
func TestPlainPutsTicksTogether(t *testing.T) {
	lines := rateLines(t,
		event.Tick{Rate: 100, P99NS: pointer(5000), Elapsed: 250 * time.Millisecond},
		event.Tick{Rate: 900, P99NS: pointer(9000), Bad: 1, Elapsed: 500 * time.Millisecond},
		event.Tick{Rate: 0, Bad: 3, Elapsed: time.Second, Planned: 2 * time.Second},
		event.Tick{Rate: 40, P99NS: pointer(1000), Bad: 3, Elapsed: 2 * time.Second, Planned: 2 * time.Second})
	want := "Rate: 250 op/s  p99 9.00 µs  errors 3  a D1 read 1.0/2.0 s  trial 1/2\nRate: 40 op/s  p99 1.00 µs  errors 3  a D1 read 2.0/2.0 s  trial 1/2\n"
	if got := strings.Join(lines, ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// However ticks come: no more than a line for each second begun, one at least, and not an operation
// is lost from one line to the next.
func TestPlainNeverShowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ticks gathered
		ticks.due = rateEvery
		var at time.Duration
		var done, shown float64
		for range rapid.IntRange(1, 60).Draw(t, "ticks") {
			distance := time.Duration(rapid.Int64Range(1, int64(2500*time.Millisecond)).Draw(t, "distance"))
			rate := float64(rapid.IntRange(0, 1_000_000).Draw(t, "rate"))
			at += distance
			done += rate * distance.Seconds()
			if before := ticks.from; ticks.add(event.Tick{Rate: rate, Elapsed: at}) {
				shown += ticks.take().Rate * (at - before).Seconds()
				if math.Abs(shown-done) > 1e-6*max(done, 1) {
					t.Fatalf("%v operations are shown after %v, %v were done", shown, at, done)
				}
			}
		}
		if ticks.shown > int((at+rateEarly)/rateEvery) || at >= rateEvery && ticks.shown == 0 {
			t.Fatalf("%d lines in %v", ticks.shown, at)
		}
	})
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the pipe is gone") }

func TestPlainReportsItsWriter(t *testing.T) {
	p := NewPlain(failing{})
	aRun(p)
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "the pipe is gone") {
		t.Errorf("got %v", err)
	}
}

// A reader that stands still must not stop the run.
func TestPlainNeverBlocks(t *testing.T) {
	reader, writer := io.Pipe()
	p := NewPlain(writer)
	for i := range 3 * linesWaiting {
		p.Tick(event.Tick{Elapsed: time.Duration(i) * time.Second})
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader)
		read <- string(text)
	}()
	for p.dropped > 0 && len(p.lines) == linesWaiting { // until there is room for the line that tells of it
		time.Sleep(time.Millisecond)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	if text := <-read; strings.Count(text, "Rate: ") < linesWaiting || !strings.Contains(text, "lines of progress were left out") {
		t.Errorf("%d lines, the last of them %q", strings.Count(text, "\n"), text[max(0, len(text)-100):])
	}
}

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", 90 * time.Second: "2 min", 59 * time.Minute: "59 min", 119*time.Minute + 40*time.Second: "2 h 00 min",
	} {
		if got := left(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
