package mongodb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/mongojava"
	"assay/store"
)

var servers drivertest.Shared

func TestMain(m *testing.M) { os.Exit(servers.End(m.Run())) }

var databases atomic.Int64

// config names a database of the test's own.
func config(t *testing.T, d store.Driver, endpoint string, class store.Durability,
	given map[string]string) store.Config {
	t.Helper()
	return drivertest.At(t, d.Describe(), endpoint, class, map[string]string{"database": fmt.Sprint("test", databases.Add(1))}, given)
}

func ferretAt(t *testing.T, class store.Durability) *server.Instance {
	return servers.Get(t, FerretProgram, class)
}

func openFerret(t *testing.T, class store.Durability, given map[string]string) (*db, store.Handle) {
	t.Helper()
	s, h := drivertest.Open(t, FerretDB{}, config(t, FerretDB{}, ferretAt(t, class).Endpoint(), class, given))
	return s.(syncing).db, h
}

// unproved is mongod's driver on a server that does not give its classes: FerretDB stands in for
// mongod, and takes its write concerns and indexes without a word.
type unproved struct{ mongod }

func (unproved) prove(_ context.Context, d *db) error { d.syncs = true; return nil }

func openUnproved(t *testing.T, class store.Durability, given map[string]string) (*db, store.Handle) {
	t.Helper()
	c := config(t, Driver{}, ferretAt(t, store.D1).Endpoint(), class, given) // where no write waits for a sync
	s, err := open(t.Context(), Driver{}.Describe(), unproved{}, c)
	must(t, err)
	h, err := s.Handle()
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(h.Close(), s.Close())) })
	return s.(syncing).db, h
}

// openJava opens the driver mongodb on the in-memory Java server, in the one class that it gives.
func openJava(t *testing.T, given map[string]string) (*db, store.Handle) {
	t.Helper()
	endpoint := servers.Get(t, mongojava.Program, store.D0).Endpoint()
	s, h := drivertest.Open(t, Driver{}, config(t, Driver{}, endpoint, store.D0, given))
	return s.(*db), h
}

