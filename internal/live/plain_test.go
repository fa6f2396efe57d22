package live

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"assay/internal/record"
)

func pointer(v float64) *float64 { return &v }

// aRun tells a view everything that it can be told.
func aRun(v View) {
	v.RunStarted(Run{Name: "six engines", Trials: 60, Done: 3, Estimate: 70 * time.Minute})
	v.TrialStarted(Trial{Number: 4, Of: 60, Arm: "pebble", Cell: "D1", Phases: []string{"load", "read"}})
	v.PhaseStarted("load")
	v.Tick(Tick{Rate: 98765.4, Elapsed: time.Second})
	v.PhaseStarted("read")
	v.Tick(Tick{Rate: 123456, P99NS: pointer(12_345), Elapsed: 3 * time.Second, Planned: 10 * time.Second})
	v.Tick(Tick{Rate: 0, P99NS: pointer(1.5e9), Bad: 7, Elapsed: 4 * time.Second, Planned: 10 * time.Second})
	v.TrialEnded(TrialEnd{State: record.Marked, Text: "7 values\nwere \x1b[31mwrong", Rate: pointer(120000)})
	v.TrialStarted(Trial{Number: 5, Of: 60, Arm: "bbolt", Cell: "D1"})
	v.TrialEnded(TrialEnd{State: record.Refused, Text: "can't reach D1"})
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
Rate: 98765 op/s  p99 –  errors 0  pebble D1 load 1.0 s  trial 4/60
Rate: 123456 op/s  p99 12.3 µs  errors 0  pebble D1 read 3/10 s  trial 4/60
Rate: 0 op/s  p99 1.5 s  errors 7  pebble D1 read 4/10 s  trial 4/60
Trial: 4/60 pebble D1  marked  120000 op/s  7 values were  [31mwrong
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
	for range 3 * linesWaiting {
		p.Tick(Tick{})
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
	for ns, want := range map[float64]string{
		0: "0 ns", 999: "999 ns", 999.6: "1.0 µs", 12_345: "12.3 µs", 99_960: "100 µs", 999_499: "999 µs", 999_501: "1.0 ms", 2.5e9: "2.5 s", 4e12: "4000 s",
	} {
		if got := duration(&ns); got != want {
			t.Errorf("%v ns is %q, want %q", ns, got, want)
		}
	}
	for value, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.8: "1,234,568", -1234: "-1,234", -123: "-123"} {
		if got := grouped(value); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", 90 * time.Second: "2 min", 59 * time.Minute: "59 min", 119*time.Minute + 40*time.Second: "2 h 00 min",
	} {
		if got := left(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
