package redis_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"

	"assay/drivers/internal/drivertest"
	"assay/store"
)

// TestLies has a server that answers one GET with garbage: it must be an error, and the next
// operation right again.
func TestLies(t *testing.T) {
	s := drivertest.StartRedisStandIn(t, store.D0)
	_, h := open(t, s.Endpoint, store.D0, map[string]string{"operation_timeout": "1m"})
	must(t, h.Put([]byte("key"), []byte("right")))
	for name, answer := range map[string]string{
		"no length":                 "$\r\nwrong\r\n",
		"length is no number":       "$5x\r\nwrong\r\n",
		"negative length":           "$-5\r\nwrong\r\n",
		"length with a zero":        "$05\r\nwrong\r\n",
		"length overflows":          "$99999999999999999999999\r\nwrong\r\n",
		"absurd length":             "$536870913\r\nwrong\r\n",
		"too short for the value":   "$4\r\nwrong\r\n",
		"nothing of the protocol":   "HTTP/1.1 400 Bad Request\r\n\r\n",
		"line feed alone":           "$5\nwrong\r\n",
		"empty line":                "\r\n",
		"answer to another command": "+OK\r\n",
		"a number":                  ":5\r\n",
		"an array":                  "*1\r\n$5\r\nwrong\r\n",
		"error":                     "-ERR unknown\r\n",
		"out of memory":             "-OOM command not allowed\r\n",
		"still loading":             "-LOADING Redis is loading the dataset in memory\r\n",
		"endless line":              strings.Repeat("x", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			lied := false
			s.SetLie(func(request []string, w io.Writer) bool {
				if lied || request[0] != "GET" {
					return false
				}
				lied = true
				_, _ = io.WriteString(w, answer) // the driver may have closed its end
				return true
			})
			value, err := h.Get([]byte("key"), nil)
			if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrTimeout) {
				t.Errorf("got %q, %v", value, err)
			}
			wantGet(t, h, "key", []byte("right"))
		})
	}
}

// TestAnswersToWritesThatAreNone are errors too, and neither acknowledgements nor conflicts.
func TestAnswersToWritesThatAreNone(t *testing.T) {
	s := drivertest.StartRedisStandIn(t, store.D0)
	_, h := open(t, s.Endpoint, store.D0, map[string]string{"operation_timeout": "1m"})
	must(t, h.Put([]byte("key"), []byte("v")))
	for _, answer := range []string{"+OKAY\r\n", "+ok\r\n", "+QUEUED\r\n", ":2\r\n", ":-1\r\n", "*0\r\n", "$0\r\n\r\n", "-MISCONF Redis is configured to save\r\n"} {
		for _, command := range []string{"SET", "DEL", "WATCH", "MULTI", "EXEC"} {
			s.SetLie(func(request []string, w io.Writer) bool {
				if request[0] != command {
					return false
				}
				_, _ = io.WriteString(w, answer)
				return true
			})
			for name, err := range map[string]error{
				"put": h.Put([]byte("key"), []byte("v")), "add": h.(store.Adder).Add([]byte("new"), []byte("v")), "delete": h.Delete([]byte("other")),
				"swap":  h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), []byte("v"), []byte("v")),
				"batch": h.(store.Batcher).Apply([]store.Write{{Key: []byte("key"), Value: []byte("v")}, {Key: []byte("x"), Delete: true}}),
			} {
				lied := map[string]string{"put": "SET", "add": "SET", "delete": "DEL", "batch": "SET DEL", "swap": "WATCH MULTI EXEC SET"}[name]
				if answer == "+QUEUED\r\n" && name == "swap" && command == "SET" {
					continue // it is the right one
				}
				if strings.Contains(lied, command) && (err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)) {
					t.Errorf("%s, whose %s was answered %q: %v", name, command, answer, err)
				}
			}
			s.SetLie(nil)
			must(t, h.(store.Batcher).Apply([]store.Write{{Key: []byte("key"), Value: []byte("v")}, {Key: []byte("new"), Delete: true}}))
			wantGet(t, h, "key", []byte("v"))
		}
	}
}

