package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// message is one of the server's.
func message(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))) + body
}

func messages(all ...string) string { return strings.Join(all, "") }

func dataOf(columns ...string) string {
	body := string(binary.BigEndian.AppendUint16(nil, uint16(len(columns))))
	for _, column := range columns {
		body += string(binary.BigEndian.AppendUint32(nil, uint32(len(column)))) + column
	}
	return message(dataRow, body)
}

func tag(text string) string { return message(commandComplete, text+"\x00") }

func refusalOf(severity, code, text string) string {
	return message(errorResponse, "S"+severity+"\x00V"+severity+"\x00C"+code+"\x00M"+text+"\x00\x00")
}

var (
	bound = message(bindComplete, "")
	ready = message(readyForQuery, "I")
)

// gets finds the key in a Bind of the statement that gets one: its name is 1.
func gets(request []byte) string {
	head := []byte("\x001\x00\x00\x01\x00\x01\x00\x01")
	at := bytes.Index(request, head)
	if at != 5 || request[0] != 'B' {
		return ""
	}
	rest := request[at+len(head):]
	return string(rest[4 : 4+binary.BigEndian.Uint32(rest)])
}

var lies = drivertest.Protocol{
	Key: gets,
	Found: func(_ string, value []byte) string {
		return messages(bound, dataOf(string(value)), tag("SELECT 1"), ready)
	},
	Missed: messages(bound, tag("SELECT 0"), ready),
	Failed: []string{
		messages(refusalOf("ERROR", "53100", "could not extend file"), ready),
		messages(bound, refusalOf("ERROR", "57014", "canceling statement"), ready),
		messages(message(notice, "SNOTICE\x00\x00"), message(parameterStatus, "a\x00b\x00"), refusalOf("ERROR", "XX000", "x"), ready),
		refusalOf("FATAL", "57P01", "terminating connection due to administrator command"),
	},
	Told: map[string]func(key string, value []byte) string{
		"conflict": func(string, []byte) string {
			return messages(refusalOf("ERROR", "40001", "could not serialize access"), ready)
		},
	},
	Garbled: map[string]string{
		"a count without a row": messages(bound, tag("SELECT 1"), ready),
		"a row without a count": messages(bound, dataOf("wrong"), tag("SELECT 0"), ready),
		"two rows":              messages(bound, dataOf("wrong"), dataOf("wrong"), tag("SELECT 2"), ready),
		"two columns":           messages(bound, dataOf("wrong", "wrong"), tag("SELECT 1"), ready),
		"no column":             messages(bound, dataOf(), tag("SELECT 1"), ready),
		"NULL":                  messages(bound, message(dataRow, "\x00\x01\xff\xff\xff\xff"), tag("SELECT 1"), ready),
		"a column too long":     messages(bound, message(dataRow, "\x00\x01\x00\x00\x00\x09wrong"), tag("SELECT 1"), ready),
		"more than the columns": messages(bound, message(dataRow, "\x00\x01\x00\x00\x00\x04wrong"), tag("SELECT 1"), ready),
		"a row of nothing":      messages(bound, message(dataRow, ""), tag("SELECT 1"), ready),
		"a row before Bind":     messages(dataOf("wrong"), bound, tag("SELECT 1"), ready),
		"no end of a statement": messages(bound, dataOf("wrong"), ready),
		"no answer at all":      ready,
		"in a transaction":      messages(bound, tag("SELECT 0"), message(readyForQuery, "T")),
		"of a write":            messages(bound, tag("INSERT 0 1"), ready),
		"of a write of nothing": messages(bound, tag("INSERT 0 0"), ready),
		"of a write of two":     messages(bound, tag("INSERT 0 1"), bound, tag("INSERT 0 1"), ready),
		"of another statement":  messages(bound, tag("COPY 1"), ready),
		"a tag without a count": messages(bound, tag("SELECT"), ready),
		"a tag that overflows":  messages(bound, tag("SELECT 99999999999999999999"), ready),
		"a tag without an end":  messages(bound, message(commandComplete, "SELECT 1"), ready),
		"a copy":                messages(bound, message('G', "\x00\x00\x00"), ready),
		"a length of 3":         "D\x00\x00\x00\x03",
		"an absurd length":      "D\xff\xff\xff\xff",
		"an error without text": messages(message(errorResponse, "\x00"), ready),
		"an error without end":  messages(message(errorResponse, "C57014\x00Mx"), ready),
		"an error and a row":    messages(bound, refusalOf("ERROR", "57014", "x"), dataOf("wrong"), ready),
		"endless notices":       strings.Repeat(message(notice, "\x00"), besideMax+1),
	},
	Acknowledged: []string{"of a write"},
}

// A server lies to asynchronous handles.
func TestLaneLies(t *testing.T) {
	p := servers.Get(t, Program, store.D3)
	drivertest.BearsLies(t, p.Endpoint(), lies, func(t *testing.T, endpoint string, options map[string]string) (
		store.Store, store.Handle) {
		options["schema"] = "lies"
		c := config(t, p, store.D0, options)
		c.Endpoints = []string{endpoint}
		s, _ := drivertest.Open(t, Driver{}, c)
		return s, drivertest.Async(t, s)
	})
}

// An error ends with its operation, also within a pipeline.
func TestErrorEndsWithItsOperation(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, map[string]string{"schema": "pipeline"}))
	d := s.(*db)
	if _, err := d.rows("ALTER TABLE " + d.Layout.Table + " ADD CHECK (v <> 'refused')"); err != nil {
		t.Fatal(err)
	}
	drivertest.RefusesAlone(t, s, "SQLSTATE 23514")
	if r := d.Reconnects.Load(); r != 0 {
		t.Errorf("%d new connections", r)
	}
}

// Where a store is opened in a way that lanes do not have, they are refused.
func TestLanesAreRefused(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, map[string]string{"client": "database/sql", "schema": "refused"}))
	if _, err := s.(store.Asynchronous).Loop(1, 1); !errors.Is(err, store.ErrRefused) {
		t.Error(err)
	}
}

// What asynchronous handles do has the class's setting.
func TestLanesHaveTheClass(t *testing.T) {
	for class, want := range map[store.Durability]string{store.D0: "off", store.D3: "on"} {
		s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), class, map[string]string{"schema": "lanes"}))
		d := s.(*db)
		made := "CREATE OR REPLACE FUNCTION " + d.table("told") + "() RETURNS trigger LANGUAGE plpgsql AS " +
			"$$BEGIN NEW.v := convert_to(current_setting('synchronous_commit'), 'UTF8'); RETURN NEW; END$$; " +
			"CREATE OR REPLACE TRIGGER told BEFORE INSERT ON " + d.Layout.Table + " FOR EACH ROW EXECUTE FUNCTION " + d.table("told") + "()"
		if _, err := d.rows(made); err != nil {
			t.Fatal(err)
		}
		h := drivertest.Async(t, s)
		key := []byte("key")
		if err := h.Put(key, nil); err != nil {
			t.Fatal(err)
		}
		if value, err := h.Get(key, nil); err != nil || string(value) != want {
			t.Errorf("%s: synchronous_commit is %q, %v", class, value, err)
		}
		if err := h.Delete(key); err != nil {
			t.Error(err)
		}
		if _, err := d.rows("DROP FUNCTION " + d.table("told") + "() CASCADE"); err != nil {
			t.Error(err)
		}
	}
}
