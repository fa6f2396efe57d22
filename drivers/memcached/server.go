package memcached

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"assay/drivers/internal/wire"
	"assay/internal/server"
	"assay/store"
)

// Program is the memcached server. Its settings are those of memcached(1) and of `stats settings`.
var Program = server.Program{
	Driver:    "memcached",
	Binaries:  []string{"memcached"},
	Packages:  []string{"memcached"},
	InMemory:  true,
	NotAsRoot: []string{"memcache", "nobody"},
	Options: append([]store.Option{
		{Name: "memory_bytes", Type: store.Bytes, Default: "64MiB", Help: "memory for items (-m): whole MiB; a full server evicts"},
		{Name: "threads", Type: store.Int, Default: "4", Help: "threads that serve connections (-t)"},
		{Name: "item_bytes_max", Type: store.Bytes, Default: "1MiB", Help: "longest item, key and header included (-I)"},
		{Name: "connections_max", Type: store.Int, Default: "1024", Help: "connections at once (-c)"},
	}, server.GuardOptions()...),
	Asked: func(i *server.Instance) map[string]string {
		asked := map[string]string{
			"maxbytes": fmt.Sprint(i.Options.Bytes("memory_bytes")), "num_threads": i.Options["threads"],
			"item_size_max": fmt.Sprint(i.Options.Bytes("item_bytes_max")), "maxconns": i.Options["connections_max"],
			"tcpport": strconv.Itoa(i.Port), "udpport": "0", "inter": server.Host,
		}
		if i.Guard.Certificate != "" {
			asked["ssl_enabled"] = "yes"
		}
		if i.Guard.Credentials != "" {
			asked["auth_enabled_ascii"] = i.Guard.Credentials
		}
		return asked
	},
	Command: func(i *server.Instance) (arguments, environment []string) {
		arguments = []string{"-l", server.Host, "-p", strconv.Itoa(i.Port), "-U", "0",
			"-m", fmt.Sprint(i.Options.Bytes("memory_bytes") >> 20), "-t", i.Options["threads"],
			"-I", fmt.Sprint(i.Options.Bytes("item_bytes_max")), "-c", i.Options["connections_max"]}
		if i.Guard.Certificate != "" {
			arguments = append(arguments, "-Z", "-o", "ssl_chain_cert="+i.Guard.Certificate+",ssl_key="+i.Guard.Key)
		}
		if i.Guard.Credentials != "" {
			arguments = append(arguments, "-Y", i.Guard.Credentials)
		}
		return arguments, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		_, err := ask(ctx, i, "stats\r\n")
		return err
	},
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		return ask(ctx, i, "stats settings\r\n")
	},
}

// ask sends a stats command over a connection of its own.
func ask(ctx context.Context, i *server.Instance, request string) (told map[string]string, err error) {
	access, err := wire.Admitted(i.Guard.DriverOptions())
	if err != nil {
		return nil, err
	}
	c := newConnection(i.Endpoint(), time.Second, access)
	if err := c.Dial(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	told = map[string]string{}
	err = c.stats(request, func(name, value string) { told[name] = value })
	return told, err
}
