package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// mark is the comment of a schema that Assay made: it writes to no other, and drops no other.
const mark = "made by Assay"

// versionMin has pg_stat_wal.
const versionMin = 140000

func (d *db) table(name string) string { return pgx.Identifier{d.Place, name}.Sanitize() }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// The schema's advisory locks: making is held while the schema is made or dropped, and using,
// shared, by each open store, so that none drops what another one uses.
func (d *db) locks() (making, using string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte("assay:" + d.Place)) // a hash's Write has no error
	key := int64(h.Sum64() &^ 1)
	return strconv.FormatInt(key, 10), strconv.FormatInt(key+1, 10)
}

// prepare holds the server to what the driver relies on, and makes schema and table.
func (d *db) prepare(drop bool) error {
	version, err := d.Value("SHOW server_version_num")
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(version); err != nil || n < versionMin {
		return fmt.Errorf("the server's version is %s, expected %d or later: %w", version, versionMin,
			store.ErrRefused)
	}
	if d.Version, err = d.Value("SHOW server_version"); err != nil {
		return err
	}
	if readOnly, err := d.Value("SELECT pg_is_in_recovery()"); err != nil || readOnly != "f" {
		return errors.Join(err, fmt.Errorf("the server is a standby, which takes no writes: %w", store.ErrRefused))
	}
	if err := d.prove(); err != nil {
		return err
	}
	making, using := d.locks()
	if _, err := d.rows("SELECT pg_advisory_lock(" + making + ")"); err != nil {
		return err
	}
	if drop {
		alone, err := d.Value("SELECT pg_try_advisory_lock(" + using + ")")
		if err != nil || alone != "t" {
			return errors.Join(err, fmt.Errorf("flush_at_open: another Assay uses schema %s: %w", d.Place,
				store.ErrRefused))
		}
	}
	if err := d.make(drop); err != nil {
		return err // the session ends, and the locks with it
	}
	share := "SELECT pg_advisory_lock_shared(" + using + "); SELECT pg_advisory_unlock(" + making + ")"
	if drop {
		share += "; SELECT pg_advisory_unlock(" + using + ")" // the exclusive one: the shared one stays
	}
	_, err = d.rows(share)
	return err
}

// make makes the schema and its plain table.
func (d *db) make(drop bool) error {
	held, err := d.Value("SELECT coalesce(sum(n_live_tup), 0) FROM pg_stat_user_tables WHERE schemaname = " +
		literal(d.Place))
	if err != nil {
		return err
	}
	if d.Records, err = strconv.ParseUint(held, 10, 64); err != nil {
		return err
	}
	there, err := d.rows("SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = " + literal(d.Place))
	if err != nil {
		return err
	}
	if len(there) > 0 && there[0][0] != mark {
		return d.Foreign()
	}
	name := pgx.Identifier{d.Place}.Sanitize()
	var statements []string
	if len(there) > 0 && drop {
		tables, err := d.tables()
		if err != nil {
			return err
		}
		for _, table := range tables {
			statements = append(statements, "DROP TABLE "+table)
		}
	}
	if len(there) == 0 {
		statements = append(statements, "CREATE SCHEMA "+name, "COMMENT ON SCHEMA "+name+" IS "+literal(mark))
	}
	statements = append(statements, d.Layout.CreateSQL())
	_, err = d.rows("BEGIN; " + strings.Join(statements, "; ") + "; COMMIT")
	return err
}

// tables are those that Assay made in its schema, quoted.
func (d *db) tables() ([]string, error) {
	names, err := d.Column("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '" + sqlkv.TablesPattern + "' " +
		"AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = " + literal(d.Place) + ")")
	for i := range names {
		names[i] = d.table(names[i])
	}
	return names, err
}

// leave drops the tables if all are empty and no other Assay has the schema open, and then the
// schema if nothing of anybody's is left in it. A trial's keys are deleted when it ends, so that
// the last one leaves nothing.
func (d *db) leave() error {
	_, _ = d.rows("SELECT 1") // a server that was started again is found out, and connected to
	making, using := d.locks()
	alone, err := d.Value("SELECT pg_advisory_lock(" + making + "); SELECT pg_advisory_unlock_shared(" +
		using + "); " +
		"SELECT pg_try_advisory_lock(" + using + ")")
	if err != nil || alone != "t" {
		return err
	}
	tables, err := d.tables()
	if err != nil {
		return err
	}
	if empty, err := d.Empty(tables); err != nil || !empty {
		return err
	}
	var drops strings.Builder
	for _, table := range tables {
		drops.WriteString("DROP TABLE " + table + "; ")
	}
	others, err := d.Value(drops.String() + "SELECT count(*) FROM pg_class WHERE relnamespace = " +
		"(SELECT oid FROM pg_namespace WHERE nspname = " + literal(d.Place) + ")")
	if err != nil || others != "0" {
		return err
	}
	_, err = d.rows("DROP SCHEMA " + pgx.Identifier{d.Place}.Sanitize())
	return err
}

// Define makes a table for these columns and indexes.
func (d *db) Define(columns []store.Column, indexes []store.Index, queries []store.Query) error {
	named := columns
	if d.documents {
		named = append([]store.Column{{Name: "#record"}}, columns...) // a table of its own
	}
	name := sqlkv.RecordsTable(named, indexes)
	l, err := dialect.Records(d.table(name), columns, indexes, queries)
	if err != nil {
		return err
	}
	if d.documents {
		l.InDocument()
	}
	encoding, err := d.Value("SHOW server_encoding")
	if err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("postgres: the database's encoding is %s, and text columns are UTF-8: %w", encoding,
			store.ErrRefused)
	}
	statements := []string{l.CreateSQL()}
	for _, index := range indexes {
		statements = append(statements, l.IndexSQL(name+"_"+strconv.Itoa(index.Column)+"_"+string(index.Kind), index))
	}
	if _, err := d.rows("BEGIN; " + strings.Join(statements, "; ") + "; COMMIT"); err != nil {
		return errors.Join(fmt.Errorf("postgres: define columns: %w", err), d.rollBack())
	}
	d.Layout = l
	return d.awaitReplicas(context.Background())
}

// rollBack ends a transaction that failed, so that the session is of use again.
func (d *db) rollBack() error {
	_, err := d.rows("ROLLBACK")
	return err
}
