package read_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
)

// What people type for a store, and the arms that it is.
func TestArmsOfACommandLine(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"pebble":                            "[pebble]",
		"pebble[cache_bytes=8MB]":           "[{driver: pebble, options: {cache_bytes: 8MB}}]",
		"pebble?cache_bytes=8MB&wal=false":  "[{driver: pebble, options: {cache_bytes: 8MB, wal: false}}]",
		"pebble[cache_bytes=8MB,wal=false]": "[{driver: pebble, options: {cache_bytes: 8MB, wal: false}}]",
		"pebble[cache_bytes=8MB,64MB]":      "[{driver: pebble, name: pebble-8MB, options: {cache_bytes: 8MB}}, {driver: pebble, name: pebble-64MB, options: {cache_bytes: 64MB}}]",
		"pebble pebble[cache_bytes=64MB]":   "[pebble, {driver: pebble, name: pebble-64MB, options: {cache_bytes: 64MB}}]",
		"etcd@start[server.count=1,3]":      "[{driver: etcd, name: etcd-1, server: {start: true, count: 1}}, {driver: etcd, name: etcd-3, server: {start: true, count: 3}}]",
		"redis@start[server.io_threads=4,server.settings.hash-max.entries=9,tls=true]": "[{driver: redis, server: {start: true, options: {io_threads: 4}, settings: {hash-max.entries: 9}}, options: {tls: true}}]",
		"redis@start?server.replicas=1&server.options.io_threads=2":                    "[{driver: redis, server: {start: true, replicas: 1, options: {io_threads: 2}}}]",
		"redis@git=../redis:v7[server.build.make=make]":                                `[{driver: redis, name: redis-v7, server: {start: true, build: {git: "../redis", commit: "v7", make: make}}}]`,
		"redis@127.0.0.1:1[server.count=3]":                                            `[{driver: redis, server: {count: 3}, endpoints: ["127.0.0.1:1"]}]`,
		"redis@start[maxmemory=1GB]":                                                   "[{driver: redis, server: start, options: {maxmemory: 1GB}}]",
		"redis[client=go-redis]@127.0.0.1:6379":                                        `[{driver: redis, endpoints: ["127.0.0.1:6379"], options: {client: go-redis}}]`,
		"redis@[::1]:6379":                                                             `[{driver: redis, endpoints: ["[::1]:6379"]}]`,
		"redis@localhost":                                                              `[{driver: redis, endpoints: ["localhost:6379"]}]`,
		"redis://127.0.0.1":                                                            `[{driver: redis, endpoints: ["127.0.0.1:6379"]}]`,
		"rediss://cache.example:6380/2":                                                `[{driver: redis, endpoints: ["cache.example:6380"], options: {tls: true, database: 2}}]`,
		"redis@/run/redis.sock":                                                        `[{driver: redis, endpoints: ["/run/redis.sock"]}]`,
		"redis@unix:///run/redis.sock?database=1":                                      `[{driver: redis, endpoints: ["/run/redis.sock"], options: {database: 1}}]`,
		"redis+unix:///run/redis.sock":                                                 `[{driver: redis, endpoints: ["/run/redis.sock"]}]`,
		"redis-socket:///run/redis.sock":                                               `[{driver: redis, endpoints: ["/run/redis.sock"]}]`,
		"unix:///run/redis.sock?db=2":                                                  `[{driver: redis, endpoints: ["/run/redis.sock"], options: {database: 2}}]`,
		"unix:///run/mysqld/mysqld.sock":                                               `[{driver: mariadb, name: mysql, endpoints: ["/run/mysqld/mysqld.sock"]}]`,
		"valkey@/run//valkey.sock":                                                     `[{driver: redis, name: valkey, endpoints: ["/run/valkey.sock"]}]`,
		"memcached@/run/m.sock[protocol=meta]":                                         `[{driver: memcached, endpoints: ["/run/m.sock"], options: {protocol: meta}}]`,
		"postgres@/var/run/postgresql":                                                 `[{driver: postgres, endpoints: ["/var/run/postgresql/.s.PGSQL.5432"]}]`,
		"pg@/tmp/.s.PGSQL.5433":                                                        `[{driver: postgres, endpoints: ["/tmp/.s.PGSQL.5433"]}]`,
		"postgresql:///db?host=/tmp&port=5433":                                         `[{driver: postgres, endpoints: ["/tmp/.s.PGSQL.5433"], options: {database: db}}]`,
		"postgresql://%2Ftmp/db":                                                       `[{driver: postgres, endpoints: ["/tmp/.s.PGSQL.5432"], options: {database: db}}]`,
		"postgresql://db.example":                                                      `[{driver: postgres, endpoints: ["db.example:5432"]}]`,
		"mongo@127.0.0.1:27017":                                                        `[{driver: mongodb, endpoints: ["127.0.0.1:27017"]}]`,
		"sqlite3":                                                                      "[sqlite]",
		"mysql@127.0.0.1:3306":                                                         `[{driver: mariadb, name: mysql, endpoints: ["127.0.0.1:3306"]}]`,
		"valkey@start":                                                                 `[{driver: redis, name: valkey, server: {start: true, program: "valkey-server"}}]`,
		"redict@start":                                                                 `[{driver: redis, name: redict, server: {start: true, program: "redict-server"}}]`,
		"redis@git=../redis:v7.2.4":                                                    `[{driver: redis, name: redis-v7.2.4, server: {start: true, build: {git: "../redis", commit: "v7.2.4"}}}]`,
		"redis@git=../redis":                                                           `[{driver: redis, server: {start: true, build: {git: "../redis"}}}]`,
		"dragonfly@127.0.0.1:6379":                                                     `[{driver: redis, name: dragonfly, endpoints: ["127.0.0.1:6379"]}]`,
		"redis@start redis@start=/opt/8/bin/serv":                                      `[{driver: redis, server: start}, {driver: redis, name: redis-8, server: {start: true, program: "/opt/8/bin/serv"}}]`,
	} {
		source, err := read.Quick(strings.Fields(arguments), nil, "", nil, nil)
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

// An argument that is no arm is refused in a sentence without passwords.
func TestArgumentsThatAreNoArms(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		"pebble[cache_bytes=8MB":                 "the bracket is not closed",
		"pebble[8MB]":                            "is no option of an arm",
		"pebble[a=1]?b=2":                        "not both",
		"redis@git=":                             "expected the server's source",
		"redis@start=":                           "expected the server's program",
		"mysql@start":                            "Assay can't start mysql",
		"dragonfly@start":                        "Assay can't start dragonfly",
		"postgresql://u:hunter2@localhost/bench": "?user=USER",
		"redis://":                               "no address of a server",
		"unix:///tmp/x.sock":                     "does not say which store listens there",
		"unix://u:hunter2@/run/redis.sock":       "credentials_env=ASSAY_LOGIN",
	} {
		_, err := read.Quick([]string{argument}, nil, "", nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", argument, err, want)
		}
	}
}

