package mariadb

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// flushes are the values of innodb_flush_log_at_trx_commit that give a class. 3 syncs more than 1. Of
// 2, a crash of the server takes nothing and a power cut what 0 would lose: it is D1 as well as D2.
var flushes = map[store.Durability][]string{store.D0: {"0"}, store.D1: {"2"}, store.D2: {"0", "2"}, store.D3: {"1", "3"}}

// lossBeyond is what a crash may take beyond innodb_flush_log_at_timeout: the server looks at its
// clock once a second, and a sync takes its time.
const lossBeyond = 2 * time.Second

// durable are what writes that are to survive a power cut need beside the redo log's sync.
// innodb_flush_method nosync never syncs, and O_DIRECT_NO_FSYNC not the files. debug_no_sync is
// told by few servers.
var durable = []sqlkv.Need{
	{Setting: "innodb_doublewrite", Values: []string{"ON", "1"}},
	{Setting: "sync_binlog", Values: []string{"1"}, Only: "log_bin"},
	{Setting: "innodb_flush_method", Values: []string{"O_DIRECT", "fsync", "O_DSYNC"}},
	{Setting: "debug_no_sync", Values: []string{"OFF", "0", ""}},
}

// prove asks the server for the settings on which the class rests. None of them is a session's.
func (d *db) prove() error {
	needs := []sqlkv.Need{
		{Setting: "innodb_flush_log_at_trx_commit", Values: flushes[d.Class]},
		{Setting: "autocommit", Values: []string{"ON", "1"}},
	}
	if d.Class == store.D2 || d.Class == store.D3 {
		needs = append(needs, durable...)
	}
	if err := d.Prove(needs, d.variable); err != nil {
		return err
	}
	if d.Class == store.D2 {
		return d.proveWindow()
	}
	return nil
}

// proveWindow holds T against how often the server syncs its log.
func (d *db) proveWindow() error {
	told, err := d.variable("innodb_flush_log_at_timeout")
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(told)
	if err != nil {
		return fmt.Errorf("the server reports innodb_flush_log_at_timeout %q: %w", told, err)
	}
	return d.ProveWindow(time.Duration(seconds)*time.Second+lossBeyond, "innodb_flush_log_at_timeout="+told)
}

// TellDurability asks for the settings again, and counts syncs: those of the log where the server
// has a counter of its own for them (before 10.8), and otherwise all of InnoDB's.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	evidence, err := store.Evidence(d.prove())
	if err != nil || d.Class != store.D3 {
		return evidence, err
	}
	rows, err := d.rows("SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_os_log_fsyncs', 'Innodb_data_fsyncs')")
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(b[0], a[0]) })
	if err != nil || len(rows) == 0 {
		return evidence, err
	}
	syncs, err := strconv.ParseUint(rows[0][1], 10, 64)
	return evidence.Counted(float64(syncs), rows[0][0], 0), err
}

// variable returns a global setting; "" if the server does not know it.
func (d *db) variable(name string) (string, error) {
	rows, err := d.rows("SHOW GLOBAL VARIABLES LIKE '" + name + "'")
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][1], nil
}

// status returns a counter of the server's.
func (d *db) status(name string) (uint64, error) {
	rows, err := d.rows("SHOW GLOBAL STATUS LIKE '" + name + "'")
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, fmt.Errorf("mariadb: the server does not tell %s", name)
	}
	return strconv.ParseUint(rows[0][1], 10, 64)
}

// syncPatience is many times innodb_flush_log_at_timeout's default.
const syncPatience = time.Minute

// Sync waits until the server says that its log is on disk as far as it was written when Sync
// began: without a sync at each commit, a thread of the server's syncs it once a second.
func (d *db) Sync() error {
	method, err := d.variable("innodb_flush_method")
	if err != nil {
		return err
	}
	if method == "nosync" {
		return errors.New("mariadb: the server runs with innodb_flush_method=nosync: nothing makes its writes durable")
	}
	end, err := d.status("Innodb_lsn_current")
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		flushed, err := d.status("Innodb_lsn_flushed")
		if err != nil || flushed >= end {
			return err
		}
		if time.Since(began) > syncPatience {
			return fmt.Errorf("mariadb: the server has not synced its log in %v", syncPatience)
		}
	}
}
