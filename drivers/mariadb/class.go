package mariadb

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/store"
)

// flushes are the values of innodb_flush_log_at_trx_commit that give a class. 3 syncs more than 1. Of
// 2, a crash of the server takes nothing and a power cut what 0 would lose: it is D1 as well as D2.
var flushes = map[store.Durability][]string{store.D0: {"0"}, store.D1: {"2"}, store.D2: {"0", "2"}, store.D3: {"1", "3"}}

// lossBeyond is what a crash may take beyond innodb_flush_log_at_timeout: the server looks at its
// clock once a second, and a sync takes its time.
const lossBeyond = 2 * time.Second

// need is a setting that a class rests on.
type need struct {
	variable string
	values   []string
	only     string // this variable must be ON for it to matter
}

// durable are what writes that are to survive a power cut need beside the redo log's sync.
// innodb_flush_method nosync never syncs, and O_DIRECT_NO_FSYNC not the files. debug_no_sync is
// told by few servers.
var durable = []need{
	{variable: "innodb_doublewrite", values: []string{"ON", "1"}},
	{variable: "sync_binlog", values: []string{"1"}, only: "log_bin"},
	{variable: "innodb_flush_method", values: []string{"O_DIRECT", "fsync", "O_DSYNC"}},
	{variable: "debug_no_sync", values: []string{"OFF", "0", ""}},
}

// prove asks the server for the settings on which the class rests. None of them is a session's.
func (d *db) prove() error {
	needs := []need{
		{variable: "innodb_flush_log_at_trx_commit", values: flushes[d.class]},
		{variable: "autocommit", values: []string{"ON", "1"}},
	}
	if d.class == store.D2 || d.class == store.D3 {
		needs = append(needs, durable...)
	}
	for _, n := range needs {
		if n.only != "" {
			if told, err := d.variable(n.only); err != nil || told != "ON" {
				if err != nil {
					return err
				}
				continue
			}
		}
		told, err := d.variable(n.variable)
		if err != nil {
			return err
		}
		if !slices.Contains(n.values, told) {
			return fmt.Errorf("the server runs with %s=%s, and %s needs %s=%s: %w",
				n.variable, told, d.class, n.variable, n.values[0], store.ErrRefused)
		}
	}
	if d.class == store.D2 {
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
		return fmt.Errorf("the server tells innodb_flush_log_at_timeout %q: %w", told, err)
	}
	if d.lossMax = time.Duration(seconds)*time.Second + lossBeyond; d.window < d.lossMax {
		return fmt.Errorf("D2(%v): with innodb_flush_log_at_timeout=%d a crash loses what came in the last %v: expected D2(%v) or more: %w",
			d.window, seconds, d.lossMax, d.lossMax, store.ErrRefused)
	}
	return nil
}

// TellDurability asks for the settings again, and counts syncs: those of the log where the server
// has a counter of its own for them (before 10.8), and otherwise all of InnoDB's.
func (d *db) TellDurability() (store.DurabilityEvidence, error) {
	evidence, err := store.Evidence(d.prove())
	if err != nil || d.class != store.D3 {
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
