package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns all requests of a selection, with keys numbered.
func read(t testing.TB, s Selection) (all []Request, told Parsed, err error) {
	t.Helper()
	keys := NewNumbering()
	told, err = s.Each(func(batch []Request) error {
		for _, r := range batch {
			id, _, err := keys.Number(r.Key)
			if err != nil {
				return err
			}
			r.Key = uint64(id)
			all = append(all, r)
		}
		return nil
	})
	return all, told, err
}

const (
	twitterText = "0,k1,4,100,1,get,0\n0,k2,5,0,1,get,0\n1,k2,5,300,2,set,60\n1,a,b,3,20,2,add,0\n3,k1,4,0,1,delete,0\n"
	cacheText   = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n" +
		"604038471,82131353f9ddc8c6,48,GET,1,87,1,0,366387042,3003229276\n" +
		"604038471,a54f88ab02ece24d,24,GET_LEASE,3,0,0,0,699950563,699950563\n" +
		"604038472,a54f88ab02ece24d,24,SET,1,50,0,300,699950563,699950563\n"
	monitorText = "OK\n" +
		`1339518083.107412 [0 127.0.0.1:60866] "keys" "*"` + "\n" +
		`1339518090.420270 [0 127.0.0.1:60866] "set" "x" "6\x00\"\n" "EX" "10"` + "\n" +
		`1339518096.506257 [0 127.0.0.1:60866] "get" "x"` + "\n" +
		`1339518097.000001 [0 lua] "mset" "y" "ab" "z" ""` + "\n" +
		`1339518099.363765 [0 127.0.0.1:60866] "del" "x" "y"` + "\n"
	rocksText = "6B31 1 0 100 1000001\n6B31 0 0 0 1000005\n6B32 0 1 0 1000009\n6B32 7 0 0 1000010\n6B31 2 0 0 1000011\n"
)

func oracleData() []byte {
	var data []byte
	for _, r := range []struct {
		at     uint32
		object uint64
		size   uint32
		next   int64
	}{{5, 77, 10, 2}, {5, 78, 20, -1}, {7, 77, 10, -1}} {
		data = binary.LittleEndian.AppendUint32(data, r.at)
		data = binary.LittleEndian.AppendUint64(data, r.object)
		data = binary.LittleEndian.AppendUint32(data, r.size)
		data = binary.LittleEndian.AppendUint64(data, uint64(r.next))
	}
	return data
}

