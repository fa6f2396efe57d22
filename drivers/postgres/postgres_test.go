package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/drivers/internal/sqlkv"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

var servers drivertest.Shared

func TestMain(m *testing.M) { os.Exit(servers.End(m.Run())) }

func config(t *testing.T, p *server.Instance, class store.Durability, given map[string]string) store.Config {
	t.Helper()
	return drivertest.At(t, Driver{}.Describe(), p.Endpoint(), class, map[string]string{"schema": strings.ToLower(t.Name())}, given)
}

func clients(t *testing.T, test func(t *testing.T, client string)) {
	for _, client := range []string{"lean", "database/sql"} {
		t.Run(client, func(t *testing.T) { test(t, client) })
	}
}

func TestClassesAreProved(t *testing.T) {
	for _, try := range []struct {
		settings string
		class    store.Durability
		refused  string // what the message must name; "": opens
	}{
		{"fsync=on", store.D0, ""},
		{"fsync=on", store.D1, "fsync=off"},
		{"fsync=on", store.D3, ""},
		{"fsync=off", store.D0, ""},
		{"fsync=off", store.D1, ""},
		{"fsync=off", store.D3, "fsync=on"},
		{"full_page_writes=off", store.D3, "full_page_writes=on"},
		{"fsync=on", store.D2, ""},
		{"fsync=off", store.D2, "fsync=on"},
		{"full_page_writes=off", store.D2, "full_page_writes=on"},
	} {
		t.Run(try.settings+"/"+string(try.class), func(t *testing.T) {
			class := store.D3
			if try.settings == "fsync=off" {
				class = store.D1
			}
			p := servers.Get(t, Program, class)
			if try.settings == "full_page_writes=off" {
				p = drivertest.StartServer(t, Program, store.D3, map[string]string{"full_page_writes": "false"})
			}
			s, err := Driver{}.Open(t.Context(), config(t, p, try.class, map[string]string{"schema": "proved"}))
			if try.refused != "" {
				if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), try.refused) {
					t.Errorf("expected a refusal that names %s, got %v", try.refused, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Settings()["synchronous_commit"]; got != synchronousCommit[try.class] {
				t.Errorf("synchronous_commit is %s", got)
			}
			if err := errors.Join(s.(store.Syncer).Sync(), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What ALTER SYSTEM SET fsync = off and a reload do to a server, they do to it in a phase too.
func TestLaterChangeOfASettingIsReported(t *testing.T) {
	p := Program
	p.Command = func(i *server.Instance) (arguments, environment []string) {
		arguments, environment = Program.Command(i)
		at := slices.Index(arguments, "fsync=true") // an argument is stronger than the server's files; true is the default
		return slices.Delete(arguments, at-1, at+1), environment
	}
	i := drivertest.StartServer(t, p, store.D3, nil)
	s, h := drivertest.Open(t, Driver{}, config(t, i, store.D3, nil))
	tell := func() store.DurabilityEvidence {
		evidence, err := s.(store.DurabilityTeller).TellDurability()
		if err != nil {
			t.Fatal(err)
		}
		return evidence
	}
	if evidence := tell(); evidence.Broken != "" {
		t.Fatalf("before: %+v", evidence)
	}
	file, err := os.OpenFile(filepath.Join(dataDirectory(i), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("fsync = off\n")
	if err := errors.Join(err, file.Close(), syscall.Kill(i.PID(), syscall.SIGHUP)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if err := h.Put([]byte("key"), []byte("value")); err != nil {
			t.Fatal(err)
		}
		if evidence := tell(); strings.Contains(evidence.Broken, "fsync=off") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("fsync=off is not told")
		}
	}
}

// The sessions that write have the class's setting, and not the store's own alone.
func TestHandlesHaveTheClass(t *testing.T) {
	clients(t, func(t *testing.T, client string) {
		for _, class := range []store.Durability{store.D0, store.D3} {
			s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), class, map[string]string{"client": client, "schema": "handles"}))
			if setting := handleSetting(t, s.(*db), "synchronous_commit"); setting != synchronousCommit[class] {
				t.Errorf("%s: a handle's synchronous_commit is %q", class, setting)
			}
		}
	})
}

// The server's own workers are in the database as clients are.
func TestWorkerOfTheServerIsNoConnection(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, nil))
	d := s.(*db)
	c, err := connect(d.config.Config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	parallel := "debug_parallel_query"
	if rows, err := d.rows("SELECT name FROM pg_settings WHERE name = 'force_parallel_mode'"); err != nil {
		t.Fatal(err)
	} else if len(rows) == 1 { // its name before PostgreSQL 16
		parallel = "force_parallel_mode"
	}
	ended := make(chan error, 1)
	before := d.Inspect().Stats["connections"]
	go func() {
		for _, text := range []string{"SET " + parallel + " = on", "SELECT pg_sleep(3)"} {
			s, err := c.Prepare(text, nil)
			if err == nil {
				err = s.Query(nil, func([][]byte) bool { return true })
			}
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for {
		workers, err := d.Value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'")
		if err != nil {
			t.Fatal(err)
		}
		if workers != "0" {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("no worker was seen: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if got := d.Inspect().Stats["connections"]; got != before || before < 2 {
		t.Errorf("%v connections, %v while a worker runs", before, got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// handleSetting asks in a session that is made as handles are.
func handleSetting(t *testing.T, d *db, name string) string {
	t.Helper()
	link := sqlkv.NewLink(time.Minute, nil)
	config := d.config.Config.Copy()
	config.DialFunc = link.Dial
	c, err := connect(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	s, err := c.Prepare("SHOW "+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	var told string
	if err := s.Query(nil, func(row [][]byte) bool { told = string(row[0]); return false }); err != nil {
		t.Fatal(err)
	}
	return told
}

func TestSchemaOfOthersIsRefused(t *testing.T) {
	p := servers.Get(t, Program, store.D3)
	s, _ := drivertest.Open(t, Driver{}, config(t, p, store.D0, nil))
	d := s.(*db)
	if _, err := d.rows("CREATE SCHEMA theirs; CREATE TABLE theirs.records (k bytea, v bytea); INSERT INTO theirs.records VALUES ('a', 'b')"); err != nil {
		t.Fatal(err)
	}
	for _, drop := range []string{"false", "true"} {
		c := config(t, p, store.D0, map[string]string{"schema": "theirs", "flush_at_open": drop})
		c.First = true
		if _, err := (Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("flush_at_open=%s: %v", drop, err)
		}
	}
	if n, err := d.Value("SELECT count(*) FROM theirs.records"); err != nil || n != "1" {
		t.Errorf("their table has %q rows, %v", n, err)
	}
}

func (d *db) schemas(t *testing.T, name string) string {
	t.Helper()
	n, err := d.Value("SELECT count(*) FROM pg_namespace WHERE nspname = " + literal(name))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOnlyEmptyTablesOfAssayAreDropped(t *testing.T) {
	p := servers.Get(t, Program, store.D3)
	watch, _ := drivertest.Open(t, Driver{}, config(t, p, store.D0, nil))
	d := watch.(*db)
	open := func(first bool, drop string) store.Store {
		c := config(t, p, store.D0, map[string]string{"schema": "ours", "flush_at_open": drop})
		c.First = first
		s, err := Driver{}.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	put := func(s store.Store, do func(h store.Handle) error) {
		h, err := s.Handle()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(do(h), h.Close()); err != nil {
			t.Fatal(err)
		}
	}
	one, two := open(true, "false"), open(true, "false")
	closed := func(what string, s store.Store, left string) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := d.schemas(t, "ours"); got != left {
			t.Errorf("%s: %s schemas are left, expected %s", what, got, left)
		}
	}
	closed("another store has it open", one, "1")
	put(two, func(h store.Handle) error { return h.Put([]byte("k"), []byte("v")) })
	closed("it holds a record", two, "1")
	again := open(false, "true")
	put(again, func(h store.Handle) error { _, err := h.Get([]byte("k"), nil); return err }) // not the first opening
	closed("it still holds a record", again, "1")
	emptied := open(true, "true")
	put(emptied, func(h store.Handle) error {
		if _, err := h.Get([]byte("k"), nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after flush_at_open: %v", err)
		}
		return nil
	})
	if _, err := d.rows("CREATE TABLE ours.theirs (i int)"); err != nil {
		t.Fatal(err)
	}
	closed("a table of somebody's is in it", emptied, "1")
	if n, err := d.Value("SELECT count(*) FROM pg_class WHERE relname = 'theirs'"); err != nil || n != "1" {
		t.Errorf("their table: %q, %v", n, err)
	}
	if _, err := d.rows("DROP TABLE ours.theirs"); err != nil {
		t.Fatal(err)
	}
	closed("empty", open(false, "false"), "0")
}

func TestQueriesAgainstAModel(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, nil))
	drivertest.CheckQueries(t, s, []store.Index{{Column: 0, Kind: store.OrderedIndex}, {Column: 1,
		Kind: store.OrderedIndex, Descending: true}, {Column: 2, Kind: store.TokenIndex}})
	if n, err := s.(*db).Value("SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '% DESC)'"); err != nil || n != "1" {
		t.Errorf("%s indexes are in descending order, expected 1 (%v)", n, err)
	}
}

func TestDocumentsAgainstAModel(t *testing.T) {
	clients(t, func(t *testing.T, client string) {
		given := map[string]string{"client": client, "columns_as": "jsonb", "schema": "documents_" + client[:4]}
		s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, given))
		drivertest.CheckQueries(t, s, []store.Index{{Column: 0, Kind: store.OrderedIndex}, {Column: 1,
			Kind: store.OrderedIndex}, {Column: 2, Kind: store.TokenIndex}})
	})
}

// A record is one document, with a field for each column: what is in it is what an application would
// find there.
func TestRecordIsOneDocument(t *testing.T) {
	given := map[string]string{"columns_as": "jsonb"}
	s, plainHandle := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, given))
	if err := plainHandle.Close(); err != nil {
		t.Fatal(err)
	}
	d := s.(*db)
	columns := []store.Column{{Name: "title", Type: store.TextColumn}, {Name: "n", Type: store.IntegerColumn}, {Name: "b", Type: store.BytesColumn}}
	if err := d.Define(columns, []store.Index{{Column: 1, Kind: store.OrderedIndex}}, nil); err != nil {
		t.Fatal(err)
	}
	h, err := d.Handle()
	if err != nil {
		t.Fatal(err)
	}
	var record []byte
	for _, column := range []string{`it's "quoted" \ 世界 `, "999999999999999999", strings.Repeat("\x00\xff?", 40)} {
		record = store.AppendColumn(record, []byte(column))
	}
	if err := h.Put([]byte("k"), record); err != nil {
		t.Fatal(err)
	}
	rows, err := d.rows(`SELECT "#record" - 'b', length("#record" ->> 'b'), position(chr(10) in "#record" ->> 'b'), jsonb_typeof("#record" -> 'n') FROM ` + d.Layout.Table)
	want := [][]string{{`{"n": 999999999999999999, "title": "it's \"quoted\" \\ 世界 "}`, "160", "0", "number"}}
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%q, %v, expected %q", rows, err, want)
	}
	if got, err := h.Get([]byte("k"), nil); err != nil || string(got) != string(record) {
		t.Errorf("it came back as %q, %v", got, err)
	}
	if err := errors.Join(h.(store.Modifier).Modify([]byte("k"), []int{0}, [][]byte{[]byte("other")}), h.Delete([]byte("k")), h.Close()); err != nil {
		t.Error(err)
	}
}

// Reads of a loaded table use the index, also before anything was analyzed.
func TestScansUseTheIndex(t *testing.T) {
	s, h := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, nil))
	d := s.(*db)
	var writes []store.Write
	for i := range 5000 {
		writes = append(writes, store.Write{Key: fmt.Appendf(nil, "%08d", i), Value: make([]byte, 100)})
	}
	if err := h.(store.Batcher).Apply(writes); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"get": d.Layout.GetSQL(), "scan": d.Layout.ScanSQL()} {
		parameters, values := "bytea", "'a'"
		if name == "scan" {
			parameters, values = "bytea, bigint", "'a', 10"
		}
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			rows, err := d.rows(fmt.Sprintf("SET plan_cache_mode = %s; PREPARE %s (%s) AS %s; EXPLAIN EXECUTE %[2]s (%[5]s)", mode, name, parameters, text, values))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(rows, func(row []string) bool { return strings.Contains(row[0], "Index Scan") }) {
				t.Errorf("%s, %s: %v", name, mode, rows)
			}
			if _, err := d.rows("DEALLOCATE " + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range writes {
		writes[i] = store.Write{Key: writes[i].Key, Delete: true}
	}
	if err := h.(store.Batcher).Apply(writes); err != nil {
		t.Fatal(err)
	}
}

func TestPasswordsAreInNoText(t *testing.T) {
	p := servers.Get(t, Program, store.D3)
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("*:*:*:*:hidden-word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, p, store.D0, map[string]string{"password_file": file, "schema": "secret"})
	s, err := Driver{}.Open(t.Context(), c) // this server trusts everybody
	if err != nil {
		t.Fatal(err)
	}
	if told := fmt.Sprint(s.Settings(), s.(store.Inspector).Inspect()); strings.Contains(told, "hidden-word") {
		t.Error("the password is in what the store tells")
	}
	if password := s.(*db).config.Password; password != "hidden-word" {
		t.Error("the file was not read")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.Options["database"] = "no such database"
	if _, err := (Driver{}).Open(t.Context(), c); err == nil || strings.Contains(err.Error(), "hidden-word") {
		t.Errorf("open: %v", err)
	}
	c.Options["password_file"] = file + "-missing"
	if _, err := (Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestTLSIsVerifiedAwayFromLoopback(t *testing.T) {
	for _, try := range []struct {
		endpoint, tls string
		verified      bool
	}{
		{"127.0.0.1:5432", "auto", false}, {"localhost:5432", "auto", false}, {"[::1]:5432", "auto", false},
		{"127.0.0.1:5432", "verify", true}, {"db.example:5432", "auto", true}, {"10.0.0.1:5432", "auto", true}, {"db.example:5432", "off", false},
	} {
		c := drivertest.Config(t, Driver{}.Describe(), store.D0, map[string]string{"tls": try.tls})
		c.Endpoints = []string{try.endpoint}
		var d db
		if err := d.configure(c, "on"); err != nil {
			t.Fatal(err)
		}
		verified := d.config.TLSConfig != nil && !d.config.TLSConfig.InsecureSkipVerify && d.config.TLSConfig.ServerName != ""
		if verified != try.verified || len(d.config.Fallbacks) != 0 {
			t.Errorf("%s, tls=%s: verified is %v", try.endpoint, try.tls, verified)
		}
	}
}

// Start fails where the server does not report what it was asked for: so each option reaches it.
func TestServerObeysItsOptions(t *testing.T) {
	options := map[string]string{"shared_buffers_bytes": "20MiB", "max_wal_bytes": "512MiB", "connections_max": "30", "full_page_writes": "false"}
	i := drivertest.StartServer(t, Program, store.D1, options)
	for name, expected := range map[string]string{
		"shared_buffers": "20MB", "max_wal_size": "512MB", "max_connections": "30", "full_page_writes": "off", "fsync": "off",
	} {
		if i.Settings[name] != expected {
			t.Errorf("it tells %s = %s, expected %s", name, i.Settings[name], expected)
		}
	}
}

// The role that needs no password can't do what would harm the machine.
func TestOpenRoleIsNoSuperuser(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, nil))
	if super, err := s.(*db).Value("SHOW is_superuser"); err != nil || super != "off" {
		t.Errorf("is_superuser is %q, %v", super, err)
	}
	c := config(t, servers.Get(t, Program, store.D3), store.D0, map[string]string{"user": superuser})
	if _, err := (Driver{}).Open(t.Context(), c); err == nil {
		t.Error("the superuser could log in")
	}
}

func TestSettingsThatMeanTheSame(t *testing.T) {
	for _, try := range []struct {
		asked, told string
		same        bool
	}{
		{"131072kB", "128MB", true}, {"1024MB", "1GB", true}, {"true", "on", true}, {"1000ms", "1s", true}, {"off", "on", false},
		{"128MB", "129MB", false}, {"100", "100", true}, {"100", "101", false}, {"", "", true}, {"replica", "minimal", false}, {"5min", "300s", true},
	} {
		if same("", try.asked, try.told) != try.same {
			t.Errorf("%q and %q: expected %v", try.asked, try.told, try.same)
		}
	}
}

func TestServerDefaultsAreKept(t *testing.T) {
	s, _ := drivertest.Open(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, nil))
	settings := map[string]string{
		"shared_buffers_bytes": "shared_buffers", "max_wal_bytes": "max_wal_size", "connections_max": "max_connections", "fsync": "fsync", "full_page_writes": "full_page_writes",
	}
	for _, o := range Program.Options {
		if o.Name == server.OptionLogin || o.Name == server.OptionSocket {
			continue
		}
		own, err := s.(*db).Value("SELECT CASE WHEN vartype = 'bool' THEN boot_val WHEN unit IS NULL THEN boot_val " +
			"ELSE (boot_val::bigint * pg_size_bytes('1' || replace(unit, '8kB', 'kB')) * CASE unit WHEN '8kB' THEN 8 ELSE 1 END)::text || 'B' END " +
			"FROM pg_settings WHERE name = " + literal(settings[o.Name]))
		if err != nil {
			t.Fatal(err)
		}
		given := o.Default
		if o.Type == store.Bytes {
			bytes, err := store.ParseBytes(given)
			if err != nil {
				t.Fatal(err)
			}
			given = fmt.Sprint(bytes, "B")
		}
		if !same("", given, own) {
			t.Errorf("%s is %s by default, and the server's own default %q", o.Name, given, own)
		}
	}
}

func TestFloods(t *testing.T) {
	clients(t, func(t *testing.T, client string) {
		drivertest.ReadsNoFlood(t, Driver{}, config(t, servers.Get(t, Program, store.D3), store.D0, map[string]string{"client": client, "schema": "floods"}))
	})
}
