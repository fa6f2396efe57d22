package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/internal/base/bounded"
	"assay/store"
)

// FerretDB tells neither what stands behind it nor how that was opened (its getCmdLineOpts is
// empty). It tells its process, whose arguments and environment the kernel shows. What it was
// started with is what it does: cmd/ferretdb/main.go and
// internal/backends/sqlite/metadata/pool/uri.go of v1.24.2.

// ferretDefaults are the flags that decide a class, with FerretDB's defaults.
var ferretDefaults = map[string]string{"handler": "postgresql", "sqlite-url": "file:data/", "listen-addr": "127.0.0.1:27017", "listen-unix": ""}

// Settings of SQLite on which the class rests, with the defaults that FerretDB or SQLite has.
const (
	synchronous = "synchronous"
	journalMode = "journal_mode"
)

// ferretSettings are those of the FerretDB server at an endpoint of this machine.
func ferretSettings(ctx context.Context, client *mongo.Client, endpoint string) (map[string]string, error) {
	status, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Raw()
	if err != nil {
		return nil, failure("ferretdb", "serverStatus", err)
	}
	version := text(status, "ferretdbVersion")
	if !strings.HasPrefix(version, "v1.") {
		return nil, fmt.Errorf("the server is no FerretDB of version 1 (ferretdbVersion is %q): %w", version, store.ErrRefused)
	}
	process, _ := status.Lookup("pid").AsInt64OK()
	flags, err := ferretFlags(text(status, "host"), process, endpoint)
	if err != nil {
		return nil, fmt.Errorf("FerretDB does not tell its settings, and its process does not show them: %w; expected a server on this machine: %w",
			err, store.ErrRefused)
	}
	settings := map[string]string{"version": version, "handler": flags["handler"], "listen-addr": flags["listen-addr"]}
	if store.Network(endpoint) == "unix" {
		settings["listen-unix"] = flags["listen-unix"]
	}
	if flags["handler"] != "sqlite" {
		return settings, nil
	}
	return settings, sqliteSettings(flags["sqlite-url"], settings)
}

// ferretFlags are the flags of a process, which must be the one that listens at the endpoint.
func ferretFlags(host string, process int64, endpoint string) (map[string]string, error) {
	own, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if host != own {
		return nil, errors.New("it runs on another machine")
	}
	directory := "/proc/" + strconv.FormatInt(process, 10)
	environment, err := bounded.Kernel(directory + "/environ")
	if err != nil {
		return nil, err
	}
	arguments, err := bounded.Kernel(directory + "/cmdline")
	if err != nil {
		return nil, err
	}
	flags := readFlags(strings.Split(string(arguments), "\x00"), strings.Split(string(environment), "\x00"))
	if listens := flags["listen-"+listenFlags[store.Network(endpoint)]]; !samePlace(listens, endpoint) {
		return nil, fmt.Errorf("process %d listens at %s", process, cmp.Or(listens, "no Unix socket"))
	}
	return flags, nil
}

// listenFlags are the ends of FerretDB's flags for where it listens, by the network.
var listenFlags = map[string]string{"tcp": "addr", "unix": "unix"}

// samePlace reports whether what a process listens at may be the endpoint: a port of any host, or a path.
func samePlace(listens, endpoint string) bool {
	if store.Network(endpoint) == "unix" {
		return listens == endpoint
	}
	_, at, errAt := net.SplitHostPort(listens)
	_, port, err := net.SplitHostPort(endpoint)
	return errAt == nil && err == nil && at == port
}

// readFlags reads --NAME=VALUE and --NAME VALUE, and FERRETDB_NAME of the environment, behind which
// the defaults stand.
func readFlags(arguments, environment []string) map[string]string {
	flags := map[string]string{}
	for name, value := range ferretDefaults {
		flags[name] = value
		for _, variable := range environment {
			prefix := "FERRETDB_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "="
			if given, set := strings.CutPrefix(variable, prefix); set {
				flags[name] = given
			}
		}
	}
	for i, argument := range arguments {
		name, long := strings.CutPrefix(argument, "--")
		name, value, joined := strings.Cut(name, "=")
		if !joined && i+1 < len(arguments) {
			value = arguments[i+1]
		}
		if _, known := flags[name]; long && known {
			flags[name] = value
		}
	}
	return flags
}

// sqliteSettings adds what a URL of FerretDB asks SQLite for.
func sqliteSettings(text string, settings map[string]string) error {
	location, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("sqlite-url is no URL: %w", store.ErrRefused) // the error would show all of it
	}
	query := location.Query()
	settings[synchronous], settings[journalMode] = "full", "wal"
	settings["mode"] = query.Get("mode")
	for _, pragma := range query["_pragma"] {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSuffix(pragma, ")")), "(")
		if name == synchronous || name == journalMode {
			settings[name] = value
		}
	}
	if named, number := synchronousNames[settings[synchronous]]; number {
		settings[synchronous] = named
	}
	return nil
}

var synchronousNames = map[string]string{"0": "off", "1": "normal", "2": "full", "3": "extra"}

// ferretClass returns the class that settings give, "" for none, and what another would need.
func ferretClass(settings map[string]string) (gives store.Durability, why string) {
	sync, journal := settings[synchronous], settings[journalMode]
	switch {
	case settings["handler"] != "sqlite":
		return "", fmt.Sprintf("the handler is %s, and only sqlite's settings can be read", settings["handler"])
	case settings["mode"] == "memory":
		return "", "SQLite keeps everything in memory"
	case journal == "off" || journal == "memory":
		return "", fmt.Sprintf("SQLite's journal_mode is %s, and a killed server may leave a damaged file", journal)
	case sync == "full" || sync == "extra":
		return store.D3, "SQLite runs with synchronous=" + sync + "; D1 needs off, by --sqlite-url=file:data/?_pragma=synchronous(off)"
	case sync == "off", sync == "normal" && journal == "wal":
		return store.D1, "SQLite runs with synchronous=" + sync + "; D3 needs full, FerretDB's default"
	}
	return "", fmt.Sprintf("SQLite runs with synchronous=%s and journal_mode=%s; D3 needs full, D1 off", sync, journal)
}
