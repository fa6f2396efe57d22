package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"

	"assay/internal/execution/server"
	"assay/store"
)

// Program is the MariaDB server. Its superuser can't log in over the network, where it could write
// files: only by the socket, in the server's directory, which is closed to others. The user who runs
// Assay can, by a password, from this machine, and may do what the driver needs.
var Program = server.Program{
	Driver:      "mariadb",
	Binaries:    []string{"mariadbd"},
	Tells:       regexp.MustCompile(`-MariaDB`),
	Packages:    []string{"mariadb-server"},
	NotAsRoot:   []string{"mysql", "nobody"},
	StopSignal:  syscall.SIGKILL, // an orderly end writes all pages, and nothing is kept
	AnySetting:  true,
	Credentials: func(g server.Guard) (option, text string) { return "password_file", g.Password },
	Options: []store.Option{
		{Name: "buffer_pool_bytes", Type: store.Bytes, Default: "128MiB", Help: "innodb_buffer_pool_size: the server's page cache; most of the memory is usual for a tuned server",
			Tune: "log 32MiB 2GiB"},
		{Name: "log_file_bytes", Type: store.Bytes, Default: "96MiB", Help: "innodb_log_file_size: a small log makes checkpoints frequent"},
		{Name: "connections_max", Type: store.Int, Default: "151", Help: "max_connections"},
		{Name: "flush_log_at_commit", Type: store.Int, Default: "1", Help: "innodb_flush_log_at_trx_commit: 0 for D0 and D2, 2 for D1, 1 for D3; the cell's class sets it"},
		server.LoginOption(true),
		server.SocketOption(),
	},
	Class: func(class store.Durability) (map[string]string, bool) {
		values, reached := flushes[class]
		if !reached {
			return nil, false
		}
		return map[string]string{"flush_log_at_commit": values[0]}, true
	},
	Socket: func(*server.Instance) string { return filepath.Join(dataName, socketName) },
	Asked: func(i *server.Instance) map[string]string {
		asked := map[string]string{
			"innodb_buffer_pool_size": bytes(i, "buffer_pool_bytes"),
			"innodb_log_file_size":    bytes(i, "log_file_bytes"),
			"max_connections":         i.Options["connections_max"], "innodb_flush_log_at_trx_commit": i.Options["flush_log_at_commit"],
			"bind_address": server.Host, "port": strconv.Itoa(i.Port), "skip_name_resolve": "ON",
		}
		if i.AtSocket() {
			asked["skip_networking"] = "ON"
			delete(asked, "bind_address")
			delete(asked, "port")
		}
		return asked
	},
	Initial: &server.Initial{Directory: dataName,
		On: func(i *server.Instance) string { return bytes(i, "log_file_bytes") },
		Make: func(ctx context.Context, i *server.Instance) error {
			return i.Run(ctx, "mariadb-install-db", "--no-defaults", "--datadir="+dataDirectory(i), "--tmpdir="+i.Directory,
				"--auth-root-authentication-method=socket",
				"--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size="+bytes(i, "log_file_bytes"))
		}},
	Prepare: func(_ context.Context, i *server.Instance) error {
		from, by := server.Host, ""
		if i.AtSocket() {
			from = "localhost"
		}
		name := "'" + strings.ReplaceAll(ownUser(), "'", "''") + "'@'" + from + "'"
		if i.Guard.Password != "" {
			by = " IDENTIFIED BY '" + i.Guard.Password + "'"
		}
		text := fmt.Sprintf("CREATE USER IF NOT EXISTS %s%s;\n"+
			"GRANT CREATE, DROP, INDEX, SELECT, INSERT, UPDATE, DELETE, PROCESS ON *.* TO %[1]s;\n", name, by)
		return os.WriteFile(filepath.Join(i.Directory, "users.sql"), []byte(text), 0o600)
	},
	Command: func(i *server.Instance) (arguments, environment []string) {
		// A server that starts removes temporary tables from its folder for them, also another one's.
		arguments = []string{"--no-defaults", "--datadir=" + dataDirectory(i), "--tmpdir=" + i.Directory, "--socket=" + socketName,
			"--pid-file=" + filepath.Join(i.Directory, "pid"),
			"--init-file=" + filepath.Join(i.Directory, "users.sql")}
		for name, value := range i.Asked {
			arguments = append(arguments, "--"+name+"="+value)
		}
		return arguments, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		_, err := ask(ctx, i, "SELECT 1, 1")
		return err
	},
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		return ask(ctx, i, "SHOW GLOBAL VARIABLES")
	},
	Same: func(_, asked, told string) bool { return meaning(asked) == meaning(told) },
}

// socketName is its Unix socket's, in the directory of its data: it has one also where it is reached by TCP.
const (
	socketName = "socket"
	dataName   = "data"
)

func dataDirectory(i *server.Instance) string { return filepath.Join(i.Directory, dataName) }

func bytes(i *server.Instance, option string) string {
	return strconv.FormatInt(i.Options.Bytes(option), 10)
}

// ask returns the first two columns of an answer's rows, to the user who runs Assay.
func ask(ctx context.Context, i *server.Instance, text string) (told map[string]string, err error) {
	config := mysql.NewConfig()
	at := i.Endpoint()
	config.Net, config.Addr, config.User, config.Logger = store.Network(at), at, ownUser(), &mysql.NopLogger{}
	config.Passwd = i.Guard.Password
	connector, err := connectorOf(config)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, pool.Close()) }()
	rows, err := pool.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	told = map[string]string{}
	for rows.Next() {
		var name, value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		told[name.String] = value.String
	}
	return told, errors.Join(rows.Err(), rows.Close())
}

// meaning normalizes a setting's text: sizes may end in a letter, and switches are words.
func meaning(text string) string {
	switch upper := strings.ToUpper(strings.TrimSpace(text)); upper {
	case "ON", "TRUE", "1":
		return "1"
	case "OFF", "FALSE", "0":
		return "0"
	default:
		digits := strings.TrimRight(upper, "KMGT")
		shift, known := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[upper[len(digits):]]
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || !known {
			return strings.TrimSpace(text)
		}
		return strconv.FormatInt(n<<shift, 10)
	}
}
