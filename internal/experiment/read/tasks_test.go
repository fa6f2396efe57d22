package read

import (
	"testing"

	"assay/internal/experiment"
)

func TestTasksAreThreadsOrProcesses(t *testing.T) {
	for text, want := range map[string]TasksForm{
		"20": {Threads: 20}, "{threads: 20}": {Threads: 20}, "{processes: 20}": {Processes: 20, Threads: 1}, "{processes: 4, threads: 5}": {Processes: 4, Threads: 5},
	} {
		n, err := parse([]byte(text), newSource("test", text, true), 0)
		if err != nil {
			t.Fatal(err)
		}
		var got TasksForm
		if err := got.fromNode(n, "threads"); err != nil || got != want {
			t.Errorf("%s: %+v, want %+v (%v)", text, got, want, err)
		}
	}
	for text, c := range map[string][2]int{"20 threads": {20, 0}, "20 processes": {20, 20}, "4 processes of 5 threads": {20, 4}, "1 thread": {1, 0}} {
		if got := experiment.TasksText(c[0], c[1]); got != text {
			t.Errorf("%v: %s, want %s", c, got, text)
		}
	}
}
