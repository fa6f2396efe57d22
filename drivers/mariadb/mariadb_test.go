package mariadb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

var servers drivertest.Shared

func TestMain(m *testing.M) { os.Exit(servers.End(m.Run())) }

func config(t *testing.T, i *server.Instance, class store.Durability, given map[string]string) store.Config {
	t.Helper()
	return drivertest.At(t, Driver{}.Describe(), i.Endpoint(), class, map[string]string{"database": strings.ToLower(t.Name())}, given)
}

func TestClassesAreProved(t *testing.T) {
	started := map[store.Durability]string{store.D0: "=0", store.D1: "=2", store.D3: "=1"}
	for is, setting := range started {
		i := servers.Get(t, Program, is)
		for asked, need := range started {
			s, err := Driver{}.Open(t.Context(), config(t, i, asked, map[string]string{"database": "proved"}))
			if is == asked {
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(s.(store.Syncer).Sync(), s.Close()); err != nil {
					t.Error(err)
				}
				continue
			}
			if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "innodb_flush_log_at_trx_commit"+need) {
				t.Errorf("%s at a server with %s: expected a refusal that names what would do, got %v", asked, setting, err)
			}
		}
	}
}

// Settings that lose writes although each commit is synced are refused.
func TestSettingsThatUndermineD3AreRefused(t *testing.T) {
	for _, try := range []struct{ settings, refused string }{
		{"log_bin=binlog server_id=1", "sync_binlog=1"}, // its default is 0
		{"innodb_doublewrite=OFF", "innodb_doublewrite=ON"},
		{"log_bin=binlog server_id=1 sync_binlog=1", ""},
		{"innodb_flush_method=nosync", "innodb_flush_method=O_DIRECT"},
	} {
		t.Run(try.settings, func(t *testing.T) {
			t.Parallel() // the start of a server waits for its disk
			p := Program
			command := p.Command
			p.Command = func(i *server.Instance) (arguments, environment []string) {
				arguments, environment = command(i)
				for _, s := range strings.Fields(try.settings) {
					arguments = append(arguments, "--"+s)
				}
				return arguments, environment
			}
			i := drivertest.StartServer(t, p, store.D3, nil)
			s, err := Driver{}.Open(t.Context(), config(t, i, store.D3, map[string]string{"database": "undermined"}))
			if try.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), try.refused) {
				t.Errorf("expected a refusal that names %s, got %v", try.refused, err)
			}
		})
	}
}

func (d *db) databases(t *testing.T, name string) string {
	t.Helper()
	n, err := d.Value("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDatabaseOfOthersIsRefused(t *testing.T) {
	i := servers.Get(t, Program, store.D1)
	s, _ := drivertest.Open(t, Driver{}, config(t, i, store.D1, nil))
	d := s.(*db)
	for _, text := range []string{"CREATE DATABASE theirs", "CREATE TABLE theirs.records (k VARBINARY(10), v BLOB)", "INSERT INTO theirs.records VALUES ('a', 'b')"} {
		if err := d.do(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, drop := range []string{"false", "true"} {
		c := config(t, i, store.D1, map[string]string{"database": "theirs", "flush_at_open": drop})
		c.First = true
		if _, err := (Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("flush_at_open=%s: %v", drop, err)
		}
	}
	if n, err := d.Value("SELECT COUNT(*) FROM theirs.records"); err != nil || n != "1" {
		t.Errorf("their table has %q rows, %v", n, err)
	}
}

func TestOnlyEmptyTablesOfAssayAreDropped(t *testing.T) {
	i := servers.Get(t, Program, store.D1)
	watch, _ := drivertest.Open(t, Driver{}, config(t, i, store.D1, nil))
	d := watch.(*db)
	open := func(first bool, drop string) store.Store {
		t.Helper()
		c := config(t, i, store.D1, map[string]string{"database": "ours", "flush_at_open": drop})
		c.First = first
		s, err := Driver{}.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	with := func(s store.Store, do func(h store.Handle) error) {
		t.Helper()
		h, err := s.Handle()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(do(h), h.Close()); err != nil {
			t.Fatal(err)
		}
	}
	closed := func(what string, s store.Store, left string) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := d.databases(t, "ours"); got != left {
			t.Errorf("%s: %s databases are left, expected %s", what, got, left)
		}
	}
	one, two := open(true, "false"), open(true, "false")
	c := config(t, i, store.D1, map[string]string{"database": "ours", "flush_at_open": "true"})
	c.First = true
	if _, err := (Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
		t.Errorf("flush_at_open while others use it: %v", err)
	}
	closed("another store has it open", one, "1")
	with(two, func(h store.Handle) error { return h.Put([]byte("k"), []byte("v")) })
	closed("it holds a record", two, "1")
	again := open(false, "true")
	with(again, func(h store.Handle) error { _, err := h.Get([]byte("k"), nil); return err }) // not the first opening
	closed("it still holds a record", again, "1")
	emptied := open(true, "true")
	with(emptied, func(h store.Handle) error {
		if _, err := h.Get([]byte("k"), nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after flush_at_open: %v", err)
		}
		return nil
	})
	if err := d.do("CREATE TABLE ours.theirs (i INT) ENGINE=InnoDB"); err != nil {
		t.Fatal(err)
	}
	closed("a table of somebody's is in it", emptied, "1")
	if n := d.databases(t, "ours"); n != "1" {
		t.Errorf("their table's database: %s", n)
	}
	if err := d.do("DROP TABLE ours.theirs"); err != nil {
		t.Fatal(err)
	}
	closed("empty", open(false, "false"), "0")
}

func equalTo(column int) store.Query {
	return store.Query{Where: [][]store.Condition{{{Column: column, Is: store.Equal}}}, Sort: -1, Limit: 5,
		Columns: []int{column}}
}

func TestQueriesAgainstAModel(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D1), store.D1, nil))
	drivertest.CheckQueries(t, s, []store.Index{{Column: 0, Kind: store.OrderedIndex}, {Column: 1,
		Kind: store.OrderedIndex, Descending: true}})
}

