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

// Fault (left): a JVM that runs a client crashes
// Assay: its report goes to the trial's worker.log; no `hs_err` file or core is left
func TestLastWords_of_a_JVM_that_crashed(t *testing.T) {
	words := &lastWords{log: io.Discard}
	report := "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x00007f, pid=7, tid=8\n#\n" +
		"# JRE version: OpenJDK Runtime Environment (17.0.21)\n---------------  S U M M A R Y ------------\n\nEND.\n"
	if _, err := io.WriteString(words, report); err != nil {
		t.Fatal(err)
	}
	if got, want := words.String(), "#  SIGSEGV (0xb) at pc=0x00007f, pid=7, tid=8"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}