func TestFormats(t *testing.T) {
	const s = int64(1e9)
	for _, test := range []struct {
		name string
		data []byte
		form Format
		want []Request
		left []LeftOut
	}{
		{name: "twitter", data: []byte(twitterText), form: Twitter, want: []Request{
			{AtNS: 0, Key: 0, KeyBytes: 4, ValueBytes: 100, Operation: Get},
			{AtNS: s / 2, Key: 1, KeyBytes: 5, ValueBytes: Unknown, Operation: Get},
			{AtNS: s, Key: 1, KeyBytes: 5, ValueBytes: 300, TTLSeconds: 60, Operation: Set},
			{AtNS: 3 * s / 2, Key: 2, KeyBytes: 3, ValueBytes: 20, Operation: Add},
			{AtNS: 3 * s, Key: 0, KeyBytes: 4, ValueBytes: Unknown, Operation: Delete},
		}},
		{name: "cachelib", data: []byte(cacheText), form: CacheLib, want: []Request{
			{AtNS: 0, Key: 0, KeyBytes: 48, ValueBytes: 87, Operation: Get},
			{AtNS: s / 4, Key: 1, KeyBytes: 24, ValueBytes: Unknown, Operation: Get},
			{AtNS: s / 2, Key: 1, KeyBytes: 24, ValueBytes: Unknown, Operation: Get},
			{AtNS: s / 4 * 3, Key: 1, KeyBytes: 24, ValueBytes: Unknown, Operation: Get},
			{AtNS: s, Key: 1, KeyBytes: 24, ValueBytes: 50, TTLSeconds: 300, Operation: Set},
		}},
		{name: "oracle", data: oracleData(), form: Oracle, want: []Request{
			{AtNS: 0, Key: 0, ValueBytes: 10, Operation: Get}, {AtNS: s / 2, Key: 1, ValueBytes: 20, Operation: Get},
			{AtNS: 2 * s, Key: 0, ValueBytes: 10, Operation: Get},
		}},
		{name: "monitor", data: []byte(monitorText), form: Monitor, left: []LeftOut{{"command keys", 1, 2}}, want: []Request{
			{AtNS: 0, Key: 0, KeyBytes: 1, ValueBytes: 4, TTLSeconds: 10, Operation: Set},
			{AtNS: 6085987000, Key: 0, KeyBytes: 1, ValueBytes: Unknown, Operation: Get},
			{AtNS: 6579731000, Key: 1, KeyBytes: 1, ValueBytes: 2, Operation: Set},
			{AtNS: 6579731000, Key: 2, KeyBytes: 1, ValueBytes: 0, Operation: Set},
			{AtNS: 8943495000, Key: 0, KeyBytes: 1, ValueBytes: Unknown, Operation: Delete},
			{AtNS: 8943495000, Key: 1, KeyBytes: 1, ValueBytes: Unknown, Operation: Delete},
		}},
		{name: "rocksdb", data: []byte(rocksText), form: RocksDB, left: []LeftOut{{"iterator seeks", 1, 4}}, want: []Request{
			{AtNS: 0, Key: 0, KeyBytes: 2, ValueBytes: 100, Operation: Set}, {AtNS: 4000, Key: 0, KeyBytes: 2,
				ValueBytes: Unknown, Operation: Get},
			{AtNS: 8000, Key: 1, KeyBytes: 2, ValueBytes: Unknown, Operation: Get}, {AtNS: 10000, Key: 0,
				KeyBytes: 2, ValueBytes: Unknown, Operation: Delete},
		}},
		{name: "csv", data: []byte("timestamp,verb,key,size\n10.5,x,a,3\n"), form: CSV},
		{name: "csv with fractions", data: []byte("time,op,key,size\n10.5,get,a,3\n10.75,put,b,9\n"), form: CSV, want: []Request{
			{AtNS: 0, Key: 0, KeyBytes: 1, ValueBytes: 3, Operation: Get}, {AtNS: s / 4, Key: 1, KeyBytes: 1,
				ValueBytes: 9, Operation: Set},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for kind, data := range map[string][]byte{"plain": test.data, "gzip": gzipped(t, test.data), "zstd": zstandard(t, test.data)} {
				got, told, err := read(t, Selection{File: write(t, kind, data)})
				if test.want == nil {
					if err == nil || !strings.Contains(err.Error(), "line 2 has an unknown operation") {
						t.Errorf("%s: %v", kind, err)
					}
					continue
				}
				if err != nil || told.Format != test.form {
					t.Fatalf("%s: form %s, error %v", kind, told.Format, err)
				}
				if fmt.Sprint(got) != fmt.Sprint(test.want) {
					t.Errorf("%s:\n got %v\nwant %v", kind, got, test.want)
				}
				if fmt.Sprint(told.Left) != fmt.Sprint(test.left) {
					t.Errorf("%s left out %v, want %v", kind, told.Left, test.left)
				}
			}
		})
	}
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

func TestMapping(t *testing.T) {
	want := []Request{{AtNS: 0, Key: 0, KeyBytes: 1, ValueBytes: 3, Operation: Get}, {AtNS: 5e6, Key: 0,
		KeyBytes: 1, ValueBytes: 4, Operation: Set}}
	for name, test := range map[string]struct {
		text string
		c    Columns
	}{
		"by name":   {"when,what,which,len\n100,GET,a,3\n105,PUT,a,4\n", Columns{Time: "when", Operation: "what", Key: "which", Bytes: "len", Unit: "ms"}},
		"by number": {"GET,a,3,100000\nPUT,a,4,105000\n", Columns{Time: "4", Operation: "1", Key: "2", Bytes: "3", Unit: "us"}},
		"by unit":   {"ts_ms,cmd,key,size\n1,get,a,3\n6,set,a,4\n", Columns{Time: "ts_ms"}},
	} {
		got, _, err := read(t, Selection{File: write(t, "r.csv", []byte(test.text)), Columns: test.c})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, _, err := read(t, Selection{File: write(t, "r.csv", []byte("a,b\n1,2\n")), Columns: Columns{Time: "when"}})
	if err == nil || !strings.Contains(err.Error(), `no column "when" for time, but a and b`) {
		t.Error(err)
	}
}

// What is no recording gets one error that names the place, and lines that are wrong are counted.
//
// Fault (conductor): a recording is cut, of another form, or has wrong columns, negative times,
// endless lines, huge values or too many keys
// Assay: one error with the first line, or what was left out is counted; memory is bounded
func TestHostileFiles(t *testing.T) {
	good := strings.Repeat("1,k,1,10,1,get,0\n", 1000)
	for name, test := range map[string]struct {
		data  []byte
		error string
		left  string
		sent  int
	}{
		"empty":              {data: nil, error: "it is empty"},
		"words":              {data: []byte("hello\nworld\n"), error: "not a recording of a known form: twitter, cachelib"},
		"binary":             {data: append([]byte{0, 1, 2, 0}, bytes.Repeat([]byte{0xff, 3}, 100)...), error: "it is not text"},
		"wrong columns":      {data: []byte(good + strings.Repeat("1,k,1\n", 200)), error: "line 1001 has another number of columns, and "},
		"a few wrong":        {data: []byte(good + "1,k,1\n-5,k,1,10,1,get,0\nx,k,1,10,1,get,0\n2,k,1,10,1,get,0\n"), left: "[{another number of columns 1 1001} {a negative time 1 1002} {no time 1 1003}]", sent: 1001},
		"cut":                {data: []byte(good + "2,k,1,1"), left: "[{cut at the file's end 1 1001}]", sent: 1000},
		"a billion bytes":    {data: []byte(good + "2,k,1,1000000000,1,set,0\n3,k,1,10,1,get,0\n"), left: "[{a value above 64 MiB 1 1002}]", sent: 1001},
		"a long line":        {data: []byte(good + strings.Repeat("x", 3<<20) + "\n2,k,1,10,1,get,0\n"), left: "[{longer than 1 MiB 1 1001}]", sent: 1001},
		"a far time":         {data: []byte(good + "99999999999,k,1,10,1,get,0\n2,k,1,10,1,get,0\n"), left: "[{a time beyond a century 1 1001}]", sent: 1001},
		"an endless number":  {data: []byte(good + "2,k,1,99999999999999999999999,1,set,0\n"), left: "[{no length of a value 1 1001}]", sent: 1000},
		"gzip that is cut":   {data: gzipped(t, []byte(good))[:60], error: "can't be read beyond line"},
		"zstd that is cut":   {data: zstandard(t, []byte(good))[:30], error: "unexpected EOF"},
		"zstd that is wrong": {data: append([]byte{0x28, 0xb5, 0x2f, 0xfd}, bytes.Repeat([]byte{0xee}, 100)...), error: "reading its beginning"},
		"oracle that is cut": {data: oracleData()[:60], error: "can't be read beyond record 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, told, err := read(t, Selection{File: write(t, "file", test.data)})
			if test.error != "" {
				if err == nil || !strings.Contains(err.Error(), test.error) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want %q", err, test.error)
				}
				return
			}
			if err != nil || len(got) != test.sent || fmt.Sprint(told.Left) != test.left {
				t.Errorf("%d requests, left out %v, error %v", len(got), told.Left, err)
			}
		})
	}
	if _, err := Open(t.TempDir(), "", Columns{}); err == nil || !strings.Contains(err.Error(), "it is a directory") {
		t.Error(err)
	}
	if _, err := Open("nowhere/file", "", Columns{}); err == nil || !strings.Contains(err.Error(), "opening the recording nowhere/file: no such file") {
		t.Error(err)
	}
}

