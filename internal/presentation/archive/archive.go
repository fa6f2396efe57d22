package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"assay/internal/base/bounded"

	_ "modernc.org/sqlite" // the file's engine, which is linked in as a store that is measured, too
)

// schemaVersion is the file's. A file of a newer Assay is refused, and never changed.
const schemaVersion = 3

// applicationID marks the file as an archive (SQLite's application_id): "ASSA".
const applicationID = 0x41535341

const schema = `
CREATE TABLE runs (
	id TEXT PRIMARY KEY,           -- of the run directory
	name TEXT NOT NULL,            -- of the experiment
	about TEXT NOT NULL,
	experiment TEXT NOT NULL,      -- SHA-256 of experiment.json
	machine TEXT NOT NULL,
	created INTEGER NOT NULL,      -- when the run began; ns since 1970, as all times here
	code TEXT NOT NULL,            -- commit, release or date that was measured
	code_at INTEGER NOT NULL,      -- when that was made
	seconds REAL NOT NULL,
	directory TEXT NOT NULL,       -- where the run directory was
	page BLOB NOT NULL,            -- its report, HTML, gzip
	page_sha256 TEXT NOT NULL,     -- of page
	sha256 TEXT NOT NULL,          -- of the run's other fields, in their order, and of its figures
	assay TEXT NOT NULL DEFAULT '' -- version of Assay; '': of a file of version 1 or 2
) STRICT;
CREATE TABLE figures (
	run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	class TEXT NOT NULL, cell TEXT NOT NULL, phase TEXT NOT NULL, arm TEXT NOT NULL, metric TEXT NOT NULL,
	version TEXT NOT NULL,         -- of the store
	value REAL NOT NULL, low REAL, high REAL,
	PRIMARY KEY (run, class, cell, phase, arm, metric)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_alike ON runs (experiment, machine, code_at);
`

// Archive is an open archive. It is used by one goroutine.
type Archive struct {
	db   *sql.DB
	path string
}

// Open opens the archive at the path and makes it where there is none. A file that is something
// else is refused.
func Open(path string) (*Archive, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the archive's folder: %w", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the archive: %w", err)
	}
	source := url.URL{Scheme: "file", Path: absolute, RawQuery: "_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("opening the archive %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	a := &Archive{db, path}
	if err := a.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the archive %s: %w", path, err), db.Close())
	}
	return a, nil
}

// prepare makes the tables of a new file, and holds an old one against what this Assay knows.
func (a *Archive) prepare() error {
	return a.change(func(tx *sql.Tx) error {
		var id, version, tables int
		row := tx.QueryRow(`SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
			(SELECT count(*) FROM sqlite_schema)`)
		if err := row.Scan(&id, &version, &tables); err != nil {
			return err
		}
		switch {
		case id == applicationID && version == schemaVersion:
			return nil
		case id == applicationID && (version == 1 || version == 2):
			return upgrade(tx, version)
		case id == applicationID:
			return fmt.Errorf("it has version %d, and this Assay knows version %d", version, schemaVersion)
		case tables > 0:
			return errors.New("it is a database of another program")
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion) + schema)
		return err
	})
}