// onEachServer runs a test with each driver, on each server that speaks the protocol, FerretDB in a
// class. words says whether the driver has indexes of words.
func onEachServer(t *testing.T, class store.Durability, given map[string]string,
	test func(t *testing.T, d *db, h store.Handle, words bool)) {
	t.Run("ferretdb", func(t *testing.T) {
		d, h := openFerret(t, class, given)
		test(t, d, h, false)
	})
	t.Run("mongodb on FerretDB", func(t *testing.T) {
		d, h := openUnproved(t, store.D3, given)
		test(t, d, h, true)
	})
	t.Run("mongodb on the Java server", func(t *testing.T) {
		d, h := openJava(t, given)
		test(t, d, h, true)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestServerOfAnotherClassIsRefused(t *testing.T) {
	for class, other := range map[store.Durability]store.Durability{store.D1: store.D3, store.D3: store.D1} {
		endpoint := ferretAt(t, class).Endpoint()
		if _, err := (FerretDB{}).Open(t.Context(), config(t, FerretDB{}, endpoint, other, nil)); !errors.Is(err,
			store.ErrRefused) ||
			!strings.Contains(err.Error(), "synchronous") {
			t.Errorf("%s of a server in %s: %v", other, class, err)
		}
		for _, claim := range (Driver{}).Describe().Durability {
			_, err := Driver{}.Open(t.Context(), config(t, Driver{}, endpoint, claim.Class, nil))
			if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "driver ferretdb") {
				t.Errorf("FerretDB taken for mongod in %s: %v", claim.Class, err)
			}
		}
	}
}

// The kernel shows the syncs behind each acknowledged write in D3, and that there are none in D1.
func TestEveryWriteIsSynced(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIPPED: strace is not installed (apt-get install strace), which counts the server's syncs")
	}
	const writes = 40
	for _, class := range []store.Durability{store.D1, store.D3} {
		i := drivertest.StartServer(t, FerretProgram, class, nil)
		_, h := drivertest.Open(t, FerretDB{}, config(t, FerretDB{}, i.Endpoint(), class, nil))
		log := filepath.Join(t.TempDir(), "log")
		tracer := exec.Command(strace, "-f", "-e", "trace=fsync,fdatasync", "-o", log, "-p", strconv.Itoa(i.PID()))
		said, err := tracer.StderrPipe()
		must(t, err)
		must(t, tracer.Start())
		first := make([]byte, 200)
		n, _ := said.Read(first)
		if !bytes.Contains(first[:n], []byte("attached")) {
			_ = tracer.Wait()
			t.Skipf("SKIPPED: strace may not look at the server: %s", first[:n])
		}
		go func() { _, _ = said.Read(make([]byte, 1<<16)) }()
		for n := range writes {
			must(t, h.Put(fmt.Appendf(nil, "key-%d", n), []byte("v")))
		}
		must(t, tracer.Process.Signal(syscall.SIGINT)) // it detaches
		_ = tracer.Wait()                              // and says by which signal
		text, err := os.ReadFile(log)
		must(t, err)
		syncs := len(regexp.MustCompile(`f(data)?sync\(\d+`).FindAll(text, -1))
		if class == store.D1 && syncs > 0 || class == store.D3 && syncs < writes {
			t.Errorf("%s: %d syncs for %d writes, one after the other", class, syncs, writes)
		}
	}
}

func TestLateAnswersAreTimeouts(t *testing.T) {
	i := drivertest.StartServer(t, FerretProgram, store.D1, nil)
	_, h := drivertest.Open(t, FerretDB{}, config(t, FerretDB{}, i.Endpoint(), store.D1, map[string]string{"operation_timeout": "2s"}))
	drivertest.GivesUpLate(t, i, h)
}

// Any bytes are a key, and scans are in the order of the bytes, not of the characters' lengths.
func TestBinaryKeysKeepTheirOrder(t *testing.T) {
	onEachServer(t, store.D1, nil, testBinaryKeys)
}

func testBinaryKeys(t *testing.T, _ *db, h store.Handle, _ bool) {
	keys := [][]byte{{}, {0}, {0, 0}, {0x7f}, {0x80}, {0x80, 0}, {0xc2}, {0xc2, 0x80}, {0xff}, {0xff, 0xff}, []byte("<&>\u2028\"\\")}
	r := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		key := make([]byte, 3+r.IntN(20))
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		keys = append(keys, key)
	}
	for _, key := range keys {
		must(t, h.Put(key, append([]byte("of "), key...)))
	}
	for _, key := range keys {
		if got, err := h.Get(key, nil); err != nil || !bytes.Equal(got, append([]byte("of "), key...)) {
			t.Errorf("get %x: %x, %v", key, got, err)
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	for _, limit := range []int{1, 7, 1000} {
		var got [][]byte
		must(t, h.(store.Scanner).Scan(nil, limit, func(key, value []byte) bool {
			if !bytes.Equal(value, append([]byte("of "), key...)) {
				t.Errorf("scan: %x has %x", key, value)
			}
			got = append(got, bytes.Clone(key))
			return true
		}))
		if !slices.EqualFunc(got, keys, bytes.Equal) {
			t.Errorf("limit %d: %x, expected %x", limit, got, keys)
		}
	}
	for _, key := range keys {
		must(t, h.Delete(key))
	}
}

// Threads that put the same new key beside each other may find a duplicate, which is a conflict:
// nothing else goes wrong, and one of the values is there.
func TestPutsOfTheSameNewKeysAreConflictsAtWorst(t *testing.T) {
	onEachServer(t, store.D1, nil, testPutsOfTheSameNewKeys)
}

func testPutsOfTheSameNewKeys(t *testing.T, _ *db, h store.Handle, _ bool) {
	conflicts := 0
	for round := range 20 {
		key := fmt.Appendf(nil, "key-%d", round)
		errs := make([]error, 6)
		var threads sync.WaitGroup
		for i := range errs {
			threads.Go(func() { errs[i] = h.Put(key, fmt.Appendf(nil, "%d", i)) })
		}
		threads.Wait()
		done := map[string]bool{}
		for i, err := range errs {
			switch {
			case errors.Is(err, store.ErrConflict):
				conflicts++
			case err != nil:
				t.Fatal(err)
			default:
				done[strconv.Itoa(i)] = true
			}
		}
		if got, err := h.Get(key, nil); err != nil || !done[string(got)] {
			t.Errorf("%q, %v, of those that were acknowledged: %v", got, err, done)
		}
		must(t, h.Delete(key))
	}
	t.Logf("%d conflicts", conflicts)
}

// The limit of a batch is one that four threads can reach at once where all documents are there
// already: each that is replaced holds a connection of FerretDB's.
func TestLongestBatchesReplaceBesideEachOther(t *testing.T) {
	s, _ := openFerret(t, store.D1, nil)
	var threads sync.WaitGroup
	errs := make([]error, 4)
	for thread := range errs {
		h, err := s.Handle()
		must(t, err)
		t.Cleanup(func() { must(t, h.Close()) })
		threads.Go(func() {
			for round := range 3 {
				var writes []store.Write
				for n := range ferretBatchMax {
					writes = append(writes, store.Write{Key: fmt.Appendf(nil, "key-%d-%d", thread, n), Value: fmt.Append(nil, round)})
				}
				errs[thread] = errors.Join(errs[thread], h.(store.Batcher).Apply(writes))
			}
			for n := range ferretBatchMax {
				errs[thread] = errors.Join(errs[thread], h.Delete(fmt.Appendf(nil, "key-%d-%d", thread, n)))
			}
		})
	}
	threads.Wait()
	must(t, errors.Join(errs...))
}

// What the driver's note says of FerretDB: a version that finds by an index would be measured as
// such.
func TestFerretDBUsesNoIndex(t *testing.T) {
	d, h := openFerret(t, store.D1, nil)
	must(t, h.Put([]byte("key"), []byte("value")))
	plan, err := d.command(t.Context(), d.database.Name(), bson.D{{Key: "explain", Value: bson.D{{Key: "find", Value: plainCollection}, {Key: "filter", Value: byKey([]byte("key"))}}}})
	must(t, err)
	if said := plan.Lookup("queryPlanner").String(); !strings.Contains(said, "SCAN") {
		t.Errorf("it says %s: the driver's note is wrong", said)
	}
	must(t, h.Delete([]byte("key")))
}

func TestUnorderedBatchesKeepTheLastWriteOfAKey(t *testing.T) {
	onEachServer(t, store.D1, map[string]string{"batch_order": "unordered"}, testUnorderedBatches)
}

func testUnorderedBatches(t *testing.T, _ *db, h store.Handle, _ bool) {
	key := func(n int) []byte { return fmt.Appendf(nil, "key-%d", n) }
	must(t, h.(store.Batcher).Apply([]store.Write{
		{Key: key(0), Value: []byte("a")}, {Key: key(0), Delete: true}, {Key: key(1), Delete: true}, {Key: key(1), Value: []byte("b")},
		{Key: key(2), Value: []byte("c")}, {Key: key(2), Value: []byte("d")},
	}))
	for n, want := range []string{"", "b", "d"} {
		got, err := h.Get(key(n), nil)
		if want == "" && !errors.Is(err, store.ErrNotFound) || want != "" && (err != nil || string(got) != want) {
			t.Errorf("key %d: %q, %v; expected %q", n, got, err, want)
		}
	}
	must(t, errors.Join(h.Delete(key(1)), h.Delete(key(2))))
}

func collectionsOf(t *testing.T, d *db, database string) []string {
	t.Helper()
	names, err := d.client.Database(database).ListCollectionNames(t.Context(), bson.D{})
	must(t, err)
	slices.Sort(names)
	return names
}

func TestDatabaseOfOthersIsRefused(t *testing.T) {
	d, _ := openFerret(t, store.D1, nil)
	theirs := d.client.Database("theirs").Collection("records")
	_, err := theirs.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "a"}})
	must(t, err)
	for _, flush := range []string{"false", "true"} {
		c := config(t, FerretDB{}, d.endpoint, store.D1, map[string]string{"database": "theirs", "flush_at_open": flush})
		c.First = true
		if _, err := (FerretDB{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("flush_at_open=%s: %v", flush, err)
		}
	}
	if n, err := theirs.CountDocuments(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Errorf("their collection has %d documents, %v", n, err)
	}
}