// products are programs that speak one protocol, by what is named: product and version.
var products = map[string][2]string{
	"": {"redis", "7.0.15"}, "/opt/r8/bin/redis": {"redis", "8.2.3"}, "/opt/r704/bin/redis": {"redis", "7.0.4"}, "/opt/mine/bin/redis": {"redis", "7.0.15"},
	"/opt/v9": {"valkey", "9.1.2"}, "/opt/v8": {"valkey", "8.0"},
}

func programsThatTell(driver string) (experiment.Program, bool) {
	return experiment.Program{Identify: func(binary string) (product, version string, err error) {
		told, known := products[binary]
		if !known {
			return "", "", errors.New("it tells nothing")
		}
		return told[0], told[1], nil
	}}, driver == "redis"
}

// Arms of one driver with different programs are named by what these tell, as far as it is needed.
func TestArmsAreNamedByTheirPrograms(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"redis@start":                               "redis",
		"redis@start=/opt/v9":                       "valkey",
		"redis@start redis@start=/opt/v9":           "redis valkey",
		"redis@start redis@start=/opt/r8/bin/redis": "redis-7.0 redis-8.2",
		"redis@start=/opt/v8 redis@start=/opt/v9":   "valkey-8.0 valkey-9.1",
		"redis@start redis@start=/opt/r704/bin/redis redis@start=/opt/r8/bin/redis": "redis-7.0.15 redis-7.0.4 redis-8.2",
		"redis@start redis@start=/opt/mine/bin/redis":                               "redis-7.0.15 redis-7.0.15-mine",
		"redis@start redis@start[io_threads=4]":                                     "redis redis-4",
		"redis@start redis@start=/opt/unknown/bin/x":                                "redis-7.0 redis",
	} {
		source, err := read.Quick(strings.Fields(arguments), nil, "", nil, programsThatTell)
		if err != nil {
			t.Errorf("%s: %v", arguments, err)
			continue
		}
		name := "name: " + strings.ReplaceAll(want, " ", "-") + "\n"
		if !strings.HasPrefix(string(source.Text), name) {
			t.Errorf("%s: want %q in\n%s", arguments, name, source.Text)
		}
	}
}
