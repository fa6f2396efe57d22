package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/internal/execution/server"
	"assay/store"
)

// Program is the PostgreSQL server. Its superuser can't log in: over the network it could run
// programs. The role of the user who runs Assay can, by a password, from this machine, and owns no
// more than the database.
var Program = server.Program{
	Driver:   "postgres",
	Binaries: []string{"/usr/lib/postgresql/*/bin/postgres", "postgres", "/usr/pgsql-*/bin/postgres"},
	Tells:    regexp.MustCompile(`^postgres \(`),
	Packages: []string{"postgresql"},
	Builds: server.Recipe{Make: `./configure --prefix="$PWD/installed" --without-readline --without-icu && make -j"$(nproc)" -s install`,
		Programs: []string{"installed/bin/postgres"}}, // which finds its other files from where it stands
	NotAsRoot:   []string{"postgres", "nobody"},
	StopSignal:  syscall.SIGQUIT, // at once: nothing is kept
	DeathSignal: syscall.SIGQUIT, // a kill would leave its shared memory
	AnySetting:  true,
	Replicates:  true,
	Credentials: func(g server.Guard) (option, text string) { return "password_file", "*:*:*:*:" + g.Password },
	Options: []store.Option{
		{Name: "shared_buffers_bytes", Type: store.Bytes, Default: "128MiB", Help: "shared_buffers: the server's page cache; a quarter of the memory is usual for a tuned server",
			Tune: "log 16MiB 1GiB"},
		{Name: "max_wal_bytes", Type: store.Bytes, Default: "1GiB", Help: "max_wal_size: log between two checkpoints"},
		{Name: "connections_max", Type: store.Int, Default: "100", Help: "max_connections"},
		{Name: "fsync", Type: store.Bool, Default: "true", Help: "fsync: false for D1, where nothing is synced"},
		{Name: "full_page_writes", Type: store.Bool, Default: "true", Help: "full_page_writes: D3 needs them"},
		server.LoginOption(true),
		server.SocketOption(),
	},
	Class: func(class store.Durability) (map[string]string, bool) {
		_, reached := needs[class]
		return map[string]string{"fsync": strconv.FormatBool(class != store.D1)}, reached
	},
	Socket: func(i *server.Instance) string { return socketName + strconv.Itoa(i.Port) },
	Asked: func(i *server.Instance) map[string]string {
		asked := map[string]string{
			"shared_buffers": kilobytes(i, "shared_buffers_bytes"), "max_wal_size": megabytes(i, "max_wal_bytes"),
			"max_connections": i.Options["connections_max"], "fsync": i.Options["fsync"], "full_page_writes": i.Options["full_page_writes"],
			"listen_addresses": server.Host, "port": strconv.Itoa(i.Port), "unix_socket_directories": "",
		}
		if i.AtSocket() { // it goes into the directory of its data, which is in the server's own
			asked["listen_addresses"], asked["unix_socket_directories"], asked["unix_socket_permissions"] = "", "..", "0700"
		}
		return asked
	},
	Initial: &server.Initial{Directory: dataName, Make: func(ctx context.Context, i *server.Instance) error {
		initdb := filepath.Join(filepath.Dir(i.Binary), "initdb")
		return i.Run(ctx, initdb, "-D", dataDirectory(i), "-U", superuser, "-A", "reject", "-E", "UTF8", "--locale=C", "-N")
	}},
	Prepare: func(ctx context.Context, i *server.Instance) error {
		if i.Primary != nil {
			return copyPrimary(ctx, i)
		}
		return letIn(ctx, i)
	},
	Command: func(i *server.Instance) (arguments, environment []string) {
		arguments = []string{"-D", dataDirectory(i)}
		for name, value := range i.Asked {
			arguments = append(arguments, "-c", name+"="+value)
		}
		return arguments, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		if i.Primary == nil {
			_, err := ask(ctx, i, "SELECT 1, 1")
			return err
		}
		told, err := ask(ctx, i, "SELECT 'receives', coalesce((SELECT status FROM pg_stat_wal_receiver), 'nothing')")
		if err == nil && told["receives"] != "streaming" {
			err = fmt.Errorf("the standby's receiver of the log is %q, expected streaming", told["receives"])
		}
		return err
	},
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		return ask(ctx, i, "SHOW ALL")
	},
	Same: same,
}

const (
	dataName  = "data"
	superuser = "assay_superuser"
	follower  = "assay_follower" // by whom standbys get the log
)