func TestSelection(t *testing.T) {
	var text strings.Builder
	text.WriteString("time_ms,op,key,size\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "%d.5,get,k%d,10\n", i, i%1000)
	}
	file := write(t, "r.csv", []byte(text.String()))
	part, _, err := read(t, Selection{File: file, From: 2e9, Until: 5e9})
	if err != nil || len(part) != 3000 || part[0].AtNS != 0 || part[2999].AtNS != 2999e6 {
		t.Errorf("%d requests, %v", len(part), err)
	}
	some, _, err := read(t, Selection{File: file, OneIn: 10})
	keys := map[uint64]int{}
	for _, r := range some {
		keys[r.Key]++
	}
	if err != nil || len(keys) < 60 || len(keys) > 140 {
		t.Errorf("%d keys of 1,000, %v", len(keys), err)
	}
	for key, n := range keys {
		if n != 10 {
			t.Errorf("key %d has %d of 10 requests", key, n)
		}
	}
	stop := errors.New("enough")
	if _, err := (Selection{File: file}).Each(func([]Request) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	sum, err := Selection{File: file}.Summarize(nil)
	if err != nil || sum.Requests != 10_000 || sum.Keys != 1000 || math.Abs(sum.Rate()-1000) > 1 || fmt.Sprint(sum.Sizes, sum.SizeKeys) != "[10] [1000]" {
		t.Errorf("%+v, %v", sum, err)
	}
	total := uint64(0)
	for _, n := range sum.Counts {
		total += n
	}
	if total != 10_000 {
		t.Errorf("%d requests over time", total)
	}
}

// One list of stretches gives the hits that caches of each size would have had.
func TestLRUOfAllSizes(t *testing.T) {
	const keys = 2000
	l := newLRU(keys)
	random := uint64(1)
	var hits [len(SizesLRU)]int
	var caches [len(SizesLRU)][]uint32 // naive: the last asked first
	asked := 0
	for i := range 30_000 {
		random = mix(random)
		id := uint32(random % keys * (random >> 40 % keys) / keys)
		if i%50 == 49 {
			l.forget(id)
		} else {
			l.ask(id)
			asked++
		}
		for c, share := range SizesLRU {
			cache, at := caches[c], -1
			for k, held := range cache {
				if held == id {
					at = k
				}
			}
			if at >= 0 {
				cache = append(cache[:at], cache[at+1:]...)
			}
			if i%50 != 49 {
				if at >= 0 {
					hits[c]++
				}
				cache = append([]uint32{id}, cache...)
				cache = cache[:min(len(cache), int(share*keys))]
			}
			caches[c] = cache
		}
	}
	for c, rate := range l.rates() {
		// A key that is deleted leaves room in every cache that held it, which the naive ones fill later.
		if want := float64(hits[c]) / float64(asked); math.Abs(rate-want) > 0.002 {
			t.Errorf("cache of %v: %v, want %v", SizesLRU[c], rate, want)
		}
	}
}

func TestNumbering(t *testing.T) {
	n := NewNumbering()
	for i := range uint64(100_000) {
		if id, isNew, err := n.Number(mix(i)); err != nil || !isNew || uint64(id) != i {
			t.Fatal(i, id, isNew, err)
		}
	}
	for i := range uint64(100_000) {
		if id, isNew, err := n.Number(mix(i)); err != nil || isNew || uint64(id) != i {
			t.Fatal(i, id, isNew, err)
		}
	}
}

func TestSizesKeepBytes(t *testing.T) {
	var s sizes
	total, random := 0.0, uint64(7)
	for range 100_000 {
		random = mix(random)
		bytes := int64(math.Exp(float64(random%1_000_000) / 1e6 * 14))
		s.add(bytes)
		total += float64(bytes)
	}
	bytes, counts := s.classes(ClassesMax)
	if len(bytes) > ClassesMax {
		t.Fatalf("%d classes", len(bytes))
	}
	sum := 0.0
	for i := range bytes {
		sum += float64(bytes[i]) * float64(counts[i])
	}
	if math.Abs(sum/total-1) > 0.001 {
		t.Errorf("bytes of all %v, want %v", sum, total)
	}
}

func TestCompare(t *testing.T) {
	a, b, c := NewShape(100, 1, true), NewShape(100, 1, false), NewShape(100, 2, true)
	for i := range 10_000 {
		o := Get
		if i%4 == 0 {
			o = Set
		}
		key := uint64(i*i) % 100
		for _, s := range []*Shape{a, b, c} {
			s.AddTime(int64(i) * 1000)
		}
		a.Add(o, key, 10)
		b.Add(o, mix(key), 10)
		c.Add(Set, uint64(i)%100, 10+int64(i%2)*100)
	}
	a.Done()
	b.Done()
	c.Done()
	if d, _ := Compare(a, b); d != (Distances{}) {
		t.Errorf("alike, but %+v", d)
	}
	d, _ := Compare(a, c)
	if math.Abs(d.Mix-0.75) > 1e-9 || math.Abs(d.Sizes-0.5) > 0.01 || d.Gaps != 1 || d.Hits < 0.1 {
		t.Errorf("%+v", d)
	}
}

// BenchmarkRead tells how many requests a second are read and numbered.
func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	random := uint64(3)
	const lines = 1_000_000
	for i := range lines {
		random = mix(random)
		fmt.Fprintf(&text, "%d,key:%012d,16,%d,%d,get,0\n", i/100_000, random%200_000*(random>>32%1000)/1000, random>>50, random%17)
	}
	file := write(b, "twitter.csv", text.Bytes())
	for b.Loop() {
		sum, err := Selection{File: file}.Summarize(nil)
		if err != nil || sum.Requests != lines {
			b.Fatal(sum, err)
		}
	}
	b.ReportMetric(float64(b.N)*lines/b.Elapsed().Seconds(), "requests/s")
}
