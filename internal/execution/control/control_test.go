package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"assay/internal/base/format"
	"assay/internal/experiment/keyval"
	"assay/store"
)

var requests = []Request{
	{ID: 1, Command: CommandDescribe},
	{ID: 2, Command: CommandOpen, Open: &Open{
		Driver: "pebble", Directory: "/data/x", Durability: store.D1, Handles: HandlesPool, PoolHandles: 3, Threads: 8,
		Options: map[string]string{"cache_bytes": "64MiB"},
	}},
	{ID: 3, Command: CommandPrepare, Prepare: &Prepare{
		Phase: "mix", Number: 1, Trace: "t", Counters: "c", Keys: keyval.KeyShape{Format: keyval.Decimal, Suffix: "asdf\n"},
		Values: keyval.ValueShape{PoolBytes: 4096, PoolSeed: math.MaxUint64, LengthMax: 100, TrialTag: math.MaxUint32}, Verify: true, Clock: "auto",
		LoadedRecords: 1 << 60,
	}},
	{ID: 4, Command: CommandDefine, Define: &Define{Columns: []keyval.Column{{Name: "v", Type: store.BytesColumn, Proof: 100}}, Indexes: []Index{{Column: "v", Kind: store.OrderedIndex}}}},
}

func TestRequestsArriveAsTheyWereSent(t *testing.T) {
	var pipe bytes.Buffer
	for _, r := range requests {
		if err := Write(&pipe, r); err != nil {
			t.Fatal(err)
		}
	}
	lines := NewLines(iotest.OneByteReader(&pipe))
	for _, want := range requests {
		line, err := lines.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseRequest(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("sent %+v, got %+v, %v", want, got, err)
		}
	}
	if _, err := lines.Next(); err != io.EOF {
		t.Errorf("after the last line: %v", err)
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{`{"id":1,"command":"run"`, "unexpected EOF"},
		{`null`, "unknown command"},
		{`[]`, "cannot unmarshal"},
		{`{"id":1,"command":"fly"}`, `unknown command "fly"`},
		{`{"id":1,"command":"run","speed":9}`, `unknown field "speed"`},
		{`{"id":1,"command":"open","open":{"driver":"x","turbo":true}}`, `unknown field "turbo"`},
		{`{"id":1,"command":"open"}`, "without its fields"},
		{`{"id":1,"command":"prepare","prepare":null}`, "without its fields"},
		{`{"id":1,"command":"run","open":{}}`, "run with the fields of open"},
		{`{"id":1,"command":"open","open":{},"prepare":{}}`, "open with the fields of prepare"},
		{`{"id":1,"command":"run"} {"id":2,"command":"run"}`, "more than one"},
		{`{"id":1,"command":"run"}}`, "more than one"},
		{`{"id":1,"command":"run"}]`, "more than one"},
		{`{"id":1.5,"command":"run"}`, "cannot unmarshal"},
	} {
		if _, err := ParseRequest([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want an error that says %q, got %v", c.line, c.says, err)
		}
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{`{"id":1,"ok":true,"result":{},"more":1}`, ""},
		{`{"id":1,"ok":false,"error":{"class":"refused","message":"no"}}`, ""},
		{`{"id":1,"ok":false}`, "without an error"},
		{`{"id":1,"ok":true,"error":{"class":"failed","message":"?"}}`, "ok, but with an error"},
		{`null`, "without an error"},
		{`{"id":1,"ok":true}}`, "invalid character"},
	} {
		_, err := ParseReply([]byte(c.line))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.line, err, c.says)
		}
	}
}

func TestLines(t *testing.T) {
	lines := NewLines(strings.NewReader("\n \r\n a \nb"))
	for _, want := range []string{"a", "b"} {
		if line, err := lines.Next(); err != nil || string(line) != want {
			t.Errorf("line %q, %v; want %q", line, err, want)
		}
	}
	long := NewLines(io.MultiReader(strings.NewReader(strings.Repeat("x", LineBytesMax)), strings.NewReader("x\n")))
	if _, err := long.Next(); !errors.Is(err, ErrLineTooLong) {
		t.Errorf("a line that is too long: %v", err)
	}
	broken := errors.New("pipe broke")
	if _, err := NewLines(iotest.ErrReader(broken)).Next(); !errors.Is(err, broken) {
		t.Errorf("a broken pipe: %v", err)
	}
}