// letIn makes the roles that log in, and says how they do.
func letIn(ctx context.Context, i *server.Instance) error {
	data := dataDirectory(i)
	role, err := ownRole(i)
	if err != nil {
		return err
	}
	login, how := "LOGIN", "trust"
	if i.Guard.Password != "" {
		verifier, err := verifier(i.Guard.Password)
		if err != nil {
			return err
		}
		login, how = "LOGIN PASSWORD '"+verifier+"'", "password"
	}
	text := fmt.Sprintf("CREATE ROLE %s %s;\nGRANT CREATE ON DATABASE postgres TO %[1]s;\nGRANT pg_monitor TO %[1]s;\n",
		role, login)
	if i.Replicas > 0 {
		text += fmt.Sprintf("CREATE ROLE %s REPLICATION %s;\n", follower, login)
	}
	script := filepath.Join(i.Directory, "roles.sql")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		return err
	}
	access := fmt.Sprintf("host all %s %s/32 %s\n", role, server.Host, how)
	if i.AtSocket() {
		access = fmt.Sprintf("local all %s %s\n", role, how)
	}
	if i.Replicas > 0 {
		access += fmt.Sprintf("host replication %s %s/32 %s\n", follower, server.Host, how)
	}
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(access), 0o644); err != nil {
		return err
	}
	return i.Run(ctx, "sh", "-c", `exec "$1" --single -D "$2" postgres < "$3"`, "sh", i.Binary, data, script)
}

// copyPrimary makes a standby of the primary's files, which it copies while that one runs.
func copyPrimary(ctx context.Context, i *server.Instance) error {
	from := fmt.Sprintf("host=%s port=%d user=%s sslmode=disable", i.Primary.Host, i.Primary.Port, follower)
	if i.Guard.Credentials != "" {
		from += " passfile=" + quoted(i.Guard.Credentials)
	}
	program := filepath.Join(filepath.Dir(i.Binary), "pg_basebackup")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("a standby needs pg_basebackup beside %s: %w", i.Binary, server.ErrNotInstalled)
	}
	return i.Run(ctx, program, "-D", dataDirectory(i), "-d", from, "-X", "stream", "-c", "fast", "-R", "--no-sync")
}

func dataDirectory(i *server.Instance) string { return filepath.Join(i.Directory, dataName) }

func kilobytes(i *server.Instance, option string) string {
	return strconv.FormatInt(i.Options.Bytes(option)>>10, 10) + "kB"
}

func megabytes(i *server.Instance, option string) string {
	return strconv.FormatInt(i.Options.Bytes(option)>>20, 10) + "MB"
}

// own is how the user who runs Assay connects, as the driver does.
func own(i *server.Instance) (*pgconn.Config, error) {
	at := server.Host
	if i.AtSocket() {
		at = quoted(i.Directory)
	}
	text := fmt.Sprintf("host=%s port=%d dbname=postgres sslmode=disable", at, i.Port)
	if i.Guard.Credentials != "" {
		text += " passfile=" + quoted(i.Guard.Credentials)
	}
	config, err := pgconn.ParseConfig(text)
	if err == nil {
		config.BuildFrontend = frontend
	}
	return config, err
}

// verifier is what the server keeps of a password, which is then sent as it is, and never stored: the
// server hashes it at each connection. Of one that can't be guessed one round is enough, where 4,096, the
// server's own number, would cost a connection milliseconds.
func verifier(password string) (string, error) {
	const rounds = 1
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return "", err
	}
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", rounds, encode(salt), encode(stored[:]), encode(sign("Server Key"))), nil
}

// ownRole is quoted.
func ownRole(i *server.Instance) (string, error) {
	config, err := own(i)
	if err != nil {
		return "", err
	}
	return `"` + strings.ReplaceAll(config.User, `"`, `""`) + `"`, nil
}

// ask returns the first two columns of an answer's rows.
func ask(ctx context.Context, i *server.Instance, text string) (told map[string]string, err error) {
	config, err := own(i)
	if err != nil {
		return nil, err
	}
	c, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	results, err := c.Exec(ctx, text).ReadAll()
	if err != nil {
		return nil, err
	}
	told = map[string]string{}
	for _, row := range results[0].Rows {
		told[string(row[0])] = string(row[1])
	}
	return told, nil
}

// units of settings: https://www.postgresql.org/docs/15/config-setting.html.
var units = map[string]float64{
	"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
	"us": 1e-3, "ms": 1, "s": 1e3, "min": 60e3, "h": 3600e3, "d": 86400e3,
}

// same says if two texts of a setting mean the same, whatever their units.
func same(_, asked, told string) bool {
	return meaning(asked) == meaning(told)
}

func meaning(text string) string {
	switch text = strings.TrimSpace(text); strings.ToLower(text) {
	case "on", "true", "yes":
		return "on"
	case "off", "false", "no":
		return "off"
	}
	digits := strings.TrimRight(text, "BkMGTusminhd")
	unit, known := units[text[len(digits):]]
	number, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !known || err != nil {
		return text
	}
	return strconv.FormatFloat(number*unit, 'g', -1, 64)
}