// change does something in one transaction: whole, or not at all.
func (a *Archive) change(do func(*sql.Tx) error) error {
	tx, err := a.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close closes the archive.
func (a *Archive) Close() error { return a.db.Close() }

// Path returns where the archive is.
func (a *Archive) Path() string { return a.path }

// Add keeps a run. A run that is there already is replaced: its code may have been named wrongly.
func (a *Archive) Add(e Entry) (replaced bool, err error) {
	for what, at := range map[string]time.Time{"began": e.Created, "code was made": e.CodeAt} {
		if !time.Unix(0, at.UnixNano()).Equal(at) {
			return false, fmt.Errorf("run %s %s in %d: expected a year from 1678 to 2261", e.ID, what, at.Year())
		}
	}
	if len(e.Page) > pageMax {
		return false, fmt.Errorf("the report of %s has %d bytes: an archive keeps %d of one at most", e.ID, len(e.Page), pageMax)
	}
	page, err := packed(e.Page)
	if err != nil {
		return false, err
	}
	pageSum := sumOf(page)
	err = a.change(func(tx *sql.Tx) error {
		before, err := tx.Exec(`DELETE FROM runs WHERE id = ?`, e.ID)
		if err != nil {
			return err
		}
		n, err := before.RowsAffected()
		if err != nil {
			return err
		}
		replaced = n > 0
		_, err = tx.Exec(`INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, e.ID, e.Name, e.About, e.Experiment, e.Machine,
			e.Created.UnixNano(), e.Code, e.CodeAt.UnixNano(), e.Seconds, e.Directory, page, pageSum,
			e.sum(pageSum), e.Assay)
		if err != nil {
			return err
		}
		insert, err := tx.Prepare(`INSERT INTO figures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		for _, f := range e.Figures {
			if _, err := insert.Exec(e.ID, f.Class, f.Cell, f.Phase, f.Arm, f.Metric, f.Version, f.Value, f.Low,
				f.High); err != nil {
				return fmt.Errorf("%s of %s in %s: %w", f.Metric, f.Arm, f.Phase, err)
			}
		}
		return insert.Close()
	})
	if err != nil {
		return false, fmt.Errorf("adding run %s to %s: %w", e.ID, a.path, err)
	}
	return replaced, nil
}

// Remove forgets a run, by its id or the beginning of it. The run directory is not touched.
func (a *Archive) Remove(id string) error {
	runs, err := a.runs(`WHERE substr(id, 1, length(?1)) = ?1`, id)
	switch {
	case err != nil:
		return err
	case len(runs) != 1 || id == "":
		return fmt.Errorf("%s has %d runs whose id begins with %q: expected one", a.path, len(runs), id)
	}
	return a.change(func(tx *sql.Tx) error {
		_, err := tx.Exec(`DELETE FROM runs WHERE id = ?`, runs[0].ID)
		return err
	})
}

// Runs returns all runs, without figures and pages: by name, experiment and machine, then in the
// order of their code.
func (a *Archive) Runs() ([]Entry, error) { return a.runs("") }

func (a *Archive) runs(where string, args ...any) (list []Entry, err error) {
	if list, err = runsOf(a.db, where, args...); err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.path, err)
	}
	return list, nil
}

func runsOf(from queries, where string, args ...any) (list []Entry, err error) {
	rows, err := from.Query(`SELECT id, name, about, experiment, machine, created, code, code_at, seconds, directory, page_sha256, sha256, assay FROM runs `+where+
		` ORDER BY name, experiment, machine, code_at, created, id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e Entry
		var created, at int64
		if err := rows.Scan(&e.ID, &e.Name, &e.About, &e.Experiment, &e.Machine, &created, &e.Code, &at, &e.Seconds,
			&e.Directory, &e.pageSum, &e.kept, &e.Assay); err != nil {
			return nil, err
		}
		e.Created, e.CodeAt = time.Unix(0, created).UTC(), time.Unix(0, at).UTC()
		list = append(list, e)
	}
	return list, rows.Err()
}

// figures returns the figures of a run.
func (a *Archive) figures(run string) (list []Figure, err error) {
	if list, err = figuresOf(a.db, run); err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.path, err)
	}
	return list, nil
}

func figuresOf(from queries, run string) (list []Figure, err error) {
	rows, err := from.Query(`SELECT class, cell, phase, arm, metric, version, value, low, high FROM figures WHERE run = ?`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f Figure
		if err := rows.Scan(&f.Class, &f.Cell, &f.Phase, &f.Arm, &f.Metric, &f.Version, &f.Value, &f.Low,
			&f.High); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, rows.Err()
}

// pageMax bounds a page that is unpacked: an archive may come from somebody else.
const pageMax = 256 << 20

// WritePage writes the report of a run, HTML. It is unpacked as it is written: a few bytes of an
// archive may stand for very many.
func (a *Archive) WritePage(w io.Writer, id string) error {
	var page []byte
	var sum string
	if err := a.db.QueryRow(`SELECT page, page_sha256 FROM runs WHERE id = ?`, id).Scan(&page, &sum); err != nil {
		return fmt.Errorf("reading the report of %s from %s: %w", id, a.path, err)
	}
	if sumOf(page) != sum {
		return a.changed(id, "its report")
	}
	r, err := gzip.NewReader(bytes.NewReader(page))
	if err == nil {
		var n int64
		if n, err = io.Copy(w, io.LimitReader(r, pageMax+1)); err == nil && n > pageMax {
			err = fmt.Errorf("%w: it is longer than %d bytes", bounded.ErrTooMuch, pageMax)
		}
	}
	if err != nil {
		return fmt.Errorf("unpacking the report of %s from %s: %w", id, a.path, err)
	}
	return nil
}

func packed(page []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(page); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
