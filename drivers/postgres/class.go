package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/store"
)

// synchronousCommit is what a session of a class is set to.
var synchronousCommit = map[store.Durability]string{store.D0: "off", store.D1: "on", store.D2: "off", store.D3: "on"}

// needs are the settings that the server must tell for a class. D0 takes any: its commits are lost
// with the server's process, whatever happens to the log later.
var needs = map[store.Durability][][2]string{
	store.D0: {{"synchronous_commit", "off"}},
	store.D1: {{"synchronous_commit", "on"}, {"fsync", "off"}},
	store.D2: {{"synchronous_commit", "off"}, {"fsync", "on"}, {"full_page_writes", "on"}},
	store.D3: {{"synchronous_commit", "on"}, {"fsync", "on"}, {"full_page_writes", "on"}},
}

// writerPeriods is how many periods of the log's writer a commit may wait in memory with
// synchronous_commit=off: https://www.postgresql.org/docs/15/wal-async-commit.html.
const writerPeriods = 3

// TellDurability asks for the settings again, and counts the syncs of the log.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	evidence, err := store.Evidence(d.prove())
	if err != nil || d.class != store.D3 {
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
	version, err := d.value("SHOW server_version_num")
	if err != nil {
		return 0, "", err
	}
	method, err := d.value("SHOW wal_sync_method")
	number, parseErr := strconv.Atoi(version)
	query := "SELECT wal_sync FROM pg_stat_wal"
	switch counter = "pg_stat_wal.wal_sync"; {
	case err != nil || parseErr != nil || number < 140000 || strings.HasPrefix(method, "open_"):
		return 0, "", errors.Join(err, parseErr)
	case number >= 180000:
		counter, query = "pg_stat_io.fsyncs", "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'"
	}
	told, err := d.value(query)
	if err != nil || told == "" {
		return 0, "", err
	}
	syncs, err = strconv.ParseFloat(told, 64)
	return syncs, counter, err
}

// prove asks the server for the settings on which the class rests.
func (d *db) prove() error {
	for _, need := range needs[d.class] {
		told, err := d.value("SHOW " + need[0])
		if err != nil {
			return err
		}
		if told != need[1] {
			return fmt.Errorf("the server runs with %s=%s, and %s needs %s=%s: %w",
				need[0], told, d.class, need[0], need[1], store.ErrRefused)
		}
	}
	if d.class == store.D2 {
		return d.proveWindow()
	}
	return nil
}

// proveWindow holds T against how long a commit may wait in the server's memory.
func (d *db) proveWindow() error {
	told, err := d.value("SELECT setting FROM pg_settings WHERE name = 'wal_writer_delay'") // in ms
	if err != nil {
		return err
	}
	ms, err := strconv.Atoi(told)
	if err != nil {
		return fmt.Errorf("the server tells wal_writer_delay %q: %w", told, err)
	}
	if d.lossMax = writerPeriods * time.Duration(ms) * time.Millisecond; d.window < d.lossMax {
		return fmt.Errorf("D2(%v): with wal_writer_delay=%vms a crash loses what came in the last %v: expected D2(%v) or more: %w",
			d.window, ms, d.lossMax, d.lossMax, store.ErrRefused)
	}
	return nil
}
