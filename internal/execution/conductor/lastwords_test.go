package conductor

import (
	"io"
	"testing"
)

// Reading the last words while a line is being written takes nothing of it away.
func TestLastWordsOfALineThatGoesOn(t *testing.T) {
	words := &lastWords{log: io.Discard}
	for _, step := range []struct{ write, want string }{
		{"disk full\ngc: 5", "disk full"},
		{" ms, 7", "disk full"},
		{" KiB\n", "disk full"},
		{"no sp", "no sp"},
		{"ace\n", "no space"},
		{"panic: x\ngoroutine 1\n", "panic: x"},
	} {
		if _, err := words.Write([]byte(step.write)); err != nil {
			t.Fatal(err)
		}
		if got := words.String(); got != step.want {
			t.Errorf("after %q: %q; expected %q", step.write, got, step.want)
		}
	}
}
