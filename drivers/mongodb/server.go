package mongodb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/internal/execution/server"
	"assay/store"
)

// Program is mongod.
var Program = server.Program{
	Driver:    "mongodb",
	Binaries:  []string{"mongod"},
	Tells:     regexp.MustCompile(`^db version`),
	Missing:   "Debian has no package; MongoDB's own are in its manual, under Install MongoDB Community Edition",
	NotAsRoot: []string{"mongodb", "nobody"},
	MayBeRoot: true,
	Open: "a login hashes thousands of times at each connection, which would be measured; others can do there what the driver " +
		"can, and end it",
	// Asked to end, it would write a checkpoint of what is thrown away.
	StopSignal: syscall.SIGKILL,
	Options: []store.Option{
		{Name: "cache_bytes", Type: store.Bytes, Default: "0", Help: "WiredTiger's cache (--wiredTigerCacheSizeGB, at least 256MiB); 0: the server's own, half of the memory above 1 GiB"},
	},
	Class: func(class store.Durability) (map[string]string, bool) {
		_, claimed := Driver{}.Describe().Claim(class)
		return nil, claimed
	},
	Asked: func(i *server.Instance) map[string]string {
		asked := map[string]string{"net.bindIp": server.Host, "net.port": strconv.Itoa(i.Port), "storage.dbPath": dataDirectory(i)}
		if cache := i.Options.Bytes("cache_bytes"); cache > 0 {
			asked[cacheSetting] = gibibytes(cache)
		}
		return asked
	},
	Prepare: func(_ context.Context, i *server.Instance) error { return os.Mkdir(dataDirectory(i), 0o700) },
	Command: func(i *server.Instance) (arguments, environment []string) {
		arguments = []string{"--dbpath", dataDirectory(i), "--bind_ip", server.Host, "--port", strconv.Itoa(i.Port),
			"--nounixsocket", "--quiet"}
		if size, given := i.Asked[cacheSetting]; given {
			arguments = append(arguments, "--wiredTigerCacheSizeGB", size)
		}
		return arguments, nil
	},
	Ready: ready,
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		var settings map[string]string
		err := ask(ctx, i, func(client *mongo.Client) error {
			answer, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "getCmdLineOpts", Value: 1}}).Raw()
			if err != nil {
				return err
			}
			settings = map[string]string{}
			for _, path := range [][]string{{"net", "bindIp"}, {"net", "port"}, {"storage", "dbPath"},
				{"storage", "wiredTiger", "engineConfig", "cacheSizeGB"}} {
				value := answer.Lookup(append([]string{"parsed"}, path...)...)
				if word, is := value.StringValueOK(); is {
					settings[joined(path)] = word
				} else if n, is := value.AsFloat64OK(); is {
					settings[joined(path)] = strconv.FormatFloat(n, 'f', -1, 64)
				}
			}
			return nil
		})
		return settings, err
	},
}

const cacheSetting = "storage.wiredTiger.engineConfig.cacheSizeGB"

// FerretProgram is FerretDB on SQLite. It tells nothing of its settings: its process does.
var FerretProgram = server.Program{
	Driver:     "ferretdb",
	Binaries:   []string{"ferretdb"},
	Missing:    "make ferretdb, in Assay's source tree, builds it from its Go module",
	StopSignal: syscall.SIGKILL, // nothing is kept
	NotAsRoot:  []string{"nobody"},
	MayBeRoot:  true,
	Open:       "it has no login of its own on SQLite; others can do there what the driver can",
	Tells:      regexp.MustCompile(`(?m)^version: v`),
	Options: []store.Option{
		{Name: synchronous, Type: store.Choice, Default: "full", Choices: []string{"full", "normal", "off"}, Help: "SQLite's synchronous: off for D1, full for D3; the cell's class sets it"},
		server.SocketOption(),
	},
	Class: func(class store.Durability) (map[string]string, bool) {
		value, reached := map[store.Durability]string{store.D1: "off", store.D3: "full"}[class]
		if !reached {
			return nil, false
		}
		return map[string]string{synchronous: value}, true
	},
	Asked: func(i *server.Instance) map[string]string {
		return map[string]string{"handler": "sqlite", listens(i): i.Endpoint(), synchronous: i.Options[synchronous], journalMode: "wal"}
	},
	Prepare: func(_ context.Context, i *server.Instance) error { return os.Mkdir(dataDirectory(i), 0o700) },
	Command: func(i *server.Instance) (arguments, environment []string) {
		return []string{"--handler=sqlite", "--sqlite-url=file:data/?_pragma=" + synchronous + "(" + i.Options[synchronous] + ")",
			"--listen-addr=", "--" + listens(i) + "=" + i.Endpoint(), "--debug-addr=-", "--state-dir=-", "--telemetry=disable", "--log-level=error"}, nil
	},
	Ready: ready,
	Settings: func(ctx context.Context, i *server.Instance) (settings map[string]string, err error) {
		err = ask(ctx, i, func(client *mongo.Client) error {
			settings, err = ferretSettings(ctx, client, i.Endpoint())
			return err
		})
		return settings, err
	},
}

// listens is FerretDB's flag for where it listens.
func listens(i *server.Instance) string { return "listen-" + listenFlags[store.Network(i.Endpoint())] }

func dataDirectory(i *server.Instance) string { return filepath.Join(i.Directory, "data") }

func gibibytes(bytes int64) string {
	return strconv.FormatFloat(float64(bytes)/(1<<30), 'f', -1, 64)
}

func joined(path []string) string {
	name := path[0]
	for _, part := range path[1:] {
		name += "." + part
	}
	return name
}

// answerPatience bounds one question: a server that has not come up yet is asked again.
const answerPatience = time.Second

func ready(ctx context.Context, i *server.Instance) error {
	return ask(ctx, i, func(client *mongo.Client) error { return client.Ping(ctx, nil) })
}

// ask talks to the server by a client of its own.
func ask(ctx context.Context, i *server.Instance, talk func(*mongo.Client) error) (err error) {
	client, err := mongo.Connect(options.Client().SetHosts([]string{i.Endpoint()}).SetDirect(true).
		SetRetryReads(false).SetServerSelectionTimeout(answerPatience))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Disconnect(ctx)) }()
	if err := talk(client); err != nil {
		return fmt.Errorf("asking %s: %w", i.Program.Driver, err)
	}
	return nil
}
