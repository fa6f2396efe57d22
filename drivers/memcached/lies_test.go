package memcached_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

// textLies are in the text protocol.
var textLies = drivertest.Protocol{
	Key: keyBehind("get ", "gets "),
	Found: func(key string, value []byte) string {
		return fmt.Sprintf("VALUE %s 0 %d\r\n%s\r\nEND\r\n", key, len(value), value)
	},
	Missed: "END\r\n",
	Failed: []string{"SERVER_ERROR out of memory\r\n", "CLIENT_ERROR bad\r\n", "ERROR\r\n"},
	Garbled: map[string]string{
		"another key":             "VALUE kex 0 5\r\nwrong\r\nEND\r\n",
		"a longer key":            "VALUE key2 0 5\r\nwrong\r\nEND\r\n",
		"no length":               "VALUE key 0\r\nwrong\r\nEND\r\n",
		"length is no number":     "VALUE key 0 5x\r\nwrong\r\nEND\r\n",
		"negative length":         "VALUE key 0 -5\r\nwrong\r\nEND\r\n",
		"length overflows":        "VALUE key 0 99999999999999999999999\r\nwrong\r\nEND\r\n",
		"absurd length":           "VALUE key 0 9999999999\r\nwrong\r\nEND\r\n",
		"too long for the value":  "VALUE key 0 6\r\nwrong\r\nEND\r\n",
		"too short for the value": "VALUE key 0 4\r\nwrong\r\nEND\r\n",
		"a field too many":        "VALUE key 0 5 7\r\nwrong\r\nEND\r\n",
		"no end":                  "VALUE key 0 5\r\nwrong\r\nWHAT\r\n",
		"more than was asked for": "VALUE key 0 5\r\nwrong\r\nVALUE key 0 5\r\nwrong\r\nEND\r\n",
		"line feed alone":         "END\n",
		"empty line":              "\r\n",
		"of a write":              "STORED\r\n",
		"of a write, in part":     "STORE\r\n",
		"of a write, and more":    "STORED \r\n",
		"of another write":        "EXISTS\r\n",
		"endless line":            strings.Repeat("x", 100_000),
	},
	Acknowledged: []string{"of a write"},
}

// believed are lies that gomemcache hands on as answers: the proof in a value shows them.
var believed = []string{"a field too many", "more than was asked for"}

// keyBehind finds the key of a get in a line of text.
func keyBehind(commands ...string) func(request []byte) string {
	return func(request []byte) string {
		for _, command := range commands {
			if rest, ok := strings.CutPrefix(string(request), command); ok {
				return strings.Fields(rest)[0]
			}
		}
		return ""
	}
}

var metaLies = drivertest.Protocol{
	Key: keyBehind("mg "),
	Found: func(key string, value []byte) string {
		return fmt.Sprintf("VA %d k%s\r\n%s\r\n", len(value), key, value)
	},
	Missed: "EN\r\n",
	Failed: []string{"SERVER_ERROR out of memory\r\n", "CLIENT_ERROR bad\r\n"},
	Garbled: map[string]string{
		"another key":      "VA 5 kkex\r\nwrong\r\n",
		"a longer key":     "VA 5 kkey2\r\nwrong\r\n",
		"no key":           "VA 5\r\nwrong\r\n",
		"another key's EN": "EN kkex\r\n",
		"no length":        "VA kkey\r\nwrong\r\n",
		"absurd length":    "VA 9999999999 kkey\r\nwrong\r\n",
		"too short":        "VA 4 kkey\r\nwrong\r\n",
		"a flag too many":  "VA 5 kkey c7\r\nwrong\r\n",
		"text protocol":    "VALUE key 0 5\r\nwrong\r\nEND\r\n",
		"of a write":       "HD\r\n",
	},
	Acknowledged: []string{"of a write"},
}

// answer is a frame of the binary protocol.
func answer(magic, opcode byte, status uint16, extras, key, value string, bodyBytes int) string {
	frame := make([]byte, 24)
	frame[0], frame[1], frame[4] = magic, opcode, byte(len(extras))
	binary.BigEndian.PutUint16(frame[2:], uint16(len(key)))
	binary.BigEndian.PutUint16(frame[6:], status)
	binary.BigEndian.PutUint32(frame[8:], uint32(bodyBytes))
	return string(frame) + extras + key + value
}

const (
	getK  = 0x0c
	flags = "\x00\x00\x00\x00"
)

var binaryLies = drivertest.Protocol{
	Key: func(request []byte) string {
		if request[1] != getK {
			return ""
		}
		return string(request[24:])
	},
	Found: func(key string, value []byte) string {
		return answer(0x81, getK, 0, flags, key, string(value), len(flags)+len(key)+len(value))
	},
	Missed: answer(0x81, getK, 1, "", "", "Not found", 9),
	Failed: []string{
		answer(0x81, getK, 0x82, "", "", "Out of memory", 13),
		answer(0x81, getK, 0x85, "", "", "", 0),
		answer(0x81, getK, 0x82, "", "", strings.Repeat("x", 9000), 9000),
	},
	Garbled: map[string]string{
		"another key":        answer(0x81, getK, 0, flags, "kex", "wrong", 12),
		"no key":             answer(0x81, getK, 0, flags, "", "wrong", 9),
		"a key of 60,000":    answer(0x81, getK, 0, flags, strings.Repeat("k", 60_000), "wrong", 60_009),
		"of a write":         answer(0x81, 1, 0, "", "", "", 0),
		"a request":          answer(0x80, getK, 0, flags, "key", "wrong", 12),
		"a body of nothing":  answer(0x81, getK, 0, flags, "key", "", 3),
		"a body of too much": answer(0x81, getK, 0, flags, "key", "wrong", 1<<31-1),
		"exists":             answer(0x81, getK, 2, "", "", "", 0),
		"text protocol":      "CLIENT_ERROR unauthenticated, and more\r\n",
	},
	Acknowledged: []string{"of a write"},
}

// Fault (values): a server answers with a value of 1 GB where 100 B were stored
// Assay: what is longer than the longest value by 4 MiB is not read: an error with both lengths,
// and a new connection. Less is read, and a wrong value. Libraries have their own bounds: MongoDB
// 48 MB, Cassandra 256 MB, etcd 2 GiB; NATS and Riak none
// With: memcached.TestLies, redis.TestLies, riak.TestLies, tokyotyrant.TestFloods,
// postgres.TestFloods, mariadb.TestFloods, worker.TestReadsWhatItWrote
func TestLies(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open opener) {
		t.Parallel()
		lies := textLies
		if strings.HasSuffix(t.Name(), library) {
			lies.Garbled = maps.Clone(lies.Garbled)
			maps.DeleteFunc(lies.Garbled, func(name, _ string) bool { return slices.Contains(believed, name) })
		}
		drivertest.BearsLies(t, drivertest.StartStandIn(t).Endpoint, lies, drivertest.Opener(open))
	})
}

func TestLiesInOtherProtocols(t *testing.T) {
	t.Parallel()
	endpoint := startServer(t)
	for protocol, lies := range map[string]drivertest.Protocol{"meta": metaLies, "binary": binaryLies} {
		for _, form := range []string{"handle", "lane"} {
			t.Run(protocol+" "+form, func(t *testing.T) {
				drivertest.BearsLies(t, endpoint, lies, func(t *testing.T, endpoint string,
					given map[string]string) (store.Store, store.Handle) {
					given["protocol"] = protocol
					s, h := open(t, endpoint, given)
					if form == "lane" {
						h = drivertest.Async(t, s)
					}
					return s, h
				})
			})
		}
	}
}
