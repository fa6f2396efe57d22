package drivertest

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"assay/store"
)

// Killable is a server that a test kills, and starts again on what it left.
type Killable struct {
	Binary string
	// Arguments are those with which it listens at a port of loopback and keeps its files in the
	// directory.
	Arguments func(port, directory string) []string
	// Answers says if the server at an endpoint does.
	Answers func(endpoint string) bool
}

// Run runs the server in a directory, until it is killed or the test ends.
func (k Killable) Run(t testing.TB, directory string) (endpoint string, kill func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint = listener.Addr().String()
	_, port, _ := net.SplitHostPort(endpoint)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(k.Binary, k.Arguments(port, directory)...)
	server.Dir = directory
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = server.Process.Kill()
			_ = server.Wait() // "signal: killed" is what was asked for
		}
	}
	t.Cleanup(kill)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if k.Answers(endpoint) {
			return endpoint, kill
		}
	}
	t.Fatalf("%s does not answer", k.Binary)
	return "", nil
}

// KeepsWrites kills the server while four threads write through handles that open gives, starts it
// again, and looks for each acknowledged write.
func (k Killable) KeepsWrites(t *testing.T, open func(endpoint string) (store.Store, store.Handle)) {
	t.Helper()
	directory := t.TempDir()
	endpoint, kill := k.Run(t, directory)
	s, _ := open(endpoint)
	const threads, killAfter = 4, 300
	type write struct{ thread, n int }
	acknowledged, ended := make(chan write), make(chan struct{})
	for thread := range threads {
		h, err := s.Handle()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		go func() {
			defer func() { ended <- struct{}{} }()
			for n := 0; h.Put(fmt.Appendf(nil, "%d-%d", thread, n), fmt.Appendf(nil, "value %d", n)) == nil; n++ {
				acknowledged <- write{thread, n}
			}
		}()
	}
	last := [threads]int{}
	for running, seen := threads, 0; running > 0; {
		select {
		case w := <-acknowledged:
			last[w.thread] = w.n + 1
			if seen++; seen == killAfter {
				kill()
			}
		case <-ended:
			running--
		}
	}
	endpoint, _ = k.Run(t, directory)
	_, h := open(endpoint)
	for thread, writes := range last {
		for n := range writes {
			key := fmt.Appendf(nil, "%d-%d", thread, n)
			if got, err := h.Get(key, nil); err != nil || string(got) != fmt.Sprintf("value %d", n) {
				t.Errorf("acknowledged write %s: %q, %v", key, got, err)
			}
		}
		if writes == 0 {
			t.Errorf("thread %d wrote nothing", thread)
		}
	}
}