// TestCountsAreTheServers has a server that lies in a tenth of its answers each of these ways, to
// four threads. What the threads count by outcome is what the server did.
func TestCountsAreTheServers(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := drivertest.StartRedisStandIn(t, store.D0)
			opened, first := open(t, s.Endpoint, store.D0, map[string]string{"client": client, "operation_timeout": "1m"})
			const threads, each, records = 4, 400, 20
			value := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%02d,", i), 50) }
			for i := range records {
				must(t, first.Put(fmt.Appendf(nil, "%02d", i), value(i)))
			}
			told, requests := map[string]int{}, 0 // under the server's lock
			s.SetLie(func(request []string, w io.Writer) bool {
				if request[0] != "GET" && request[0] != "get" {
					return false
				}
				requests++
				write := func(outcome, format string, a ...any) bool {
					told[outcome]++
					_, _ = fmt.Fprintf(w, format, a...)
					return true
				}
				var i int
				_, _ = fmt.Sscan(request[1], &i)
				right := value(i)
				switch requests % 10 {
				case 1:
					return write("error", "-OOM command not allowed when used memory > 'maxmemory'.\r\n")
				case 2:
					defer w.(io.Closer).Close()
					return write("error", "")
				case 3:
					defer w.(io.Closer).Close()
					return write("error", "$%d\r\n%s", len(right), right[:50])
				case 4:
					return write("error", "$x\r\n")
				case 5:
					return write("miss", "$-1\r\n")
				case 6: // the answer to another request
					return write("wrong", "$%d\r\n%s\r\n", len(right), value((i+1)%records))
				case 7: // corrupt
					right[77] ^= 1
					return write("wrong", "$%d\r\n%s\r\n", len(right), right)
				}
				told["ok"]++
				return false
			})
			counted := map[string]int{}
			var lock sync.Mutex
			var all sync.WaitGroup
			for thread := range threads {
				h := another(t, opened, client)
				all.Go(func() {
					for n := range each {
						i := (thread + n) % records
						got, err := h.Get(fmt.Appendf(nil, "%02d", i), nil)
						outcome := "error"
						switch {
						case errors.Is(err, store.ErrNotFound):
							outcome = "miss"
						case errors.Is(err, store.ErrTimeout):
							outcome = "timeout"
						case err == nil && bytes.Equal(got, value(i)):
							outcome = "ok"
						case err == nil:
							outcome = "wrong"
						}
						lock.Lock()
						counted[outcome]++
						lock.Unlock()
					}
				})
			}
			all.Wait()
			s.SetLie(nil)
			if requests != threads*each {
				t.Errorf("%d operations were %d requests: something was sent twice, or not at all", threads*each, requests)
			}
			if !maps.Equal(counted, told) {
				t.Errorf("counted %v, the server did %v", counted, told)
			}
		})
	}
}

// TestStall has a server that answers late: after its time is over the operation has timed out, and
// the late answer must not be taken for the next operation's.
func TestStall(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s := drivertest.StartRedisStandIn(t, store.D0)
			_, h := open(t, s.Endpoint, store.D0, map[string]string{"client": client, "operation_timeout": "2s"})
			must(t, h.Put([]byte("one"), []byte("1")))
			must(t, h.Put([]byte("two"), []byte("2")))
			release, late := make(chan struct{}), make(chan struct{})
			s.SetLie(func(request []string, w io.Writer) bool {
				if strings.ToUpper(request[0]) != "GET" || request[1] != "one" {
					return false
				}
				go func() {
					defer close(late)
					<-release
					_, _ = io.WriteString(w, "$1\r\n1\r\n") // nobody may be there to read it
				}()
				return true
			})
			if value, err := h.Get([]byte("one"), nil); !errors.Is(err, store.ErrTimeout) {
				t.Errorf("got %q, %v", value, err)
			}
			close(release)
			<-late
			wantGet(t, h, "two", []byte("2"))
			// Half an answer is a timeout as well.
			s.SetLie(func(request []string, w io.Writer) bool {
				if strings.ToUpper(request[0]) != "GET" {
					return false
				}
				_, _ = io.WriteString(w, "$100\r\nhalf")
				return true
			})
			if value, err := h.Get([]byte("two"), nil); !errors.Is(err, store.ErrTimeout) {
				t.Errorf("half an answer: got %q, %v", value, err)
			}
		})
	}
}

func TestServerThatGoesAway(t *testing.T) {
	for _, client := range clients {
		s := drivertest.StartRedisStandIn(t, store.D0)
		_, h := open(t, s.Endpoint, store.D0, map[string]string{"client": client, "operation_timeout": "1m"})
		s.SetLie(func(_ []string, w io.Writer) bool { _ = w.(io.Closer).Close(); return true })
		for name, err := range map[string]error{
			"get": second(h.Get([]byte("key"), nil)), "put": h.Put([]byte("key"), nil), "delete": h.Delete([]byte("key")),
			"add": h.(store.Adder).Add([]byte("key"), nil), "swap": h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), nil, nil),
			"batch": h.(store.Batcher).Apply([]store.Write{{Key: []byte("key")}}),
		} {
			if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrTimeout) {
				t.Errorf("%s: %s: %v", client, name, err)
			}
		}
		s.SetLie(nil)
		if _, err := h.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: after it came back: %v", client, err)
		}
	}
}
