package redis_test

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"testing"
	"time"

	"assay/drivers/redis"
	"assay/store"
)

// TestAcknowledgedWritesSurviveTheServersProcess kills the real server while four threads write, and starts it again on its
// log. It is what D1 claims, and D3 claims more. D2 claims nothing of a kill.
func TestAcknowledgedWritesSurviveTheServersProcess(t *testing.T) {
	binary, err := redis.Program.Find()
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	for class, policy := range map[store.Durability]string{store.D1: "no", store.D3: "always"} {
		t.Run(string(class), func(t *testing.T) {
			directory := t.TempDir()
			endpoint, kill := runServer(t, binary, directory, "--appendonly", "yes", "--appendfsync", policy, "--save", "")
			s, _ := open(t, endpoint, class, nil)
			const threads, killAfter = 4, 300
			type write struct{ thread, n int }
			acknowledged, ended := make(chan write), make(chan struct{})
			for thread := range threads {
				h, err := s.Handle()
				must(t, err)
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
			endpoint, _ = runServer(t, binary, directory, "--appendonly", "yes", "--appendfsync", policy, "--save", "")
			_, h := open(t, endpoint, class, nil)
			for thread, writes := range last {
				for n := range writes {
					wantGet(t, h, fmt.Sprintf("%d-%d", thread, n), fmt.Appendf(nil, "value %d", n))
				}
				if writes == 0 {
					t.Errorf("thread %d wrote nothing", thread)
				}
			}
		})
	}
}

// runServer runs the server in a directory, until it is killed or the test ends.
func runServer(t *testing.T, binary, directory string, settings ...string) (endpoint string, kill func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	endpoint = listener.Addr().String()
	_, port, _ := net.SplitHostPort(endpoint)
	must(t, listener.Close())
	server := exec.Command(binary, append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", directory}, settings...)...)
	must(t, server.Start())
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = server.Process.Kill()
			_ = server.Wait() // "signal: killed" is what was asked for
		}
	}
	t.Cleanup(kill)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if answers(endpoint) {
			return endpoint, kill
		}
	}
	t.Fatal("the server does not answer")
	return "", nil
}

func answers(endpoint string) bool {
	socket, err := net.Dial("tcp", endpoint)
	if err != nil {
		return false
	}
	defer socket.Close()
	_, _ = socket.Write([]byte("PING\r\n"))
	answer := make([]byte, 7)
	_, err = io.ReadFull(socket, answer)
	return err == nil && string(answer) == "+PONG\r\n"
}
