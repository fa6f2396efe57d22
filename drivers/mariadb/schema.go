package mariadb

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// mark is the comment of a database that Assay made: it writes to no other, and drops no other. A power
// cut takes it, as the server does not sync the file that has it. So an empty table says the same: its
// files are synced.
const (
	mark      = "made by Assay"
	markTable = "made_by_assay"
)

func name(text string) string { return "`" + strings.ReplaceAll(text, "`", "``") + "`" }

func (d *db) table(table string) string { return name(d.Place) + "." + name(table) }

// lockName is the lock that is held while the database is made or dropped, by workers/java/jdbc too. A
// lock's name has at most 64 characters.
func (d *db) lockName() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.Place)) // a hash's Write has no error
	return fmt.Sprintf("assay %016x", h.Sum64())
}

// locked does something while no other Assay makes or drops the database.
func (d *db) locked(do func() error) error {
	got, err := d.Value("SELECT GET_LOCK(?, ?)", d.lockName(), d.LockPatience().Seconds())
	if err != nil {
		return err
	}
	if got != "1" {
		return errors.New("mariadb: another Assay keeps the lock of the database")
	}
	err = do()
	return errors.Join(err, d.do("DO RELEASE_LOCK(?)", d.lockName()))
}

// prepare holds the server to what the driver relies on, and makes database and table.
func (d *db) prepare(drop bool) error {
	var err error
	if d.Version, err = d.Value("SELECT VERSION()"); err != nil {
		return err
	}
	if !strings.Contains(d.Version, "MariaDB") {
		return fmt.Errorf("the server is no MariaDB but %s: %w", d.Version, store.ErrRefused)
	}
	if err := d.prove(); err != nil {
		return err
	}
	mode, err := d.Value("SELECT @@sql_mode")
	if err != nil {
		return err
	}
	if !strings.Contains(mode, "STRICT_") {
		return fmt.Errorf("the server runs with sql_mode=%s, and shortens what is too long: STRICT_TRANS_TABLES is needed: %w", mode, store.ErrRefused)
	}
	packet, err := d.variable("max_allowed_packet")
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(packet, 10, 64); err != nil || n < packetBytesMin {
		return fmt.Errorf("the server runs with max_allowed_packet=%s, expected %d or more: %w", packet, packetBytesMin, store.ErrRefused)
	}
	return d.locked(func() error { return d.make(drop) })
}

// make makes the database and its plain table, and enters the database: it is how others see that it is in use.
func (d *db) make(drop bool) error {
	there, err := d.rows("SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", d.Place)
	if err != nil {
		return err
	}
	marked, err := d.Value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = '"+markTable+"'", d.Place)
	if err != nil {
		return err
	}
	switch {
	case len(there) == 0:
		err = d.do("CREATE DATABASE " + name(d.Place) + " COMMENT '" + mark + "'")
	case there[0][0] != mark && marked == "0":
		return d.Foreign()
	case drop:
		err = d.dropTables()
	}
	if err != nil {
		return err
	}
	if err := d.do("CREATE TABLE IF NOT EXISTS " + d.table(markTable) + " (mark INT) ENGINE=InnoDB"); err != nil {
		return err
	}
	held, err := d.Value("SELECT COALESCE(SUM(TABLE_ROWS), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", d.Place)
	if err != nil {
		return err
	}
	if d.Records, err = strconv.ParseUint(held, 10, 64); err != nil {
		return err
	}
	if err := d.do("USE " + name(d.Place)); err != nil {
		return err
	}
	return d.create(d.Layout)
}

// create makes a table, and looks if it is the engine's that was asked for.
func (d *db) create(l sqlkv.Layout, more ...string) error {
	for _, text := range append([]string{l.CreateSQL()}, more...) {
		if err := d.do(text); err != nil {
			return err
		}
	}
	others, err := d.Value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND ENGINE <> 'InnoDB'", d.Place)
	if err == nil && others != "0" {
		err = fmt.Errorf("%s tables of database %s are not InnoDB's: %w", others, d.Place, store.ErrRefused)
	}
	return err
}

func (d *db) dropTables() error {
	if others, err := d.othersSoon(); err != nil || others != "0" {
		return errors.Join(err, fmt.Errorf("flush_at_open: another session uses database %s: %w", d.Place, store.ErrRefused))
	}
	tables, err := d.tables()
	for _, table := range tables {
		err = errors.Join(err, d.do("DROP TABLE "+table))
	}
	return err
}

// tables are those that Assay made in its database, quoted.
func (d *db) tables() ([]string, error) {
	names, err := d.Column("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME REGEXP '"+sqlkv.TablesPattern+"'", d.Place)
	for i := range names {
		names[i] = d.table(names[i])
	}
	return names, err
}

// others counts the other sessions in the database. A user without the privilege PROCESS sees his own.
func (d *db) others() (string, error) {
	return d.Value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND ID <> CONNECTION_ID()", d.Place)
}

// othersSoon gives sessions that were closed just now the time to end.
func (d *db) othersSoon() (others string, err error) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if others, err = d.others(); err != nil || others == "0" || time.Since(began) > time.Second {
			return others, err
		}
	}
}

// leave drops the tables if all are empty and no other session is in the database, and then the database
// if nothing of anybody's is left in it. A trial's keys are deleted when it ends, so that the last one
// leaves nothing.
func (d *db) leave() error {
	if err := d.reconnect(); err != nil {
		return err
	}
	return d.locked(func() error {
		if others, err := d.othersSoon(); err != nil || others != "0" {
			return err
		}
		tables, err := d.tables()
		if err != nil {
			return err
		}
		if empty, err := d.Empty(tables); err != nil || !empty {
			return err
		}
		for _, table := range tables {
			if err := d.do("DROP TABLE " + table); err != nil {
				return err
			}
		}
		left, err := d.Value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME <> '"+markTable+"'", d.Place)
		if err != nil || left != "0" {
			return err
		}
		return d.do("DROP DATABASE " + name(d.Place))
	})
}

// Define makes a table for these columns and indexes.
func (d *db) Define(columns []store.Column, indexes []store.Index, queries []store.Query) error {
	table := sqlkv.RecordsTable(columns, indexes)
	l, err := dialect.Records(d.table(table), columns, indexes, queries)
	if err != nil {
		return err
	}
	var more []string
	for _, index := range indexes {
		more = append(more, l.IndexSQL("of "+strconv.Itoa(index.Column)+" "+string(index.Kind), index))
	}
	if err := d.create(l, more...); err != nil {
		return fmt.Errorf("mariadb: define columns: %w", err)
	}
	d.Layout = l
	return nil
}
