package read_test

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment/read"
)

// What people type for a store, and the arms that it is.
func TestArmsOfACommandLine(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"pebble":                                  "[pebble]",
		"pebble[cache_bytes=8MB]":                 "[{driver: pebble, options: {cache_bytes: 8MB}}]",
		"pebble?cache_bytes=8MB&wal=false":        "[{driver: pebble, options: {cache_bytes: 8MB, wal: false}}]",
		"pebble[cache_bytes=8MB,wal=false]":       "[{driver: pebble, options: {cache_bytes: 8MB, wal: false}}]",
		"pebble[cache_bytes=8MB,64MB]":            "[{driver: pebble, name: pebble-8MB, options: {cache_bytes: 8MB}}, {driver: pebble, name: pebble-64MB, options: {cache_bytes: 64MB}}]",
		"pebble pebble[cache_bytes=64MB]":         "[pebble, {driver: pebble, name: pebble-64MB, options: {cache_bytes: 64MB}}]",
		"redis@start[maxmemory=1GB]":              "[{driver: redis, server: start, options: {maxmemory: 1GB}}]",
		"redis[client=go-redis]@127.0.0.1:6379":   `[{driver: redis, endpoints: ["127.0.0.1:6379"], options: {client: go-redis}}]`,
		"redis@[::1]:6379":                        `[{driver: redis, endpoints: ["[::1]:6379"]}]`,
		"redis@localhost":                         `[{driver: redis, endpoints: ["localhost:6379"]}]`,
		"redis://127.0.0.1":                       `[{driver: redis, endpoints: ["127.0.0.1:6379"]}]`,
		"rediss://cache.example:6380/2":           `[{driver: redis, endpoints: ["cache.example:6380"], options: {tls: true, database: 2}}]`,
		"postgresql://db.example":                 `[{driver: postgres, endpoints: ["db.example:5432"]}]`,
		"mongo@127.0.0.1:27017":                   `[{driver: mongodb, endpoints: ["127.0.0.1:27017"]}]`,
		"sqlite3":                                 "[sqlite]",
		"mysql@127.0.0.1:3306":                    `[{driver: mariadb, name: mysql, endpoints: ["127.0.0.1:3306"]}]`,
		"valkey@start":                            `[{driver: redis, name: valkey, server: {start: true, program: "valkey-server"}}]`,
		"dragonfly@127.0.0.1:6379":                `[{driver: redis, name: dragonfly, endpoints: ["127.0.0.1:6379"]}]`,
		"redis@start redis@start=/opt/8/bin/serv": `[{driver: redis, server: start}, {driver: redis, name: redis-8, server: {start: true, program: "/opt/8/bin/serv"}}]`,
	} {
		source, err := read.Quick(strings.Fields(arguments), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", arguments, err)
			continue
		}
		lines := strings.Split(string(source.Text), "\n")
		if !slices.Contains(lines, "stores: "+want) {
			t.Errorf("%s: want %s in\n%s", arguments, want, source.Text)
		}
	}
}

// What is no arm is told in a sentence, and no password in it.
func TestArgumentsThatAreNoArms(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		"pebble[cache_bytes=8MB":                 "the bracket is not closed",
		"pebble[8MB]":                            "is no option of an arm",
		"pebble[a=1]?b=2":                        "not both",
		"redis@/run/redis.sock":                  "Unix sockets are not supported",
		"redis@unix:///run/redis.sock":           "Unix sockets are not supported",
		"redis@start=":                           "expected the server's program",
		"mysql@start":                            "Assay can't start mysql",
		"dragonfly@start":                        "Assay can't start dragonfly",
		"postgresql://u:hunter2@localhost/bench": "credentials_env=ASSAY_LOGIN",
		"redis://":                               "no address of a server",
	} {
		_, err := read.Quick([]string{argument}, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", argument, err, want)
		}
	}
}