func TestOnlyEmptyTablesOfAssayAreDropped(t *testing.T) {
	watch, _ := openFerret(t, store.D1, nil)
	const name = "ours"
	open := func(first bool, flush string) store.Store {
		t.Helper()
		c := config(t, FerretDB{}, watch.endpoint, store.D1, map[string]string{"database": name, "flush_at_open": flush})
		c.First = first
		s, err := FerretDB{}.Open(t.Context(), c)
		must(t, err)
		return s
	}
	with := func(s store.Store, do func(h store.Handle) error) {
		t.Helper()
		h, err := s.Handle()
		must(t, err)
		must(t, errors.Join(do(h), h.Close()))
	}
	closed := func(what string, s store.Store, left ...string) {
		t.Helper()
		must(t, s.Close())
		if got := collectionsOf(t, watch, name); !slices.Equal(got, left) {
			t.Errorf("%s: %q are left, expected %q", what, got, left)
		}
	}
	one, two := open(true, "false"), open(true, "false")
	closed("another store has it open", one, sessions, "records")
	with(two, func(h store.Handle) error { return h.Put([]byte("k"), []byte("v")) })
	closed("it holds a record", two, sessions, "records")
	again := open(false, "true") // not the first opening
	with(again, func(h store.Handle) error { _, err := h.Get([]byte("k"), nil); return err })
	c := config(t, FerretDB{}, watch.endpoint, store.D1, map[string]string{"database": name, "flush_at_open": "true"})
	c.First = true
	if _, err := (FerretDB{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
		t.Errorf("flush_at_open beside another store: %v", err)
	}
	closed("it still holds a record", again, sessions, "records")

	// A store of this machine that was killed holds nothing up; one of another machine does.
	gone := exec.Command("true")
	must(t, gone.Run())
	host, err := os.Hostname()
	must(t, err)
	left := watch.client.Database(name).Collection(sessions)
	_, err = left.InsertOne(t.Context(), session{bson.NewObjectID(), host, gone.Process.Pid})
	must(t, err)
	emptied := open(true, "true")
	if held, known := emptied.(store.Holder).Held(); held != 1 || !known {
		t.Errorf("it held %d records (known: %v), expected 1", held, known)
	}
	with(emptied, func(h store.Handle) error {
		if _, err := h.Get([]byte("k"), nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after flush_at_open: %v", err)
		}
		return nil
	})
	_, err = watch.client.Database(name).Collection("theirs").InsertOne(t.Context(), bson.D{})
	must(t, err)
	closed("a collection of somebody's is in it", emptied, sessions, "theirs")
	must(t, watch.client.Database(name).Collection("theirs").Drop(t.Context()))
	elsewhere := session{bson.NewObjectID(), "another-machine", 1}
	_, err = left.InsertOne(t.Context(), elsewhere)
	must(t, err)
	closed("a store of another machine has it open", open(false, "false"), sessions, "records")
	_, err = left.DeleteOne(t.Context(), bson.D{{Key: "_id", Value: elsewhere.ID}})
	must(t, err)
	closed("empty", open(false, "false"))
}

var (
	columns = []store.Column{{Name: "words", Type: store.TextColumn}, {Name: "number", Type: store.IntegerColumn}, {Name: "blob", Type: store.BytesColumn}}
	indexes = []store.Index{{Column: 0, Kind: store.OrderedIndex}, {Column: 1, Kind: store.OrderedIndex}}
)

func record(words string, number int, blob []byte) []byte {
	r := store.AppendColumn(nil, []byte(words))
	r = store.AppendColumn(r, fmt.Appendf(nil, "%d", number))
	return store.AppendColumn(r, blob)
}

// byColumn asks for records by each of the columns.
var byColumn = []store.Query{equalTo(0), equalTo(1), equalTo(2)}

func equalTo(column int) store.Query {
	return store.Query{Where: [][]store.Condition{{{Column: column, Is: store.Equal}}}, Sort: -1, Limit: 1000,
		Columns: []int{0, 1, 2}}
}

// found is what a query and a count say, which must agree.
func found(t *testing.T, h store.Handle, column int, value string) (keys []string) {
	t.Helper()
	values := [][]byte{[]byte(value)}
	must(t, h.(store.Querier).Query(column, values, func(key, _ []byte) bool {
		keys = append(keys, string(key))
		return true
	}))
	n, err := h.(store.Counter).Count(column, values)
	if err != nil || int(n) != len(keys) {
		t.Errorf("column %d = %q: %d were found, and %d counted, %v", column, value, len(keys), n, err)
	}
	slices.Sort(keys)
	return keys
}

func TestQueriesAgainstAModel(t *testing.T) {
	onEachServer(t, store.D3, nil, func(t *testing.T, d *db, _ store.Handle, words bool) {
		defined := []store.Index{{Column: 0, Kind: store.OrderedIndex}, {Column: 1, Kind: store.OrderedIndex,
			Descending: true}}
		if words {
			defined = append(defined, store.Index{Column: 2, Kind: store.TokenIndex})
		}
		drivertest.CheckQueries(t, d, defined)
	})
}

// Random records, overwritten and deleted, against a map: with mongod's driver an index of words
// stands on the text, which must change no answer.
func TestRecordsAreFoundByTheirColumns(t *testing.T) {
	onEachServer(t, store.D3, nil, func(t *testing.T, d *db, _ store.Handle, words bool) {
		defined := indexes
		if words {
			defined = []store.Index{{Column: 0, Kind: store.TokenIndex}, {Column: 1, Kind: store.OrderedIndex}}
		}
		must(t, d.Define(columns, defined, byColumn))
		h, err := d.Handle()
		must(t, err)
		t.Cleanup(func() { must(t, h.Close()) })
		texts := []string{"", " ", "a", "a b", "b a", "a,b", "a  b", "ab", "ä\u2028<", "a b b"}
		r := rand.New(rand.NewPCG(3, 4))
		model := map[string]int{} // key → text × 10 + number
		for range 150 {
			key, text, number := fmt.Sprint("key-", r.IntN(25)), r.IntN(len(texts)), r.IntN(10)
			if r.IntN(5) == 0 {
				if _, there := model[key]; there {
					must(t, h.Delete([]byte(key)))
					delete(model, key)
				}
				continue
			}
			must(t, h.Put([]byte(key), record(texts[text], number, []byte{byte(number), 0})))
			model[key] = text*10 + number
		}
		want := func(is func(int) bool) (keys []string) {
			for key, value := range model {
				if is(value) {
					keys = append(keys, key)
				}
			}
			slices.Sort(keys)
			return keys
		}
		for i, text := range texts {
			if got, want := found(t, h, 0, text), want(func(v int) bool { return v/10 == i }); !slices.Equal(got,
				want) {
				t.Errorf("words = %q: %q, expected %q", text, got, want)
			}
		}
		for n := range 10 {
			want := want(func(v int) bool { return v%10 == n })
			if got := found(t, h, 1, strconv.Itoa(n)); !slices.Equal(got, want) {
				t.Errorf("number = %d: %q, expected %q", n, got, want)
			}
			if got := found(t, h, 2, string([]byte{byte(n), 0})); !slices.Equal(got, want) {
				t.Errorf("blob of %d: %q, expected %q", n, got, want)
			}
		}
		for key, v := range model {
			if got, err := h.Get([]byte(key), nil); err != nil || !bytes.Equal(got, record(texts[v/10], v%10,
				[]byte{byte(v % 10), 0})) {
				t.Errorf("get %s: %q, %v", key, got, err)
			}
			must(t, h.Delete([]byte(key)))
		}
	})
}

func TestIndexesThatAreNotThereAreRefused(t *testing.T) {
	d, _ := openFerret(t, store.D1, nil)
	before := collectionsOf(t, d, d.database.Name())
	for name, define := range map[string]func() error{
		"an index of words":            func() error { return d.Define(columns, []store.Index{{Column: 0, Kind: store.TokenIndex}}, nil) },
		"a column with the key's name": func() error { return d.Define([]store.Column{{Name: "_id", Type: store.TextColumn}}, nil, nil) },
	} {
		if err := define(); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := collectionsOf(t, d, d.database.Name()); !slices.Equal(before, after) {
		t.Errorf("a refusal changed the collections: %q", after)
	}
}

// A value that is no record of the columns is refused, and not stored.
func TestValuesThatAreNoRecordsAreRefused(t *testing.T) {
	l := layout{driver: "mongodb", columns: columns, indexes: make([]store.IndexKind, len(columns))}
	for name, value := range map[string][]byte{
		"too short": record("a", 1, nil)[:5], "too long": append(record("a", 1, nil), 0), "empty": {},
		"no number": store.AppendColumn(store.AppendColumn(store.AppendColumn(nil, []byte("a")), []byte("x")), nil),
	} {
		if _, err := l.document([]byte("key"), value); !errors.Is(err, errNotARecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompareAndSwap(t *testing.T) {
	d, h := openUnproved(t, store.D3, nil)
	swap := func(h store.Handle, old, value []byte) error {
		return h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), old, value)
	}
	if err := swap(h, nil, []byte("b")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("swap of nothing: %v", err)
	}
	must(t, h.Put([]byte("key"), nil))
	if err := swap(h, []byte("a"), []byte("b")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap of another value: %v", err)
	}
	must(t, swap(h, nil, []byte("b")))
	if got, err := h.Get([]byte("key"), nil); err != nil || string(got) != "b" {
		t.Errorf("%q, %v", got, err)
	}
	must(t, h.Delete([]byte("key")))
	must(t, d.Define(columns, indexes, byColumn))
	records, err := d.Handle()
	must(t, err)
	defer func() { must(t, records.Close()) }()
	must(t, records.Put([]byte("key"), record("a", 1, nil)))
	if err := swap(records, record("a", 2, nil), record("b", 2, nil)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a record of which one column is another: %v", err)
	}
	must(t, swap(records, record("a", 1, nil), record("b", 2, nil)))
	must(t, records.Delete([]byte("key")))
}

// Of mongod's classes each asks for what it claims, and no server gives more than it tells.
func TestMongodsClasses(t *testing.T) {
	wiredTiger := bson.D{{Key: "name", Value: "wiredTiger"}, {Key: "persistent", Value: true}}
	inMemory := bson.D{{Key: "name", Value: "inMemory"}, {Key: "persistent", Value: false}}
	for name, try := range map[string]struct {
		engine  any
		class   store.Durability
		window  time.Duration
		journal bool
		refused bool
	}{
		"D0":                                {engine: wiredTiger, class: store.D0},
		"D0 of an unknown server":           {class: store.D0},
		"D2":                                {engine: wiredTiger, class: store.D2, window: 2 * time.Second},
		"D2 of less than a sync takes":      {engine: wiredTiger, class: store.D2, window: time.Second, refused: true},
		"D2 in memory":                      {engine: inMemory, class: store.D2, window: time.Minute, refused: true},
		"D3":                                {engine: wiredTiger, class: store.D3, journal: true},
		"D3 in memory":                      {engine: inMemory, class: store.D3, journal: true, refused: true},
		"D3 of a server that does not tell": {class: store.D3, journal: true, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			status, err := bson.Marshal(bson.D{{Key: "storageEngine", Value: try.engine}})
			must(t, err)
			d := &db{class: try.class, window: try.window, settings: map[string]string{}}
			if err := d.proveEngine(status); errors.Is(err, store.ErrRefused) != try.refused || !try.refused &&
				err != nil {
				t.Errorf("refused: %v; expected %v", err, try.refused)
			}
			if c := (mongod{}).concern(try.class); c.W != 1 || *c.Journal != try.journal {
				t.Errorf("write concern %+v, journal %v; expected w: 1 and journal %v", c, *c.Journal, try.journal)
			}
		})
	}
}

func TestServersThatTakeNoWritesAreRefused(t *testing.T) {
	for name, try := range map[string]struct {
		hello   bson.D
		refused bool
	}{
		"a primary":                   {bson.D{{Key: "isWritablePrimary", Value: true}}, false},
		"a secondary":                 {bson.D{{Key: "isWritablePrimary", Value: false}, {Key: "secondary", Value: true}}, true},
		"one of before 4.4.2":         {bson.D{{Key: "ismaster", Value: true}}, false},
		"a secondary of before 4.4.2": {bson.D{{Key: "ismaster", Value: false}, {Key: "secondary", Value: true}}, true},
		"mongos":                      {bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "msg", Value: "isdbgrid"}}, true},
		"one that says nothing of it": {bson.D{}, true},
	} {
		hello, err := bson.Marshal(try.hello)
		must(t, err)
		if err := refuseRole(hello); errors.Is(err, store.ErrRefused) != try.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server that reports no storage engine is opened in D0 alone, and claims no sync where it has no
// command for it.
func TestServerOfUnknownStorageGivesD0Alone(t *testing.T) {
	d, _ := openJava(t, nil)
	_, syncs := store.Store(d).(store.Syncer)
	if syncs || d.settings["version"] == "" || d.settings["storageEngine"] != "" {
		t.Errorf("it syncs: %v; it tells %v", syncs, d.settings)
	}
	for _, class := range []store.Durability{store.D2, store.D3} {
		c := config(t, Driver{}, d.endpoint, class, nil)
		c.LossWindow = time.Minute
		_, err := Driver{}.Open(t.Context(), c)
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "storageEngine") {
			t.Errorf("%s: %v", class, err)
		}
	}
}

// Each operation is one command, and each write asks for what its class claims.
func TestEachWriteCarriesItsConcern(t *testing.T) {
	for class, journal := range map[store.Durability]bool{store.D0: false, store.D2: false, store.D3: true} {
		d, _ := openUnproved(t, class, nil)
		var sent []bson.Raw
		d.options.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName != "ping" && e.CommandName != "endSessions" {
				sent = append(sent, bytes.Clone(e.Command))
			}
		}})
		h, err := d.Handle()
		must(t, err)
		key := []byte("key")
		must(t, h.(store.Adder).Add(key, []byte("a")))
		must(t, h.Put(key, []byte("b")))
		must(t, h.(store.CompareAndSwapper).CompareAndSwap(key, []byte("b"), []byte("c")))
		must(t, h.(store.Batcher).Apply([]store.Write{{Key: key, Value: []byte("d")}, {Key: []byte("other"), Value: nil}}))
		must(t, h.Delete(key))
		must(t, h.Delete([]byte("other")))
		must(t, h.Close())
		if len(sent) != 6 {
			t.Errorf("%s: %d commands for 6 writes", class, len(sent))
		}
		for _, command := range sent {
			w, _ := command.Lookup("writeConcern", "w").AsInt64OK()
			j, told := command.Lookup("writeConcern", "j").BooleanOK()
			if w != 1 || j != journal || !told {
				t.Errorf("%s: write concern %s of %s", class, command.Lookup("writeConcern"), command.Index(0).Key())
			}
		}
	}
}

