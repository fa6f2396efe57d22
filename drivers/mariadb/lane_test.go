package mariadb

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// packets numbers the packets of an answer.
func packets(bodies ...string) string {
	var all []byte
	for i, body := range bodies {
		n := min(len(body), 1<<24-1)
		all = append(append(all, byte(n), byte(n>>8), byte(n>>16), byte(i+1)), body...)
	}
	return string(all)
}

func rowOf(columns ...string) string {
	row := append([]byte{okPacket}, make([]byte, (len(columns)+9)/8)...)
	for _, column := range columns {
		row = append(binary.LittleEndian.AppendUint64(append(row, 0xfe), uint64(len(column))), column...)
	}
	return string(row)
}

func errorOf(number uint16, text string) string {
	return string(binary.LittleEndian.AppendUint16([]byte{errorPacket}, number)) + text
}

const (
	oneColumn = "\x01\x00" // and no description of it
	end       = "\xfe\x00\x00\x02\x00\x00\x00"
	stored    = "\x00\x01\x00\x02\x00\x00\x00"
)

// gets finds the key in an execution of a statement with one parameter: where nothing is deleted, it gets. Those
// of the store's own connection have the name of the database or of its lock.
func gets(request []byte) string {
	const parameters = 15
	if len(request) < 20 || request[4] != comStmtExecute || string(request[parameters:parameters+3]) != "\x01\xfe\x00" ||
		len(request) != 19+int(request[18]) {
		return ""
	}
	key := string(request[19:])
	if key == "lies" || strings.HasPrefix(key, "assay ") {
		return ""
	}
	return key
}

var lies = drivertest.Protocol{
	Key:    gets,
	Found:  func(_ string, value []byte) string { return packets(oneColumn, rowOf(string(value)), end) },
	Missed: packets(oneColumn, end),
	Failed: []string{
		packets(errorOf(1317, "#70100Query execution was interrupted")),
		packets(errorOf(1105, "Unknown error")),
	},
	Told: map[string]func(key string, value []byte) string{
		"conflict": func(string, []byte) string {
			return packets(oneColumn, errorOf(1213, "#40001Deadlock found when trying to get lock"))
		},
	},
	Garbled: map[string]string{
		"two rows":                 packets(oneColumn, rowOf("wrong"), rowOf("wrong"), end),
		"two columns":              packets("\x02\x00", rowOf("wrong", "wrong"), end),
		"more than the columns":    packets(oneColumn, rowOf("wrong", "wrong"), end),
		"a row of nothing":         packets(oneColumn, "\x00", end),
		"NULL":                     packets(oneColumn, "\x00\x04", end),
		"a column too long":        packets(oneColumn, "\x00\x00\x09wrong", end),
		"a column of no length":    packets(oneColumn, "\x00\x00\xfbwrong", end),
		"a length cut off":         packets(oneColumn, "\x00\x00\xfd\x01", end),
		"no column":                packets("\x00\x00", end),
		"no description":           packets("\x01\x01", rowOf("wrong"), end),
		"columns and more":         packets("\x01\x00\x00", rowOf("wrong"), end),
		"another number":           "\x02\x00\x00\x02" + oneColumn,
		"an empty packet":          "\x00\x00\x00\x01",
		"an end cut off":           packets(oneColumn, rowOf("wrong"), "\xfe\x00\x00"),
		"more results":             packets(oneColumn, rowOf("wrong"), "\xfe\x00\x00\x0a\x00\x00\x00"),
		"of a write":               packets(stored),
		"of a write, more follow":  packets("\x00\x01\x00\x0a\x00\x00\x00"),
		"of a write, cut off":      packets("\x00\x01"),
		"of a write of nothing":    packets("\x00\x00\x00\x02\x00\x00\x00"),
		"of too many writes":       packets("\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x00\x02\x00\x00\x00"),
		"an error without text":    packets("\xff\x01"),
		"a file that is asked for": packets("\xfb/etc/passwd"),
	},
	Acknowledged: []string{"of a write"},
}

// A server lies to asynchronous handles.
func TestLaneLies(t *testing.T) {
	p := servers.Get(t, Program, store.D3)
	drivertest.BearsLies(t, p.Endpoint(), lies, func(t *testing.T, endpoint string, options map[string]string) (
		store.Store, store.Handle) {
		options["database"] = "lies"
		c := config(t, p, store.D3, options)
		c.Endpoints = []string{endpoint}
		s, _ := drivertest.Open(t, Driver{}, c)
		return s, drivertest.Async(t, s)
	})
}

// An error ends with its operation, also within a pipeline.
func TestErrorEndsWithItsOperation(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D3, map[string]string{"database": "pipeline"}))
	d := s.(*db)
	if err := d.do("DROP TABLE " + d.Layout.Table); err != nil {
		t.Fatal(err)
	}
	if err := d.do(strings.Replace(d.Layout.CreateSQL(), "NOT NULL)", "NOT NULL, CHECK (v <> 'refused'))", 1)); err != nil {
		t.Fatal(err)
	}
	drivertest.RefusesAlone(t, s, "error 4025")
	if r := d.Reconnects.Load(); r != 0 {
		t.Errorf("%d new connections", r)
	}
}

// Where a store is opened in a way that lanes do not have, they are refused.
func TestLanesAreRefused(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D3, map[string]string{"client": "database/sql", "database": "refused"}))
	if _, err := s.(store.Asynchronous).Loop(1, 1); !errors.Is(err, store.ErrRefused) {
		t.Error(err)
	}
}
