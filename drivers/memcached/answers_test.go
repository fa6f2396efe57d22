package memcached

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/drivers/internal/wire"
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

// FuzzMetaLine holds the parser of meta answers to its inverse.
func FuzzMetaLine(f *testing.F) {
	for _, seed := range []string{"VA 5 kkey", "VA 5 kkey c77", "VA 0 kkey", "VA 5 k", "VA 5 kkey ", "VA 5  kkey", "VA 5 kkey c", "EN", "EN kkey"} {
		f.Add([]byte(seed), []byte("key"), false)
		f.Add([]byte(seed), []byte("key"), true)
	}
	f.Fuzz(func(t *testing.T, line, key []byte, withToken bool) {
		length, token, ok := parseMetaLine(line, key, withToken)
		if !ok {
			return
		}
		if isMetaMiss(line, key) {
			t.Errorf("%q is both a value and a miss", line)
		}
		fields := strings.SplitN(string(line), " ", 3)
		want := "k" + string(key)
		if withToken {
			text := strings.TrimSuffix(strings.TrimPrefix(fields[2], want+" c"), " ")
			if n, err := strconv.ParseUint(text, 10, 64); err != nil || n != token {
				t.Errorf("token of %q is %d", line, token)
			}
			want += " c" + text
		}
		if n, err := strconv.Atoi(fields[1]); err != nil || n != length {
			t.Errorf("length of %q is %d", line, length)
		}
		if strings.TrimSuffix(fields[2], " ") != want {
			t.Errorf("accepted %q for key %q", line, key)
		}
	})
}

// FuzzBinaryAnswers lets a server answer anything to each request: nothing may panic or hang, and
// what is taken for a value is what a valid answer has.
func FuzzBinaryAnswers(f *testing.F) {
	frame := func(op opcode, status uint16, extras, key, value string) []byte {
		raw := appendFrame(nil, op, []byte(extras), []byte(key), len(value), 7)
		raw[0] = answerMagic
		binary.BigEndian.PutUint16(raw[6:], status)
		return append(raw, value...)
	}
	for _, seed := range [][]byte{
		frame(opGetK, 0, "\x00\x00\x00\x00", "k", "value"), frame(opGetK, 1, "", "k", ""), frame(opSet, 0, "", "", ""),
		frame(opSet, 2, "", "", "Data exists for key."), frame(opDelete, 1, "", "", "Not found"), frame(opGetK, 0x20, "", "", "Auth failure."),
		frame(opGetK, 0, "", "k", "")[:30], []byte("VALUE k 0 1\r\nv\r\nEND\r\n"), nil,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		for name, operate := range map[string]func(h *handle) error{
			"get": func(h *handle) error {
				got, err := h.Get([]byte("k"), nil)
				if err == nil && !bytes.HasPrefix(answer[headerBytes+int(answer[4]):], append([]byte("k"), got...)) {
					t.Errorf("%q was taken for the value %q", answer, got)
				}
				return err
			},
			"put":    func(h *handle) error { return h.Put([]byte("k"), []byte("v")) },
			"add":    func(h *handle) error { return h.Add([]byte("k"), []byte("v")) },
			"delete": func(h *handle) error { return h.Delete([]byte("k")) },
			"swap":   func(h *handle) error { return h.CompareAndSwap([]byte("k"), []byte("v"), []byte("w")) },
		} {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				_, _ = server.Read(make([]byte, 4096))
				_, _ = server.Write(answer)
			}()
			h := newHandle(newConnection("", time.Minute, wire.Access{}, binaryForm{}))
			h.Use(client)
			err := operate(h)
			if err == nil && (len(answer) < headerBytes || answer[0] != answerMagic || answer[6] != 0 ||
				answer[7] != statusDone) {
				t.Errorf("%s: %q was taken for a success", name, answer)
			}
			_, _ = io.Copy(io.Discard, client)
			if err := h.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
	})
}
