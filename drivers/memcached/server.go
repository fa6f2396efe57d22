package memcached

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"assay/drivers/internal/wire"
	"assay/internal/execution/server"
	"assay/store"
)

// Program is the memcached server. Its settings are those of memcached(1) and of `stats settings`.
var Program = server.Program{
	Driver:   "memcached",
	Binaries: []string{"memcached"},
	Tells:    regexp.MustCompile(`^memcached `),
	Packages: []string{"memcached"},
	Builds:   server.Recipe{Make: `./autogen.sh && ./configure && make -j"$(nproc)"`, Programs: []string{"memcached"}},
	Several:  server.Independent,
	InMemory: true,
	// Asked to end, it waits for the next tick of its clock, up to a second.
	StopSignal: syscall.SIGKILL,
	NotAsRoot:  []string{"memcache", "nobody"},
	Open: "several of its clients and protocols know no login, and all are measured on the same server; others can read, " +
		"write and flush what it holds, and no file",
	Options: append([]store.Option{
		{Name: "memory_bytes", Type: store.Bytes, Default: "64MiB", Help: "memory for items (-m): whole MiB; a full server evicts"},
		{Name: "threads", Type: store.Int, Default: "4", Help: "threads that serve connections (-t)",
			Tune: "linear 1 8"},
		{Name: "item_bytes_max", Type: store.Bytes, Default: "1MiB", Help: "longest item, key and header included (-I)"},
		{Name: "connections_max", Type: store.Int, Default: "1024", Help: "connections at once (-c)"},
		{Name: optionUDP, Type: store.Bool, Default: "false", Help: "also answer by UDP, at the same port (-U); not together with TLS or a login"},
		{Name: optionLoginBy, Type: store.Choice, Default: "text", Choices: []string{"text", "sasl"},
			Help: "how a login is demanded. text: by the text protocol (-Y); sasl: by SASL (-S), and the binary protocol is then the only one. It needs " + saslInstall},
		server.SocketOption(),
	}, server.GuardOptions(false)...),
	Asked: func(i *server.Instance) map[string]string {
		asked := map[string]string{
			"maxbytes": fmt.Sprint(i.Options.Bytes("memory_bytes")), "num_threads": i.Options["threads"],
			"item_size_max": fmt.Sprint(i.Options.Bytes("item_bytes_max")), "maxconns": i.Options["connections_max"],
			"udpport": strconv.Itoa(udpPort(i)),
		}
		if i.AtSocket() {
			asked["domain_socket"], asked["umask"] = i.Endpoint(), socketMode
		} else {
			asked["tcpport"], asked["inter"] = strconv.Itoa(i.Port), server.Host
		}
		if i.Guard.Certificate != "" {
			asked["ssl_enabled"] = "yes"
		}
		switch {
		case bySASL(i):
			asked["auth_enabled_sasl"], asked["binding_protocol"] = "yes", "binary"
		case i.Guard.Credentials != "":
			asked["auth_enabled_ascii"] = i.Guard.Credentials
		}
		return asked
	},
	Prepare: func(ctx context.Context, i *server.Instance) error {
		if i.Options.Bool(optionUDP) && (i.Guard != (server.Guard{}) || i.AtSocket()) {
			return fmt.Errorf("memcached has no TLS, no login and no Unix socket by UDP: %w", store.ErrRefused)
		}
		if bySASL(i) {
			return prepareSASL(ctx, i)
		}
		return nil
	},
	Command: func(i *server.Instance) (arguments, environment []string) {
		if i.AtSocket() {
			arguments = []string{"-s", i.Endpoint(), "-a", "0" + socketMode}
		} else {
			arguments = []string{"-l", server.Host, "-p", strconv.Itoa(i.Port), "-U", strconv.Itoa(udpPort(i))}
		}
		arguments = append(arguments, "-m", fmt.Sprint(i.Options.Bytes("memory_bytes")>>20), "-t", i.Options["threads"],
			"-I", fmt.Sprint(i.Options.Bytes("item_bytes_max")), "-c", i.Options["connections_max"])
		if i.Guard.Certificate != "" {
			arguments = append(arguments, "-Z", "-o", "ssl_chain_cert="+i.Guard.Certificate+",ssl_key="+i.Guard.Key)
		}
		switch {
		case bySASL(i):
			return append(arguments, "-S"), []string{"SASL_CONF_PATH=" + i.Directory}
		case i.Guard.Credentials != "":
			arguments = append(arguments, "-Y", i.Guard.Credentials)
		}
		return arguments, nil
	},
	ListensUDP: func(i *server.Instance) bool { return i.Options.Bool(optionUDP) },
	Ready: func(ctx context.Context, i *server.Instance) error {
		_, err := ask(ctx, i, "")
		return err
	},
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		return ask(ctx, i, "settings")
	},
}

const (
	optionUDP     = "udp"
	optionLoginBy = "login_by"
	socketMode    = "700" // octal: of the Unix socket's file
)

// udpPort is that of TCP; 0: none.
func udpPort(i *server.Instance) int {
	if i.Options.Bool(optionUDP) {
		return i.Port
	}
	return 0
}

// ask sends a stats command over a connection of its own.
func ask(ctx context.Context, i *server.Instance, group string) (told map[string]string, err error) {
	access, err := wire.Admitted(i.Guard.DriverOptions())
	if err != nil {
		return nil, err
	}
	speaks := textProtocol
	if bySASL(i) {
		speaks = binaryProtocol
	}
	c := newConnection(i.Endpoint(), time.Second, access, protocols[speaks])
	if err := c.Dial(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	told = map[string]string{}
	err = c.stats(group, func(name, value string) { told[name] = value })
	return told, err
}
