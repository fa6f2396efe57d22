package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// synchronousCommit is what a session of a class is set to.
var synchronousCommit = map[store.Durability]string{store.D0: "off", store.D1: "on", store.D2: "off", store.D3: "on"}

// needs are the settings that the server must tell for a class. D0 takes any: its commits are lost
// with the server's process, whatever happens to the log later.
var needs = map[store.Durability][]sqlkv.Need{
	store.D0: {{Setting: "synchronous_commit", Values: []string{"off"}}},
	store.D1: {{Setting: "synchronous_commit", Values: []string{"on"}}, {Setting: "fsync", Values: []string{"off"}}},
	store.D2: {{Setting: "synchronous_commit", Values: []string{"off"}}, {Setting: "fsync", Values: []string{"on"}}, {Setting: "full_page_writes", Values: []string{"on"}}},
	store.D3: {{Setting: "synchronous_commit", Values: []string{"on"}}, {Setting: "fsync", Values: []string{"on"}}, {Setting: "full_page_writes", Values: []string{"on"}}},
}

// writerPeriods is how many periods of the log's writer a commit may wait in memory with
// synchronous_commit=off: https://www.postgresql.org/docs/15/wal-async-commit.html.
const writerPeriods = 3

// TellDurability asks for the settings again, and counts the syncs of the log.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	evidence, err := store.Evidence(d.prove())
	if err != nil || d.Class != store.D3 {
		return evidence, err
	}
	syncs, counter, err := d.walSyncs()
	if err == nil && counter != "" {
		evidence = evidence.Counted(syncs, counter, statisticsLag)
	}
	return evidence, err
}

// statisticsLag is how long a session keeps its counts to itself, in transactions without a pause
// (PGSTAT_MIN_INTERVAL in src/backend/utils/activity/pgstat.c).
const statisticsLag = time.Second

// walSyncs are the syncs that sessions and server processes did of the log; no counter before
// PostgreSQL 14, and where the log is synced by each write(2), of which none is counted.
func (d *db) walSyncs() (syncs float64, counter string, err error) {
	version, err := d.Value("SHOW server_version_num")
	if err != nil {
		return 0, "", err
	}
	method, err := d.Value("SHOW wal_sync_method")
	number, parseErr := strconv.Atoi(version)
	query := "SELECT wal_sync FROM pg_stat_wal"
	switch counter = "pg_stat_wal.wal_sync"; {
	case err != nil || parseErr != nil || number < 140000 || strings.HasPrefix(method, "open_"):
		return 0, "", errors.Join(err, parseErr)
	case number >= 180000:
		counter, query = "pg_stat_io.fsyncs", "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'"
	}
	told, err := d.Value(query)
	if err != nil || told == "" {
		return 0, "", err
	}
	syncs, err = strconv.ParseFloat(told, 64)
	return syncs, counter, err
}

// prove asks the server for the settings on which the class rests.
func (d *db) prove() error {
	if err := d.Prove(needs[d.Class], func(name string) (string, error) { return d.Value("SHOW " + name) }); err != nil {
		return err
	}
	if d.Class == store.D2 {
		return d.proveWindow()
	}
	return nil
}

// proveWindow holds T against how long a commit may wait in the server's memory.
func (d *db) proveWindow() error {
	told, err := d.Value("SELECT setting FROM pg_settings WHERE name = 'wal_writer_delay'") // in ms
	if err != nil {
		return err
	}
	ms, err := strconv.Atoi(told)
	if err != nil {
		return fmt.Errorf("the server reports wal_writer_delay %q: %w", told, err)
	}
	return d.ProveWindow(writerPeriods*time.Duration(ms)*time.Millisecond, "wal_writer_delay="+told+"ms")
}
