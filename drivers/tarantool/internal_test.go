package tarantool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	iproto "github.com/tarantool/go-iproto"
	tarantool "github.com/tarantool/go-tarantool/v2"
	"github.com/vmihailenco/msgpack/v5"

	"assay/internal/execution/server"
	"assay/store"
)

// What the script holds of others' words is data: it ends no string.
func TestInitScriptQuotes(t *testing.T) {
	p := Program
	options, err := store.Resolve(p.Options, map[string]string{"login": "true", "wal_mode": "fsync"})
	if err != nil {
		t.Fatal(err)
	}
	i := &server.Instance{Program: &p, Host: server.Host, Port: 3301, Options: options,
		Guard: server.Guard{User: "default", Password: `a"..os.exit()--`}}
	i.Asked = p.Asked(i)
	i.Asked["memtx_dir"] = "\"\n\\é"
	script := initScript(i)
	for _, unwanted := range []string{`a"..os`, "guest", "é"} {
		if strings.Contains(script, unwanted) {
			t.Errorf("%q stands in\n%s", unwanted, script)
		}
	}
	for _, wanted := range []string{quoted("memtx_memory") + "] = 268435456,", quoted("wal_mode") + "] = " + quoted("fsync"),
		quoted("\"\n\\é"), quoted("127.0.0.1:3301")} {
		if !strings.Contains(script, wanted) {
			t.Errorf("%q does not stand in\n%s", wanted, script)
		}
	}
	if listens := strings.Index(script, "listen"); listens < strings.Index(script, "super") {
		t.Errorf("it listens before it knows whom it lets in:\n%s", script)
	}
}

// Each cause has one text, in which no port, key or length stands.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err     error
		is      error
		message string
	}{
		{tarantool.ClientError{Code: tarantool.ErrTimeouted, Msg: "x"}, store.ErrTimeout, "tarantool: get: timed out"},
		{context.DeadlineExceeded, store.ErrTimeout, "tarantool: get: timed out"},
		{tarantool.ClientError{Code: tarantool.ErrIoError, Msg: "read 127.0.0.1:4711"}, nil, "tarantool: get: the connection broke"},
		{tarantool.ClientError{Code: tarantool.ErrConnectionClosed}, nil, "tarantool: get: the connection broke"},
		{tarantool.ClientError{Code: tarantool.ErrProtocolError}, nil, "tarantool: get: the answer is none of the protocol"},
		{tarantool.Error{Code: iproto.ER_MEMORY_ISSUE, Msg: "Failed to allocate 117 bytes"}, nil, "tarantool: get: the server answers ER_MEMORY_ISSUE"},
		{io.EOF, io.EOF, "tarantool: get: EOF"},
	} {
		got := failure("get", fmt.Errorf("wrapped: %w", c.err))
		if c.err == io.EOF {
			got = failure("get", c.err)
		}
		if got.Error() != c.message || c.is != nil && !errors.Is(got, c.is) {
			t.Errorf("%v: %v, want %s", c.err, got, c.message)
		}
	}
}

// Answers with other fields than the space's, cut off or with garbled lengths are errors.
func TestGarbledTuples(t *testing.T) {
	plain, columns := &space{}, &space{columns: []store.Column{{Name: "n", Type: store.IntegerColumn}}}
	for what, c := range map[string]struct {
		space  *space
		answer string
		want   string // "": an error
	}{
		"a record":             {plain, "\x91\x92\xa1k\xa1v", "v"},
		"an empty value":       {plain, "\x91\x92\xa1k\xa0", ""},
		"a field less":         {plain, "\x91\x91\xa1k", ""},
		"a field more":         {plain, "\x91\x93\xa1k\xa1v\xa1w", ""},
		"a number for a value": {plain, "\x91\x92\xa1k\x07", ""},
		"nil for a value":      {plain, "\x91\x92\xa1k\xc0", ""},
		"cut off":              {plain, "\x91\x92\xa1k\xa5v", ""},
		"4 GiB":                {plain, "\x91\x92\xa1k\xdb\xff\xff\xff\xffv", ""},
		"a number":             {columns, "\x91\x92\xa1k\xcd\x01\x00", "\x03\x00256"},
		"a text for a number":  {columns, "\x91\x92\xa1k\xa17", ""},
	} {
		r := reader{space: c.space}
		err := msgpack.Unmarshal([]byte(c.answer), &r)
		if wantsError := c.want == "" && what != "an empty value"; (err != nil) != wantsError || err == nil && string(r.value) != c.want {
			t.Errorf("%s: %q, %v", what, r.value, err)
		}
	}
}
