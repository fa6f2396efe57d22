package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/drivers/internal/wire"
	"assay/internal/execution/server"
	"assay/store"
)

// Program is the Redis server. Its settings are those of redis.conf and CONFIG GET.
var Program = server.Program{
	Driver:     "redis",
	Binaries:   []string{"redis-server", "valkey-server"},
	Others:     []string{"keydb-server", "redict-server"},
	Tells:      regexp.MustCompile(`(?m)^(\w+) server v=`),
	Packages:   []string{"redis-server"},
	Builds:     server.Recipe{Make: `make -j"$(nproc)"`, Programs: []string{"src/redis-server", "src/valkey-server", "src/keydb-server", "src/redict-server"}},
	Several:    server.Cluster,
	PeerPort:   true,
	Replicates: true,
	AnySetting: true,
	NotAsRoot:  []string{"redis", "nobody"},
	MayBeRoot:  true,
	StopSignal: syscall.SIGKILL, // asked to end, it would write a snapshot of what is thrown away
	Options: append([]store.Option{
		{Name: "appendonly", Type: store.Bool, Default: "false", Help: "keep a log of all writes; the durability class sets it"},
		{Name: "appendfsync", Type: store.Choice, Default: "everysec", Choices: []string{"always", "everysec", "no"}, Help: "when the log is synced; the durability class sets it"},
		{Name: "save", Type: store.String, Default: "3600 1 300 100 60 10000", Help: `write a snapshot after "SECONDS CHANGES" pairs; "none": never`},
		{Name: "memory_bytes", Type: store.Bytes, Default: "0", Help: "memory for records (maxmemory); 0: no limit"},
		{Name: "memory_policy", Type: store.Choice, Default: "noeviction", Choices: []string{"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random"},
			Help: "what is done at that limit (maxmemory-policy): refuse writes, or remove records"},
		{Name: "io_threads", Type: store.Int, Default: "1", Help: "threads that read and write sockets (io-threads)",
			Tune: "linear 1 4"},
		{Name: "connections_max", Type: store.Int, Default: "10000", Help: "connections at once (maxclients)"},
		{Name: "cluster", Type: store.Bool, Default: "false",
			Help: "run as a node of a cluster of masters, each with an equal part of the slots (cluster-enabled); several servers always are one"},
		server.SocketOption(),
	}, server.GuardOptions(true)...), // who may say CONFIG SET dir writes files as the server's user
	Class: func(class store.Durability) (options map[string]string, reached bool) {
		policies := map[store.Durability]string{store.D1: "no", store.D2: "everysec", store.D3: "always"}
		if class == store.D0 {
			return map[string]string{"appendonly": "false"}, true
		}
		policy, reached := policies[class]
		return map[string]string{"appendonly": "true", "appendfsync": policy}, reached
	},
	Asked: func(i *server.Instance) map[string]string {
		save := i.Options["save"]
		if save == "none" {
			save = ""
		}
		appendonly := "no"
		if i.Options.Bool("appendonly") {
			appendonly = "yes"
		}
		asked := map[string]string{
			"port": strconv.Itoa(i.Port), "bind": i.Host, "appendonly": appendonly, "appendfsync": i.Options["appendfsync"], "save": save,
			"maxmemory": fmt.Sprint(i.Options.Bytes("memory_bytes")), "maxmemory-policy": i.Options["memory_policy"],
			"io-threads": i.Options["io_threads"], "maxclients": i.Options["connections_max"], "dir": i.Directory,
		}
		if i.AtSocket() {
			asked["port"], asked["unixsocket"], asked["unixsocketperm"] = "0", i.Endpoint(), "700"
		}
		replicates(i, asked)
		if clustered(i) {
			asked["cluster-enabled"], asked["cluster-port"], asked["cluster-announce-ip"] = "yes", strconv.Itoa(i.PeerPort), i.Host
		}
		if i.Guard.Certificate != "" {
			asked["port"], asked["tls-port"], asked["tls-auth-clients"] = "0", strconv.Itoa(i.Port), "no"
			asked["tls-cert-file"], asked["tls-key-file"] = i.Guard.Certificate, i.Guard.Key
		}
		return asked
	},
	// The password is no argument: the process list shows those.
	Prepare: func(_ context.Context, i *server.Instance) error {
		if clustered(i) && i.Replicas > 0 {
			return fmt.Errorf("replicas are of one server, and none of a cluster's nodes: %w", store.ErrRefused)
		}
		if err := refuseTLS(i); err != nil || i.Guard.Credentials == "" {
			return err
		}
		text := "requirepass " + i.Guard.Password + "\n"
		if i.Primary != nil {
			text += "masterauth " + i.Guard.Password + "\n"
		}
		return os.WriteFile(filepath.Join(i.Directory, passwordFile), []byte(text), 0o600)
	},
	Command: func(i *server.Instance) (arguments, environment []string) {
		if i.Guard.Credentials != "" {
			arguments = append(arguments, passwordFile)
		}
		for _, name := range slices.Sorted(maps.Keys(i.Asked)) {
			if name == replicaOf {
				arguments = append(append(arguments, "--"+name), strings.Fields(i.Asked[name])...)
				continue
			}
			arguments = append(arguments, "--"+name, i.Asked[name])
		}
		return arguments, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		err := ask(ctx, i, func(c connection) error {
			if err := c.Begin(); err != nil {
				return err
			}
			c.Request = appendCommand(c.Request[:0], "PING")
			if err := c.Send(); err != nil {
				return err
			}
			if err := c.status("PING", "PONG"); err != nil || i.Primary == nil { // LOADING while it reads its log
				return err
			}
			return following(c)
		})
		if err != nil || !clustered(i) {
			return err
		}
		return join(ctx, i)
	},
	Settings: func(ctx context.Context, i *server.Instance) (settings map[string]string, err error) {
		err = ask(ctx, i, func(c connection) error {
			settings, err = c.config(func(name string) bool {
				_, asked := i.Asked[name]
				return asked || slices.Contains(reported, name)
			})
			return err
		})
		return settings, err
	},
	Same: func(_, asked, told string) bool {
		bytes, ok := memory(asked)
		return asked == told || ok && told == strconv.FormatInt(bytes, 10)
	},
}

// passwordFile is a file of settings, in the directory that the server starts in.
const passwordFile = "password.conf"

// memory reads a number of bytes as redis.conf has it: 1k is 1,000 bytes, and 1kb 1,024. The server
// tells the number alone.
func memory(text string) (bytes int64, ok bool) {
	text = strings.ToLower(text)
	for _, unit := range []struct {
		suffix string
		bytes  int64
	}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1}} {
		if number, cut := strings.CutSuffix(text, unit.suffix); cut {
			n, err := strconv.ParseInt(number, 10, 64)
			return n * unit.bytes, err == nil
		}
	}
	return 0, false
}

// ask talks to the server over a connection of its own.
func ask(ctx context.Context, i *server.Instance, talk func(connection) error) error {
	access, err := wire.Admitted(i.Guard.DriverOptions())
	if err != nil {
		return err
	}
	patience := time.Minute
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = time.Until(deadline)
	}
	c := newConnection(i.Endpoint(), patience, entry{access: access})
	if err := c.Dial(ctx); err != nil {
		return err
	}
	return errors.Join(talk(c), c.Close())
}
