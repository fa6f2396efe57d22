package memcached

import (
	"bytes"
	"fmt"
	"testing"
)

// FuzzValueLine holds the parser to its inverse: whatever it accepts, written out again, is the
// line.
func FuzzValueLine(f *testing.F) {
	for _, seed := range []string{"VALUE key 0 5", "VALUE key 0 5 77", "VALUE key 4294967295 0", "VALUE  0 5", "VALUE key 0 5 ", "VALUE key 18446744073709551616 5", "END"} {
		f.Add([]byte(seed), []byte("key"), false)
		f.Add([]byte(seed), []byte("key"), true)
	}
	f.Fuzz(func(t *testing.T, line, key []byte, withToken bool) {
		length, token, ok := parseValueLine(line, key, withToken)
		if !ok {
			return
		}
		fields := bytes.Split(bytes.TrimPrefix(line[len("VALUE ")+len(key):], []byte(" ")), []byte(" "))
		want := fmt.Sprintf("VALUE %s %s %s", key, fields[0], fields[1])
		if withToken {
			want += fmt.Sprintf(" %s", fields[2])
			if string(bytes.TrimLeft(fields[2], "0")) != string(bytes.TrimLeft(fmt.Append(nil, token), "0")) {
				t.Errorf("token of %q is %d", line, token)
			}
		}
		if want != string(line) && want+" " != string(line) {
			t.Errorf("accepted %q, which is %q and more", line, want)
		}
		if string(bytes.TrimLeft(fields[1], "0")) != string(bytes.TrimLeft(fmt.Append(nil, length), "0")) {
			t.Errorf("length of %q is %d", line, length)
		}
	})
}
