package recording

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format is the form of a recording.
type Format string

const (
	Twitter  Format = "twitter"  // CSV of 7 columns without a header
	CacheLib Format = "cachelib" // CSV with a header that names op_time or op_count
	Oracle   Format = "oracle"   // libCacheSim's oracleGeneral: records of 24 bytes
	Monitor  Format = "monitor"  // Redis MONITOR
	RocksDB  Format = "rocksdb"  // the trace that trace_analyzer prints, with keys
	CSV      Format = "csv"      // with a header, or a mapping
)

// Formats are the names that a Format may have.
var Formats = []string{string(Twitter), string(CacheLib), string(Oracle), string(Monitor), string(RocksDB), string(CSV)}

// Columns maps the columns of a CSV recording: by their name in its header, or by their number from 1
// on in a file without one. "" is the usual name, or none.
type Columns struct {
	Time      string `json:"time,omitempty"`
	Operation string `json:"op,omitempty"`
	Key       string `json:"key,omitempty"`
	KeyBytes  string `json:"key_bytes,omitempty"`
	Bytes     string `json:"bytes,omitempty"` // of the value
	TTL       string `json:"ttl,omitempty"`   // in seconds
	Count     string `json:"count,omitempty"` // how many such requests the line stands for
	Unit      string `json:"unit,omitempty"`  // of times: s, ms, us or ns
}

// Units are those of times, in ns.
var units = map[string]int64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// Units are the names of units of time.
var Units = []string{"s", "ms", "us", "ns"}

// errFormat says that no form fits.
var errFormat = errors.New("not a recording of a known form")

// find tells the form of a file by its beginning.
func find(head []byte, c Columns) (Format, error) {
	if c != (Columns{}) {
		return CSV, nil
	}
	if isBinary(head) {
		if looksLikeOracle(head) {
			return Oracle, nil
		}
		return "", fmt.Errorf("%w: it is not text, and not oracleGeneral's records of 24 bytes", errFormat)
	}
	lines := bytes.Split(head, []byte("\n"))
	if len(lines) > 1 {
		lines = lines[:len(lines)-1] // the last one may be cut
	}
	if header := fieldsOf(lines[0]); len(header) > 1 {
		names := lowered(header)
		if slices.Contains(names, "op_time") || slices.Contains(names, "op_count") {
			return CacheLib, nil
		}
		if _, err := mapping(names, Columns{}); err == nil {
			return CSV, nil
		}
	}
	for _, try := range []struct {
		format Format
		parse  parser
	}{{Monitor, monitorLine}, {RocksDB, rocksLine}, {Twitter, twitterLine}} {
		if fits(lines, try.parse) {
			return try.format, nil
		}
	}
	return "", fmt.Errorf("%w: %s; or columns that say which column is what", errFormat, strings.Join(Formats, ", "))
}

// fits reports whether most of the first lines are of a form.
func fits(lines [][]byte, parse parser) bool {
	const looked = 100
	good, seen := 0, 0
	var out []Request
	for _, line := range lines[:min(len(lines), looked)] {
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
			continue
		}
		seen++
		var why string
		if out, why = parse(line, out[:0]); why == "" || len(out) > 0 || strings.HasPrefix(why, leftWord) {
			good++
		}
	}
	return good > 0 && 2*good > seen
}

func isBinary(head []byte) bool { return bytes.IndexByte(head[:min(len(head), 4096)], 0) >= 0 }

func fieldsOf(line []byte) (fields []string) {
	line = bytes.TrimPrefix(bytes.TrimSuffix(line, []byte("\r")), []byte("\ufeff"))
	for _, field := range bytes.Split(line, []byte(",")) {
		fields = append(fields, strings.Trim(strings.TrimSpace(string(field)), `"`))
	}
	return fields
}

func lowered(words []string) (all []string) {
	for _, word := range words {
		all = append(all, strings.ToLower(word))
	}
	return all
}