func TestWriteReturnsItsErrors(t *testing.T) {
	if err := Write(io.Discard, math.NaN()); err == nil {
		t.Error("a message that is no JSON was written")
	}
	if err := Write(failing{}, requests[0]); err == nil {
		t.Error("a failed write was not told of")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func FuzzParseRequest(f *testing.F) {
	for _, r := range requests {
		line, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRequest(line)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, r); err != nil {
			t.Fatalf("a request was read that can't be written: %v", err)
		}
		again, err := ParseRequest(bytes.TrimSpace(out.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", out.Bytes(), err)
		}
		var second bytes.Buffer
		if err := Write(&second, again); err != nil || second.String() != out.String() {
			t.Fatalf("%s became %s (%v)", out.Bytes(), second.Bytes(), err)
		}
	})
}

func FuzzParseReply(f *testing.F) {
	f.Add([]byte(`{"id":1,"ok":true,"result":{"a":[1,"b"]}}`))
	f.Add([]byte(`{"id":1,"ok":false,"error":{"class":"failed","message":"no space"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseReply(line)
		if err == nil && r.OK == (r.Error != nil) {
			t.Fatalf("%q was taken for a reply", line)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\n b\r\nc"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var got [][]byte
		for lines := NewLines(bytes.NewReader(stream)); ; {
			line, err := lines.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, bytes.Clone(line))
		}
		var want [][]byte
		for _, line := range bytes.Split(stream, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				want = append(want, line)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines of %d", len(got), len(want))
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("line %d is %q, want %q", i, got[i], want[i])
			}
		}
	})
}

// A hostile store tells too much, with terminal escapes in it.
//
// Fault (conductor): a store's error or setting is megabytes long, or holds terminal escapes
// Assay: cleaned on receipt, cut at 4 KiB a text, 64 KiB of settings, 1,000 names
// With: format.TestClean_cuts_between_characters
func TestTextsAreBoundedOnReceipt(t *testing.T) {
	huge := strings.Repeat("\x1b[2Jx", 3<<20)
	line, err := json.Marshal(Reply{ID: 1, Error: &Error{Class: ClassFailed, Message: huge}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseReply(line)
	if err != nil || len(r.Error.Message) > 3*format.TextMax || strings.ContainsRune(r.Error.Message, 0x1b) || !strings.HasSuffix(r.Error.Message, "(cut)") {
		t.Errorf("a message of %d bytes, %v", len(r.Error.Message), err)
	}
	login := "token=" + strings.Repeat("x", messageBytesMax-30) + " redis://user:" + strings.Repeat("pass", 10) + "@host"
	for text, want := range map[string]string{
		"at redis://user:pass@host": "at redis://user:***@host",
		login:                       "token=*** … (cut)", // cut before the login, which is not whole
	} {
		e := Error{Message: text}
		if e.Bound(); !strings.HasSuffix(e.Message, want) || strings.Contains(e.Message, "pass") {
			t.Errorf("%.80q is %q", text, e.Message[max(len(e.Message)-80, 0):])
		}
	}
	o := Opened{Version: huge, Settings: map[string]string{"a": "1", huge: huge, "": "\x1b"}}
	for i := range 100_000 {
		o.Settings[fmt.Sprint("s", i)] = "some value"
	}
	o.Bound()
	bytes := len(o.Version)
	for name, value := range o.Settings {
		bytes += len(name) + len(value)
		if strings.ContainsRune(name+value, 0x1b) {
			t.Errorf("%q: %q", name, value)
		}
	}
	if bytes > 2*settingsBytesMax || o.Settings["a"] != "1" || !strings.Contains(o.Settings["(cut)"], "more settings") {
		t.Errorf("%d bytes of settings, cut: %q", bytes, o.Settings["(cut)"])
	}
	i := Inspected{Stats: map[string]float64{}}
	for n := range 5000 {
		i.Stats[fmt.Sprint(n)] = 1
	}
	if i.Bound(); len(i.Stats) != namesMax {
		t.Errorf("%d stats", len(i.Stats))
	}
}
