package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/store"
)

// member is one of the servers of an open store. It has a connection of its own, so that a look at
// the statistics waits for no operation, and no operation for it.
type member struct {
	endpoint string
	control  connection
	version  string
	isNode   bool              // of a cluster
	follows  bool              // it is a replica
	info     map[string]string // as it was opened
	held     uint64            // records in the database when it was opened
}

// open learns what the server is, and refuses it where its settings do not give the class. One that may
// be a replica acknowledges nothing if it is one, so that its settings give none.
func (m *member) open(ctx context.Context, timeout time.Duration, c store.Config, mayFollow bool) error {
	connecting, cancel := context.WithTimeout(ctx, timeout) // the control connection's own is longer
	defer cancel()
	if err := m.control.Dial(connecting); err != nil {
		return err
	}
	info, err := m.ask()
	if err != nil {
		return err
	}
	m.info, m.follows = info, info["role"] == "slave"
	if m.follows && (!mayFollow || info["cluster_enabled"] == "1") {
		return fmt.Errorf("redis at %s is a replica: it takes no writes: %w", m.endpoint, store.ErrRefused)
	}
	m.isNode = info["cluster_enabled"] == "1"
	m.version = cmp.Or(info["valkey_version"], info["redis_version"])
	if info["valkey_version"] != "" {
		m.version = "valkey " + m.version
	}
	if m.follows {
		return nil
	}
	config, err := m.config()
	if err != nil {
		return fmt.Errorf("redis at %s does not tell its settings, so that no class is shown: %w (%w)", m.endpoint, err, store.ErrRefused)
	}
	if err := refuseClass(m.endpoint, config, c.Durability, c.LossWindow); err != nil {
		return err
	}
	if err := m.awaitLog(ctx, info, c); err != nil {
		return err
	}
	m.held, err = m.size()
	return err
}

// awaitLog waits at the trial's first opening for a rewrite of the log that is under way. Where
// CONFIG SET appendonly yes began it, nothing is in the log before it ends, and INFO does not report
// such a rewrite from others.
func (m *member) awaitLog(ctx context.Context, info map[string]string, c store.Config) error {
	if c.Durability == store.D0 {
		return nil
	}
	for c.First && (info["aof_rewrite_in_progress"] == "1" || info["aof_rewrite_scheduled"] == "1") {
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis at %s still rewrites its log: %w", m.endpoint, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
		var err error
		if info, err = m.ask(); err != nil {
			return err
		}
	}
	for _, name := range []string{"aof_last_write_status", "aof_last_bgrewrite_status"} {
		if status := info[name]; status != "ok" {
			return fmt.Errorf("redis at %s: its log is not as it should be: %s is %q", m.endpoint, name, status)
		}
	}
	return nil
}

func (m *member) size() (uint64, error) {
	if err := m.control.Begin(); err != nil {
		return 0, err
	}
	m.control.Request = appendCommand(m.control.Request[:0], "DBSIZE")
	if err := m.control.Send(); err != nil {
		return 0, err
	}
	n, err := m.control.integer("DBSIZE", 0, 1<<62)
	return uint64(n), err
}

// flush empties the database; only the option flush_at_open asks for it.
func (m *member) flush() error {
	if err := m.control.Begin(); err != nil {
		return err
	}
	return m.control.ask("FLUSHDB", "FLUSHDB")
}

// ask asks for the server's state: "name:value" lines.
func (m *member) ask() (map[string]string, error) {
	text, err := m.control.text("INFO", "INFO")
	if err != nil {
		return nil, err
	}
	return parseInfo(text), nil
}

func parseInfo(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// reported are the settings that affect what is measured. Others are not reported: passwords are
// among them.
var reported = []string{
	"activedefrag", "active-expire-effort", "aof-use-rdb-preamble", "appendfsync", "appendonly", "auto-aof-rewrite-min-size", "auto-aof-rewrite-percentage",
	"databases", "dynamic-hz", "hash-max-listpack-entries", "hash-max-listpack-value", "hz", "io-threads", "io-threads-do-reads", "lazyfree-lazy-user-del",
	"maxclients", "maxmemory", "maxmemory-policy", "maxmemory-samples", "no-appendfsync-on-rewrite", "proto-max-bulk-len", "rdbcompression", "save",
	"slowlog-log-slower-than", "tcp-backlog", "tls-port",
}

func (m *member) config() (map[string]string, error) {
	return m.control.config(func(name string) bool { return slices.Contains(reported, name) })
}

// config asks for the settings of these names.
func (c connection) config(wanted func(name string) bool) (map[string]string, error) {
	pairs, err := c.told("CONFIG GET", "CONFIG", "GET", "*")
	if err != nil {
		return nil, err
	}
	config := make(map[string]string)
	for pair := range slices.Chunk(pairs.items, 2) {
		if len(pair) == 2 && wanted(pair[0].text) {
			config[pair[0].text] = pair[1].text
		}
	}
	return config, nil
}

// settings are those that it reports now. What it does not report is left out.
func (m *member) settings() map[string]string {
	settings, err := m.config()
	if err != nil {
		settings = make(map[string]string)
	}
	settings["version"] = m.version
	return settings
}
