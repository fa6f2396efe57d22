package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/base/bounded"
)

// Fault (archive): a bit of a history's archive has changed, or a figure was edited
// Assay: the run is named, with the command that removes it
func TestArchiveThatWasChangedIsSeen(t *testing.T) {
	low := 90.0
	for name, change := range map[string]string{
		"as it was": "",
		"a rate":    "UPDATE figures SET value = value * 1.01 WHERE run = '0001'",
		"a bound":   "UPDATE figures SET low = NULL",
		"a figure":  "DELETE FROM figures WHERE metric = 'p99'",
		"a code":    "UPDATE runs SET code = 'x' WHERE id = '0002'",
		"a time":    "UPDATE runs SET code_at = code_at + 1",
		"a page":    "UPDATE runs SET page = x'00', page_sha256 = 'x' WHERE id = '0001'",
	} {
		t.Run(name, func(t *testing.T) {
			a := opened(t)
			slow := Figure{Class: "D3", Phase: "read", Arm: "pebble", Metric: "p99", Version: "v2", Value: 1, Low: &low}
			add(t, a, entry(1, "a", rate(100), slow), entry(2, "b", rate(100)))
			if _, err := a.db.Exec(change); err != nil {
				t.Fatal(err)
			}
			groups, err := a.Groups()
			if name == "as it was" {
				if err != nil || len(groups) != 1 {
					t.Errorf("%d groups, %v", len(groups), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "is not as it was written") || !strings.Contains(err.Error(), "assay history remove 000") {
				t.Errorf("%v", err)
			}
		})
	}
	a := opened(t)
	add(t, a, entry(1, "a", rate(100)))
	if _, err := a.db.Exec("UPDATE runs SET page = x'00'"); err != nil {
		t.Fatal(err)
	}
	if err := a.WritePage(io.Discard, "0001"); err == nil || !strings.Contains(err.Error(), "its report") {
		t.Errorf("a page that was changed: %v", err)
	}
	if err := a.Remove("0001"); err != nil {
		t.Errorf("a run that was changed is not removed: %v", err)
	}
}

// An archive of version 1 has no checksums: it is sealed as it is. One of version 2 does not know which Assay
// its runs are of.
func TestOlderArchiveIsUpgraded(t *testing.T) {
	for version, drop := range map[int]string{1: "ALTER TABLE runs DROP COLUMN page_sha256; ALTER TABLE runs DROP COLUMN sha256;", 2: ""} {
		upgraded(t, fmt.Sprintf("%sALTER TABLE runs DROP COLUMN assay; PRAGMA user_version = %d", drop, version))
	}
}

func upgraded(t *testing.T, older string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.sqlite")
	a, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	add(t, a, entry(1, "a", rate(100)), entry(2, "b", rate(100)))
	_, err = a.db.Exec(older)
	if err := errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"sealed", "opened again"} {
		a, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		groups, err := a.Groups()
		var page bytes.Buffer
		if err := errors.Join(err, a.WritePage(&page, "0002"), a.Close()); err != nil || len(groups) != 1 || page.String() != "<p>b" {
			t.Errorf("%s: %d groups, page %q, %v", when, len(groups), page.String(), err)
		}
	}
}

// Fault (archive): a commit was made before 1678 or after 2261
// Assay: refused: the archive can't hold such times
func TestTimesThatAnArchiveCantHoldAreRefused(t *testing.T) {
	a := opened(t)
	for year, kept := range map[int]bool{1500: false, 1677: false, 1678: true, 2261: true, 2263: false, 9999: false} {
		e := entry(1, "a", rate(1))
		e.CodeAt = time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		if _, err := a.Add(e); (err == nil) != kept || err != nil && !strings.Contains(err.Error(), fmt.Sprint(year)) {
			t.Errorf("%d: %v", year, err)
		}
		e.Created, e.CodeAt = e.CodeAt, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if _, err := a.Add(e); (err == nil) != kept {
			t.Errorf("began in %d: %v", year, err)
		}
	}
}

// 300 kB that stand for 300 MB: they are not unpacked into memory, and not to the end.
//
// Fault (archive): a report in an archive unpacks to hundreds of megabytes, or never ends
// Assay: refused beyond 256 MiB
func TestEndlessCompressedPageIsRefused(t *testing.T) {
	a := opened(t)
	add(t, a, entry(1, "a", rate(1)))
	var bomb bytes.Buffer
	w, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range pageMax>>20 + 44 {
		_, err = w.Write(zeros)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.db.Exec("UPDATE runs SET page = ?, page_sha256 = ?", bomb.Bytes(), sumOf(bomb.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := a.WritePage(io.Discard, "0001"); !errors.Is(err, bounded.ErrTooMuch) {
		t.Errorf("%d bytes: %v", bomb.Len(), err)
	}
}