// Reads use the key's and the column's index.
func TestReadsUseTheIndex(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D1), store.D1, nil))
	d := s.(*db)
	columns := []store.Column{{Name: "t", Type: store.TextColumn}, {Name: "n", Type: store.IntegerColumn}, {Name: "free", Type: store.IntegerColumn}}
	queries := []store.Query{equalTo(0), equalTo(1), equalTo(2)}
	if err := d.Define(columns, []store.Index{{Column: 0, Kind: store.OrderedIndex}, {Column: 1,
		Kind: store.OrderedIndex}}, queries); err != nil {
		t.Fatal(err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
	var writes, deletes []store.Write
	for i := range 2000 {
		var record []byte
		for _, column := range []string{fmt.Sprint("text ", i), fmt.Sprint(i), fmt.Sprint(i)} {
			record = store.AppendColumn(record, []byte(column))
		}
		key := fmt.Appendf(nil, "%08d", i)
		writes, deletes = append(writes, store.Write{Key: key, Value: record}), append(deletes,
			store.Write{Key: key, Delete: true})
	}
	if err := h.(store.Batcher).Apply(writes); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		strings.Replace(d.Layout.GetSQL(), "?", "'00000007'", 1):                                 "PRIMARY",
		strings.NewReplacer("LIMIT ?", "LIMIT 5", "?", "'00000007'").Replace(d.Layout.ScanSQL()): "PRIMARY",
		strings.NewReplacer("?", "'text 7'").Replace(d.Layout.QuerySQL(&queries[0])):             "of 0 ordered",
		strings.NewReplacer("?", "7").Replace(d.Layout.QuerySQL(&queries[1])):                    "of 1 ordered",
		strings.NewReplacer("?", "7").Replace(d.Layout.QuerySQL(&queries[2])):                    "",
		strings.NewReplacer("?", "7").Replace(d.Layout.CountSQL(&queries[1])):                    "of 1 ordered",
	} {
		rows, err := d.rows("EXPLAIN " + text)
		if err != nil {
			t.Fatal(err)
		}
		if key := rows[0][5]; key != want { // id, select_type, table, type, possible_keys, key
			t.Errorf("%s: uses the index %q, expected %q", text, key, want)
		}
	}
	if err := errors.Join(h.(store.Batcher).Apply(deletes), h.Close()); err != nil {
		t.Error(err)
	}
}

