package nats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/execution/server"
	"assay/store"
)

// syncAlways is the value of sync_interval that syncs before each reply.
const syncAlways = "always"

// configurationFile is in the server's directory, where it starts.
const configurationFile = "server.conf"

// Program is the NATS server that is linked into Assay.
var Program = server.Program{
	Driver:           "nats",
	Linked:           true,
	VersionArguments: []string{ServerCommand, "--version"},
	StopSignal:       syscall.SIGKILL, // asked to end, it would sync what is thrown away
	NotAsRoot:        []string{"nats", "nobody"},
	MayBeRoot:        true,
	Credentials: func(g server.Guard) (option, text string) {
		return "password_file", g.User + ":" + g.Password
	},
	Options: []store.Option{
		{Name: "sync_interval", Type: store.String, Default: "2m",
			Help: "time between two syncs of what was written, or always: before each reply; the " +
				"durability class sets it"},
		{Name: "max_payload_bytes", Type: store.Bytes, Default: "1MiB",
			Help: "longest message (max_payload)"},
		{Name: "max_memory_store_bytes", Type: store.Bytes, Default: "0",
			Help: "memory for buckets with memory storage (max_memory_store); 0: the server's own " +
				"choice, three quarters of the machine's"},
		{Name: "max_file_store_bytes", Type: store.Bytes, Default: "0",
			Help: "disk for buckets with file storage (max_file_store); 0: the server's own choice, " +
				"three quarters of what is free"},
		{Name: "connections_max", Type: store.Int, Default: "65536",
			Help: "connections at once (max_connections)"},
		server.LoginOption(true),
	},
	Class: func(class store.Durability) (options map[string]string, reached bool) {
		switch class {
		case store.D0, store.D1:
			return nil, true
		case store.D3:
			return map[string]string{"sync_interval": syncAlways}, true
		}
		return nil, false
	},
	Asked: func(i *server.Instance) map[string]string {
		asked := map[string]string{
			"port": strconv.Itoa(i.Port), "sync_interval": i.Options["sync_interval"],
			"max_payload":     fmt.Sprint(i.Options.Bytes("max_payload_bytes")),
			"max_connections": i.Options["connections_max"], "store_dir": filepath.Join(i.Directory,
				"jetstream"),
		}
		if interval, err := time.ParseDuration(asked["sync_interval"]); err == nil {
			asked["sync_interval"] = interval.String()
		}
		for option, setting := range map[string]string{"max_memory_store_bytes": "max_memory_store",
			"max_file_store_bytes": "max_file_store"} {
			if bytes := i.Options.Bytes(option); bytes > 0 {
				asked[setting] = strconv.FormatInt(bytes, 10)
			}
		}
		return asked
	},
	Prepare: configure,
	Move:    configure,
	Command: func(*server.Instance) (arguments, environment []string) {
		return []string{ServerCommand, "-c", configurationFile}, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		return reach(ctx, i, func(c *nats.Conn) error {
			js, err := jetstream.New(c)
			if err == nil {
				_, err = js.AccountInfo(ctx)
			}
			return err
		})
	},
	Settings: func(ctx context.Context, i *server.Instance) (settings map[string]string, err error) {
		err = reach(ctx, i, func(c *nats.Conn) error {
			told, err := ask(ctx, c)
			settings = told.settings()
			return err
		})
		return settings, err
	},
}

func configure(_ context.Context, i *server.Instance) error {
	return os.WriteFile(filepath.Join(i.Directory, configurationFile), []byte(configuration(i)), 0o600)
}

// configuration is the server's. A user who logs in may store, and ask the server for its numbers; its
// monitoring over HTTP would be a second port.
func configuration(i *server.Instance) string {
	// The server makes a directory jetstream in store_dir. Quoted, a time is not taken for a number:
	// 2m is two million.
	jetStream := []string{
		"store_dir: " + strconv.Quote(i.Directory),
		"sync_interval: " + strconv.Quote(i.Asked["sync_interval"]),
	}
	for _, name := range []string{"max_memory_store", "max_file_store"} {
		if value, asked := i.Asked[name]; asked {
			jetStream = append(jetStream, name+": "+value)
		}
	}
	user, everybody := i.Guard.User, ""
	if i.Guard.Password == "" {
		user, everybody = "assay", "no_auth_user: assay"
	}
	return fmt.Sprintf(`host: %s
port: %d
server_name: assay
max_payload: %s
max_connections: %s
jetstream {
  %s
}
system_account: SYS
accounts {
  SYS: {exports: [{service: %[6]q}]}
  ASSAY: {
    jetstream: enabled
    users: [{user: %[7]q, password: %[8]q}]
    imports: [{service: {account: SYS, subject: %[6]q}}]
  }
}
%[9]s
`, server.Host, i.Port, i.Asked["max_payload"], i.Asked["max_connections"],
		strings.Join(jetStream, "\n  "), varzSubject, user, i.Guard.Password, everybody)
}

// reach talks to the server over a connection of its own.
func reach(ctx context.Context, i *server.Instance, talk func(*nats.Conn) error) error {
	patience := time.Second
	if end, bound := ctx.Deadline(); bound {
		patience = min(patience, max(time.Until(end), time.Millisecond))
	}
	c, err := nats.Connect("nats://"+i.Endpoint(), nats.Timeout(patience), nats.NoReconnect(),
		nats.IgnoreDiscoveredServers(), nats.UserInfo(i.Guard.User, i.Guard.Password))
	if err != nil {
		return errors.Join(failure("connect", err), ctx.Err())
	}
	defer c.Close()
	return talk(c)
}
