package recording

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// form is how a form writes requests: at so many ms, of a key, whose value has so many bytes.
type form struct {
	header string
	good   func(ms, key, bytes int) string
	// wrong are lines with another number of columns, with a negative time, and that were cut.
	columns, negative, cut string
	short                  string // the error of the first of them, where it is not about columns
}

var hostileForms = map[Format]form{
	Twitter: {good: func(ms, key, bytes int) string {
		return fmt.Sprintf("%d.%03d,key%d,7,%d,1,set,0\n", ms/1000, ms%1000, key, bytes)
	}, columns: "1,key,7\n", negative: "-1,key,7,10,1,set,0\n", cut: "9,key,7,1"},
	CacheLib: {header: "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n", good: func(ms, key, bytes int) string {
		return fmt.Sprintf("%d.%03d,key%d,7,SET,1,%d,0,0\n", ms/1000, ms%1000, key, bytes)
	}, columns: "1,key,7\n", negative: "-1,key,7,SET,1,10,0,0\n", cut: "9,key,7,SE"},
	Monitor: {good: func(ms, key, bytes int) string {
		return fmt.Sprintf("%d.%03d000 [0 127.0.0.1:60866] \"set\" \"key%d\" \"%s\"\n", ms/1000, ms%1000, key, strings.Repeat("v", bytes))
	}, columns: "1.5 [0 127.0.0.1:60866]\n", short: whyForm, negative: "-1.5 [0 127.0.0.1:60866] \"set\" \"key\" \"v\"\n",
		cut: "9.5 [0 127.0.0.1:60866] \"set\" \"key\" \"vv"},
	RocksDB: {good: func(ms, key, bytes int) string { return fmt.Sprintf("%08X 1 0 %d %d\n", key, bytes, 1000*ms) },
		columns: "AB 1 0\n", negative: "AB 1 0 10 -1000\n", cut: "AB 1 0 1"},
	CSV: {header: "time_ms,op,key,size\n", good: func(ms, key, bytes int) string { return fmt.Sprintf("%d,set,key%d,%d\n", ms, key, bytes) },
		columns: "1,set\n", negative: "-1,set,key,10\n", cut: "9,set,ke"},
}

// Each form gives one error, or says how many lines it left out and why.
func TestHostileLinesOfEachForm(t *testing.T) {
	most := keysMost
	keysMost = 50
	defer func() { keysMost = most }()
	const huge = 1_000_000_000
	for name, f := range hostileForms {
		t.Run(string(name), func(t *testing.T) {
			text := func(keys, bytes int) string {
				var b strings.Builder
				b.WriteString(f.header)
				for i := range 400 {
					b.WriteString(f.good(i, i%keys, bytes))
				}
				return b.String()
			}
			large, why := f.good(500, 1, 2<<20), whyLong // MONITOR prints values in full
			if name != Monitor {
				large, why = f.good(500, 1, huge), "a value above 64 MiB"
			}
			few := text(50, 10) + f.columns + f.negative + large + f.cut
			sum, err := Selection{File: write(t, "few", []byte(few))}.Summarize(nil)
			if err != nil || sum.Parsed.Format != name || sum.Requests != 400 || sum.Keys != 50 {
				t.Fatalf("%+v, %v", sum, err)
			}
			got := map[string]uint64{}
			for _, left := range sum.Parsed.Left {
				got[left.Why] = left.Count
			}
			short := f.short
			if short == "" {
				short = whyColumns
			}
			if want := map[string]uint64{short: 1, whyNegative: 1, why: 1, "cut at the file's end": 1}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("left out %v, expected %v", got, want)
			}
			for what, hostile := range map[string]struct{ text, says string }{
				"columns":  {text(50, 10) + strings.Repeat(f.columns, 200), "has " + short},
				"negative": {text(50, 10) + strings.Repeat(f.negative, 200), "has " + whyNegative},
				"keys":     {text(51, 10), "take some of its keys (sample: 1/100)"},
			} {
				_, err := Selection{File: write(t, what, []byte(hostile.text)), Format: name}.Summarize(nil)
				if err == nil || !strings.Contains(err.Error(), hostile.says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %v, expected %q", what, err, hostile.says)
				}
			}
		})
	}
}

// oracleGeneral has no lines: times have no sign and lengths end at 4 GiB.
func TestHostileRecordsOfOracle(t *testing.T) {
	most := keysMost
	keysMost = 50
	defer func() { keysMost = most }()
	records := func(keys int, bytes uint32) (data []byte) {
		for i := range 400 {
			data = binary.LittleEndian.AppendUint32(data, uint32(i))
			data = binary.LittleEndian.AppendUint64(data, uint64(i%keys))
			data = binary.LittleEndian.AppendUint32(data, bytes)
			data = binary.LittleEndian.AppendUint64(data, ^uint64(0))
		}
		return data
	}
	late := records(50, 10)
	binary.LittleEndian.PutUint32(late[200*oracleBytes:], ^uint32(0)) // −1, if times had a sign: 2106
	for what, hostile := range map[string]struct {
		data []byte
		says string
		left uint64
	}{
		"cut":             {records(50, 10)[:oracleBytes*399+5], "can't be read beyond record 399", 0},
		"keys":            {records(51, 10), "take some of its keys (sample: 1/100)", 0},
		"a billion bytes": {append(records(50, 10), records(1, 1_000_000_000)...), "", 400},
		"a far time":      {late, "", 1},
		"columns":         {records(50, 10)[3:], "", 0},
	} {
		sum, err := Selection{File: write(t, what, hostile.data), Format: Oracle}.Summarize(nil)
		if what == "columns" { // records that begin elsewhere
			hostile.says = "it is not oracleGeneral"
		}
		if hostile.says != "" {
			if err == nil || !strings.Contains(err.Error(), hostile.says) {
				t.Errorf("%s: %v, expected %q", what, err, hostile.says)
			}
			continue
		}
		if err != nil || len(sum.Parsed.Left) != 1 || sum.Parsed.Left[0].Count != hostile.left {
			t.Errorf("%s: %+v, %v", what, sum, err)
		}
	}
}
