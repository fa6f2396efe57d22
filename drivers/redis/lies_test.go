package redis_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// lies are in RESP2, which a client of RESP3 understands too.
var lies = drivertest.Protocol{
	Key: func(request []byte) string {
		words := strings.Split(string(request), "\r\n") // *2 $3 GET $3 key
		if len(words) < 5 || strings.ToUpper(words[2]) != "GET" {
			return ""
		}
		return words[4]
	},
	Found:  func(_ string, value []byte) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value) },
	Missed: "$-1\r\n",
	Failed: []string{"-OOM command not allowed\r\n", "-ERR unknown\r\n", "-LOADING Redis is loading the dataset in memory\r\n"},
	Garbled: map[string]string{
		"no length":               "$\r\nwrong\r\n",
		"length is no number":     "$5x\r\nwrong\r\n",
		"negative length":         "$-5\r\nwrong\r\n",
		"length with a zero":      "$05\r\nwrong\r\n",
		"length overflows":        "$99999999999999999999999\r\nwrong\r\n",
		"absurd length":           "$536870913\r\nwrong\r\n",
		"too short for the value": "$4\r\nwrong\r\n",
		"line feed alone":         "$5\nwrong\r\n",
		"empty line":              "\r\n",
		"of a write":              "+OK\r\n",
		"a number":                ":5\r\n",
		"an array":                "*1\r\n$5\r\nwrong\r\n",
		"endless line":            strings.Repeat("x", 100_000),
	},
	Acknowledged: []string{"of a write"},
}

func TestLies(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			told := lies
			if client == "go-redis" { // it believes some: the proof in a value shows them
				told.Garbled = nil
			}
			endpoint := drivertest.StartRedisStandIn(t, store.D0).Endpoint
			drivertest.BearsLies(t, endpoint, told, func(t *testing.T, endpoint string,
				given map[string]string) (store.Store, store.Handle) {
				given["client"] = client
				return open(t, endpoint, store.D0, given)
			})
		})
	}
}

// TestInvalidAnswersToWritesAreErrors are errors too, and neither acknowledgements nor conflicts.
func TestInvalidAnswersToWritesAreErrors(t *testing.T) {
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
				if strings.Contains(lied, command) && (err == nil || errors.Is(err, store.ErrConflict) ||
					errors.Is(err, store.ErrNotFound)) {
					t.Errorf("%s, whose %s was answered %q: %v", name, command, answer, err)
				}
			}
			s.SetLie(nil)
			must(t, h.(store.Batcher).Apply([]store.Write{{Key: []byte("key"), Value: []byte("v")}, {Key: []byte("new"), Delete: true}}))
			wantGet(t, h, "key", []byte("v"))
		}
	}
}