func TestPasswordsAreInNoText(t *testing.T) {
	const secret = "hidden-word"
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte(secret+"\nsecond line\n"), 0o600))
	c := config(t, FerretDB{}, ferretAt(t, store.D1).Endpoint(), store.D1, map[string]string{"user": "somebody", "password_file": file})
	_, err := FerretDB{}.Open(t.Context(), c) // it knows no such user
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("open: %v", err)
	}
	for source, given := range map[string]map[string]string{"file": {"user": "somebody", "password_file": file}, "environment": nil} {
		if given == nil {
			t.Setenv(userVariable, "somebody")
			t.Setenv(passwordVariable, secret)
		}
		c := config(t, FerretDB{}, "127.0.0.1:1", store.D1, given)
		d := &db{name: "ferretdb", kind: ferret{}, class: store.D1, endpoint: c.Endpoints[0], timeout: time.Second}
		must(t, d.configure(c))
		if d.options.Auth == nil || d.options.Auth.Password != secret || d.options.Auth.Username != "somebody" || d.options.Auth.AuthSource != "admin" {
			t.Errorf("%s: the user or the password was not read", source)
		}
	}
	c.Options["password_file"] = file + "-missing"
	if _, err := (FerretDB{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestTLSIsVerifiedAwayFromLoopback(t *testing.T) {
	for _, try := range []struct {
		endpoint, tls string
		verified      bool
	}{
		{"127.0.0.1:27017", "auto", false}, {"localhost:27017", "auto", false}, {"[::1]:27017", "auto", false},
		{"127.0.0.1:27017", "verify", true}, {"db.example:27017", "auto", true}, {"10.0.0.1:27017", "auto", true}, {"db.example:27017", "off", false},
	} {
		c := config(t, Driver{}, try.endpoint, store.D0, map[string]string{"tls": try.tls})
		d := &db{name: "mongodb", kind: mongod{}, class: store.D0, endpoint: try.endpoint, timeout: time.Second}
		must(t, d.configure(c))
		if verified := d.options.TLSConfig != nil && !d.options.TLSConfig.InsecureSkipVerify; verified != try.verified {
			t.Errorf("%s, tls=%s: verified is %v", try.endpoint, try.tls, verified)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, driver := range []store.Driver{Driver{}, FerretDB{}} {
		class := driver.Describe().Durability[0].Class
		for name, change := range map[string]func(*store.Config){
			"no endpoint":             func(c *store.Config) { c.Endpoints = nil },
			"two endpoints":           func(c *store.Config) { c.Endpoints = append(c.Endpoints, "127.0.0.1:2") },
			"no port":                 func(c *store.Config) { c.Endpoints = []string{"127.0.0.1"} },
			"no time":                 func(c *store.Config) { c.Options["operation_timeout"] = "0s" },
			"no connection":           func(c *store.Config) { c.Options["connections_max"] = "0" },
			"no database":             func(c *store.Config) { c.Options["database"] = "" },
			"a database with a dot":   func(c *store.Config) { c.Options["database"] = "a.b" },
			"a password without user": func(c *store.Config) { c.Options["password_file"] = "/dev/null" },
			"a class of more nodes":   func(c *store.Config) { c.Durability = store.D4 },
		} {
			c := config(t, driver, "127.0.0.1:1", class, nil)
			change(&c)
			if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
				t.Errorf("%s, %s: %v", driver.Describe().Name, name, err)
			}
		}
		c := config(t, driver, "127.0.0.1:1", class, map[string]string{"operation_timeout": "300ms"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := driver.Open(ctx, c); err == nil || errors.Is(err, store.ErrRefused) {
			t.Errorf("nobody listens there: %v", err)
		}
		cancel()
	}
}

// The library's own retries are off: one operation is one command.
func TestRetriesOfTheLibraryAreOff(t *testing.T) {
	c := config(t, Driver{}, "127.0.0.1:1", store.D3, nil)
	d := &db{name: "mongodb", kind: mongod{}, class: store.D3, endpoint: c.Endpoints[0], timeout: time.Second}
	must(t, d.configure(c))
	if o := d.options; *o.RetryReads || *o.RetryWrites || *o.MaxAdaptiveRetries != 0 || !*o.Direct {
		t.Errorf("retries: reads %v, writes %v, overload %d; direct: %v", *o.RetryReads, *o.RetryWrites, *o.MaxAdaptiveRetries, *o.Direct)
	}
}

// mongod itself, where it is installed: each class, and that j: true is synced as its own counter
// tells.
func TestMongod(t *testing.T) {
	i := drivertest.StartServer(t, Program, store.D3, map[string]string{"cache_bytes": "256MiB"})
	for _, claim := range (Driver{}).Describe().Durability {
		c := config(t, Driver{}, i.Endpoint(), claim.Class, nil)
		s, h := drivertest.Open(t, Driver{}, c)
		syncs := func() float64 { return s.(store.Inspector).Inspect().Stats["wal_syncs"] }
		before := syncs()
		const writes = 50
		for n := range writes {
			must(t, h.Put(fmt.Appendf(nil, "key-%d", n), []byte("v")))
		}
		if synced := syncs() - before; claim.Class == store.D3 && synced < writes {
			t.Errorf("%v syncs of the journal for %d writes, one after the other", synced, writes)
		}
		must(t, s.(store.Syncer).Sync())
		for n := range writes {
			must(t, h.Delete(fmt.Appendf(nil, "key-%d", n)))
		}
	}
}

// A trial opens its store again, and defines the same columns.
func TestDefiningAgainFindsTheSameRecords(t *testing.T) {
	endpoint := ferretAt(t, store.D3).Endpoint()
	c := config(t, FerretDB{}, endpoint, store.D3, nil)
	for round := range 3 {
		s, err := FerretDB{}.Open(t.Context(), c)
		must(t, err)
		must(t, s.(store.Definer).Define(columns, indexes, byColumn))
		h, err := s.Handle()
		must(t, err)
		if round == 0 {
			must(t, h.Put([]byte("key"), record("a b", 7, nil)))
		}
		for column, value := range []string{"a b", "7", ""} {
			if got := found(t, h, column, value); !slices.Equal(got, []string{"key"}) {
				t.Errorf("round %d, column %d: %q", round, column, got)
			}
		}
		if round == 2 {
			must(t, h.Delete([]byte("key")))
		}
		must(t, errors.Join(h.Close(), s.Close()))
	}
}
