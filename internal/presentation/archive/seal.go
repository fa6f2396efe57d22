package archive

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// sumOf is the SHA-256 of some bytes.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sum seals a run with its figures. A bit that a disk has turned in a figure would otherwise be a change
// of a store.
func (e *Entry) sum(pageSum string) string {
	sealed := *e
	sealed.Created, sealed.CodeAt = e.Created.UTC(), e.CodeAt.UTC()
	figures := slices.Clone(e.Figures)
	slices.SortFunc(figures, func(a, b Figure) int {
		return cmp.Or(strings.Compare(a.Class, b.Class), strings.Compare(a.Cell, b.Cell), strings.Compare(a.Phase,
			b.Phase),
			strings.Compare(a.Arm, b.Arm), strings.Compare(a.Metric, b.Metric))
	})
	text, err := json.Marshal(struct {
		Entry   Entry
		Figures []Figure
		Page    string
	}{sealed, figures, pageSum})
	if err != nil {
		return "" // of a number that JSON has not, which SQLite has not either
	}
	return sumOf(text)
}

// check holds a run that was read against its seal.
func (a *Archive) check(e *Entry) error {
	if e.kept != e.sum(e.pageSum) {
		return a.changed(e.ID, "the run or one of its figures")
	}
	return nil
}

func (a *Archive) changed(id, what string) error {
	return fmt.Errorf("%s: %s of %s is not as it was written, its checksum is another\nassay history remove %s, then add its run directory again",
		a.path, what, id, id)
}

// upgrade makes an archive of this version of an older one. Version 2 did not keep Assay's own version, and
// version 1 no checksums either: what it holds now is sealed.
func upgrade(tx *sql.Tx, version int) error {
	changes := fmt.Sprintf(`ALTER TABLE runs ADD COLUMN assay TEXT NOT NULL DEFAULT ''; PRAGMA user_version = %d`, schemaVersion)
	if version == 1 {
		changes = `ALTER TABLE runs ADD COLUMN page_sha256 TEXT NOT NULL DEFAULT '';
			ALTER TABLE runs ADD COLUMN sha256 TEXT NOT NULL DEFAULT '';` + changes
	}
	if _, err := tx.Exec(changes); err != nil || version > 1 {
		return err
	}
	runs, err := runsOf(tx, "")
	if err != nil {
		return err
	}
	for i := range runs {
		e := &runs[i]
		var page []byte
		if err := tx.QueryRow(`SELECT page FROM runs WHERE id = ?`, e.ID).Scan(&page); err != nil {
			return err
		}
		if e.Figures, err = figuresOf(tx, e.ID); err != nil {
			return err
		}
		sum := sumOf(page)
		if _, err := tx.Exec(`UPDATE runs SET page_sha256 = ?, sha256 = ? WHERE id = ?`, sum, e.sum(sum), e.ID); err != nil {
			return err
		}
	}
	return nil
}

// queries are what is asked in a transaction, or beside any.
type queries interface {
	Query(text string, arguments ...any) (*sql.Rows, error)
}
