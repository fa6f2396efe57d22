package riak

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"assay/drivers/internal/wire"
	"assay/internal/testkit/riakstandin"
)

// canned is a socket that gives the same answer to each request.
type canned struct {
	answers map[byte][]byte // by the code of the request
	next    []byte
}

func (c *canned) Write(request []byte) (int, error) {
	c.next = c.answers[request[4]]
	return len(request), nil
}

func (c *canned) Read(into []byte) (n int, err error) {
	n = copy(into, c.next)
	c.next = c.next[n:]
	return n, nil
}

func (*canned) SetDeadline(time.Time) error { return nil }
func (*canned) Close() error                { return nil }

func cannedHandle(value []byte) *leanHandle {
	all := newRequests("assay", quorums{r: quorumDefault, pr: quorumDefault, w: quorumAll, dw: 2,
		pw: quorumDefault, nodeConfirms: 2}, true)
	h := &leanHandle{connection: connection{wire.Connection{Server: name, Timeout: time.Minute}},
		requests: &all, resolver: &resolver{}}
	content := riakstandin.Content(value, 1, false)
	h.Use(&canned{answers: map[byte][]byte{
		getRequest:    riakstandin.Found([][]byte{content, content}, bytes.Repeat([]byte("clock"), 20)),
		putRequest:    riakstandin.Message(putResponse, nil),
		deleteRequest: riakstandin.Message(deleteResponse, nil),
	}})
	return h
}

func TestSteadyPathDoesNotAllocate(t *testing.T) {
	value, key, buf := bytes.Repeat([]byte("v"), 1000), []byte("key"), make([]byte, 0, 2000)
	h := cannedHandle(value)
	allocations := testing.AllocsPerRun(200, func() {
		if got, err := h.Get(key, buf); err != nil || !bytes.Equal(got, value) {
			t.Fatalf("get: %.10q, %v", got, err)
		}
		if err := h.Put(key, value); err != nil {
			t.Fatal(err)
		}
		if err := h.Delete(key); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations in three operations", allocations)
	}
}

func BenchmarkLean(b *testing.B) {
	value, key := bytes.Repeat([]byte("v"), 400), []byte("key-0123456789")
	h := cannedHandle(value)
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if _, err := h.Get(key, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			if err := h.Put(key, value); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Whatever bytes come, they are an answer or an error.
func TestParsingSurvivesAnyInput(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	whole := riakstandin.Found([][]byte{riakstandin.Content([]byte("value"), 7, false),
		riakstandin.Content([]byte("newer"), 8, true)}, []byte("clock"))[5:]
	answer, err := parseFound(whole)
	if err != nil || answer.siblings != 2 || string(answer.newest.value) != "newer" || !answer.newest.deleted ||
		string(answer.vclock) != "clock" {
		t.Errorf("%+v, %v", answer, err)
	}
	for range 20_000 {
		message := bytes.Clone(whole[:r.IntN(len(whole)+1)])
		for range r.IntN(4) {
			if len(message) > 0 {
				message[r.IntN(len(message))] = byte(r.Uint32())
			}
		}
		if answer, err := parseFound(message); err == nil && answer.siblings > 0 && answer.newest.value == nil {
			t.Fatalf("%x: a sibling without a value", message)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"2.9.0p5": true, "3.0.16": true, "3.2.1": true, "10.0": true,
		"2.2.6": false, "1.4.12": false, "": false, "riak-3.0": true, "trunk": false, "2": false} {
		if knowsNodeConfirms(version) != want {
			t.Errorf("%q: %v", version, !want)
		}
	}
}