// "a " and "a" are two texts.
func TestTextsAreNotPadded(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D1), store.D1, nil))
	if err := s.(store.Definer).Define([]store.Column{{Name: "t", Type: store.TextColumn}}, []store.Index{{Column: 0, Kind: store.OrderedIndex}}, []store.Query{equalTo(0)}); err != nil {
		t.Fatal(err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "a ", "A", "ä", "a\x00"} {
		if err := h.Put([]byte(text), store.AppendColumn(nil, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"a", "a ", "A", "ä", "a\x00"} {
		if n, err := h.(store.Counter).Count(0, [][]byte{[]byte(text)}); n != 1 || err != nil {
			t.Errorf("%q is there %d times, %v", text, n, err)
		}
		if err := h.Delete([]byte(text)); err != nil {
			t.Error(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestPasswordsAreInNoText(t *testing.T) {
	i := servers.Get(t, Program, store.D1)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hidden-word\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, i, store.D1, map[string]string{"password_file": file})
	var d db
	if err := d.configure(c); err != nil || d.config.Passwd != "hidden-word" {
		t.Error("the file was not read", err)
	}
	_, err := Driver{}.Open(t.Context(), c)
	if err == nil || strings.Contains(err.Error(), "hidden-word") {
		t.Errorf("open with a wrong password: %v", err)
	}
	c.Options["password_file"] = file + "-missing"
	if _, err := (Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a file that is not there: %v", err)
	}
	t.Setenv(passwordVariable, "hidden-word")
	if _, err := (Driver{}).Open(t.Context(), config(t, i, store.D1, nil)); err == nil || strings.Contains(err.Error(), "hidden-word") {
		t.Errorf("open with a wrong password in the environment: %v", err)
	}
}

// The user that needs no password can't do what would harm the machine.
func TestOpenUserHasFewRights(t *testing.T) {
	i := servers.Get(t, Program, store.D1)
	s, _ := drivertest.Open(t, Driver{}, config(t, i, store.D1, nil))
	grants, err := s.(*db).rows("SHOW GRANTS")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"ALL PRIVILEGES", "FILE", "SUPER", "GRANT OPTION", "SHUTDOWN"} {
		if strings.Contains(fmt.Sprint(grants), word) {
			t.Errorf("the user has %s: %v", word, grants)
		}
	}
	if _, err := (Driver{}).Open(t.Context(), config(t, i, store.D1, map[string]string{"user": "root"})); ownUser() != "root" && err == nil {
		t.Error("root could log in")
	}
}

func TestTLSIsVerifiedAwayFromLoopback(t *testing.T) {
	for _, try := range []struct {
		endpoint, tls string
		verified      bool
	}{
		{"127.0.0.1:3306", "auto", false}, {"localhost:3306", "auto", false}, {"127.0.0.1:3306", "verify", true},
		{"db.example:3306", "auto", true}, {"10.0.0.1:3306", "auto", true}, {"db.example:3306", "off", false},
	} {
		c := drivertest.Config(t, Driver{}.Describe(), store.D1, map[string]string{"tls": try.tls})
		c.Endpoints = []string{try.endpoint}
		var d db
		if err := d.configure(c); err != nil {
			t.Fatal(err)
		}
		if verified := d.config.TLSConfig == "true"; verified != try.verified || d.config.AllowFallbackToPlaintext {
			t.Errorf("%s, tls=%s: verified is %v", try.endpoint, try.tls, verified)
		}
	}
}

// Start fails where the server does not report what it was asked for: so each option reaches it.
func TestServerObeysItsOptions(t *testing.T) {
	options := map[string]string{"buffer_pool_bytes": "32MiB", "log_file_bytes": "24MiB", "connections_max": "30"}
	i := drivertest.StartServer(t, Program, store.D1, options)
	for name, expected := range map[string]string{
		"innodb_buffer_pool_size": "33554432", "innodb_log_file_size": "25165824", "max_connections": "30", "innodb_flush_log_at_trx_commit": "2",
	} {
		if i.Settings[name] != expected {
			t.Errorf("it tells %s = %s, expected %s", name, i.Settings[name], expected)
		}
	}
}

func TestSettingsThatMeanTheSame(t *testing.T) {
	for _, try := range []struct {
		asked, told string
		same        bool
	}{
		{"128M", "134217728", true}, {"1", "ON", true}, {"off", "OFF", true}, {"1G", "1024M", true}, {"O_DIRECT", "O_DIRECT", true}, {"O_DIRECT", "fsync", false}, {"2", "1", false},
	} {
		if (meaning(try.asked) == meaning(try.told)) != try.same {
			t.Errorf("%q and %q: expected %v", try.asked, try.told, try.same)
		}
	}
}

func TestServerDefaultsAreKept(t *testing.T) {
	binary, err := Program.Find()
	if err != nil {
		t.Skipf("SKIPPED: %v, so that its defaults are not compared", err)
	}
	help, err := exec.Command(binary, "--no-defaults", "--verbose", "--help", "--user=nobody").Output()
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{
		"buffer_pool_bytes": "innodb-buffer-pool-size", "log_file_bytes": "innodb-log-file-size", "connections_max": "max-connections", "flush_log_at_commit": "innodb-flush-log-at-trx-commit",
	}
	own := map[string]string{}
	for line := range strings.Lines(string(help)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			own[fields[0]] = fields[1]
		}
	}
	for _, o := range Program.Options {
		if o.Name == server.OptionLogin || o.Name == server.OptionSocket {
			continue
		}
		bytes, err := store.ParseBytes(o.Default)
		if err != nil {
			t.Fatal(err)
		}
		if told := own[variables[o.Name]]; told != fmt.Sprint(bytes) {
			t.Errorf("%s is %d by default, and the server's own default %q", o.Name, bytes, told)
		}
	}
}

// A server that starts removes temporary tables that another one has in the folder for them: the
// folder is the server's own.
func TestTemporaryTablesAreInTheServersDirectory(t *testing.T) {
	i := drivertest.StartServer(t, Program, store.D1, nil)
	told, err := ask(t.Context(), i, "SHOW GLOBAL VARIABLES LIKE 'tmpdir'")
	if err != nil || told["tmpdir"] != i.Directory {
		t.Errorf("%v, %v; want %s", told, err, i.Directory)
	}
}

func TestFloods(t *testing.T) {
	for _, client := range []string{"lean", "database/sql"} {
		drivertest.ReadsNoFlood(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D3, map[string]string{"client": client, "database": "floods"}))
	}
}
