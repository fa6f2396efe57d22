package tarantool

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/drivers/internal/wire"
	"assay/internal/execution/server"
	"assay/store"
)

// Program is the Tarantool server. Its settings are those of box.cfg.
var Program = server.Program{
	Driver:     "tarantool",
	Binaries:   []string{"tarantool"},
	Tells:      regexp.MustCompile(`(?m)^Tarantool `),
	Packages:   []string{"tarantool"},
	AnySetting: true,
	NotAsRoot:  []string{"tarantool", "nobody"},
	MayBeRoot:  true,
	Options: []store.Option{
		{Name: "wal_mode", Type: store.Choice, Default: "write", Choices: []string{"none", "write", "fsync"},
			Help: "whether all writes are kept in a log, and whether that is synced; the durability class sets it"},
		{Name: "memory_bytes", Type: store.Bytes, Default: "256MiB", Help: "memory for memtx's records (memtx_memory), beyond which writes are refused"},
		{Name: "checkpoint_interval", Type: store.Duration, Default: "1h", Help: "time between two snapshots, in whole seconds; 0s: none but the first"},
		{Name: "messages_max", Type: store.Int, Default: "768", Help: "requests that are worked on at once (net_msg_max)",
			Tune: "log 64 8192"},
		{Name: "readahead_bytes", Type: store.Bytes, Default: "16320", Help: "bytes that are read of a connection at once (readahead)",
			Tune: "log 4KiB 1MiB"},
		server.LoginOption(true), // who may run Lua runs programs as the server's user
		server.SocketOption(),
	},
	Class: func(class store.Durability) (options map[string]string, reached bool) {
		mode, reached := wanted[class]
		return map[string]string{"wal_mode": mode}, reached
	},
	Asked: func(i *server.Instance) map[string]string {
		listen := i.Endpoint()
		if i.AtSocket() {
			listen = "unix/:./" + filepath.Base(i.Endpoint()) // the path may be longer than an address
		}
		return map[string]string{
			"listen": listen, "wal_mode": i.Options["wal_mode"],
			"memtx_memory":        strconv.FormatInt(i.Options.Bytes("memory_bytes"), 10),
			"checkpoint_interval": strconv.FormatFloat(i.Options.Duration("checkpoint_interval").Seconds(), 'f', -1, 64),
			"net_msg_max":         i.Options["messages_max"],
			"readahead":           strconv.FormatInt(i.Options.Bytes("readahead_bytes"), 10),
		}
	},
	Prepare: configure,
	Move:    configure,
	Command: func(*server.Instance) (arguments, environment []string) { return []string{initFile}, nil },
	Ready: func(ctx context.Context, i *server.Instance) error {
		_, err := tell(ctx, i)
		return err
	},
	Settings: tell,
	Same: func(_, asked, told string) bool {
		a, notA := strconv.ParseFloat(asked, 64)
		b, notB := strconv.ParseFloat(told, 64)
		return asked == told || notA == nil && notB == nil && a == b
	},
}

// initFile is what the program runs.
const initFile = "init.lua"

func configure(_ context.Context, i *server.Instance) error {
	return os.WriteFile(filepath.Join(i.Directory, initFile), []byte(initScript(i)), 0o600)
}

// initScript configures the server, makes whom it lets in, and only then lets it listen.
func initScript(i *server.Instance) string {
	var settings strings.Builder
	for _, name := range slices.Sorted(maps.Keys(i.Asked)) {
		if name != "listen" {
			fmt.Fprintf(&settings, "    [%s] = %s,\n", quoted(name), luaValue(i.Asked[name]))
		}
	}
	admit := "box.schema.user.grant('guest', 'super', nil, nil, {if_not_exists = true})"
	if i.Guard.Password != "" {
		admit = fmt.Sprintf("box.schema.user.create(%[1]s, {password = %[2]s, if_not_exists = true})\n"+
			"box.schema.user.grant(%[1]s, 'super', nil, nil, {if_not_exists = true})",
			quoted(i.Guard.User), quoted(i.Guard.Password))
	}
	return fmt.Sprintf(`local settings = {
%s}
settings.feedback_enabled = false -- it would tell its makers that it runs
if not pcall(box.cfg, settings) then
    settings.feedback_enabled = nil -- builds without that have no such setting
    box.cfg(settings)
end
%s
box.cfg{listen = %s}
`, settings.String(), admit, quoted(i.Asked["listen"]))
}

// luaValue is a setting's value: a number, a truth value, or a string.
func luaValue(value string) string {
	if _, err := strconv.ParseFloat(value, 64); err == nil || value == "true" || value == "false" {
		return value
	}
	return quoted(value)
}

// quoted is a string of Lua's, each byte by its number: Go's own quotes have escapes that Lua does not know.
func quoted(s string) string {
	b := []byte{'"'}
	for i := range len(s) {
		b = fmt.Appendf(b, "\\%03d", s[i])
	}
	return string(append(b, '"'))
}

// tell asks the server for its settings over a connection of its own.
func tell(ctx context.Context, i *server.Instance) (map[string]string, error) {
	patience := time.Minute
	if end, bound := ctx.Deadline(); bound {
		patience = max(time.Until(end), time.Millisecond)
	}
	l := &link{endpoint: i.Endpoint(), access: wire.LoginAs(i.Guard.User, i.Guard.Password), timeout: patience}
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // it has told what it was asked
	return settingsOf(l)
}
